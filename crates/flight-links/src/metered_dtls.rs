//! Cipher suites of dimpl whose ciphers are metered: of records, and of the numbers in their headers.

use std::sync::LazyLock;

use dimpl::CryptoError;
use dimpl::crypto::{
    Aad, Buf, Cipher, Dtls13CipherSuite, HashAlgorithm, Nonce, SupportedDtls13CipherSuite, TmpBuf, aws_lc_rs,
};

use crate::meter::count;

/// They live as long as the program, as dimpl wants them.
static SUITES: LazyLock<Vec<&'static dyn SupportedDtls13CipherSuite>> = LazyLock::new(|| {
    let all = aws_lc_rs::default_provider().dtls13_cipher_suites.iter();
    all.map(|suite| Box::leak(Box::new(Suite(*suite))) as &'static dyn SupportedDtls13CipherSuite).collect()
});

/// The suites of AWS-LC, metered.
pub fn suites() -> &'static [&'static dyn SupportedDtls13CipherSuite] {
    &SUITES
}

#[derive(Debug)]
struct Suite(&'static dyn SupportedDtls13CipherSuite);

impl SupportedDtls13CipherSuite for Suite {
    fn suite(&self) -> Dtls13CipherSuite {
        self.0.suite()
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        self.0.hash_algorithm()
    }

    fn key_len(&self) -> usize {
        self.0.key_len()
    }

    fn iv_len(&self) -> usize {
        self.0.iv_len()
    }

    fn tag_len(&self) -> usize {
        self.0.tag_len()
    }

    fn create_cipher(&self, key: &[u8]) -> Result<Box<dyn Cipher>, CryptoError> {
        Ok(Box::new(Record(self.0.create_cipher(key)?)))
    }

    fn encrypt_sn(&self, key: &[u8], sample: &[u8; 16]) -> [u8; 16] {
        count(|| self.0.encrypt_sn(key, sample))
    }
}

#[derive(Debug)]
struct Record(Box<dyn Cipher>);

impl Cipher for Record {
    fn encrypt(&mut self, text: &mut Buf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        count(|| self.0.encrypt(text, aad, nonce))
    }

    fn decrypt(&mut self, text: &mut TmpBuf<'_>, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        count(|| self.0.decrypt(text, aad, nonce))
    }
}
