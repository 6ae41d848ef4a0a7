//! What measures: versions of the libraries as they were compiled in, and the clock.

use flight_links::openssl;

use super::messages::clock_ns;
use super::rows::{Outcome, Rows};
use super::schedule::{APART, Schedule};

/// The versions that Cargo chose.
const LOCK: &str = include_str!("../../../../../Cargo.lock");

/// Between OpenSSL and rustls.
const OPENSSL_FOR_RUSTLS: &str = "rustls-openssl";

/// Libraries whose work is measured, but OpenSSL, whose version is that of the library that is there.
const LIBRARIES: [&str; 12] = [
    "aes-gcm",
    "aws-lc-rs",
    "aws-lc-sys",
    "dimpl",
    "quinn-proto",
    "restp-proto",
    "ring",
    "rustls",
    "rustls-webpki",
    "s2n-quic",
    "sdls",
    "snow",
];

/// The version of a library in a lock file; the newest, which stands last, where there are several.
fn version<'a>(lock: &'a str, library: &str) -> Option<&'a str> {
    let (_, behind) = lock.rsplit_once(&format!("name = \"{library}\"\nversion = \""))?;
    behind.split_once('"').map(|(version, _)| version)
}

/// Prints names with their values; `blocks` and `apart_ms` (operations of turns that are taken together) are those of
/// `messages`.
pub fn run() -> Outcome {
    let mut rows = Rows::new("name,value")?;
    let between = openssl::version().map(|_| OPENSSL_FOR_RUSTLS);
    for library in LIBRARIES.into_iter().chain(between) {
        let found = version(LOCK, library).ok_or_else(|| format!("Cargo.lock has no {library}"))?;
        rows.write(&format!("{library},{found}"))?;
    }
    if let Some(found) = openssl::version() {
        rows.write(&format!("openssl,{found}"))?;
    }
    rows.write(&format!("clock_ns,{}", clock_ns()))?;
    rows.write(&format!("blocks,{}", Schedule::new(false, &[], &[]).blocks()))?;
    rows.write(&format!("blocks_quick,{}", Schedule::new(true, &[], &[]).blocks()))?;
    rows.write(&format!("apart_ms,{}", APART.as_millis()))?;
    rows.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_has_a_version() {
        for library in LIBRARIES.into_iter().chain([OPENSSL_FOR_RUSTLS]) {
            assert!(version(LOCK, library).is_some_and(|found| found.contains('.')), "{library}");
        }
        assert_eq!(version(LOCK, "no-such-library"), None);
    }
}
