//! What is compared: securities with their suites.

use flight_links::arrangement::Arrangement;
use flight_links::suite::{Cipher, Provider, Security, Suite};

use super::rows::Outcome;

/// A security with its suite.
pub struct Arm {
    /// What both ends share.
    pub arrangement: Arrangement,
}

impl Arm {
    /// Columns of every row: security, provider and cipher.
    pub fn columns(&self) -> String {
        let (security, suite) = (self.arrangement.security(), self.arrangement.suite());
        let provider = match security {
            Security::None => "-",
            Security::SdlsGcm | Security::SdlsCmac => "rustcrypto",
            Security::Restp => Provider::Ring.name(),
            _ => suite.provider.name(),
        };
        let cipher = match security {
            Security::None => "-",
            Security::SdlsCmac => "aes-256-cmac",
            _ => suite.cipher.name(),
        };
        format!("{security},{provider},{cipher}")
    }
}

/// The securities that were named, or all; QUIC by stream with both providers.
pub fn arms(named: &[Security], cipher: Cipher) -> Result<Vec<Arm>, String> {
    let mut arms = Vec::new();
    for &security in Security::ALL {
        if !named.is_empty() && !named.contains(&security) {
            continue;
        }
        let both = [Provider::AwsLc, Provider::Ring];
        let providers = if security == Security::QuicStream { &both[..] } else { &both[..1] };
        for &provider in providers {
            let suite = if security.has_suite() {
                Suite { provider, cipher, ..Suite::default() }
            } else {
                Suite::default()
            };
            let arrangement = Arrangement::new(security, suite, true);
            arms.push(Arm { arrangement: arrangement.map_err(|error| format!("{security}: {error}"))? });
        }
    }
    Ok(arms)
}

/// Prints what the libraries refuse, a line a combination.
pub fn refusals() -> Outcome {
    for suite in Suite::all() {
        if let Err(error) = suite.check() {
            println!("{suite}: {error}");
        }
    }
    Ok(())
}
