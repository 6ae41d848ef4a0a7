//! The protected profile: a Noise handshake on SYN and SYN-ACK, then an AEAD over every packet (specification, 16).

mod traffic;

use std::sync::Arc;

use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use snow::params::{CipherChoice, DHChoice, HashChoice, NoiseParams};
use snow::resolvers::{CryptoResolver, DefaultResolver, RingResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, HandshakeState};

use crate::wire::{Protection, PseudoHeader};
use traffic::Traffic;

/// Octets before the header words in the prologue (R-PROT-3).
const PROLOGUE: &[u8; 8] = b"ResTP v1";
/// Largest Noise message of the three patterns, without payload.
const MAX_MESSAGE_BYTES: usize = 256;

/// Which handshake of the Noise framework is used; both ends must agree beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A shared secret of 32 octets, nothing else.
    NnPsk0,
    /// The client knows the server's public key and shows its own.
    Ik,
    /// Both show their public keys; nothing is known before. Check them against what you expect.
    Xx,
}

/// The AEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aead {
    /// AES-256-GCM: fastest where the processor has instructions for it.
    AesGcm,
    /// ChaCha20-Poly1305.
    ChaChaPoly,
}

/// Key material of an endpoint. `Debug` shows no secrets.
#[derive(Clone)]
pub struct Keys {
    /// Handshake pattern.
    pub pattern: Pattern,
    /// Cipher of handshake and packets.
    pub aead: Aead,
    /// Shared secret for [`Pattern::NnPsk0`].
    pub psk: Option<[u8; 32]>,
    /// Own private X25519 key for [`Pattern::Ik`] and [`Pattern::Xx`].
    pub local_private: Option<[u8; 32]>,
    /// The server's public key for [`Pattern::Ik`], at the client.
    pub remote_public: Option<[u8; 32]>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys")
            .field("pattern", &self.pattern)
            .field("aead", &self.aead)
            .finish_non_exhaustive()
    }
}

impl Keys {
    /// Keys that consist of a shared secret.
    #[must_use]
    pub fn shared(psk: [u8; 32]) -> Self {
        Self {
            pattern: Pattern::NnPsk0,
            aead: Aead::AesGcm,
            psk: Some(psk),
            local_private: None,
            remote_public: None,
        }
    }

    fn name(&self) -> String {
        let pattern = match self.pattern {
            Pattern::NnPsk0 => "NNpsk0",
            Pattern::Ik => "IK",
            Pattern::Xx => "XX",
        };
        let cipher = match self.aead {
            Aead::AesGcm => "AESGCM",
            Aead::ChaChaPoly => "ChaChaPoly",
        };
        format!("Noise_{pattern}_25519_{cipher}_SHA256")
    }

    // R-PROT-2, R-PROT-3
    fn handshake(&self, initiator: bool, prologue: &[u8], seed: [u8; 32]) -> Option<HandshakeState> {
        let params: NoiseParams = self.name().parse().ok()?;
        let resolver = Box::new(SeededResolver { seed });
        let mut builder = Builder::with_resolver(params, resolver).prologue(prologue).ok()?;
        if let Some(psk) = self.psk.as_ref().filter(|_| self.pattern == Pattern::NnPsk0) {
            builder = builder.psk(0, psk).ok()?;
        }
        if let Some(key) = self.local_private.as_ref().filter(|_| self.pattern != Pattern::NnPsk0) {
            builder = builder.local_private_key(key).ok()?;
        }
        if let Some(key) = self.remote_public.as_ref().filter(|_| self.pattern == Pattern::Ik && initiator) {
            builder = builder.remote_public_key(key).ok()?;
        }
        if initiator { builder.build_initiator().ok() } else { builder.build_responder().ok() }
    }
}

/// Fast primitives, and randomness from the endpoint's seed instead of the operating system.
struct SeededResolver {
    seed: [u8; 32],
}

struct SeededRandom(ChaCha12Rng);

impl Random for SeededRandom {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), snow::Error> {
        self.0.fill_bytes(dest);
        Ok(())
    }
}

impl CryptoResolver for SeededResolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(SeededRandom(ChaCha12Rng::from_seed(self.seed))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        RingResolver.resolve_cipher(choice)
    }
}

/// The prologue from the first two words of a SYN, without what may differ between its repetitions (R-PROT-3).
#[must_use]
fn prologue(syn: &[u8]) -> Option<[u8; 16]> {
    let words = syn.first_chunk::<8>()?;
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(PROLOGUE);
    bytes[8..].copy_from_slice(words);
    // HL; Cong; k; HLX; COR.
    for (place, mask) in [(8, 0xF0), (12, 0xF0), (13, 0xF0), (14, 0xF0), (15, 0xEF)] {
        bytes[place] &= mask;
    }
    Some(bytes)
}

enum Stage {
    /// Waiting for the peer's handshake message.
    Handshake(Box<HandshakeState>),
    Traffic(Box<Traffic>),
}

/// The protection of one connection.
pub(crate) struct Seal {
    keys: Arc<Keys>,
    initiator: bool,
    stage: Option<Stage>,
    /// Our message of the handshake, for its repetition.
    pub message: Vec<u8>,
    /// The initiator's last message of XX, sent with its third packet until that is confirmed.
    pub third: Option<Vec<u8>>,
}

impl Seal {
    /// Begins a handshake; `syn` is the SYN as it will be sent, apart from its payload.
    pub fn initiator(keys: &Arc<Keys>, syn: &[u8], seed: [u8; 32]) -> Option<Self> {
        let mut state = keys.handshake(true, &prologue(syn)?, seed)?;
        let message = write(&mut state)?;
        let stage = Some(Stage::Handshake(Box::new(state)));
        Some(Self { keys: Arc::clone(keys), initiator: true, stage, message, third: None })
    }

    /// Answers a handshake; `None` if the peer does not have the right keys.
    pub fn responder(keys: &Arc<Keys>, syn: &[u8], first: &[u8], seed: [u8; 32]) -> Option<Self> {
        let mut state = keys.handshake(false, &prologue(syn)?, seed)?;
        read(&mut state, first)?;
        let message = write(&mut state)?;
        let stage = Some(Stage::Handshake(Box::new(state)));
        let mut seal = Self { keys: Arc::clone(keys), initiator: false, stage, message, third: None };
        seal.split()?;
        Some(seal)
    }

    /// Takes the peer's next handshake message; `None` if it is wrong or not due.
    pub fn advance(&mut self, message: &[u8]) -> Option<()> {
        let Some(Stage::Handshake(state)) = &mut self.stage else { return None };
        read(state, message)?;
        if !state.is_handshake_finished() {
            self.third = Some(write(state)?);
        }
        self.split()
    }

    /// Goes over to traffic keys once the handshake is finished.
    fn split(&mut self) -> Option<()> {
        match self.stage.take() {
            Some(Stage::Handshake(mut state)) if state.is_handshake_finished() => {
                let (from_initiator, from_responder) = state.dangerously_get_raw_split();
                let (send, receive) = if self.initiator {
                    (from_initiator, from_responder)
                } else {
                    (from_responder, from_initiator)
                };
                let traffic = Traffic::new(self.keys.aead, send, receive)?;
                self.stage = Some(Stage::Traffic(Box::new(traffic)));
            }
            kept => self.stage = kept,
        }
        Some(())
    }

    fn traffic(&mut self) -> Option<&mut Traffic> {
        match &mut self.stage {
            Some(Stage::Traffic(traffic)) => Some(traffic),
            _ => None,
        }
    }

    /// Packets can be sealed and opened.
    pub fn is_ready(&self) -> bool {
        matches!(self.stage, Some(Stage::Traffic(_)))
    }

    /// The Protection extension of the next sealed packet on `subflow`.
    // R-PROT-4, R-PROT-5
    pub fn next_packet(&mut self, subflow: u8) -> Option<Protection> {
        self.traffic()?.next_packet(subflow)
    }

    /// Seals a packet that was encoded with its plaintext and room for the tag.
    // R-PROT-6
    pub fn seal(
        &mut self,
        protection: &Protection,
        datagram: &mut [u8],
        header_bytes: usize,
        pseudo: Option<&PseudoHeader>,
    ) -> Option<()> {
        self.traffic()?.seal(protection, datagram, header_bytes, pseudo)
    }

    /// Opens a sealed packet into `plain`; `false` leaves no trace of it.
    // R-PROT-7
    pub fn open(
        &mut self,
        protection: &Protection,
        datagram: &[u8],
        header_bytes: usize,
        plain: &mut Vec<u8>,
    ) -> bool {
        self.traffic().is_some_and(|traffic| traffic.open(protection, datagram, header_bytes, plain))
    }
}

fn write(state: &mut HandshakeState) -> Option<Vec<u8>> {
    let mut message = vec![0; MAX_MESSAGE_BYTES];
    let length = state.write_message(&[], &mut message).ok()?;
    message.truncate(length);
    Some(message)
}

fn read(state: &mut HandshakeState, message: &[u8]) -> Option<()> {
    // Payloads of handshake messages are empty, so nothing but the message may be there (R-PROT-2).
    let mut payload = [0; MAX_MESSAGE_BYTES];
    let length = state.read_message(message, &mut payload).ok()?;
    (length == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(pattern: Pattern, aead: Aead) -> (Seal, Seal) {
        let syn = [0x1F; 32];
        let server_private = [3; 32];
        let server_public = x25519_public(server_private);
        let client = Keys {
            pattern,
            aead,
            psk: Some([1; 32]),
            local_private: Some([2; 32]),
            remote_public: Some(server_public),
        };
        let server = Keys { local_private: Some(server_private), remote_public: None, ..client.clone() };
        let mut initiator = Seal::initiator(&Arc::new(client), &syn, [5; 32]).unwrap();
        let mut responder = Seal::responder(&Arc::new(server), &syn, &initiator.message, [6; 32]).unwrap();
        initiator.advance(&responder.message).unwrap();
        if let Some(third) = initiator.third.take() {
            responder.advance(&third).unwrap();
        }
        (initiator, responder)
    }

    fn x25519_public(private: [u8; 32]) -> [u8; 32] {
        let mut dh = DefaultResolver.resolve_dh(&DHChoice::Curve25519).unwrap();
        dh.set(&private);
        dh.pubkey().try_into().unwrap()
    }

    // R-PROT-2
    #[test]
    fn every_pattern_and_cipher_ends_with_keys_on_both_sides() {
        for pattern in [Pattern::NnPsk0, Pattern::Ik, Pattern::Xx] {
            for aead in [Aead::AesGcm, Aead::ChaChaPoly] {
                let (initiator, responder) = pair(pattern, aead);
                assert!(initiator.is_ready() && responder.is_ready(), "{pattern:?} {aead:?}");
            }
        }
    }

    // R-PROT-3
    #[test]
    fn a_changed_offer_or_a_wrong_secret_ends_the_handshake() {
        let keys = Arc::new(Keys::shared([1; 32]));
        let syn = [0x10; 32];
        let initiator = Seal::initiator(&keys, &syn, [5; 32]).unwrap();
        let mut changed = syn;
        changed[3] ^= 0x20;
        assert!(Seal::responder(&keys, &changed, &initiator.message, [6; 32]).is_none());
        let others = Arc::new(Keys::shared([2; 32]));
        assert!(Seal::responder(&others, &syn, &initiator.message, [6; 32]).is_none());
        let mut repeated = syn;
        repeated[0] ^= 0x03;
        repeated[7] ^= 0x10;
        assert!(
            Seal::responder(&keys, &repeated, &initiator.message, [6; 32]).is_some(),
            "HL and COR are left out"
        );
    }
}
