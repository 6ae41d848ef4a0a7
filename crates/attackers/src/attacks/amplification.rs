//! Octets that a server sends to an address that has not answered yet (RFC 9000, section 8.1).

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use tokio::net::UdpSocket;

use super::datagrams::Senders;
use super::start::{DRAIN, launch};
use crate::context::{Common, Context, Protocol, SetupError};
use crate::outcome::Outcome;
use crate::pacing::{self, Start};
use crate::quic_wire::initial::Hello;
use crate::quic_wire::{ConnectionId, packet};
use crate::tally::Tally;

/// Room for the answers of all starts that are under way.
const RECEIVE_OCTETS: usize = 4 << 20;

/// What a server sends to a client that never answers, by what it got
///
/// A start is one Initial with a ClientHello, from a client that says nothing more, as one whose address was forged would.
/// All that comes back within --listen-ms is counted, retransmissions too. A server may send three times what it got
/// before it knows that the address is the client's. The last line has the median and the highest factor: octets from
/// the server by octets to it, UDP payload.
///
/// A ClientHello in a datagram of less than 1,200 octets (--octets) has to be ignored.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Examples:
  gauntlet-attacker amplification --target 127.0.0.1:4433 --rate 5 --seconds 10 --listen-ms 10000
  gauntlet-attacker amplification --target 127.0.0.1:4433 --rate 5 --seconds 10 --octets 600")]
pub struct Amplification {
    #[command(flatten)]
    common: Common,
    /// How long answers to a start are counted
    #[arg(long, default_value_t = 10_000, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    listen_ms: u64,
    /// Octets of the datagram, if the ClientHello fits
    #[arg(long, default_value_t = 1200, value_parser = clap::value_parser!(u16).range(1..=1452))]
    octets: u16,
}

/// Octets that came for each connection ID that starts were made under.
type Accounts = Rc<RefCell<HashMap<ConnectionId, u64>>>;

impl Amplification {
    /// Runs it.
    ///
    /// # Errors
    /// If it cannot begin, or a line cannot be written.
    pub async fn run(&self, out: &mut dyn Write) -> Result<(), SetupError> {
        let context = Context::new(&self.common, &[Protocol::H3])?;
        let senders = Rc::new(Senders::new(&context, RECEIVE_OCTETS)?);
        let accounts = Accounts::default();
        for source in 0..context.sources.count() {
            let (senders, accounts, tally) =
                (Rc::clone(&senders), Rc::clone(&accounts), Rc::clone(&context.tally));
            tokio::task::spawn_local(async move { listen(senders.socket(source), &accounts, &tally).await });
        }
        let factors = Rc::new(RefCell::new(Vec::new()));
        let (listen, octets) = (Duration::from_millis(self.listen_ms), usize::from(self.octets));
        context.begin();
        pacing::run(context.schedule(), &context.tally, listen + DRAIN, out, |due| {
            let (context_of, senders, accounts, factors) =
                (Rc::clone(&context), Rc::clone(&senders), Rc::clone(&accounts), Rc::clone(&factors));
            launch(&context, due, async move {
                let factor = measure(&context_of, &senders, &accounts, octets, listen).await?;
                record(&context_of.tally, &mut factors.borrow_mut(), factor);
                if factor > 0.0 { Ok(()) } else { Err(Outcome::Timeout) }
            });
            Start::Offered
        })
        .await?;
        Ok(())
    }
}

/// Sends one Initial and gives the factor of what comes back.
async fn measure(
    context: &Context,
    senders: &Senders,
    accounts: &Accounts,
    octets: usize,
    listen: Duration,
) -> Result<f64, Outcome> {
    let id = ConnectionId::of(context.random());
    let hello = Hello::new(&context.tls, &context.server_name, id).map_err(|_| Outcome::Tls)?;
    let (source, destination) = (context.sources.turn(), ConnectionId::of(context.random()));
    accounts.borrow_mut().insert(id, 0);
    let mut sent = 0;
    let mut datagram = Vec::with_capacity(1500);
    for number in 0..hello.datagrams() {
        datagram.clear();
        hello.seal(&mut datagram, destination, number, octets).map_err(|_| Outcome::Tls)?;
        senders.send(context, source, &datagram)?;
        sent += datagram.len();
    }
    tokio::time::sleep_until((Instant::now() + listen).into()).await;
    let came = accounts.borrow_mut().remove(&id).unwrap_or_default();
    Ok(came as f64 / sent as f64)
}

/// Counts what comes by the connection ID that it is for, which stands in the clear before the handshake is done.
async fn listen(socket: &UdpSocket, accounts: &Accounts, tally: &Tally) {
    let mut buffer = [0; 2048];
    while socket.readable().await.is_ok() {
        match socket.try_recv(&mut buffer) {
            Ok(octets) => {
                tally.bytes_in(octets);
                let Some(header) = packet::parse(&buffer[..octets], 8) else { continue };
                if let Some(came) = accounts.borrow_mut().get_mut(&header.destination) {
                    *came += octets as u64;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Nobody listens: the next start notices.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

/// Keeps the factors in order and the facts of them up to date.
fn record(tally: &Tally, factors: &mut Vec<f64>, factor: f64) {
    let at = factors.partition_point(|before| *before < factor);
    factors.insert(at, factor);
    tally.fact("factor_median", json!(factors[factors.len() / 2]));
    tally.fact("factor_max", json!(factors.last()));
}
