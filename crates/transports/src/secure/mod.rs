//! What secure transports share: certificates, TLS configurations, the keys that a capture is decrypted with, and
//! sentences for handshakes that fail.
//!
//! All cryptography is that of `ring`. It has no source of randomness of its own: keys, nonces and signatures start
//! from getrandom(2) (`ring::rand::SystemRandom`), never from the processor's RDRAND or from timing jitter. In a guest
//! that call is answered from the run's seed, so the same seed gives the same bytes on the wire.

mod kept_sessions;
mod keys;
mod pki;
mod records;
mod sentence;

pub use keys::KeyLines;
pub use pki::{Fault, Pki, SERVER_NAME, TlsCredentials, provider};
pub(crate) use records::Incoming;
pub use records::RecordMap;
pub use sentence::tls_failure;
