//! The versions of the libraries that a measurement stands on, as the workspace's lock file has them.

use std::collections::BTreeMap;

const LOCK: &str = include_str!("../../../Cargo.lock");

/// What HTTP, QUIC and TLS are made of.
const LIBRARIES: [&str; 10] =
    ["h2", "h3", "h3-quinn", "hyper", "quinn", "quinn-proto", "ring", "rustls", "s2n-quic", "tokio"];

/// Each library with its version; where the lock file has several, all of them.
pub fn versions() -> BTreeMap<&'static str, String> {
    LIBRARIES.into_iter().map(|library| (library, of(LOCK, library).join(", "))).collect()
}

fn of<'a>(lock: &'a str, library: &str) -> Vec<&'a str> {
    let entry = format!("name = \"{library}\"\nversion = \"");
    lock.match_indices(&entry)
        .filter_map(|(at, _)| lock[at + entry.len()..].split_once('"'))
        .map(|(version, _)| version)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::versions;

    #[test]
    fn every_library_has_one_version() {
        for (library, version) in versions() {
            assert!(!version.is_empty(), "{library} is not in Cargo.lock");
            assert!(!version.contains(','), "{library} is there as {version}");
        }
    }
}
