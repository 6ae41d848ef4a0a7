//! Cipher suites of rustls whose ciphers are metered, for records of TLS and for packets of QUIC.

use std::sync::LazyLock;

use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, MessageDecrypter, MessageEncrypter,
    OutboundOpaqueMessage, OutboundPlainMessage, Tls13AeadAlgorithm, UnsupportedOperationError,
};
use rustls::quic::{self, HeaderProtectionKey, PacketKey, Tag};
use rustls::{CipherSuite, ConnectionTrafficSecrets, Error, SupportedCipherSuite, Tls13CipherSuite};

use crate::meter::count;
use crate::openssl;
use crate::suite::Provider;

/// The suites of TLS 1.3 of all providers, metered. They live as long as the program, as rustls wants them.
static SUITES: LazyLock<Vec<(Provider, &'static Tls13CipherSuite)>> = LazyLock::new(|| {
    let ring = rustls::crypto::ring::ALL_CIPHER_SUITES.iter().map(|suite| (Provider::Ring, suite));
    let aws_lc = rustls::crypto::aws_lc_rs::ALL_CIPHER_SUITES.iter().map(|suite| (Provider::AwsLc, suite));
    let openssl = openssl::suites().iter().map(|suite| (Provider::OpenSsl, suite));
    let tls13 =
        ring.chain(aws_lc).chain(openssl).filter_map(|(provider, suite)| Some((provider, suite.tls13()?)));
    tls13.map(|(provider, suite)| (provider, metered(suite))).collect()
});

/// The metered form of a suite.
pub fn suite(provider: Provider, name: CipherSuite) -> Option<SupportedCipherSuite> {
    let found = SUITES.iter().find(|(of, suite)| *of == provider && suite.common.suite == name);
    found.map(|(_, suite)| SupportedCipherSuite::Tls13(suite))
}

fn metered(suite: &'static Tls13CipherSuite) -> &'static Tls13CipherSuite {
    let common = rustls::crypto::CipherSuiteCommon {
        suite: suite.common.suite,
        hash_provider: suite.common.hash_provider,
        confidentiality_limit: suite.common.confidentiality_limit,
    };
    let quic: Option<&'static dyn quic::Algorithm> = match suite.quic {
        Some(algorithm) => Some(Box::leak(Box::new(Packets(algorithm)))),
        None => None,
    };
    Box::leak(Box::new(Tls13CipherSuite {
        common,
        hkdf_provider: suite.hkdf_provider,
        aead_alg: Box::leak(Box::new(Records(suite.aead_alg))),
        quic,
    }))
}

struct Records(&'static dyn Tls13AeadAlgorithm);

impl Tls13AeadAlgorithm for Records {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        Box::new(Encrypter(self.0.encrypter(key, iv)))
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        Box::new(Decrypter(self.0.decrypter(key, iv)))
    }

    fn key_len(&self) -> usize {
        self.0.key_len()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.0.extract_keys(key, iv)
    }
}

struct Encrypter(Box<dyn MessageEncrypter>);

impl MessageEncrypter for Encrypter {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        sequence: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        count(|| self.0.encrypt(message, sequence))
    }

    fn encrypted_payload_len(&self, payload: usize) -> usize {
        self.0.encrypted_payload_len(payload)
    }
}

struct Decrypter(Box<dyn MessageDecrypter>);

impl MessageDecrypter for Decrypter {
    fn decrypt<'a>(
        &mut self,
        message: InboundOpaqueMessage<'a>,
        sequence: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        count(|| self.0.decrypt(message, sequence))
    }
}

struct Packets(&'static dyn quic::Algorithm);

impl quic::Algorithm for Packets {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        Box::new(Packet(self.0.packet_key(key, iv)))
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        Box::new(Header(self.0.header_protection_key(key)))
    }

    fn aead_key_len(&self) -> usize {
        self.0.aead_key_len()
    }
}

struct Packet(Box<dyn PacketKey>);

impl PacketKey for Packet {
    fn encrypt_in_place(&self, number: u64, header: &[u8], payload: &mut [u8]) -> Result<Tag, Error> {
        count(|| self.0.encrypt_in_place(number, header, payload))
    }

    fn decrypt_in_place<'a>(
        &self,
        number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        count(|| self.0.decrypt_in_place(number, header, payload))
    }

    fn tag_len(&self) -> usize {
        self.0.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.0.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.0.integrity_limit()
    }
}

struct Header(Box<dyn HeaderProtectionKey>);

impl HeaderProtectionKey for Header {
    fn encrypt_in_place(&self, sample: &[u8], first: &mut u8, number: &mut [u8]) -> Result<(), Error> {
        count(|| self.0.encrypt_in_place(sample, first, number))
    }

    fn decrypt_in_place(&self, sample: &[u8], first: &mut u8, number: &mut [u8]) -> Result<(), Error> {
        count(|| self.0.decrypt_in_place(sample, first, number))
    }

    fn sample_len(&self) -> usize {
        self.0.sample_len()
    }
}
