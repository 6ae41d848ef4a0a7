//! The protected profile: a Noise handshake on SYN and SYN-ACK, then an AEAD over every packet (specification, 16).

mod keys;
mod traffic;

use std::sync::Arc;
use std::time::Duration;

use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use snow::params::{CipherChoice, DHChoice, HashChoice, NoiseParams};
use snow::resolvers::{CryptoResolver, DefaultResolver, RingResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, HandshakeState};

use crate::time::Instant;
use crate::wire::Protection;
use keys::Material;
use traffic::Traffic;

pub use keys::{Aead, KEY_BYTES, KeyError, Keys, Pattern, Peers, PrivateKey, PublicKey};

/// Octets before the header words in the prologue (R-PROT-3).
const PROLOGUE: &[u8; 8] = b"ResTP v1";
/// Largest Noise message of the three patterns, without payload.
const MAX_MESSAGE_BYTES: usize = 256;

impl Keys {
    fn name(&self) -> String {
        let pattern = match self.pattern() {
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
        let builder = Builder::with_resolver(params, resolver).prologue(prologue).ok()?;
        let builder = match &self.material {
            Material::Shared(secret) => builder.psk(0, secret).ok()?,
            Material::Ik { own, server: Some(server), .. } if initiator => {
                let builder = builder.local_private_key(own.as_bytes()).ok()?;
                builder.remote_public_key(server.as_bytes()).ok()?
            }
            Material::Ik { own, .. } | Material::Xx { own, .. } => {
                builder.local_private_key(own.as_bytes()).ok()?
            }
        };
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
    // HL; CKI; Cong; k; HLX; COR.
    for (place, mask) in [(8, 0xF0), (10, 0xDF), (12, 0xF0), (13, 0xF0), (14, 0xF0), (15, 0xEF)] {
        bytes[place] &= mask;
    }
    Some(bytes)
}

enum Stage {
    /// Waiting for the peer's handshake message.
    Handshake(Box<HandshakeState>),
    Traffic(Box<Traffic>),
}

/// What a message of the handshake led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advance {
    Good,
    /// Not from somebody with the right keys, or not due.
    Wrong,
    /// From somebody who proved a key that this end does not take.
    Stranger,
}

/// What the handshake of a responder began with.
struct Beginning {
    prologue: [u8; 16],
    first: Vec<u8>,
    seed: [u8; 32],
}

impl Beginning {
    /// The handshake after the first message, and the answer to it: always the same ones.
    fn answered(&self, keys: &Keys) -> Option<(HandshakeState, Vec<u8>)> {
        let mut state = keys.handshake(false, &self.prologue, self.seed)?;
        read(&mut state, &self.first)?;
        let peer = shown(&state);
        // The initiator of XX shows its key only in the third message.
        if (peer.is_some() || keys.pattern() != Pattern::Xx) && !keys.admit(false, peer.as_ref()) {
            return None;
        }
        let message = write(&mut state)?;
        Some((state, message))
    }
}

/// The protection of one connection.
pub(crate) struct Seal {
    keys: Arc<Keys>,
    initiator: bool,
    stage: Option<Stage>,
    /// For a responder whose handshake is not over.
    beginning: Option<Box<Beginning>>,
    /// The public key that the peer proved.
    peer: Option<PublicKey>,
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
        Some(Self {
            keys: Arc::clone(keys),
            initiator: true,
            stage,
            beginning: None,
            peer: None,
            message,
            third: None,
        })
    }

    /// Answers a handshake; `None` if the peer does not have the right keys, or keys that are not taken.
    pub fn responder(keys: &Arc<Keys>, syn: &[u8], first: &[u8], seed: [u8; 32]) -> Option<Self> {
        let beginning = Beginning { prologue: prologue(syn)?, first: first.to_vec(), seed };
        let (state, message) = beginning.answered(keys)?;
        let peer = shown(&state);
        let beginning = (!state.is_handshake_finished()).then(|| Box::new(beginning));
        let mut seal = Self {
            keys: Arc::clone(keys),
            initiator: false,
            stage: Some(Stage::Handshake(Box::new(state))),
            beginning,
            peer,
            message,
            third: None,
        };
        seal.split()?;
        Some(seal)
    }

    /// Takes the peer's next handshake message. Keys exist afterwards also if the peer's own is not taken, so that it
    /// can be told.
    // R-PROT-10
    pub fn advance(&mut self, message: &[u8]) -> Advance {
        let Some(Stage::Handshake(state)) = &mut self.stage else { return Advance::Wrong };
        if read(state, message).is_none() {
            // Snow takes back what a message did to its hashes, not to its cipher. Where a key came out of the message before
            // the rest proved wrong, it can read no other, so it begins anew. R-PROT-7
            if let (Some(beginning), Some(_)) = (&self.beginning, state.get_remote_static())
                && let Some((anew, _)) = beginning.answered(&self.keys)
            {
                **state = anew;
            }
            return Advance::Wrong;
        }
        self.beginning = None;
        self.peer = shown(state);
        let admitted = self.keys.admit(self.initiator, self.peer.as_ref());
        if admitted && !state.is_handshake_finished() {
            self.third = write(state);
        }
        match (admitted, self.split()) {
            (true, Some(())) => Advance::Good,
            (false, _) => Advance::Stranger,
            (true, None) => Advance::Wrong,
        }
    }

    /// The public key that the peer proved to have; none with a shared secret.
    pub fn peer(&self) -> Option<PublicKey> {
        self.peer
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

    /// Takes out what opens packets when the connection itself seals and opens none any more.
    pub fn retire(&mut self) -> Option<Self> {
        Some(Self {
            keys: Arc::clone(&self.keys),
            initiator: self.initiator,
            stage: Some(self.stage.take()?),
            beginning: None,
            peer: None,
            message: Vec::new(),
            third: None,
        })
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
    pub fn seal(&mut self, protection: &Protection, datagram: &mut [u8], header_bytes: usize) -> Option<()> {
        self.traffic()?.seal(protection, datagram, header_bytes)
    }

    /// One failure more and the keys must not be used any more.
    #[cfg(test)]
    pub fn wear(&mut self) {
        if let Some(traffic) = self.traffic() {
            traffic.wear();
        }
    }

    /// The keys must not be used any more.
    // R-PROT-4
    pub fn is_worn_out(&mut self) -> bool {
        self.traffic().is_some_and(|traffic| traffic.is_worn_out())
    }

    /// Opens a sealed packet into `plain`; `false` leaves no trace of it but a count.
    // R-PROT-7
    pub fn open(
        &mut self,
        now: Instant,
        rto: Duration,
        protection: &Protection,
        datagram: &[u8],
        header_bytes: usize,
        plain: &mut Vec<u8>,
    ) -> bool {
        self.traffic()
            .is_some_and(|traffic| traffic.open(now, rto, protection, datagram, header_bytes, plain))
    }
}

/// The public key that the peer has shown so far.
fn shown(state: &HandshakeState) -> Option<PublicKey> {
    PublicKey::from_bytes(state.get_remote_static()?.try_into().ok()?).ok()
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

    fn private(start: u8) -> PrivateKey {
        PrivateKey::from_random(std::array::from_fn(|place| start + place as u8)).unwrap()
    }

    fn keys(pattern: Pattern, aead: Aead) -> (Keys, Keys) {
        let (client, server) = (private(2), private(3));
        let (client_public, server_public) = (client.public(), server.public());
        let (client, server) = match pattern {
            Pattern::NnPsk0 => (Keys::shared([1; 32]), Keys::shared([1; 32])),
            Pattern::Ik => (
                Keys::ik_client(client, server_public),
                Keys::ik_server(server, Peers::only([client_public])),
            ),
            Pattern::Xx => (
                Keys::xx(client, Peers::only([server_public])),
                Keys::xx(server, Peers::only([client_public])),
            ),
        };
        (client.with_aead(aead), server.with_aead(aead))
    }

    fn pair(pattern: Pattern, aead: Aead) -> (Seal, Seal) {
        let syn = [0x1F; 32];
        let (client, server) = keys(pattern, aead);
        let mut initiator = Seal::initiator(&Arc::new(client), &syn, [5; 32]).unwrap();
        let mut responder = Seal::responder(&Arc::new(server), &syn, &initiator.message, [6; 32]).unwrap();
        assert_eq!(initiator.advance(&responder.message), Advance::Good);
        if let Some(third) = initiator.third.take() {
            assert_eq!(responder.advance(&third), Advance::Good);
        }
        (initiator, responder)
    }

    // R-PROT-2
    #[test]
    fn every_pattern_and_cipher_ends_with_keys_on_both_sides() {
        for pattern in [Pattern::NnPsk0, Pattern::Ik, Pattern::Xx] {
            for aead in [Aead::AesGcm, Aead::ChaChaPoly] {
                let (initiator, responder) = pair(pattern, aead);
                assert!(initiator.is_ready() && responder.is_ready(), "{pattern:?} {aead:?}");
                let known = pattern != Pattern::NnPsk0;
                assert_eq!(initiator.peer(), known.then(|| private(3).public()), "{pattern:?}");
                assert_eq!(responder.peer(), known.then(|| private(2).public()), "{pattern:?}");
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
        repeated[2] ^= 0x20;
        assert!(
            Seal::responder(&keys, &repeated, &initiator.message, [6; 32]).is_some(),
            "HL, CKI and COR are left out"
        );
    }
}
