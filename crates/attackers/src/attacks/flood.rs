//! Handshakes at a rate: whole ones, with a request or without, or only their first words.

use std::io::Write;
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use super::datagrams::{Hellos, Senders, UNREAD};
use super::request;
use super::start::{DRAIN, by, launch};
use crate::caps::MOST_HELD;
use crate::context::{Common, Context, Protocol, SetupError};
use crate::outcome::Outcome;
use crate::pacing::{self, Start};
use crate::quic::QuicSession;
use crate::quic_wire::transport_parameters::Stated;
use crate::quic_wire::{ConnectionId, DATAGRAM_OCTETS};
use crate::tcp::TlsStream;

/// Handshakes at a rate, whole or begun only
///
/// A whole handshake is made with a key of its own and without tickets; with a request it is complete when the whole
/// answer is there, without when the handshake is (QUIC: confirmed by the server). Then the connection is closed.
///
/// Begun only: over QUIC a valid, padded Initial with a ClientHello goes out and the answers are never read, as if the
/// source were forged. Over TCP, whose handshake in the kernel forges no source, a connection is made, the ClientHello
/// sent, and nothing more said for --hold-ms; then it is reset.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Examples:
  gauntlet-attacker flood --target 127.0.0.1:4433 --protocol h3 --rate 100 --seconds 30
  gauntlet-attacker flood --target 127.0.0.1:4433 --protocol h2 --rate 50 --no-request
  gauntlet-attacker flood --target 127.0.0.1:4433 --protocol h3 --variant initial-only --rate 2000 --sources 1000")]
pub struct Flood {
    #[command(flatten)]
    common: Common,
    /// How far they go
    #[arg(long, value_enum, default_value = "full")]
    variant: Variant,
    /// A request on each connection; so it is without a word
    #[arg(long, overrides_with = "no_request")]
    request: bool,
    /// Handshakes without a request
    #[arg(long, overrides_with = "request")]
    no_request: bool,
    /// How long a connection over TCP stays silent after its ClientHello (initial-only)
    #[arg(long, default_value_t = 1000, value_name = "MILLISECONDS")]
    hold_ms: u32,
}

/// How far a handshake goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Variant {
    /// To its end.
    Full,
    /// To the ClientHello.
    InitialOnly,
}

impl Flood {
    /// Runs it.
    ///
    /// # Errors
    /// If it cannot begin, or a line cannot be written.
    pub async fn run(&self, out: &mut dyn Write) -> Result<(), SetupError> {
        let context = Context::new(&self.common, &Protocol::ALL)?;
        match (self.variant, context.protocol) {
            (Variant::InitialOnly, Protocol::H3) => initials(&context, out).await,
            (Variant::InitialOnly, _) => self.hellos(&context, out).await,
            (Variant::Full, _) => {
                let asks = self.request || !self.no_request;
                context.begin();
                pacing::run(context.schedule(), &context.tally, context.timeout + DRAIN, out, |due| {
                    launch(&context, due, whole(Rc::clone(&context), asks));
                    Start::Offered
                })
                .await?;
                Ok(())
            }
        }
    }

    /// ClientHellos over TCP, and silence.
    async fn hellos(&self, context: &Rc<Context>, out: &mut dyn Write) -> Result<(), SetupError> {
        let hold = Duration::from_millis(self.hold_ms.into());
        let held = self.common.rate.per_second() * hold.as_secs_f64();
        if held > f64::from(MOST_HELD) {
            return Err(SetupError::Options(format!(
                "{} connections a second that are held for {} ms are more than {MOST_HELD} at once",
                self.common.rate, self.hold_ms
            )));
        }
        context.begin();
        pacing::run(context.schedule(), &context.tally, hold + DRAIN, out, |due| {
            launch(context, due, hello(Rc::clone(context), hold));
            Start::Offered
        })
        .await?;
        Ok(())
    }
}

async fn whole(context: Rc<Context>, asks: bool) -> Result<(), Outcome> {
    let deadline = Instant::now() + context.timeout;
    if context.protocol == Protocol::H3 {
        let mut session = QuicSession::open(&context, context.sources.take(), &Stated::default())?;
        return if asks {
            request::over_quic(&context, &mut session, deadline).await
        } else {
            session.until(deadline, |client| client.is_confirmed()).await
        };
    }
    by(deadline, async {
        let mut stream = TlsStream::connect(&context, context.sources.take(), None).await?;
        stream.handshake().await?;
        if asks {
            request::over_tcp(&context, &mut stream).await?;
        }
        stream.close().await;
        Ok::<_, Outcome>(())
    })
    .await
}

async fn hello(context: Rc<Context>, hold: Duration) -> Result<(), Outcome> {
    let stream = by(Instant::now() + context.timeout, async {
        let mut stream = TlsStream::connect(&context, context.sources.take(), None).await?;
        stream.flush().await?;
        Ok::<_, Outcome>(stream)
    })
    .await?;
    let held = context.tally.hold();
    tokio::time::sleep(hold).await;
    drop(held);
    // A reset leaves nothing behind on this side: no port that waits, no word that is due.
    Ok(stream.socket().set_zero_linger()?)
}

/// Initial packets over QUIC, and no ear for the answers.
async fn initials(context: &Rc<Context>, out: &mut dyn Write) -> Result<(), SetupError> {
    let (hellos, senders) = (Hellos::new(context)?, Senders::new(context, UNREAD)?);
    context.begin();
    let mut number = 0;
    let mut datagram = Vec::with_capacity(1500);
    pacing::run(context.schedule(), &context.tally, DRAIN, out, |due| {
        let sent = begin(context, &hellos, &senders, number, &mut datagram);
        context.tally.sent(due);
        context.tally.ended(sent.err().unwrap_or(Outcome::Ok));
        number += 1;
        Start::Offered
    })
    .await?;
    Ok(())
}

fn begin(
    context: &Context,
    hellos: &Hellos,
    senders: &Senders,
    number: u64,
    datagram: &mut Vec<u8>,
) -> Result<(), Outcome> {
    let hello = hellos.at(number);
    let (source, destination) = (context.sources.turn(), ConnectionId::of(context.random()));
    for packet in 0..hello.datagrams() {
        datagram.clear();
        hello.seal(datagram, destination, packet, DATAGRAM_OCTETS).map_err(|_| Outcome::Tls)?;
        senders.send(context, source, datagram)?;
    }
    Ok(())
}
