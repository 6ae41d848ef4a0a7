//! What the sessions of a listening end make its processor do.

use std::sync::Arc;

use socket2::Socket;

use super::tcp_info;
use crate::processor::Workplace;
use crate::session::Session;

/// The work that a session over a socket of the kernel's makes. The end that connects has none.
pub(crate) struct SessionWork {
    workplace: Option<Arc<Workplace>>,
    opened: bool,
    /// Packets that were charged, of those that the kernel counts.
    packets: u64,
}

impl SessionWork {
    /// That of the end that listens.
    pub(crate) fn of_listener(session: &Session) -> Self {
        Self { workplace: session.ctx.processor.clone(), opened: false, packets: 0 }
    }

    /// That of the end that connects.
    pub(crate) fn none() -> Self {
        Self { workplace: None, opened: false, packets: 0 }
    }

    /// Bytes were read: the first ones open the session.
    pub(crate) fn read(&mut self, socket: &Socket) {
        let Some(workplace) = self.workplace.clone() else { return };
        let packets = self.new_packets(&workplace, socket);
        if std::mem::replace(&mut self.opened, true) {
            workplace.packets(packets);
        } else {
            workplace.sessions(1, packets);
        }
    }

    /// The socket has room again, which it had not.
    pub(crate) fn has_room(&mut self, socket: &Socket) {
        let Some(workplace) = self.workplace.clone() else { return };
        workplace.packets(self.new_packets(&workplace, socket));
    }

    /// What came and left since this was asked last.
    fn new_packets(&mut self, workplace: &Workplace, socket: &Socket) -> u64 {
        if !workplace.counts_packets() {
            return 0;
        }
        let packets = tcp_info::packets(socket);
        packets - std::mem::replace(&mut self.packets, packets).min(packets)
    }
}
