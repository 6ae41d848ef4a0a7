//! ResTP under measurement.

use std::net::SocketAddr;

use bytes::Bytes;
use restp::profile::{Protection, Tuning};
use restp::protected::Keys;
use restp::{Composition, Connection, Endpoint, Profile, Records};

use crate::ends::{self, Figure, LARGE_MESSAGE_BYTES, MESSAGE_BYTES, PACKET_BYTES, Sending, Tally};
use crate::noise;

const PORT: u16 = 7;

async fn bind() -> Endpoint {
    Endpoint::builder().keys(Keys::shared([9; 32])).bind("127.0.0.1:0").await.expect("loopback")
}

fn compose(profile: Profile, protection: Protection) -> Composition {
    let tuning = Tuning { max_packet_bytes: PACKET_BYTES, ..profile.tuning.clone() };
    Profile { protection, tuning, ..profile }.validate().expect("a valid profile")
}

async fn receive(endpoint: &Endpoint, composition: Composition, announce: ends::Announce) -> Connection {
    let listener = endpoint.listen(PORT, composition).expect("a free port");
    announce.at(endpoint.local_addr());
    listener.accept().await.expect("a connection")
}

fn bulk_with(profile: Profile, protection: Protection) -> Figure {
    let composition = compose(profile, protection);
    let server = {
        let composition = composition.clone();
        |announce| async move {
            let endpoint = bind().await;
            let connection = receive(&endpoint, composition, announce).await;
            let (mut tally, mut pieces) = (Tally::default(), Vec::new());
            while connection.recv_many(&mut pieces, 256).await.expect("it stands") > 0 {
                tally.add(pieces.drain(..).map(|piece| piece.payload.len()).sum());
            }
            connection.finish().await.expect("a good end");
            tally
        }
    };
    let client = |address: SocketAddr| async move {
        let endpoint = bind().await;
        let connection = endpoint.connect(address, PORT, composition).await.expect("it listens");
        let (piece, mut sending) = (noise::piece(), Sending::start());
        while sending.goes_on() {
            connection.send(piece.clone()).await.expect("it stands");
        }
        connection.finish().await.expect("a good end");
    };
    ends::bytes(server, client)
}

pub fn bulk() -> Figure {
    bulk_with(Profile::file_arq(), Protection::ClearText)
}

pub fn bulk_plain() -> Figure {
    bulk_with(Profile { crc: false, ..Profile::file_arq() }, Protection::ClearText)
}

pub fn bulk_protected() -> Figure {
    // The AEAD's tag makes the CRC superfluous.
    bulk_with(Profile { crc: false, ..Profile::file_arq() }, Protection::Protected)
}

fn messages_with(protection: Protection, message_bytes: usize) -> Figure {
    let composition = compose(Profile::voice(), protection);
    let server = {
        let composition = composition.clone();
        |announce| async move {
            let endpoint = bind().await;
            let connection = receive(&endpoint, composition, announce).await;
            let (mut tally, mut messages) = (Tally::default(), Vec::new());
            while connection.recv_many(&mut messages, 256).await.expect("it stands") > 0 {
                tally.add(messages.len());
                messages.clear();
            }
            connection.finish().await.expect("a good end");
            tally
        }
    };
    let client = |address: SocketAddr| async move {
        let endpoint = bind().await;
        let connection = endpoint.connect(address, PORT, composition).await.expect("it listens");
        let (message, mut sending) = (noise::piece().slice(..message_bytes), Sending::start());
        while sending.goes_on() {
            for _ in 0..64 {
                connection.send(message.clone()).await.expect("it stands");
            }
        }
        connection.finish().await.expect("a good end");
    };
    ends::messages(server, client)
}

fn records_with(profile: Profile, protection: Protection) -> Figure {
    let composition = compose(Profile { crc: protection == Protection::ClearText, ..profile }, protection);
    let server = {
        let composition = composition.clone();
        |announce| async move {
            let endpoint = bind().await;
            let connection = receive(&endpoint, composition, announce).await;
            let mut records = Records::new(connection).expect("it stands");
            let mut tally = Tally::default();
            while records.recv().await.expect("it stands").is_some() {
                let mut count = 1;
                while records.try_recv().expect("it stands").is_some() {
                    count += 1;
                }
                tally.add(count);
            }
            records.connection().finish().await.expect("a good end");
            tally
        }
    };
    let client = |address: SocketAddr| async move {
        let endpoint = bind().await;
        let connection = endpoint.connect(address, PORT, composition).await.expect("it listens");
        let mut records = Records::new(connection).expect("it stands");
        let (message, mut sending) = (noise::piece().slice(..MESSAGE_BYTES), Sending::start());
        while sending.goes_on() {
            for _ in 0..64 {
                records.feed(&message).await.expect("it stands");
            }
            records.flush().await.expect("it stands");
        }
        records.connection().finish().await.expect("a good end");
    };
    ends::messages(server, client)
}

pub fn records() -> Figure {
    records_with(Profile::file_arq(), Protection::ClearText)
}

pub fn records_protected() -> Figure {
    records_with(Profile::file_arq(), Protection::Protected)
}

pub fn packed() -> Figure {
    records_with(Profile::voice(), Protection::ClearText)
}

pub fn packed_protected() -> Figure {
    records_with(Profile::voice(), Protection::Protected)
}

pub fn messages() -> Figure {
    messages_with(Protection::ClearText, MESSAGE_BYTES)
}

pub fn messages_protected() -> Figure {
    messages_with(Protection::Protected, MESSAGE_BYTES)
}

pub fn large_messages() -> Figure {
    messages_with(Protection::ClearText, LARGE_MESSAGE_BYTES)
}

pub fn large_messages_protected() -> Figure {
    messages_with(Protection::Protected, LARGE_MESSAGE_BYTES)
}

fn connections_with(profile: Profile, protection: Protection) -> Figure {
    let composition = compose(profile, protection);
    let server = {
        let composition = composition.clone();
        |announce: ends::Announce| async move {
            let endpoint = bind().await;
            let listener = endpoint.listen(PORT, composition).expect("a free port");
            announce.at(endpoint.local_addr());
            loop {
                let connection = listener.accept().await.expect("a connection");
                let Ok(Some(request)) = connection.recv().await else { continue };
                // The last request is the word to end.
                let last = request.payload.len() == 1;
                let _ = connection.send(request.payload).await;
                if last {
                    let _ = connection.finish().await;
                    return;
                }
            }
        }
    };
    let client = |address: SocketAddr| async move {
        let endpoint = bind().await;
        let mut sending = Sending::start();
        let mut tally = Tally::default();
        let request = noise::piece().slice(..MESSAGE_BYTES);
        while sending.goes_on() {
            exchange(&endpoint, address, &composition, request.clone()).await;
            tally.add(1);
        }
        exchange(&endpoint, address, &composition, request.slice(..1)).await;
        endpoint.idle().await.expect("everything ends well");
        tally
    };
    ends::connections(server, client)
}

/// Opens a connection, sends a request, waits for the response; dropping the connection closes it.
async fn exchange(endpoint: &Endpoint, address: SocketAddr, composition: &Composition, request: Bytes) {
    let connection = endpoint.connect_early(address, PORT, composition).await.expect("it listens");
    connection.send(request).await.expect("it stands");
    connection.recv().await.expect("it stands").expect("a response");
}

pub fn connections() -> Figure {
    connections_with(Profile::file_arq(), Protection::ClearText)
}

pub fn connections_opportunistic() -> Figure {
    connections_with(Profile::web_opt(), Protection::ClearText)
}

pub fn connections_protected() -> Figure {
    connections_with(Profile::file_arq(), Protection::Protected)
}

/// Resident bytes per connection and end.
pub fn idle_bytes(count: usize) -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (server, client) = (bind().await, bind().await);
        let composition = compose(Profile::file_arq(), Protection::ClearText);
        let listener = server.listen(PORT, &composition).expect("a free port");
        let mut held = Vec::with_capacity(2 * count);
        let open = async |held: &mut Vec<Connection>| {
            let opening = client.connect(server.local_addr(), PORT, &composition);
            let (one, other) = tokio::try_join!(opening, listener.accept()).expect("it listens");
            held.extend([one, other]);
        };
        // The first ones pay for buffers and tables that all share.
        for _ in 0..100 {
            open(&mut held).await;
        }
        let before = ends::resident_bytes();
        for _ in 0..count {
            open(&mut held).await;
        }
        (ends::resident_bytes() - before) / (2 * count) as f64
    })
}
