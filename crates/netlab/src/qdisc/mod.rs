//! Queueing disciplines: what impairs a link direction and what queues at a host, and how each is told to the
//! kernel.
//!
//! All are root disciplines with the handle `1:`. Their size table takes the 14 bytes of the Ethernet header
//! off, so that rates, queue limits and counters all count IP packets.

mod fifo;
mod fq;
mod netem;
mod tbf;

use netlink_packet_core::{DefaultNla, Emitable};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcHeader, TcMessage};

pub use fifo::Fifo;
pub use fq::FairQueue;
pub(crate) use netem::{MAX_JITTER_S, Netem};
pub(crate) use tbf::Tbf;

use crate::LinkChange;
use crate::change::BOTH_GROUPS;

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

const HANDLE: TcHandle = TcHandle { major: 1, minor: 0 };

/// `TCA_STAB_BASE` in `linux/rtnetlink.h`.
const TCA_STAB_BASE: u16 = 1;

/// `TCA_OPTIONS` in `linux/rtnetlink.h`.
pub(crate) const TCA_OPTIONS: u16 = 2;

/// Bytes in front of the IP header that `skb->len` counts on an Ethernet interface.
const ETHERNET_HEADER_BYTES: i32 = 14;

/// `struct tc_sizespec` of `linux/pkt_sched.h` without a table: only the overhead is added to each packet's
/// length.
fn size_table() -> Vec<u8> {
    let mut spec = vec![0, 0];
    spec.extend(0i16.to_ne_bytes());
    spec.extend((-ETHERNET_HEADER_BYTES).to_ne_bytes());
    for zero in [0u32; 4] {
        // linklayer, mpu, mtu, tsize
        spec.extend(zero.to_ne_bytes());
    }
    let nest = [DefaultNla::new(TCA_STAB_BASE, spec)];
    emit(&nest)
}

/// The attributes as the kernel reads them.
pub(crate) fn emit(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}

/// The message for a root discipline of `kind` with ready options.
fn root(interface: u32, kind: &str, options: Vec<u8>) -> TcMessage {
    let mut message = TcMessage::default();
    message.header =
        TcHeader { index: interface as i32, handle: HANDLE, parent: TcHandle::ROOT, ..TcHeader::default() };
    message.attributes = vec![
        TcAttribute::Kind(kind.into()),
        TcAttribute::Stab(size_table()),
        TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, options)),
    ];
    message
}
