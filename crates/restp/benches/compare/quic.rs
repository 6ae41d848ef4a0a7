//! QUIC (quinn) under measurement.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::ends::{self, Announce, Figure, LARGE_MESSAGE_BYTES, MESSAGE_BYTES, PACKET_BYTES, Sending, Tally};
use crate::noise;
use crate::unprotected::Unprotected;

/// Windows of both directions in bytes: as much as ResTP's file profile grants (8192 packets).
const WINDOW_BYTES: u32 = 8192 * 1400;

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .initial_mtu(PACKET_BYTES as u16)
        .stream_receive_window(WINDOW_BYTES.into())
        .receive_window((2 * WINDOW_BYTES).into())
        .send_window(WINDOW_BYTES.into());
    Arc::new(transport)
}

/// Settings of both sides around one certificate.
#[derive(Clone)]
struct Settings {
    server: ServerConfig,
    client: ClientConfig,
}

fn settings(protected: bool) -> Settings {
    let signed = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
    let certificate = CertificateDer::from(signed.cert);
    let key = PrivateKeyDer::Pkcs8(signed.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = [&rustls::version::TLS13];
    let server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .expect("a key that fits");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).expect("a certificate");
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)
        .expect("TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let server = Arc::new(QuicServerConfig::try_from(server).expect("TLS 1.3"));
    let client = Arc::new(QuicClientConfig::try_from(client).expect("TLS 1.3"));
    let (mut server, mut client) = if protected {
        (ServerConfig::with_crypto(server), ClientConfig::new(client))
    } else {
        let server = ServerConfig::with_crypto(Arc::new(Unprotected(server)));
        (server, ClientConfig::new(Arc::new(Unprotected(client))))
    };
    server.transport_config(transport());
    client.transport_config(transport());
    Settings { server, client }
}

fn listen(settings: Settings, announce: &Announce) -> Endpoint {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let endpoint = Endpoint::server(settings.server, any).expect("loopback");
    announce.at(endpoint.local_addr().expect("it is bound"));
    endpoint
}

async fn accept(endpoint: &Endpoint) -> Connection {
    endpoint.accept().await.expect("it listens").await.expect("a connection")
}

fn dial(settings: Settings) -> Endpoint {
    let mut endpoint = Endpoint::client(SocketAddr::from(([127, 0, 0, 1], 0))).expect("loopback");
    endpoint.set_default_client_config(settings.client);
    endpoint
}

async fn connect(endpoint: &Endpoint, address: SocketAddr) -> Connection {
    endpoint.connect(address, "localhost").expect("a name").await.expect("it listens")
}

async fn count(settings: Settings, announce: Announce, unit_bytes: usize) -> Tally {
    let endpoint = listen(settings, &announce);
    let connection = accept(&endpoint).await;
    let mut stream = connection.accept_uni().await.expect("a stream");
    let mut pieces = vec![Bytes::new(); 64];
    let (mut tally, mut rest) = (Tally::default(), 0);
    while let Some(count) = stream.read_chunks(&mut pieces).await.expect("it stands") {
        rest += pieces[..count].iter().map(Bytes::len).sum::<usize>();
        tally.add(rest / unit_bytes);
        rest %= unit_bytes;
    }
    connection.close(0_u32.into(), b"");
    endpoint.wait_idle().await;
    tally
}

async fn pour(settings: Settings, address: SocketAddr, piece: Bytes) {
    let endpoint = dial(settings);
    let connection = connect(&endpoint, address).await;
    let mut stream = connection.open_uni().await.expect("a stream");
    let mut sending = Sending::start();
    while sending.goes_on() {
        for _ in 0..16 {
            stream.write_all(&piece).await.expect("it stands");
        }
    }
    stream.finish().expect("it stands");
    connection.closed().await;
}

fn bulk_with(protected: bool) -> Figure {
    let settings = settings(protected);
    let for_server = settings.clone();
    ends::bytes(|announce| count(for_server, announce, 1), |address| pour(settings, address, noise::piece()))
}

pub fn bulk() -> Figure {
    bulk_with(true)
}

pub fn bulk_unprotected() -> Figure {
    bulk_with(false)
}

pub fn stream_messages() -> Figure {
    let settings = settings(true);
    let for_server = settings.clone();
    let message = noise::piece().slice(..MESSAGE_BYTES);
    ends::messages(
        |announce| count(for_server, announce, MESSAGE_BYTES),
        |address| pour(settings, address, message),
    )
}

/// How datagrams leave.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Packing {
    /// As many in a packet as fit.
    Many,
    /// One in a packet: each has left before the next is handed over.
    Single,
}

fn datagrams(message_bytes: usize, packing: Packing) -> Figure {
    let settings = settings(true);
    let for_server = settings.clone();
    let server = |announce: Announce| async move {
        let endpoint = listen(for_server, &announce);
        let connection = accept(&endpoint).await;
        let mut tally = Tally::default();
        while let Ok(Ok(_)) = tokio::time::timeout(tally.patience(), connection.read_datagram()).await {
            tally.add(1);
        }
        connection.close(0_u32.into(), b"");
        endpoint.wait_idle().await;
        tally
    };
    let client = |address: SocketAddr| async move {
        let endpoint = dial(settings);
        let connection = connect(&endpoint, address).await;
        let (message, mut sending) = (noise::piece().slice(..message_bytes), Sending::start());
        let empty = connection.datagram_send_buffer_space();
        while sending.goes_on() {
            for _ in 0..64 {
                connection.send_datagram_wait(message.clone()).await.expect("it stands");
                while packing == Packing::Single && connection.datagram_send_buffer_space() < empty {
                    tokio::task::yield_now().await;
                }
            }
        }
        connection.closed().await;
        let sent = connection.stats();
        let alone = packing == Packing::Single || message_bytes > PACKET_BYTES / 2;
        assert!(!alone || sent.udp_tx.datagrams >= sent.frame_tx.datagram, "several in a packet: {sent:?}");
    };
    ends::messages(server, client)
}

pub fn messages() -> Figure {
    datagrams(MESSAGE_BYTES, Packing::Many)
}

pub fn single_messages() -> Figure {
    datagrams(MESSAGE_BYTES, Packing::Single)
}

pub fn large_messages() -> Figure {
    datagrams(LARGE_MESSAGE_BYTES, Packing::Many)
}

pub fn connections() -> Figure {
    let settings = settings(true);
    let for_server = settings.clone();
    let server = |announce: Announce| async move {
        let endpoint = listen(for_server, &announce);
        loop {
            let connection = accept(&endpoint).await;
            let (mut send, mut receive) = connection.accept_bi().await.expect("a stream");
            let request = receive.read_to_end(MESSAGE_BYTES).await.expect("a request");
            send.write_all(&request).await.expect("it stands");
            send.finish().expect("it stands");
            if request.len() == 1 {
                connection.closed().await;
                return;
            }
            tokio::spawn(async move { connection.closed().await });
        }
    };
    let client = |address: SocketAddr| async move {
        let endpoint = dial(settings);
        let (mut tally, mut sending, request) = (Tally::default(), Sending::start(), noise::piece());
        let exchange = async |request: &[u8]| {
            let connection = connect(&endpoint, address).await;
            let (mut send, mut receive) = connection.open_bi().await.expect("a stream");
            send.write_all(request).await.expect("it stands");
            send.finish().expect("it stands");
            receive.read_to_end(MESSAGE_BYTES).await.expect("a response");
            connection.close(0_u32.into(), b"");
        };
        while sending.goes_on() {
            exchange(&request[..MESSAGE_BYTES]).await;
            tally.add(1);
        }
        exchange(&request[..1]).await;
        endpoint.wait_idle().await;
        tally
    };
    ends::connections(server, client)
}

/// Resident bytes per connection and end.
pub fn idle_bytes(count: usize) -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let settings = settings(true);
        let server = Endpoint::server(settings.server.clone(), SocketAddr::from(([127, 0, 0, 1], 0)))
            .expect("loopback");
        let address = server.local_addr().expect("it is bound");
        let client = dial(settings);
        let mut held = Vec::with_capacity(2 * count);
        let open = async |held: &mut Vec<Connection>| {
            let (one, other) = tokio::join!(connect(&client, address), accept(&server));
            held.extend([one, other]);
        };
        for _ in 0..20 {
            open(&mut held).await;
        }
        let before = ends::resident_bytes();
        for _ in 0..count {
            open(&mut held).await;
        }
        (ends::resident_bytes() - before) / (2 * count) as f64
    })
}
