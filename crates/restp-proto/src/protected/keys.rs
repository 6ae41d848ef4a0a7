//! Who an end is and whom it talks to: key pairs, expected peers, and the handshake that follows from them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};
use thiserror::Error;

/// Octets of a shared secret, of a private and of a public key.
pub const KEY_BYTES: usize = 32;

/// Why octets or text cannot be used as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Not 64 hexadecimal digits.
    #[error("a key is written as 64 hexadecimal digits (32 octets)")]
    Text,
    /// All octets are the same: a placeholder, not a key.
    #[error("all octets of the key are the same; take 32 octets from a source of random numbers")]
    NotRandom,
    /// A point of low order: every private key gives the same result with it (RFC 7748, section 6.1).
    #[error("this is not the public key of any X25519 key pair; ask its owner for it again")]
    LowOrder,
}

/// A private X25519 key. `Debug` does not show it, and there is no `Display`.
///
/// To store one is to write its octets where nobody else reads them. As 64 hexadecimal digits, the form of `restp keygen`,
/// it is read back by `parse` (blanks and line ends around it do no harm); the public key has the same form.
///
/// ```
/// use restp_proto::protected::{PrivateKey, PublicKey};
///
/// # fn main() -> Result<(), restp_proto::protected::KeyError> {
/// # let random = std::array::from_fn(|place| place as u8);
/// let key = PrivateKey::from_random(random)?; // with the crate restp: restp::generate_private_key()
/// let digits: String = key.as_bytes().iter().map(|octet| format!("{octet:02x}")).collect();
/// let line = key.public().to_string();
///
/// let read: PrivateKey = (digits + "\n").parse()?;
/// assert_eq!(read.public(), key.public());
/// assert_eq!(line.parse::<PublicKey>()?, key.public());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PrivateKey([u8; KEY_BYTES]);

/// A public X25519 key: the name of a peer. Its text form is 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; KEY_BYTES]);

impl PrivateKey {
    /// A new key from 32 octets of a source of random numbers that nobody can guess; each call must have its own.
    ///
    /// # Errors
    /// [`KeyError::NotRandom`] if all octets are the same.
    pub fn from_random(random: [u8; KEY_BYTES]) -> Result<Self, KeyError> {
        if random.iter().all(|octet| *octet == random[0]) {
            return Err(KeyError::NotRandom);
        }
        Ok(Self(random))
    }

    /// The octets, to be kept where nobody else reads them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// The public key that belongs to it, for the peers.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let mut public = [0; KEY_BYTES];
        if let Some(mut dh) = DefaultResolver.resolve_dh(&DHChoice::Curve25519) {
            dh.set(&self.0);
            public.copy_from_slice(dh.pubkey());
        }
        PublicKey(public)
    }
}

impl FromStr for PrivateKey {
    type Err = KeyError;

    /// From 64 hexadecimal digits, the form of `restp keygen`.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::from_random(parse_hex(text)?)
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey").finish_non_exhaustive()
    }
}

impl PublicKey {
    /// A peer's key from its octets.
    ///
    /// # Errors
    /// [`KeyError::LowOrder`] if no key pair can have it.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Result<Self, KeyError> {
        let mut product = [0; KEY_BYTES];
        let usable = DefaultResolver.resolve_dh(&DHChoice::Curve25519).is_some_and(|mut dh| {
            // Private keys are multiples of the cofactor, so any of them takes a point of low order to zero.
            dh.set(&[1; KEY_BYTES]);
            dh.dh(&bytes, &mut product).is_ok() && product != [0; KEY_BYTES]
        });
        if usable { Ok(Self(bytes)) } else { Err(KeyError::LowOrder) }
    }

    /// Its octets.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    /// From 64 hexadecimal digits, as `Display` writes them.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::from_bytes(parse_hex(text)?)
    }
}

fn parse_hex(text: &str) -> Result<[u8; KEY_BYTES], KeyError> {
    let digits = text.trim().as_bytes();
    let mut bytes = [0; KEY_BYTES];
    if digits.len() != 2 * KEY_BYTES {
        return Err(KeyError::Text);
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let digit = |octet: u8| char::from(octet).to_digit(16).ok_or(KeyError::Text);
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Ok(bytes)
}

/// Whose keys an end accepts.
#[derive(Clone)]
#[non_exhaustive]
pub enum Peers {
    /// Nobody is turned away: the connection is secret, but with whom is for the application to find out, by
    /// `peer_public_key()` of each connection.
    Any,
    /// These.
    Only(BTreeSet<PublicKey>),
    /// Those for which the function answers `true`. It runs inside the protocol, so it must be quick.
    If(Arc<dyn Fn(&PublicKey) -> bool + Send + Sync>),
}

impl Peers {
    /// These and nobody else.
    pub fn only(keys: impl IntoIterator<Item = PublicKey>) -> Self {
        Self::Only(keys.into_iter().collect())
    }

    /// Those for which `check` answers `true`.
    pub fn verified_by(check: impl Fn(&PublicKey) -> bool + Send + Sync + 'static) -> Self {
        Self::If(Arc::new(check))
    }

    fn admit(&self, key: &PublicKey) -> bool {
        match self {
            Self::Any => true,
            Self::Only(keys) => keys.contains(key),
            Self::If(check) => check(key),
        }
    }
}

impl fmt::Debug for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("Any"),
            Self::Only(keys) => f.debug_tuple("Only").field(keys).finish(),
            Self::If(_) => f.write_str("If(..)"),
        }
    }
}

/// Which handshake of the Noise framework is used; both ends must agree beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pattern {
    /// A shared secret of 32 octets, nothing else.
    NnPsk0,
    /// The client knows the server's public key and shows its own.
    Ik,
    /// Both show their public keys.
    Xx,
}

/// The AEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Aead {
    /// AES-256-GCM: fastest where the processor has instructions for it.
    AesGcm,
    /// ChaCha20-Poly1305.
    ChaChaPoly,
}

/// Key material of an endpoint: made by the constructor of its pattern, so that no key can be given that is not used.
/// `Debug` shows no secrets.
#[derive(Clone, Debug)]
pub struct Keys {
    pub(super) aead: Aead,
    pub(super) material: Material,
}

/// What the pattern needs.
#[derive(Clone)]
pub(super) enum Material {
    Shared([u8; KEY_BYTES]),
    Ik { own: PrivateKey, server: Option<PublicKey>, clients: Option<Peers> },
    Xx { own: PrivateKey, peers: Peers },
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared(_) => f.write_str("Shared(..)"),
            Self::Ik { server, clients, .. } => f.debug_tuple("Ik").field(server).field(clients).finish(),
            Self::Xx { peers, .. } => f.debug_tuple("Xx").field(peers).finish(),
        }
    }
}

impl Keys {
    /// A secret that both ends share (pattern NNpsk0): whoever has it may connect and answer.
    #[must_use]
    pub fn shared(secret: [u8; KEY_BYTES]) -> Self {
        Self::new(Material::Shared(secret))
    }

    /// A client that connects to the server with the public key `server`, and to no other (pattern IK).
    #[must_use]
    pub fn ik_client(own: PrivateKey, server: PublicKey) -> Self {
        Self::new(Material::Ik { own, server: Some(server), clients: None })
    }

    /// A server that is known to its clients and takes those in `clients` (pattern IK).
    #[must_use]
    pub fn ik_server(own: PrivateKey, clients: Peers) -> Self {
        Self::new(Material::Ik { own, server: None, clients: Some(clients) })
    }

    /// Either end where public keys are exchanged by the handshake (pattern XX): `peers` says which are taken.
    #[must_use]
    pub fn xx(own: PrivateKey, peers: Peers) -> Self {
        Self::new(Material::Xx { own, peers })
    }

    fn new(material: Material) -> Self {
        Self { aead: Aead::AesGcm, material }
    }

    /// The same keys with another cipher than AES-256-GCM; both ends must have the same.
    #[must_use]
    pub fn with_aead(self, aead: Aead) -> Self {
        Self { aead, ..self }
    }

    /// The handshake that follows from the keys.
    #[must_use]
    pub fn pattern(&self) -> Pattern {
        match self.material {
            Material::Shared(_) => Pattern::NnPsk0,
            Material::Ik { .. } => Pattern::Ik,
            Material::Xx { .. } => Pattern::Xx,
        }
    }

    /// True if connections can be opened with them.
    pub(crate) fn can_connect(&self) -> bool {
        !matches!(self.material, Material::Ik { server: None, .. })
    }

    /// True if connections can be accepted with them.
    pub(crate) fn can_listen(&self) -> bool {
        !matches!(self.material, Material::Ik { clients: None, .. })
    }

    /// True if a peer that proved `key` is taken. Without key pairs the shared secret is the proof.
    // R-PROT-10
    pub(super) fn admit(&self, initiator: bool, key: Option<&PublicKey>) -> bool {
        match (&self.material, key) {
            (Material::Shared(_), _) => true,
            (Material::Ik { server, .. }, Some(key)) if initiator => server.as_ref() == Some(key),
            (Material::Ik { clients: Some(peers), .. } | Material::Xx { peers, .. }, Some(key)) => {
                peers.admit(key)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    // R-PROT-10
    fn keys_that_cannot_be_used_are_refused_with_a_sentence() {
        assert_eq!(PrivateKey::from_random([7; 32]).err(), Some(KeyError::NotRandom));
        // Points of low order: zero, one, and the two of order 8 (RFC 7748, section 6.1, names the danger).
        let mut one = [0; 32];
        one[0] = 1;
        let eight = "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800";
        assert_eq!(PublicKey::from_bytes([0; 32]), Err(KeyError::LowOrder));
        assert_eq!(PublicKey::from_bytes(one), Err(KeyError::LowOrder));
        assert_eq!(eight.parse::<PublicKey>(), Err(KeyError::LowOrder));
        assert_eq!("abc".parse::<PublicKey>(), Err(KeyError::Text));
        assert_eq!("g".repeat(64).parse::<PublicKey>(), Err(KeyError::Text));
    }

    #[test]
    fn the_public_key_is_that_of_rfc_7748_and_survives_its_text() {
        // RFC 7748, section 6.1, Alice.
        let private = "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a";
        let public = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a";
        let computed = private.parse::<PrivateKey>().unwrap().public();
        assert_eq!(computed.to_string(), public);
        assert_eq!(public.parse(), Ok(computed));
    }

    #[test]
    fn neither_keys_nor_peers_show_secrets() {
        let private = PrivateKey::from_random(std::array::from_fn(|place| place as u8)).unwrap();
        let text = format!("{:?} {:?}", Keys::xx(private.clone(), Peers::Any), Keys::shared([0xAB; 32]));
        assert!(!text.contains("1, 2, 3") && !text.contains("171"), "{text}");
        assert!(!format!("{private:?}").contains('1'));
    }
}
