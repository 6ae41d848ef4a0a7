//! The engines: known answers, and the same octets from each that is built in.

#![cfg(any(feature = "rustcrypto", feature = "aws-lc"))]

use sdls::crypto::{Algorithm, CryptoError, Engine, Shape};
use sdls::ep::SelfTest;

fn engines() -> Vec<Box<dyn Engine>> {
    vec![
        #[cfg(feature = "rustcrypto")]
        Box::new(sdls::crypto::RustCrypto),
        #[cfg(feature = "aws-lc")]
        Box::new(sdls::crypto::AwsLc),
    ]
}

#[test]
fn every_engine_gives_the_known_answers() {
    for engine in engines() {
        let result = SelfTest::run(&*engine);
        assert_eq!((result.failed, result.passed + result.absent), (0, 4), "{}", engine.name());
        assert!(result.passed >= 3, "{}", engine.name());
    }
}

#[test]
fn engines_give_the_same_octets() {
    let cases = [
        (Algorithm::AesGcm, 16, 12, 16),
        (Algorithm::AesGcm, 32, 12, 16),
        (Algorithm::AesGcm, 32, 12, 0),
        (Algorithm::AesCmac, 16, 0, 16),
        (Algorithm::AesCmac, 32, 0, 8),
        (Algorithm::HmacSha256, 32, 0, 32),
    ];
    for (algorithm, key, iv, mac) in cases {
        let shape = Shape { key, iv, mac };
        let mut results = Vec::new();
        for engine in engines() {
            let prepared = engine.prepare(algorithm, &vec![3; key], shape).expect("a common algorithm");
            let mut text = if algorithm.encrypts() { b"some text".to_vec() } else { vec![] };
            let mut code = vec![0; mac];
            prepared.seal(&vec![9; iv], b"header", &mut text, &mut code).expect("a short message");
            results.push((text.clone(), code.clone()));
            if mac > 0 {
                prepared.open(&vec![9; iv], b"header", &mut text.clone(), &code).expect("its own code");
                let changed = prepared.open(&vec![9; iv], b"Header", &mut text, &code);
                assert_eq!(changed, Err(CryptoError::BadMac), "{}", engine.name());
            }
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{algorithm:?}");
    }
}

#[test]
fn what_an_engine_does_not_have_is_said() {
    for engine in engines() {
        for (algorithm, key, iv, mac) in [
            (Algorithm::AesGcm, 24, 12, 16),
            (Algorithm::AesGcm, 16, 12, 15),
            (Algorithm::AesGcm, 16, 8, 16),
            (Algorithm::AesCcm, 16, 12, 3),
            (Algorithm::AesCmac, 16, 12, 16),
            (Algorithm::HmacSha256, 8, 0, 16),
        ] {
            let shape = Shape { key, iv, mac };
            let refused = engine.prepare(algorithm, &vec![0; key], shape).err();
            let expected = CryptoError::Unsupported { engine: engine.name(), algorithm, shape };
            assert_eq!(refused, Some(expected));
        }
        let shape = Shape { key: 16, iv: 12, mac: 16 };
        assert!(engine.prepare(Algorithm::AesGcm, &[0; 32], shape).is_err(), "a key of another length");
    }
}
