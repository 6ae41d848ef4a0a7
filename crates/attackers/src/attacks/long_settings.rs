//! A SETTINGS frame that never ends (RFC 9114, section 10.5).

use std::io::Write;

use clap::Args;

use super::feed::{self, Load};
use crate::caps::Held;
use crate::context::{Common, Context, Protocol, SetupError};
use crate::http::h3;
use crate::outcome::Outcome;
use crate::quic::QuicSession;
use crate::quic_wire::transport_parameters::Stated;

/// Octets of a start.
const PIECE_OCTETS: usize = 1000;
/// So long the frame says that it is: longer than any run can make it.
const STATED_OCTETS: u64 = 1 << 40;

/// A SETTINGS frame without end, on HTTP/3's control stream
///
/// A start is 1,000 octets more of one frame, as far as the server's windows have room; where they have none it is blocked.
/// A server that reads frames whole keeps all of it. One that bounds this closes the connection.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Example:
  gauntlet-attacker long-settings --target 127.0.0.1:4433 --rate 1000")]
pub struct LongSettings {
    #[command(flatten)]
    common: Common,
    /// Connections that starts are made on in turn
    #[arg(long, default_value = "1", value_name = "COUNT")]
    connections: Held,
}

impl LongSettings {
    /// Runs it.
    ///
    /// # Errors
    /// If it cannot begin, or a line cannot be written.
    pub async fn run(&self, out: &mut dyn Write) -> Result<(), SetupError> {
        let context = Context::new(&self.common, &[Protocol::H3])?;
        feed::run::<Frame>(&context, self.connections.count(), (), out).await
    }
}

struct Frame {
    session: QuicSession,
    control: u64,
}

impl Load for Frame {
    type Options = ();

    async fn open(context: &Context, (): &()) -> Result<Self, Outcome> {
        let mut session = feed::open_silent(context, &Stated::default()).await?;
        let control = session.client.open_uni().ok_or(Outcome::Blocked)?;
        session.client.send(control, &h3::control_head(STATED_OCTETS), false);
        Ok(Self { session, control })
    }

    fn start(&mut self, _: &Context, (): &()) -> Result<(), Outcome> {
        if !self.session.client.allows_on(self.control, PIECE_OCTETS) {
            return Err(Outcome::Blocked);
        }
        self.session.client.send(self.control, &[0; PIECE_OCTETS], false);
        Ok(())
    }

    async fn turn(&mut self) -> Result<(), Outcome> {
        feed::turn_quic(&mut self.session).await
    }
}
