//! Endpoints on loopback and content that shows where it was damaged.
#![allow(dead_code, reason = "every test program uses its own part")]

use std::net::SocketAddr;
use std::time::Duration;

use restp::{Connection, Endpoint, Listener, Profile};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Inner port of the service under test.
pub const PORT: u16 = 7;
/// After this time something hangs. No test depends on it otherwise.
pub const HANGS: Duration = Duration::from_secs(30);

/// Says that a test could not run here. Not through `eprintln`, which test programs hold back when a test passes.
pub fn skipped(test: &str, why: &str) {
    use std::io::Write;
    writeln!(std::io::stderr(), "SKIPPED {test}: {why}").expect("standard error is open");
}

/// `size_bytes` bytes that differ from place to place.
pub fn content(size_bytes: usize) -> Vec<u8> {
    (0..size_bytes.div_ceil(8) as u64)
        .flat_map(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23).to_le_bytes())
        .take(size_bytes)
        .collect()
}

/// An endpoint that listens on [`PORT`], its listener, and where it is.
pub async fn server(profile: &Profile) -> (Endpoint, Listener, SocketAddr) {
    let endpoint = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let listener = endpoint.listen(PORT, profile).unwrap();
    let address = endpoint.local_addr();
    (endpoint, listener, address)
}

/// A connected pair over loopback, client first, with their endpoints.
pub async fn pair(profile: &Profile) -> ((Endpoint, Connection), (Endpoint, Connection)) {
    let (server, listener, address) = server(profile).await;
    let client = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let (outgoing, incoming) =
        tokio::try_join!(client.connect(address, PORT, profile), listener.accept()).unwrap();
    ((client, outgoing), (server, incoming))
}

/// Sends `size_bytes` from one connection to the other as a stream, closes both, and checks the hash.
pub async fn transfer(from: Connection, to: Connection, size_bytes: usize) {
    let sent = content(size_bytes);
    let sent_hash = Sha256::digest(&sent);
    let (mut from, mut to) = (from.into_stream().unwrap(), to.into_stream().unwrap());
    let sending = async {
        from.write_all(&sent).await.unwrap();
        from.connection().finish().await.unwrap();
    };
    let receiving = async {
        let mut received = Vec::new();
        to.read_to_end(&mut received).await.unwrap();
        to.connection().finish().await.unwrap();
        received
    };
    let ((), received) =
        tokio::time::timeout(HANGS, async { tokio::join!(sending, receiving) }).await.expect("it hangs");
    assert_eq!(received.len(), size_bytes);
    assert_eq!(Sha256::digest(&received), sent_hash);
}
