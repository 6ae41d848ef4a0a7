//! An engine of SDLS whose algorithms are metered.

use sdls::crypto::{Algorithm, CryptoError, Engine, PreparedKey, Shape};

use crate::meter::count;

/// Does what another engine does, and counts it.
#[derive(Debug)]
pub struct Metered(pub Box<dyn Engine>);

impl Engine for Metered {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn prepare(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        shape: Shape,
    ) -> Result<Box<dyn PreparedKey>, CryptoError> {
        Ok(Box::new(Key(self.0.prepare(algorithm, key, shape)?)))
    }
}

struct Key(Box<dyn PreparedKey>);

impl PreparedKey for Key {
    fn seal(&self, iv: &[u8], associated: &[u8], text: &mut [u8], mac: &mut [u8]) -> Result<(), CryptoError> {
        count(|| self.0.seal(iv, associated, text, mac))
    }

    fn open(&self, iv: &[u8], associated: &[u8], text: &mut [u8], mac: &[u8]) -> Result<(), CryptoError> {
        count(|| self.0.open(iv, associated, text, mac))
    }
}
