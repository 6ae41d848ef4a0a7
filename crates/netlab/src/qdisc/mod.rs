//! Queueing disciplines: what impairs a link direction and what queues at a host, and how each is told to the
//! kernel.
//!
//! All are root disciplines with the handle `1:`; under a token bucket may stand another one that queues for it. Their
//! size table takes the 14 bytes of the Ethernet header off, so that rates, queue limits and counters all count IP
//! packets.

mod fifo;
mod fq;
mod message;
mod netem;
mod queue;
mod tbf;

use netlink_packet_route::tc::TcMessage;

pub use fifo::Fifo;
pub use fq::FairQueue;
pub(crate) use message::{LEAF, TCA_OPTIONS, emit};
pub(crate) use netem::Netem;
pub use queue::{Diffserv, QueueSpec};
pub(crate) use tbf::Tbf;

use crate::LinkChange;
use crate::change::{BOTH_GROUPS, QUEUE_LATER};

/// What is done to the packets of one link direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Impairment {
    Rate(Tbf),
    Delay(Netem),
}

impl Impairment {
    /// The impairment after `change`, whose values are known to be sound; `old` is the one before, if any.
    pub fn merge(old: Option<Self>, change: &LinkChange, mtu_bytes: u32) -> Result<Self, String> {
        match (old, change.touches_rate()) {
            (None, true) => Tbf::default().merge(change, mtu_bytes).map(Impairment::Rate),
            (Some(Impairment::Rate(_)), true) if change.queue.is_some() => Err(QUEUE_LATER.into()),
            (Some(Impairment::Rate(tbf)), true) => tbf.merge(change, mtu_bytes).map(Impairment::Rate),
            (None, false) => Netem::default().merge(change).map(Impairment::Delay),
            (Some(Impairment::Delay(netem)), false) => netem.merge(change).map(Impairment::Delay),
            (Some(_), _) => Err(BOTH_GROUPS.into()),
        }
    }

    /// The message that puts it on an interface. `seed` starts netem's generator and is given when the
    /// discipline is made; left out in a change, the generator runs on.
    pub fn message(&self, interface: u32, seed: Option<u64>) -> TcMessage {
        match self {
            Impairment::Rate(tbf) => tbf.message(interface),
            Impairment::Delay(netem) => netem.message(interface, seed),
        }
    }

    /// The message that puts under it what queues for it, where that is not its own queue.
    pub fn queue_message(&self, interface: u32) -> Option<TcMessage> {
        match self {
            Impairment::Rate(tbf) => tbf.queue_message(interface),
            Impairment::Delay(_) => None,
        }
    }
}

/// What queues at a host's own interface, in place of nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HostQueue {
    /// Keeps release times (`SO_TXTIME`).
    Fq(FairQueue),
    /// First in, first out.
    Fifo(Fifo),
}

impl HostQueue {
    pub(crate) fn message(&self, interface: u32) -> TcMessage {
        match self {
            HostQueue::Fq(fq) => fq.message(interface),
            HostQueue::Fifo(fifo) => fifo.message(interface),
        }
    }
}
