//! Sealing and opening packets once keys exist: change of keys, packet numbers, repeated packets.

use std::collections::BTreeMap;

use snow::params::CipherChoice;
use snow::resolvers::{CryptoResolver, RingResolver};
use snow::types::Cipher;

use super::Aead;
use crate::wire::{self, Protection, PseudoHeader, TAG_BYTES};

/// Packets after which the sender changes its key (R-PROT-4).
const PACKETS_PER_EPOCH: u64 = 1 << 22;
/// Packet numbers remembered below the highest that opened (R-PROT-7).
const REPLAY_WINDOW: u64 = 1024;

/// One key of one direction.
struct Key {
    epoch: u8,
    bytes: [u8; 32],
    cipher: Box<dyn Cipher>,
}

impl Key {
    fn new(aead: Aead, epoch: u8, bytes: [u8; 32]) -> Option<Self> {
        let choice = match aead {
            Aead::AesGcm => CipherChoice::AESGCM,
            Aead::ChaChaPoly => CipherChoice::ChaChaPoly,
        };
        let mut cipher = RingResolver.resolve_cipher(&choice)?;
        cipher.set(&bytes);
        Some(Self { epoch, bytes, cipher })
    }

    /// REKEY of the Noise framework; after epoch 255 follows 1 (R-PROT-4).
    fn next(&self, aead: Aead) -> Option<Self> {
        let mut out = [0; 32 + TAG_BYTES];
        self.cipher.encrypt(u64::MAX, &[], &[0; 32], &mut out);
        let mut bytes = self.bytes;
        bytes.copy_from_slice(&out[..32]);
        Self::new(aead, if self.epoch == u8::MAX { 1 } else { self.epoch + 1 }, bytes)
    }
}

/// Which packet numbers have opened.
#[derive(Debug, Default)]
struct ReplayWindow {
    /// One past the highest that opened.
    end: u64,
    bits: [u64; (REPLAY_WINDOW / 64) as usize],
}

impl ReplayWindow {
    fn place(number: u64) -> (usize, u64) {
        (((number / 64) % (REPLAY_WINDOW / 64)) as usize, 1 << (number % 64))
    }

    fn is_fresh(&self, number: u64) -> bool {
        let (word, bit) = Self::place(number);
        number >= self.end || (number + REPLAY_WINDOW > self.end + 63 && self.bits[word] & bit == 0)
    }

    fn mark(&mut self, number: u64) {
        if number >= self.end {
            // Words between the old and the new highest number belong to the past.
            let first = self.end.div_ceil(64);
            let last = number / 64;
            for word in first..=last.min(first + REPLAY_WINDOW / 64) {
                self.bits[(word % (REPLAY_WINDOW / 64)) as usize] = 0;
            }
            self.end = number + 1;
        }
        let (word, bit) = Self::place(number);
        self.bits[word] |= bit;
    }
}

/// Packet numbers of one subflow. They live as long as the keys: a subflow id that is used again goes on counting, or a
/// nonce would be used twice.
#[derive(Debug, Default)]
struct Counters {
    sent: u64,
    seen: ReplayWindow,
}

/// The keys of an established connection.
pub(super) struct Traffic {
    aead: Aead,
    send: Key,
    /// Packets of all subflows, for the change of keys.
    sent: u64,
    receive: Key,
    next: Option<Key>,
    previous: Option<Key>,
    /// By subflow: at most 256, and only for those that a packet was sealed or opened on.
    subflows: BTreeMap<u8, Counters>,
    /// Plaintext of the packet being sealed.
    plain: Vec<u8>,
}

impl Traffic {
    /// Epoch 1 of both directions.
    pub fn new(aead: Aead, send: [u8; 32], receive: [u8; 32]) -> Option<Self> {
        let receive = Key::new(aead, 1, receive)?;
        Some(Self {
            aead,
            send: Key::new(aead, 1, send)?,
            sent: 0,
            next: receive.next(aead),
            receive,
            previous: None,
            subflows: BTreeMap::new(),
            plain: Vec::new(),
        })
    }

    // R-PROT-4, R-PROT-5
    pub fn next_packet(&mut self, subflow: u8) -> Option<Protection> {
        if self.sent > 0 && self.sent.is_multiple_of(PACKETS_PER_EPOCH) {
            self.send = self.send.next(self.aead)?;
        }
        self.sent += 1;
        let counters = self.subflows.entry(subflow).or_default();
        let packet_number = counters.sent;
        counters.sent += 1;
        Some(Protection { epoch: self.send.epoch, subflow, packet_number })
    }

    // R-PROT-6
    pub fn seal(
        &mut self,
        protection: &Protection,
        datagram: &mut [u8],
        header_bytes: usize,
        pseudo: Option<&PseudoHeader>,
    ) -> Option<()> {
        let (header, body) = datagram.split_at_mut_checked(header_bytes)?;
        self.plain.clear();
        self.plain.extend_from_slice(body.get(..body.len().checked_sub(TAG_BYTES)?)?);
        self.send.cipher.encrypt(protection.nonce(), header, &self.plain, body);
        wire::seal_checksums(datagram, pseudo).ok()
    }

    // R-PROT-7
    pub fn open(
        &mut self,
        protection: &Protection,
        datagram: &[u8],
        header_bytes: usize,
        plain: &mut Vec<u8>,
    ) -> bool {
        let number = protection.packet_number;
        let counters = self.subflows.get(&protection.subflow);
        if counters.is_some_and(|counters| !counters.seen.is_fresh(number)) {
            return false;
        }
        let mut buffer = [0; wire::MAX_HEADER_BYTES];
        let (Ok(header), Some(body)) =
            (wire::associated_data(datagram, &mut buffer), datagram.get(header_bytes..))
        else {
            return false;
        };
        let moves = self.next.as_ref().is_some_and(|key| key.epoch == protection.epoch);
        let candidates = [Some(&self.receive), self.next.as_ref(), self.previous.as_ref()];
        let Some(key) = candidates.into_iter().flatten().find(|key| key.epoch == protection.epoch) else {
            return false;
        };
        plain.clear();
        plain.resize(body.len(), 0);
        let Ok(length) = key.cipher.decrypt(protection.nonce(), header, body, plain) else { return false };
        plain.truncate(length);
        self.subflows.entry(protection.subflow).or_default().seen.mark(number);
        if moves && let Some(key) = self.next.take() {
            self.next = key.next(self.aead);
            self.previous = Some(std::mem::replace(&mut self.receive, key));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // R-PROT-7
    #[test]
    fn the_replay_window_admits_each_number_once_and_forgets_the_distant_past() {
        let mut window = ReplayWindow::default();
        for number in [0, 5, 3, 700, 699, 5000] {
            assert!(window.is_fresh(number), "{number}");
            window.mark(number);
            assert!(!window.is_fresh(number), "{number}");
        }
        assert!(window.is_fresh(4500), "within the window and never seen");
        assert!(!window.is_fresh(3000) && !window.is_fresh(0), "too old");
    }

    // R-PROT-4
    #[test]
    fn keys_change_on_both_sides_alike() {
        let key = Key::new(Aead::AesGcm, 255, [7; 32]).unwrap();
        let next = key.next(Aead::AesGcm).unwrap();
        assert_eq!(next.epoch, 1);
        assert_ne!(next.bytes, key.bytes);
        assert_eq!(next.bytes, key.next(Aead::AesGcm).unwrap().bytes);
    }
}
