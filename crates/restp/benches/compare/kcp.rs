//! KCP (`tokio_kcp`) in its fastest setting under measurement.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_kcp::{KcpConfig, KcpListener, KcpNoDelayConfig, KcpStream};

use crate::ends::{self, Announce, Figure, MESSAGE_BYTES, PACKET_BYTES, SILENCE, Sending, Tally};
use crate::noise;

fn config(stream: bool) -> KcpConfig {
    KcpConfig {
        mtu: PACKET_BYTES,
        nodelay: KcpNoDelayConfig::fastest(),
        wnd_size: (8192, 8192),
        flush_write: true,
        flush_acks_input: true,
        stream,
        ..KcpConfig::default()
    }
}

async fn count(announce: Announce, stream: bool, unit_bytes: usize) -> Tally {
    let mut listener = KcpListener::bind(config(stream), "127.0.0.1:0").await.expect("loopback");
    announce.at(listener.local_addr().expect("it is bound"));
    let (mut stream, _) = listener.accept().await.expect("a connection");
    let (mut tally, mut buffer) = (Tally::default(), vec![0; 256 << 10]);
    // KCP has no end of stream; the sender's silence is it.
    while let Ok(Ok(length @ 1..)) = tokio::time::timeout(tally.patience(), stream.read(&mut buffer)).await {
        tally.add(length / unit_bytes);
    }
    tally
}

async fn pour(address: SocketAddr, stream: bool, piece: bytes::Bytes) {
    let mut stream = KcpStream::connect(&config(stream), address).await.expect("it listens");
    let mut sending = Sending::start();
    while sending.goes_on() {
        stream.write_all(&piece).await.expect("it stands");
    }
    // The rest must leave before the runtime ends.
    stream.flush().await.expect("it stands");
    tokio::time::sleep(SILENCE).await;
}

pub fn bulk() -> Figure {
    // Pieces of 16 kB: KCP cannot cut longer ones into its window's fragments.
    let piece = noise::piece().slice(..16 << 10);
    ends::bytes(|announce| count(announce, true, 1), |address| pour(address, true, piece))
}

pub fn messages() -> Figure {
    let message = noise::piece().slice(..MESSAGE_BYTES);
    ends::messages(|announce| count(announce, false, MESSAGE_BYTES), |address| pour(address, false, message))
}
