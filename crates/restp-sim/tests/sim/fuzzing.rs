//! The fuzz bodies on their committed corpora, on mutations of them and on noise: bounded, with a fixed seed.

#[path = "../../../restp-proto/fuzz/bodies/connection.rs"]
mod connection;
#[path = "../../../restp-proto/fuzz/bodies/cookie.rs"]
mod cookie;
#[cfg(feature = "protected")]
#[path = "../../../restp-proto/fuzz/bodies/protected.rs"]
mod protected;
#[path = "../../../restp-proto/fuzz/bodies/streams.rs"]
mod streams;
#[path = "../../../restp-proto/fuzz/bodies/world.rs"]
mod world;

use std::path::Path;

use restp_sim::SimRng;

/// All files of a corpus.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../restp-proto/fuzz/corpus").join(name);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

fn run(name: &str, rounds: usize, body: impl Fn(&[u8])) {
    let seeds = corpus(name);
    for seed in &seeds {
        body(seed);
    }
    let mut rng = SimRng::new(0xF0221);
    for _ in 0..rounds {
        let mut data = seeds[rng.below(seeds.len() as u64) as usize].clone();
        for _ in 0..1 + rng.below(12) {
            let place = rng.below(data.len() as u64) as usize;
            match rng.below(4) {
                0 => data[place] = rng.bits() as u8,
                1 => data[place] ^= 1 << rng.below(8),
                2 => data.insert(place, rng.bits() as u8),
                _ => {
                    let tail = data[place..].to_vec();
                    data.extend_from_slice(&tail[..tail.len().min(40)]);
                }
            }
        }
        body(&data);
    }
}

// R-ERR-1, R-ERR-3
#[test]
fn scripts_for_connections_hold() {
    run("connection", 6000, connection::connection);
}

// R-ERR-1, R-ERR-3, R-PROT-7
#[cfg(feature = "protected")]
#[test]
fn scripts_for_protected_connections_hold() {
    // A handshake takes a thousand times as long as any other packet.
    run("protected", 300, protected::protected);
}

// R-ERR-1, R-ERR-3, R-STR-11
#[test]
fn scripts_for_streams_hold() {
    run("streams", 6000, streams::streams);
}

// R-OPT-6
#[test]
fn forged_cookies_open_nothing() {
    run("cookie", 6000, cookie::cookie);
}
