//! What is compared: securities with their suites.

use std::io::{self, Write};

use flight_links::arrangement::Arrangement;
use flight_links::suite::{Cipher, Provider, Security, Suite};

use super::rows::{Outcome, unwritten};

/// How much of the time of a quick measurement an arm gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// A cipher or provider beside the security's usual one.
    Variant,
    /// A security with its usual suite.
    Security,
    /// One of those that the study compared.
    Main,
}

/// A security with its suite.
pub struct Arm {
    /// What both ends share.
    pub arrangement: Arrangement,
    /// How much of a quick measurement it gets.
    pub rank: Rank,
}

impl Arm {
    /// Columns of every row: security, provider and cipher.
    pub fn columns(&self) -> String {
        let (security, suite) = (self.arrangement.security(), self.arrangement.suite());
        let provider = security.crypto_library(suite.provider);
        let cipher = match security {
            Security::None => "-",
            Security::SdlsCmac => "aes-256-cmac",
            _ => suite.cipher.name(),
        };
        format!("{security},{provider},{cipher}")
    }
}

fn rank(security: Security, suite: &Suite) -> Rank {
    match security {
        Security::SdlsGcm | Security::SdlsGcmAwsLc => Rank::Main,
        Security::QuicStream if *suite == Suite::default() => Rank::Main,
        _ if Suite { provider: suite.provider, ..Suite::of(security) } == *suite => Rank::Security,
        _ => Rank::Variant,
    }
}

/// The providers that are measured where none is named: those of the benches that the study SPACE registered. OpenSSL is
/// measured where it is named.
pub const USUAL: [Provider; 2] = [Provider::AwsLc, Provider::Ring];

/// The suites that a security is measured with: with the providers that were named, or QUIC by stream with both usual ones,
/// so that what the provider changes stands beside what the library of QUIC changes; by quinn with all ciphers too, as
/// Tables 4.1 and 4.2 of the study (key SPACE) have two libraries and three ciphers.
fn suites(security: Security, providers: &[Provider], cipher: Option<Cipher>) -> Vec<Suite> {
    if !security.has_suite() {
        return vec![Suite::default()];
    }
    let providers: &[Provider] = match security {
        _ if !providers.is_empty() => providers,
        Security::QuicStream | Security::S2nStream => &USUAL,
        _ => &[Provider::AwsLc],
    };
    let ciphers = match cipher {
        Some(cipher) => vec![cipher],
        None if security == Security::QuicStream => Cipher::ALL.to_vec(),
        None => vec![Cipher::Aes256Gcm],
    };
    let each =
        |&provider| ciphers.iter().map(move |&cipher| Suite { provider, cipher, ..Suite::of(security) });
    providers.iter().flat_map(each).collect()
}

/// The securities that were named, or all; with the providers and the one cipher of TLS that were named, if they were.
pub fn arms(named: &[Security], providers: &[Provider], cipher: Option<Cipher>) -> Result<Vec<Arm>, String> {
    let mut arms = Vec::new();
    for &security in Security::ALL {
        if !named.is_empty() && !named.contains(&security) {
            continue;
        }
        for suite in suites(security, providers, cipher) {
            let arrangement =
                Arrangement::new(security, suite, true).map_err(|error| format!("{security}: {error}"))?;
            arms.push(Arm { arrangement, rank: rank(security, &suite) });
        }
    }
    Ok(arms)
}

/// Prints what the libraries refuse, a line a combination.
pub fn refusals() -> Outcome {
    let mut out = io::stdout().lock();
    for suite in Suite::all() {
        if let Err(refusal) = suite.check() {
            writeln!(out, "{suite}: {refusal}").map_err(|error| unwritten("list", &error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_security_is_measured_and_quic_with_every_library_and_cipher_of_the_study() {
        let arms = arms(&[], &[], None).unwrap();
        let columns: Vec<_> = arms.iter().map(Arm::columns).collect();
        for security in Security::ALL {
            assert!(columns.iter().any(|row| row.starts_with(&format!("{security},"))), "{security}");
        }
        assert_eq!(columns.iter().filter(|row| row.starts_with("quic-stream,")).count(), 6);
        let main: Vec<_> = arms.iter().filter(|arm| arm.rank == Rank::Main).map(Arm::columns).collect();
        assert_eq!(
            main,
            [
                "sdls-gcm,rustcrypto,aes-256-gcm",
                "sdls-gcm-aws-lc,aws-lc,aes-256-gcm",
                "quic-stream,aws-lc,aes-256-gcm"
            ]
        );
    }

    #[test]
    fn providers_that_were_named_are_measured_and_no_others() {
        let named = [Security::SdlsGcm, Security::QuicDatagram];
        let arms = arms(&named, &[Provider::Ring, Provider::AwsLc], None).unwrap();
        assert_eq!(
            arms.iter().map(Arm::columns).collect::<Vec<_>>(),
            [
                "sdls-gcm,rustcrypto,aes-256-gcm",
                "quic-datagram,ring,aes-256-gcm",
                "quic-datagram,aws-lc,aes-256-gcm"
            ]
        );
    }
}
