//! Sealing and opening packets once keys exist: change of keys, packet numbers, repeated packets.

use std::collections::BTreeMap;
use std::time::Duration;

use ring::aead::{AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

use super::Aead;
use crate::time::Instant;
use crate::wire::{Protection, TAG_BYTES};

/// Packets after which the sender changes its key (R-PROT-4).
const PACKETS_PER_EPOCH: u64 = 1 << 22;
/// Timeouts for which the previous key still opens packets (R-PROT-4).
const PREVIOUS_KEY_TIMEOUTS: u32 = 3;
/// Packets that may fail to open before the keys are given up: the limit of AES-GCM in RFC 9001, section 6.6, is 2^52 and
/// that of ChaCha20-Poly1305 2^36 (R-PROT-4).
const MAX_FAILURES: u64 = 1 << 36;
/// Packet numbers remembered: the highest that opened and those below it (R-PROT-7).
const REPLAY_WINDOW: u64 = 1024;
/// Words of 64 numbers that hold so many wherever in a word the highest stands.
const REPLAY_WORDS: u64 = REPLAY_WINDOW / 64 + 1;

/// One key of one direction.
struct Key {
    epoch: u8,
    bytes: [u8; 32],
    aead: Aead,
    cipher: LessSafeKey,
}

impl Key {
    fn new(aead: Aead, epoch: u8, bytes: [u8; 32]) -> Option<Self> {
        let algorithm = match aead {
            Aead::AesGcm => &AES_256_GCM,
            Aead::ChaChaPoly => &CHACHA20_POLY1305,
        };
        let cipher = LessSafeKey::new(UnboundKey::new(algorithm, &bytes).ok()?);
        Some(Self { epoch, bytes, aead, cipher })
    }

    /// The 96-bit nonce for `number`, in the octet order that the Noise framework has for each AEAD (its section 12).
    fn nonce(&self, number: u64) -> Nonce {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&match self.aead {
            Aead::AesGcm => number.to_be_bytes(),
            Aead::ChaChaPoly => number.to_le_bytes(),
        });
        Nonce::assume_unique_for_key(nonce)
    }

    /// Seals `body`, a plaintext and room for the tag, where it stands.
    fn seal(&self, number: u64, header: &[u8], body: &mut [u8]) -> Option<()> {
        let (plain, room) = body.split_at_mut_checked(body.len().checked_sub(TAG_BYTES)?)?;
        let tag =
            self.cipher.seal_in_place_separate_tag(self.nonce(number), Aad::from(header), plain).ok()?;
        room.copy_from_slice(tag.as_ref());
        Some(())
    }

    /// REKEY of the Noise framework; after epoch 255 follows 1 (R-PROT-4).
    fn next(&self) -> Option<Self> {
        let mut out = [0; 32 + TAG_BYTES];
        self.seal(u64::MAX, &[], &mut out)?;
        let mut bytes = self.bytes;
        bytes.copy_from_slice(&out[..32]);
        Self::new(self.aead, if self.epoch == u8::MAX { 1 } else { self.epoch + 1 }, bytes)
    }
}

/// Which packet numbers have opened.
#[derive(Debug, Default)]
struct ReplayWindow {
    /// One past the highest that opened.
    end: u64,
    bits: [u64; REPLAY_WORDS as usize],
}

impl ReplayWindow {
    fn place(number: u64) -> (usize, u64) {
        (((number / 64) % REPLAY_WORDS) as usize, 1 << (number % 64))
    }

    fn is_fresh(&self, number: u64) -> bool {
        let (word, bit) = Self::place(number);
        number >= self.end || (self.end - number <= REPLAY_WINDOW && self.bits[word] & bit == 0)
    }

    fn mark(&mut self, number: u64) {
        if number >= self.end {
            // Words between the old and the new highest number belong to the past.
            let first = self.end.div_ceil(64);
            let last = number / 64;
            for word in first..=last.min(first + REPLAY_WORDS) {
                self.bits[(word % REPLAY_WORDS) as usize] = 0;
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
    send: Key,
    /// Packets of all subflows, for the change of keys.
    sent: u64,
    receive: Key,
    next: Option<Key>,
    previous: Option<Key>,
    /// When the previous key is given up.
    previous_until: Instant,
    /// Packets that did not open.
    failures: u64,
    /// By subflow: at most 256, and only for those that a packet was sealed or opened on.
    subflows: BTreeMap<u8, Counters>,
}

impl Traffic {
    /// Epoch 1 of both directions.
    pub fn new(aead: Aead, send: [u8; 32], receive: [u8; 32]) -> Option<Self> {
        let receive = Key::new(aead, 1, receive)?;
        Some(Self {
            send: Key::new(aead, 1, send)?,
            sent: 0,
            next: receive.next(),
            receive,
            previous: None,
            previous_until: Instant::ZERO,
            failures: 0,
            subflows: BTreeMap::new(),
        })
    }

    // R-PROT-4, R-PROT-5
    pub fn next_packet(&mut self, subflow: u8) -> Option<Protection> {
        if self.sent > 0 && self.sent.is_multiple_of(PACKETS_PER_EPOCH) {
            self.send = self.send.next()?;
        }
        self.sent += 1;
        let counters = self.subflows.entry(subflow).or_default();
        let packet_number = counters.sent;
        if packet_number >= Protection::MAX_PACKET_NUMBER {
            // No number may be used twice: the subflow is at its end.
            return None;
        }
        counters.sent += 1;
        Some(Protection { epoch: self.send.epoch, subflow, packet_number })
    }

    // R-PROT-6
    pub fn seal(&mut self, protection: &Protection, datagram: &mut [u8], header_bytes: usize) -> Option<()> {
        let (header, body) = datagram.split_at_mut_checked(header_bytes)?;
        self.send.seal(protection.nonce(), header, body)
    }

    #[cfg(test)]
    pub fn wear(&mut self) {
        self.failures = MAX_FAILURES - 1;
    }

    /// So many packets failed to open that somebody may be close to a forgery.
    // R-PROT-4
    pub fn is_worn_out(&self) -> bool {
        self.failures >= MAX_FAILURES
    }

    /// Opens a packet; `rto` is how long an answer takes at most.
    // R-PROT-4, R-PROT-7
    pub fn open(
        &mut self,
        now: Instant,
        rto: Duration,
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
        let Some((header, body)) = datagram.split_at_checked(header_bytes) else { return false };
        if now >= self.previous_until {
            self.previous = None;
        }
        let moves = self.next.as_ref().is_some_and(|key| key.epoch == protection.epoch);
        let candidates = [Some(&self.receive), self.next.as_ref(), self.previous.as_ref()];
        let Some(key) = candidates.into_iter().flatten().find(|key| key.epoch == protection.epoch) else {
            return false;
        };
        plain.clear();
        plain.extend_from_slice(body);
        let nonce = key.nonce(protection.nonce());
        let Ok(length) = key.cipher.open_in_place(nonce, Aad::from(header), plain).map(|opened| opened.len())
        else {
            self.failures += 1;
            return false;
        };
        plain.truncate(length);
        self.subflows.entry(protection.subflow).or_default().seen.mark(number);
        if moves && let Some(key) = self.next.take() {
            self.next = key.next();
            self.previous = Some(std::mem::replace(&mut self.receive, key));
            self.previous_until = now + rto * PREVIOUS_KEY_TIMEOUTS;
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
        // Wherever in a word the highest stands.
        for highest in 6000..6064 {
            let mut window = ReplayWindow::default();
            for number in [highest - 2000, highest] {
                window.mark(number);
            }
            let fresh: Vec<u64> = (0..highest).filter(|number| window.is_fresh(*number)).collect();
            assert!(fresh.iter().copied().eq(highest - 1023..highest), "{highest}");
            window.mark(highest - 1023);
            assert!(!window.is_fresh(highest - 1023) && window.is_fresh(highest - 1022), "{highest}");
        }
    }

    // R-PROT-5, R-PROT-6
    #[test]
    fn packets_are_sealed_and_keys_are_changed_as_the_noise_framework_says() {
        use snow::params::CipherChoice;
        use snow::resolvers::{CryptoResolver, RingResolver};
        for (aead, choice) in
            [(Aead::AesGcm, CipherChoice::AESGCM), (Aead::ChaChaPoly, CipherChoice::ChaChaPoly)]
        {
            let mut reference = RingResolver.resolve_cipher(&choice).unwrap();
            reference.set(&[7; 32]);
            let key = Key::new(aead, 1, [7; 32]).unwrap();
            let (header, plain) = ([1; 20], [2; 50]);
            let (mut ours, mut theirs) = ([0; 50 + TAG_BYTES], [0; 50 + TAG_BYTES]);
            ours[..50].copy_from_slice(&plain);
            key.seal(0x0102_0304, &header, &mut ours).unwrap();
            reference.encrypt(0x0102_0304, &header, &plain, &mut theirs);
            assert_eq!(ours, theirs, "{aead:?}");
            reference.rekey();
            let next = key.next().unwrap();
            ours[..50].copy_from_slice(&plain);
            next.seal(1, &header, &mut ours).unwrap();
            reference.encrypt(1, &header, &plain, &mut theirs);
            assert_eq!(ours, theirs, "{aead:?} after REKEY");
        }
    }

    const RTO: Duration = Duration::from_millis(200);

    fn ends() -> (Traffic, Traffic) {
        let (a, b) = ([1; 32], [2; 32]);
        (Traffic::new(Aead::AesGcm, a, b).unwrap(), Traffic::new(Aead::AesGcm, b, a).unwrap())
    }

    /// A packet without payload: 20 octets of header, which the AEAD does not look into, and the tag.
    fn sealed(end: &mut Traffic) -> (Protection, Vec<u8>) {
        sealed_on(end, 0)
    }

    fn sealed_on(end: &mut Traffic, subflow: u8) -> (Protection, Vec<u8>) {
        let protection = end.next_packet(subflow).unwrap();
        let mut datagram = vec![0; 20 + TAG_BYTES];
        end.seal(&protection, &mut datagram, 20).unwrap();
        (protection, datagram)
    }

    fn opens(end: &mut Traffic, now: Instant, (protection, datagram): &(Protection, Vec<u8>)) -> bool {
        end.open(now, RTO, protection, datagram, 20, &mut Vec::new())
    }

    // R-PROT-4
    #[test]
    fn a_key_changes_in_time_and_the_one_before_is_good_for_three_timeouts() {
        let (mut sender, mut receiver) = ends();
        let now = Instant::ZERO;
        let old = [sealed(&mut sender), sealed(&mut sender), sealed(&mut sender)];
        sender.sent = PACKETS_PER_EPOCH;
        let next = sealed(&mut sender);
        assert_eq!((old[0].0.epoch, next.0.epoch), (1, 2));
        const { assert!(PACKETS_PER_EPOCH < 1 << 23) };
        assert!(opens(&mut receiver, now, &old[0]));
        assert!(opens(&mut receiver, now, &next), "one of the next epoch moves on");
        assert!(opens(&mut receiver, now + RTO * 2, &old[1]), "late, but not too late");
        assert!(!opens(&mut receiver, now + RTO * 3, &old[2]), "too late");
        assert!(receiver.previous.is_none(), "the key is forgotten");
    }

    // R-PROT-4, R-PROT-5
    #[test]
    fn one_change_of_keys_is_for_all_subflows_whichever_packet_comes_first() {
        let (mut sender, mut receiver) = ends();
        // All subflows count together, so that none of them alone is anywhere near the change.
        sender.sent = PACKETS_PER_EPOCH - 3;
        let packets: Vec<_> = [0, 1, 2, 2, 0, 1].map(|subflow| sealed_on(&mut sender, subflow)).into();
        let told = |(protection, _): &(Protection, Vec<u8>)| {
            (protection.epoch, protection.subflow, protection.packet_number)
        };
        let all: Vec<_> = packets.iter().map(told).collect();
        assert_eq!(all, [(1, 0, 0), (1, 1, 0), (1, 2, 0), (2, 2, 1), (2, 0, 1), (2, 1, 1)]);
        // The slowest subflow is the first to change, and has its packet of the old key last.
        for place in [5, 0, 2, 4, 1, 3] {
            assert!(opens(&mut receiver, Instant::ZERO, &packets[place]), "{:?}", all[place]);
        }
        assert_eq!(receiver.receive.epoch, 2, "old packets do not turn it back, nor new ones further");
        assert!(packets.iter().all(|packet| !opens(&mut receiver, Instant::ZERO, packet)), "each once");
    }

    // R-PROT-4
    #[test]
    fn keys_wear_out_when_too_many_packets_fail_to_open() {
        let (mut sender, mut receiver) = ends();
        let mut forged = sealed(&mut sender);
        forged.1[0] ^= 1;
        receiver.failures = MAX_FAILURES - 1;
        assert!(!receiver.is_worn_out());
        assert!(!opens(&mut receiver, Instant::ZERO, &forged));
        assert!(receiver.is_worn_out());
    }

    // R-PROT-5
    #[test]
    fn the_last_packet_number_is_never_passed() {
        let (mut sender, _) = ends();
        sender.subflows.entry(0).or_default().sent = Protection::MAX_PACKET_NUMBER;
        assert_eq!(sender.next_packet(0), None);
        assert!(sender.next_packet(1).is_some(), "another subflow goes on");
    }

    // R-PROT-4
    #[test]
    fn keys_change_on_both_sides_alike() {
        let key = Key::new(Aead::AesGcm, 255, [7; 32]).unwrap();
        let next = key.next().unwrap();
        assert_eq!(next.epoch, 1);
        assert_ne!(next.bytes, key.bytes);
        assert_eq!(next.bytes, key.next().unwrap().bytes);
    }
}
