//! Moves a file over real UDP on loopback and checks that it arrived intact.
//!
//! `cargo run --example file_transfer -p restp [FILE]`; without FILE, 16 MB of noise.

use std::io::Write;

use restp::{Endpoint, Profile};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Inner port of the service.
const PORT: u16 = 7;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let content = match std::env::args_os().nth(1) {
        Some(path) => std::fs::read(path)?,
        None => noise(16 << 20),
    };
    let sent_hash = Sha256::digest(&content);
    let size_bytes = content.len();

    let server = Endpoint::bind("127.0.0.1:0").await?;
    let listener = server.listen(PORT, Profile::file_arq())?;
    let address = server.local_addr();

    let receiver = tokio::spawn(async move {
        let mut stream = listener.accept().await?.into_stream()?;
        let (mut hash, mut buffer, mut received_bytes) = (Sha256::new(), vec![0; 64 << 10], 0);
        loop {
            match stream.read(&mut buffer).await? {
                0 => break,
                length => {
                    hash.update(&buffer[..length]);
                    received_bytes += length;
                }
            }
        }
        stream.connection().finish().await?;
        Ok::<_, std::io::Error>((hash.finalize(), received_bytes))
    });

    let client = Endpoint::bind("127.0.0.1:0").await?;
    let started = std::time::Instant::now();
    let mut stream = client.connect(address, PORT, Profile::file_arq()).await?.into_stream()?;
    print!("{}", stream.connection().explain());
    stream.write_all(&content).await?;
    stream.connection().finish().await?;
    let duration_s = started.elapsed().as_secs_f64();

    let (received_hash, received_bytes) = receiver.await??;
    let mut out = std::io::stdout();
    writeln!(out, "{received_bytes} of {size_bytes} bytes in {duration_s:.3} s")?;
    if received_hash != sent_hash {
        return Err("the file was damaged on its way".into());
    }
    writeln!(out, "SHA-256 of both sides: {}", hex(&received_hash))?;
    Ok(())
}

fn noise(size_bytes: usize) -> Vec<u8> {
    // A small generator (xorshift64*) will do: the content only has to differ from place to place.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    (0..size_bytes / 8).flat_map(|_| next().to_le_bytes()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
