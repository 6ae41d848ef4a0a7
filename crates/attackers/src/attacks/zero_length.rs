//! Datagrams with nothing in them (CVE-2026-11352 in one client's receive loop).

use std::io::Write;

use clap::Args;

use super::datagrams::{Senders, UNREAD};
use super::start::DRAIN;
use crate::context::{Common, Context, Protocol, SetupError};
use crate::outcome::Outcome;
use crate::pacing::{self, Start};

/// UDP datagrams without a payload
///
/// A start is an empty datagram. It carries no packet, so that a server has nothing to do but to read on.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Example:
  gauntlet-attacker zero-length --target 127.0.0.1:4433 --rate 10000")]
pub struct ZeroLength {
    #[command(flatten)]
    common: Common,
}

impl ZeroLength {
    /// Runs it.
    ///
    /// # Errors
    /// If it cannot begin, or a line cannot be written.
    pub async fn run(&self, out: &mut dyn Write) -> Result<(), SetupError> {
        let context = Context::new(&self.common, &[Protocol::H3])?;
        let senders = Senders::new(&context, UNREAD)?;
        context.begin();
        pacing::run(context.schedule(), &context.tally, DRAIN, out, |due| {
            let sent = senders.send(&context, context.sources.turn(), &[]);
            context.tally.sent(due);
            context.tally.ended(sent.err().unwrap_or(Outcome::Ok));
            Start::Offered
        })
        .await?;
        Ok(())
    }
}
