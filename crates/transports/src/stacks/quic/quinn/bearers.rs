//! Which bearer a connection goes over, and when it leaves it: migration of the end that opened it (RFC 9000, section 9).
//!
//! The other end has an address for each bearer, and the kernel's routes lead to each by a source address of its own: so
//! whoever sends to another address comes from another address too, and that is what the other end sees. The library is
//! told of one address only, as if a translator stood on each of the other ways.

use std::net::SocketAddr;

use quinn_proto::Connection;

/// The ways of an endpoint to its peer.
pub(super) struct Bearers {
    /// The peer's address for each; the library knows the first.
    addresses: Vec<SocketAddr>,
    /// The one in use.
    current: usize,
    /// The silence after which the next one's turn comes.
    patience_ns: i64,
    /// Since when an answer is awaited and nothing was heard.
    silent_since_ns: Option<i64>,
    /// Frames that wanted an answer, up to when something was heard last.
    answered: u64,
}

impl Bearers {
    /// Begins with the first of `addresses`, all of the same peer.
    pub(super) fn new(addresses: Vec<SocketAddr>, patience_ns: i64) -> Self {
        Self { addresses, current: 0, patience_ns, silent_since_ns: None, answered: 0 }
    }

    /// Where packets go.
    pub(super) fn peer(&self) -> SocketAddr {
        self.addresses[self.current]
    }

    /// The address of a sender of packets as the library knows it.
    pub(super) fn known(&self, from: SocketAddr) -> SocketAddr {
        if self.addresses.contains(&from) { self.addresses[0] } else { from }
    }

    /// When the bearer is left unless something is heard.
    pub(super) fn due_ns(&self) -> i64 {
        self.silent_since_ns.map_or(i64::MAX, |since_ns| since_ns.saturating_add(self.patience_ns))
    }

    /// Something was heard over a connection.
    pub(super) fn heard(&mut self, quic: &Connection) {
        self.silent_since_ns = None;
        self.answered = wanting_answers(quic);
    }

    /// A connection may have sent something now.
    pub(super) fn sent(&mut self, quic: &Connection, now_ns: i64) {
        if self.silent_since_ns.is_none() && wanting_answers(quic) > self.answered {
            self.silent_since_ns = Some(now_ns);
        }
    }

    /// Turns to the next bearer if this one's time is up. There is nothing to leave before the handshake is over
    /// (RFC 9000, section 9).
    pub(super) fn leave_if_silent(&mut self, quic: &mut Connection, now_ns: i64) {
        if now_ns < self.due_ns() {
            return;
        }
        self.silent_since_ns = Some(now_ns);
        if !quic.is_handshaking() && !quic.is_closed() {
            self.current = (self.current + 1) % self.addresses.len();
            quic.local_address_changed();
        }
    }
}

/// Frames sent so far that elicit an acknowledgement (RFC 9000, section 13.2).
fn wanting_answers(quic: &Connection) -> u64 {
    let sent = quic.stats().frame_tx;
    [
        sent.crypto,
        sent.datagram,
        sent.max_data,
        sent.max_stream_data,
        sent.max_streams_bidi,
        sent.max_streams_uni,
        sent.new_connection_id,
        sent.path_challenge,
        sent.path_response,
        sent.ping,
        sent.reset_stream,
        sent.retire_connection_id,
        sent.stop_sending,
        sent.stream,
    ]
    .iter()
    .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u8) -> SocketAddr {
        ([10, number, 2, 1], 4433).into()
    }

    #[test]
    fn the_library_knows_one_address_whatever_way_a_packet_comes() {
        let bearers = Bearers::new(vec![address(1), address(2)], 1_000);
        assert_eq!(bearers.peer(), address(1));
        assert_eq!(bearers.known(address(2)), address(1));
        assert_eq!(bearers.known(address(3)), address(3));
    }

    #[test]
    fn a_bearer_is_left_only_while_an_answer_is_awaited() {
        let mut bearers = Bearers::new(vec![address(1), address(2)], 1_000);
        assert_eq!(bearers.due_ns(), i64::MAX);
        bearers.silent_since_ns = Some(500);
        assert_eq!(bearers.due_ns(), 1_500);
        bearers.patience_ns = i64::MAX;
        assert_eq!(bearers.due_ns(), i64::MAX);
    }
}
