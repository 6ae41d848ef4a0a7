//! Keys of 1-RTT packets: they are updated when the server does so (RFC 9001, section 6).

use rustls::quic::{HeaderProtectionKey, Keys, PacketKey, PacketKeySet, Secrets};

use crate::quic_wire::packet::Revealed;

/// Keys of 1-RTT packets.
pub struct DataKeys {
    /// Hides headers; it stays the same.
    pub header_out: Box<dyn HeaderProtectionKey>,
    /// Shows headers; it stays the same.
    pub header_in: Box<dyn HeaderProtectionKey>,
    packet_out: Box<dyn PacketKey>,
    packet_in: Box<dyn PacketKey>,
    before: Option<Box<dyn PacketKey>>,
    next: PacketKeySet,
    secrets: Secrets,
    phase: bool,
    /// Number of the first packet of this phase that came.
    phase_began: u64,
}

impl DataKeys {
    pub fn new(keys: Keys, mut secrets: Secrets) -> Self {
        Self {
            header_out: keys.local.header,
            header_in: keys.remote.header,
            packet_out: keys.local.packet,
            packet_in: keys.remote.packet,
            before: None,
            next: secrets.next_packet_keys(),
            secrets,
            phase: false,
            phase_began: 0,
        }
    }

    /// The key that packets go out under, and its phase.
    pub fn outgoing(&self) -> (&dyn PacketKey, bool) {
        (&*self.packet_out, self.phase)
    }

    /// Decrypts a packet whose header is `associated`; its length without the tag.
    pub fn open(&mut self, revealed: &Revealed, associated: &[u8], body: &mut [u8]) -> Option<usize> {
        let number = revealed.number;
        if revealed.key_phase == self.phase {
            return self.packet_in.decrypt_in_place(number, associated, body).ok().map(<[u8]>::len);
        }
        if number < self.phase_began {
            let before = self.before.as_ref()?;
            return before.decrypt_in_place(number, associated, body).ok().map(<[u8]>::len);
        }
        let length = self.next.remote.decrypt_in_place(number, associated, body).ok()?.len();
        let after = self.secrets.next_packet_keys();
        let now = std::mem::replace(&mut self.next, after);
        self.packet_out = now.local;
        self.before = Some(std::mem::replace(&mut self.packet_in, now.remote));
        self.phase = revealed.key_phase;
        self.phase_began = number;
        Some(length)
    }
}
