//! Datagrams as the endpoint reads and writes them.

use s2n_quic_core::inet::datagram::Header;
use s2n_quic_core::inet::{ExplicitCongestionNotification, SocketAddress};
use s2n_quic_core::io::{rx, tx};
use s2n_quic_core::path::{Handle as _, LocalAddress, Tuple};

use crate::datagrams::{Batch, Datagram, LONGEST_OCTETS, Outlet};

/// Datagrams that one turn of the endpoint may write.
const TURN_DATAGRAMS: usize = 64;

/// Datagrams that arrived.
pub struct Inbox<'a, 'b> {
    pub datagrams: &'a mut [Datagram<'b>],
    pub local: LocalAddress,
}

impl rx::Queue for Inbox<'_, '_> {
    type Handle = Tuple;

    fn for_each<F: FnMut(Header<Tuple>, &mut [u8])>(&mut self, mut on_packet: F) {
        for datagram in std::mem::take(&mut self.datagrams) {
            let path = Tuple {
                remote_address: SocketAddress::from(datagram.from).into(),
                local_address: self.local,
            };
            let ecn = ExplicitCongestionNotification::new(datagram.ecn);
            on_packet(Header { path, ecn }, datagram.octets);
        }
    }

    fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }
}

/// What the endpoint writes in one turn, handed on in batches.
pub struct Outbox<'a> {
    outlet: &'a mut dyn Outlet,
    buffer: &'a mut Vec<u8>,
    open: Option<Open>,
    segments: usize,
    left: usize,
}

/// A batch to which datagrams may still be added.
struct Open {
    path: Tuple,
    ecn: ExplicitCongestionNotification,
    segment_octets: usize,
    count: usize,
}

impl<'a> Outbox<'a> {
    pub fn new(outlet: &'a mut dyn Outlet, buffer: &'a mut Vec<u8>) -> Self {
        let segments = outlet.segments();
        Self { outlet, buffer, open: None, segments, left: TURN_DATAGRAMS }
    }

    /// Ends the turn. Tells whether it was used up: the endpoint stops by itself when it has nothing to say.
    pub fn end(mut self) -> bool {
        self.close();
        self.left == 0
    }

    /// Sends the open batch.
    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.outlet.send(&Batch {
                to: open.path.remote_address().0.into(),
                ecn: open.ecn as u8,
                segment_octets: open.segment_octets,
                octets: self.buffer,
            });
        }
        self.buffer.clear();
    }
}

impl tx::Queue for Outbox<'_> {
    type Handle = Tuple;

    const SUPPORTS_ECN: bool = true;

    fn push<M: tx::Message<Handle = Tuple>>(&mut self, mut message: M) -> Result<tx::Outcome, tx::Error> {
        if !self.has_capacity() {
            return Err(tx::Error::AtCapacity);
        }
        let (path, ecn) = (*message.path_handle(), message.ecn());
        // A probe of the path's MTU goes alone: the kernel refuses a batch as a whole when one is too long for the link.
        let probe = !message.can_gso(usize::MAX, 0);
        let fits = self.open.as_ref().is_some_and(|open| {
            message.can_gso(open.segment_octets, open.count) && path.strict_eq(&open.path) && ecn == open.ecn
        });
        if !fits {
            self.close();
        }
        let start = self.buffer.len();
        let (longest, count) =
            self.open.as_ref().map_or((LONGEST_OCTETS, 0), |open| (open.segment_octets, open.count));
        self.buffer.resize(start + longest, 0);
        let written = message.write_payload(tx::PayloadBuffer::new(&mut self.buffer[start..]), count);
        let octets = *written.as_ref().unwrap_or(&0);
        self.buffer.truncate(start + octets);
        if written? == 0 {
            return Err(tx::Error::EmptyPayload);
        }
        let open = self.open.get_or_insert(Open { path, ecn, segment_octets: octets, count: 0 });
        open.count += 1;
        // Only the last datagram of a batch may be shorter.
        let last = probe || open.count >= self.segments || octets < open.segment_octets;
        self.left -= 1;
        if last {
            self.close();
        }
        Ok(tx::Outcome { len: octets, index: 0 })
    }

    fn flush(&mut self) {
        self.close();
    }

    fn capacity(&self) -> usize {
        if self.outlet.is_full() { 0 } else { self.left }
    }
}
