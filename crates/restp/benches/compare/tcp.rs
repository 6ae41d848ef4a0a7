//! The kernel's TCP under measurement.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::ends::{self, Announce, Figure, MESSAGE_BYTES, Sending, Tally};
use crate::noise;

async fn listen(announce: &Announce) -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    announce.at(listener.local_addr().expect("it is bound"));
    listener
}

async fn count(announce: Announce, unit_bytes: usize) -> Tally {
    let (mut stream, _) = listen(&announce).await.accept().await.expect("a connection");
    let (mut tally, mut buffer, mut rest) = (Tally::default(), vec![0; 256 << 10], 0);
    loop {
        match stream.read(&mut buffer).await.expect("it stands") {
            0 => return tally,
            length => {
                rest += length;
                tally.add(rest / unit_bytes);
                rest %= unit_bytes;
            }
        }
    }
}

async fn pour(address: SocketAddr, piece: bytes::Bytes) {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.set_nodelay(true).expect("TCP has it");
    let mut sending = Sending::start();
    while sending.goes_on() {
        for _ in 0..16 {
            stream.write_all(&piece).await.expect("it stands");
        }
    }
    stream.shutdown().await.expect("it stands");
}

pub fn bulk() -> Figure {
    ends::bytes(|announce| count(announce, 1), |address| pour(address, noise::piece()))
}

pub fn messages() -> Figure {
    let message = noise::piece().slice(..MESSAGE_BYTES);
    ends::messages(|announce| count(announce, MESSAGE_BYTES), |address| pour(address, message))
}

pub fn connections() -> Figure {
    let server = |announce: Announce| async move {
        let listener = listen(&announce).await;
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut request = [0; MESSAGE_BYTES];
            match stream.read(&mut request).await.expect("it stands") {
                1 => return,
                length => stream.write_all(&request[..length]).await.expect("it stands"),
            }
        }
    };
    let client = |address: SocketAddr| async move {
        let (mut tally, mut sending, mut response) = (Tally::default(), Sending::start(), [0; MESSAGE_BYTES]);
        while sending.goes_on() {
            let mut stream = TcpStream::connect(address).await.expect("it listens");
            stream.write_all(&response).await.expect("it stands");
            stream.read_exact(&mut response).await.expect("a response");
            // A reset instead of TIME-WAIT, or the ports of a minute would be used up in a second.
            stream.set_zero_linger().expect("TCP has it");
            tally.add(1);
        }
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        stream.write_all(&[0]).await.expect("it stands");
        let _ = stream.read(&mut response).await;
        tally
    };
    ends::connections(server, client)
}
