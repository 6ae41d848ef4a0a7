//! A packet as it comes and leaves.

/// A packet with the Ethernet header in front of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub ethernet: [u8; ETHERNET_BYTES],
    /// To which of the two nodes beside this one it goes.
    pub towards: usize,
    /// The packet, from its IP header on.
    pub bytes: Vec<u8>,
}

/// Addresses and type, without tags (IEEE 802.3).
pub(crate) const ETHERNET_BYTES: usize = 14;

impl Frame {
    /// Sends it to the other side: its Ethernet addresses change places.
    pub fn turn(&mut self, towards: usize) {
        if self.towards != towards {
            let (destination, rest) = self.ethernet.split_at_mut(6);
            destination.swap_with_slice(&mut rest[..6]);
            self.towards = towards;
        }
    }
}
