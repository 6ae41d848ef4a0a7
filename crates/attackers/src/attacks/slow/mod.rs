//! Connections that cost their holder little and the server a place each: the slow family, with equal numbers held over
//! each protocol.

mod ack_withholding;
mod drip;
mod handshake_stall;
mod hold;
mod window_starvation;

use std::io::Write;
use std::rc::Rc;
use std::time::Duration;

use clap::{Args, ValueEnum};

use self::hold::Hold;
use super::start::{DRAIN, launch};
use crate::caps::Held;
use crate::context::{Common, Context, Protocol, SetupError};
use crate::outcome::Outcome;
use crate::pacing::{self, Start};

/// Connections held open and slow
///
/// Connections are opened at --rate until --held are there; one that the server ends is replaced at the same rate. What
/// is still held at the end counts as completed, what the server ended as failed, by how.
///
/// handshake-stall: the handshake but for its last words. header-drip: a request whose fields never end. body-drip: one
/// whose body never ends. window-starvation: a long answer is asked for and no room left for it. ack-withholding: a long
/// answer is asked for, and from its first octets on nothing is acknowledged (over TCP the kernel drops what comes).
/// Once in --interval-ms each says as little as keeps it open. Over QUIC a server may end a connection without a word: one
/// that gets no answer for --silence-ms counts as ended (silent), but for ack-withholding, which wants none.
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
    #[arg(long, default_value_t = 1000, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(10..=600_000))]
    interval_ms: u64,
    /// After how long without an answer a connection over QUIC counts as ended
    #[arg(long, default_value_t = 2000, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(10..=600_000))]
    silence_ms: u64,
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
        let (interval, silence) =
            (Duration::from_millis(self.interval_ms), Duration::from_millis(self.silence_ms));
        context.begin();
        pacing::run(context.schedule(), &context.tally, DRAIN, out, |due| {
            if context.tally.alive_now() >= self.held.count().into() {
                return Start::NotNeeded;
            }
            launch(&context, due, held(Rc::clone(&context), self.variant, interval, silence));
            Start::Offered
        })
        .await?;
        Ok(())
    }
}

/// Opens a connection and holds it to the end of the schedule.
async fn held(
    context: Rc<Context>,
    variant: Variant,
    interval: Duration,
    silence: Duration,
) -> Result<(), Outcome> {
    let slow = Hold { context: &context, interval, silence };
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
