//! PATH_CHALLENGE frames that want an answer each (RFC 9000, section 8.2; CVE-2023-49295, CVE-2023-6193).

use std::io::Write;

use clap::Args;

use super::feed::{self, Load};
use crate::caps::Held;
use crate::context::{Common, Context, Protocol, SetupError};
use crate::outcome::Outcome;
use crate::quic::{Acks, QuicSession};
use crate::quic_wire::frame;
use crate::quic_wire::transport_parameters::Stated;

/// Path challenges at a rate, whose answers are not acknowledged
///
/// A start is a packet of --frames PATH_CHALLENGE frames. The server owes a PATH_RESPONSE for each; nothing that it sends
/// is acknowledged, so that its congestion control stops it, and a server without a bound keeps all answers that it owes.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Example:
  gauntlet-attacker path-challenge --target 127.0.0.1:4433 --rate 5000")]
pub struct PathChallenge {
    #[command(flatten)]
    common: Common,
    /// Connections that starts are made on in turn
    #[arg(long, default_value = "1", value_name = "COUNT")]
    connections: Held,
    /// Frames of a start
    #[arg(long, default_value_t = 1, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=100))]
    frames: u8,
}

impl PathChallenge {
    /// Runs it.
    ///
    /// # Errors
    /// If it cannot begin, or a line cannot be written.
    pub async fn run(&self, out: &mut dyn Write) -> Result<(), SetupError> {
        let context = Context::new(&self.common, &[Protocol::H3])?;
        feed::run::<Challenges>(&context, self.connections.count(), self.frames, out).await
    }
}

struct Challenges(QuicSession);

impl Load for Challenges {
    type Options = u8;

    async fn open(context: &Context, _: &u8) -> Result<Self, Outcome> {
        let mut session = feed::open_quic(context, &Stated::default()).await?;
        session.client.acks = Acks::Withheld;
        Ok(Self(session))
    }

    fn start(&mut self, context: &Context, count: &u8) -> Result<(), Outcome> {
        let mut frames = Vec::with_capacity(9 * usize::from(*count));
        for _ in 0..*count {
            frame::path_challenge(&mut frames, context.random());
        }
        self.0.client.send_frames(frames, false);
        Ok(())
    }

    async fn turn(&mut self) -> Result<(), Outcome> {
        feed::turn_quic(&mut self.0).await
    }
}
