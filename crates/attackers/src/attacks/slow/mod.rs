//! Connections that cost their holder little and the server a place each: the slow family, with equal numbers held over
//! each protocol.

mod ack_withholding;
mod drip;
mod handshake_stall;
mod window_starvation;

use std::io::Write;
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use super::{DRAIN, by, launch};
use crate::caps::Held;
use crate::context::{Common, Context, Protocol, SetupError};
use crate::http::h2;
use crate::outcome::Outcome;
use crate::pacing::{self, Start};
use crate::quic::QuicSession;
use crate::quic_wire::transport_parameters::Stated;
use crate::tally::Gauge;
use crate::tcp::TlsStream;

/// Connections held open and slow
///
/// Connections are opened at --rate until --held are there; one that the server ends is replaced at the same rate. What
/// is still held at the end counts as completed, what the server ended as failed, by how.
///
/// handshake-stall: the handshake but for its last words. header-drip: a request whose fields never end. body-drip: one
/// whose body never ends. window-starvation: a long answer is asked for and no room left for it. ack-withholding: a long
/// answer is asked for, and from its first octets on nothing is acknowledged (over TCP the kernel drops what comes).
/// Once in --interval-ms each says as little as keeps it open.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Examples:
  gauntlet-attacker slow --target 127.0.0.1:4433 --protocol h3 --variant header-drip --held 1000 --rate 200 --seconds 60
  gauntlet-attacker slow --target 127.0.0.1:4433 --protocol h2 --variant window-starvation --held 1000 --path /bytes/10000000")]
pub struct Slow {
    #[command(flatten)]
    common: Common,
    /// What is slow
    #[arg(long, value_enum)]
    variant: Variant,
    /// Connections that are held at once, at most 20000
    #[arg(long, default_value = "150", value_name = "COUNT")]
    held: Held,
    /// How often each connection says something
    #[arg(long, default_value_t = 5000, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(10..=600_000))]
    interval_ms: u64,
}

/// What is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Variant {
    /// The handshake.
    HandshakeStall,
    /// The fields of a request.
    HeaderDrip,
    /// The body of a request.
    BodyDrip,
    /// The room for an answer.
    WindowStarvation,
    /// The acknowledgement of an answer.
    AckWithholding,
}

impl Slow {
    /// Runs it.
    ///
    /// # Errors
    /// If it cannot begin, or a line cannot be written.
    pub async fn run(&self, out: &mut dyn Write) -> Result<(), SetupError> {
        let context = Context::new(&self.common, &Protocol::ALL)?;
        let interval = Duration::from_millis(self.interval_ms);
        context.begin();
        pacing::run(context.schedule(), &context.tally, DRAIN, out, |due| {
            if context.tally.alive_now() >= self.held.count().into() {
                return Start::NotNeeded;
            }
            launch(&context, due, hold(Rc::clone(&context), self.variant, interval));
            Start::Offered
        })
        .await?;
        Ok(())
    }
}

/// Opens a connection and holds it to the end of the schedule.
async fn hold(context: Rc<Context>, variant: Variant, interval: Duration) -> Result<(), Outcome> {
    let slow = Hold { context: &context, interval };
    match (variant, context.protocol) {
        (Variant::HandshakeStall, Protocol::H3) => handshake_stall::over_quic(&slow).await,
        (Variant::HandshakeStall, _) => handshake_stall::over_tcp(&slow).await,
        (Variant::HeaderDrip, _) => drip::run(&slow, drip::Of::Fields).await,
        (Variant::BodyDrip, _) => drip::run(&slow, drip::Of::Body).await,
        (Variant::WindowStarvation, Protocol::H1) => window_starvation::over_h1(&slow).await,
        (Variant::WindowStarvation, Protocol::H2) => window_starvation::over_h2(&slow).await,
        (Variant::WindowStarvation, Protocol::H3) => window_starvation::over_h3(&slow).await,
        (Variant::AckWithholding, Protocol::H3) => ack_withholding::over_quic(&slow).await,
        (Variant::AckWithholding, _) => ack_withholding::over_tcp(&slow).await,
    }
}

/// What all variants hold by.
struct Hold<'a> {
    context: &'a Context,
    interval: Duration,
}

impl Hold<'_> {
    /// When opening has failed.
    fn deadline(&self) -> Instant {
        Instant::now() + self.context.timeout
    }

    /// Counts a connection as held from now on, until what is returned is dropped.
    fn counted(&self) -> Gauge {
        self.context.tally.hold()
    }

    /// When the connection says something again; none if the schedule ends before.
    fn next(&self) -> Option<Instant> {
        let next = Instant::now() + self.interval;
        (next < self.context.schedule().end()).then_some(next)
    }

    /// When nothing more is to be said.
    fn end(&self) -> Instant {
        self.context.schedule().end()
    }

    /// A connection over TLS and TCP, its handshake done.
    async fn tls(&self, window: Option<u32>) -> Result<TlsStream, Outcome> {
        by(self.deadline(), async {
            let mut stream = TlsStream::connect(self.context, self.context.sources.take(), window).await?;
            stream.handshake().await?;
            Ok::<_, Outcome>(stream)
        })
        .await
    }

    /// A connection over QUIC, its handshake done.
    async fn quic(&self, stated: &Stated) -> Result<QuicSession, Outcome> {
        let mut session = QuicSession::open(self.context, self.context.sources.take(), stated)?;
        session.until(self.deadline(), |client| client.is_confirmed()).await?;
        Ok(session)
    }
}

/// Hears what a server says over TLS while its connection is held.
#[derive(Default)]
struct Ear {
    reader: h2::Reader,
    /// Whether what wants an answer in HTTP/2 gets none.
    is_mute: bool,
}

impl Ear {
    /// Hears until then.
    ///
    /// # Errors
    /// How the server ended the connection or the request.
    async fn listen(
        &mut self,
        hold: &Hold<'_>,
        stream: &mut TlsStream,
        until: Instant,
    ) -> Result<(), Outcome> {
        tokio::time::timeout_at(until.into(), self.hear(hold, stream)).await.unwrap_or(Ok(()))
    }

    async fn hear(&mut self, hold: &Hold<'_>, stream: &mut TlsStream) -> Result<(), Outcome> {
        loop {
            self.once(hold, stream).await?;
        }
    }

    /// Hears once and answers.
    ///
    /// # Errors
    /// How the server ended the connection or the request.
    async fn once(&mut self, hold: &Hold<'_>, stream: &mut TlsStream) -> Result<(), Outcome> {
        let (mut came, mut answers) = (Vec::new(), Vec::new());
        stream.receive(&mut came).await?;
        if hold.context.protocol == Protocol::H1 {
            return Err(Outcome::Answered);
        }
        if let Some(event) = self.reader.take(&came, &mut answers).first() {
            return Err(match event {
                h2::Event::Answered(..) => Outcome::Answered,
                h2::Event::Reset(..) => Outcome::Reset,
                h2::Event::GoAway(code) => Outcome::Closed(Some((*code).into())),
            });
        }
        if self.is_mute { Ok(()) } else { stream.send(&answers).await }
    }
}

/// Sees to a connection over QUIC until then.
///
/// # Errors
/// How the server ended it.
async fn attend(session: &mut QuicSession, until: Instant) -> Result<(), Outcome> {
    while Instant::now() < until {
        session.turn(until).await?;
    }
    Ok(())
}
