//! First in, first out (`tc-pfifo(8)`): a host queue of so many packets.

use netlink_packet_route::tc::TcMessage;

use super::message::root;

/// Packet-counted queue of a host's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fifo {
    /// Packets that may wait.
    pub limit_packets: u32,
}

impl Fifo {
    /// The options are `struct tc_fifo_qopt`: the limit.
    pub(super) fn message(&self, interface: u32) -> TcMessage {
        root(interface, "pfifo", self.limit_packets.to_ne_bytes().to_vec())
    }
}
