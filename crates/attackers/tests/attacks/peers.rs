//! Servers for tests: they answer, or only listen, and write down what they see.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use attackers::http::{h2, h3};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use quinn::crypto::rustls::QuicServerConfig;
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio_rustls::TlsAcceptor;

/// A port of its own on 127.0.0.1.
pub const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// What a server saw.
#[derive(Default)]
pub struct Seen {
    /// Connections begun: over QUIC attempts, Retries apart.
    pub begun: usize,
    /// Handshakes done.
    pub shaken: usize,
    /// Handshakes failed.
    pub failed: usize,
    /// Requests, or over QUIC streams, that came to their end.
    pub requests: usize,
    /// Where connections came from.
    pub sources: BTreeSet<IpAddr>,
    /// What came on each connection in the clear, or on each stream.
    pub said: Vec<Vec<u8>>,
    /// Octets of answers that the server could give away.
    pub written: usize,
    /// QUIC connections, for their counts.
    pub quic: Vec<quinn::Connection>,
}

/// Where a server listens and what it saw.
#[derive(Clone)]
pub struct Peer {
    pub address: SocketAddr,
    pub seen: Arc<Mutex<Seen>>,
    /// Its certificate, which is its own authority.
    pub certificate: String,
}

impl Peer {
    /// A count.
    pub fn count(&self, of: fn(&Seen) -> usize) -> usize {
        of(&self.seen.lock().unwrap())
    }

    /// Waits until a count is reached: what an attacker sent last may still be on its way.
    pub async fn reaches(&self, of: fn(&Seen) -> usize, count: usize) {
        for _ in 0..500 {
            if self.count(of) >= count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} instead of {count}", self.count(of));
    }

    /// Waits until nothing more comes.
    pub async fn settles(&self) {
        let heard = || {
            let seen = self.seen.lock().unwrap();
            let said: usize = seen.said.iter().map(Vec::len).sum();
            let datagrams: u64 = seen.quic.iter().map(|connection| connection.stats().udp_rx.datagrams).sum();
            (said, datagrams)
        };
        let mut before = None;
        while before != Some(heard()) {
            before = Some(heard());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// The sum of a count over all QUIC connections.
    pub fn frames(&self, of: fn(&quinn::FrameStats) -> u64) -> u64 {
        self.seen.lock().unwrap().quic.iter().map(|connection| of(&connection.stats().frame_rx)).sum()
    }

    /// That no more was acknowledged than each handshake takes.
    pub fn hears_no_acknowledgements(&self) {
        let (acks, connections) = (self.frames(|frames| frames.acks), self.count(|seen| seen.shaken) as u64);
        assert!(acks <= 8 * connections, "{acks} in {connections} connections");
    }
}

fn tls(alpn: &[&str]) -> (ServerConfig, String) {
    let made = rcgen::generate_simple_self_signed(["server.gauntlet.test".into()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into();
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    (config, made.cert.pem())
}

fn body(path: &str) -> Vec<u8> {
    vec![
        b'x';
        path.strip_prefix("/bytes/").map_or(Some(1000), |count| count.parse().ok()).unwrap_or_default()
    ]
}

/// What a server over TCP does with a connection once its handshake is done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Answers by HTTP/1.1 or HTTP/2 as hyper does.
    Hyper,
    /// Says SETTINGS if it is HTTP/2, listens, and never answers.
    Ears,
    /// Waits for the first octets, then writes 10 MB of whatever.
    Mouth,
}

/// A server over TLS and TCP.
pub async fn tcp(over: Over) -> Peer {
    let (config, certificate) = tls(&["h2", "http/1.1"]);
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(ANY).await.unwrap();
    let peer = Peer { address: listener.local_addr().unwrap(), seen: Arc::default(), certificate };
    let seen = Arc::clone(&peer.seen);
    tokio::spawn(async move {
        loop {
            let (stream, from) = listener.accept().await.unwrap();
            {
                let mut seen = seen.lock().unwrap();
                seen.begun += 1;
                seen.sources.insert(from.ip());
            }
            tokio::spawn(connection(acceptor.clone(), stream, over, Arc::clone(&seen)));
        }
    });
    peer
}

async fn connection(acceptor: TlsAcceptor, stream: TcpStream, over: Over, seen: Arc<Mutex<Seen>>) {
    let Ok(mut stream) = acceptor.accept(stream).await else {
        seen.lock().unwrap().failed += 1;
        return;
    };
    seen.lock().unwrap().shaken += 1;
    let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    if over == Over::Hyper {
        let service = service_fn(move |request: Request<Incoming>| {
            seen.lock().unwrap().requests += 1;
            let body = Bytes::from(body(request.uri().path()));
            async move { Ok::<_, std::convert::Infallible>(Response::new(Full::new(body))) }
        });
        let io = TokioIo::new(stream);
        if is_h2 {
            let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .serve_connection(io, service)
                .await;
        } else {
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
        }
        return;
    }
    if is_h2 {
        let mut settings = Vec::new();
        h2::put_frame(&mut settings, h2::kind::SETTINGS, 0, 0, &[]);
        if stream.write_all(&settings).await.is_err() {
            return;
        }
    }
    let index = {
        let mut seen = seen.lock().unwrap();
        seen.said.push(Vec::new());
        seen.said.len() - 1
    };
    let mut buffer = vec![0; 16_384];
    while let Ok(octets @ 1..) = stream.read(&mut buffer).await {
        seen.lock().unwrap().said[index].extend_from_slice(&buffer[..octets]);
        if over == Over::Mouth {
            for _ in 0..1000 {
                if stream.write_all(&[b'x'; 10_000]).await.is_err() {
                    return;
                }
                seen.lock().unwrap().written += 10_000;
            }
        }
    }
}

/// A server over QUIC: quinn's, which answers as HTTP/3 does, if `answers`.
pub fn quic(retries: bool, answers: bool) -> Peer {
    quic_with(retries, answers, quinn::TransportConfig::default())
}

/// One that answers, and forgets a connection that is silent for so long without a word.
pub fn forgetful(idle: Duration) -> Peer {
    let mut transport = quinn::TransportConfig::default();
    transport.max_idle_timeout(Some(idle.try_into().unwrap()));
    quic_with(false, true, transport)
}

fn quic_with(retries: bool, answers: bool, transport: quinn::TransportConfig) -> Peer {
    let (config, certificate) = tls(&["h3"]);
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(config).unwrap()));
    config.transport_config(Arc::new(transport));
    let endpoint = quinn::Endpoint::server(config, ANY).unwrap();
    let peer = Peer { address: endpoint.local_addr().unwrap(), seen: Arc::default(), certificate };
    let seen = Arc::clone(&peer.seen);
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            if retries && !incoming.remote_address_validated() {
                incoming.retry().unwrap();
                continue;
            }
            {
                let mut seen = seen.lock().unwrap();
                seen.begun += 1;
                seen.sources.insert(incoming.remote_address().ip());
            }
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                let Ok(connection) = incoming.await else {
                    seen.lock().unwrap().failed += 1;
                    return;
                };
                seen.lock().unwrap().shaken += 1;
                seen.lock().unwrap().quic.push(connection.clone());
                while let Ok((send, receive)) = connection.accept_bi().await {
                    tokio::spawn(stream(send, receive, answers, Arc::clone(&seen)));
                }
            });
        }
    });
    peer
}

async fn stream(
    mut send: quinn::SendStream,
    mut receive: quinn::RecvStream,
    answers: bool,
    seen: Arc<Mutex<Seen>>,
) {
    let index = {
        let mut seen = seen.lock().unwrap();
        seen.said.push(Vec::new());
        seen.said.len() - 1
    };
    let mut buffer = vec![0; 16_384];
    loop {
        match receive.read(&mut buffer).await {
            Ok(Some(octets)) => seen.lock().unwrap().said[index].extend_from_slice(&buffer[..octets]),
            Ok(None) => break,
            Err(_) => return,
        }
    }
    seen.lock().unwrap().requests += 1;
    if !answers {
        // The stream stays open as long as the connection.
        let _ = send.stopped().await;
        return;
    }
    let said = seen.lock().unwrap().said[index].clone();
    let path = String::from_utf8_lossy(&said).into_owned();
    let path: String = path
        .split_once("/bytes/")
        .map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect())
        .map_or_else(|| "/".to_owned(), |count: String| format!("/bytes/{count}"));
    let mut answer = Vec::new();
    h3::put_frame(&mut answer, h3::HEADERS, &[0, 0, 0xc0 | 25]);
    h3::put_frame(&mut answer, h3::DATA, &body(&path));
    if send.write_all(&answer).await.is_ok() {
        let _ = send.finish();
        let _ = send.stopped().await;
    }
}

/// Datagrams with where they came from.
type Kept = Vec<(SocketAddr, Vec<u8>)>;

/// A UDP port that keeps all datagrams.
#[derive(Clone)]
pub struct Sink {
    pub address: SocketAddr,
    kept: Arc<Mutex<Kept>>,
}

impl Sink {
    /// What came, once it is so many: what an attacker sent last may still be on its way.
    pub async fn datagrams(&self, count: usize) -> Kept {
        for _ in 0..500 {
            if self.kept.lock().unwrap().len() >= count {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.kept.lock().unwrap().clone()
    }
}

/// Opens one.
pub async fn sink() -> Sink {
    let socket = UdpSocket::bind(ANY).await.unwrap();
    let sink = Sink { address: socket.local_addr().unwrap(), kept: Arc::default() };
    let keep = Arc::clone(&sink.kept);
    tokio::spawn(async move {
        let mut buffer = vec![0; 2048];
        loop {
            let (octets, from) = socket.recv_from(&mut buffer).await.unwrap();
            keep.lock().unwrap().push((from, buffer[..octets].to_vec()));
        }
    });
    sink
}

/// A port in front of a UDP server that loses every `one_in`th datagram of each direction.
pub async fn lossy(server: SocketAddr, one_in: usize) -> SocketAddr {
    in_front(server, move |number| number % one_in != 0, move |number| number % one_in != 0).await
}

/// A port in front of a UDP server from which nothing comes any more after a while, and no end of it either.
pub async fn falls_silent(server: SocketAddr, after: Duration) -> SocketAddr {
    let silent_at = Instant::now() + after;
    in_front(server, |_| true, move |_| Instant::now() < silent_at).await
}

/// A port in front of a UDP server; of each direction the datagrams pass, by their numbers, that it lets.
async fn in_front(
    server: SocketAddr,
    there: impl Fn(usize) -> bool + Send + 'static,
    back_again: impl Fn(usize) -> bool + Clone + Send + Sync + 'static,
) -> SocketAddr {
    let front = Arc::new(UdpSocket::bind(ANY).await.unwrap());
    let address = front.local_addr().unwrap();
    tokio::spawn(async move {
        let mut backs: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
        let mut buffer = vec![0; 2048];
        for number in 1.. {
            let (octets, from) = front.recv_from(&mut buffer).await.unwrap();
            if let Entry::Vacant(place) = backs.entry(from) {
                let back = Arc::new(UdpSocket::bind(ANY).await.unwrap());
                back.connect(server).await.unwrap();
                place.insert(Arc::clone(&back));
                let (front, back_again) = (Arc::clone(&front), back_again.clone());
                tokio::spawn(async move {
                    let mut buffer = vec![0; 2048];
                    for number in 1.. {
                        let Ok(octets) = back.recv(&mut buffer).await else { return };
                        if back_again(number) {
                            front.send_to(&buffer[..octets], from).await.unwrap();
                        }
                    }
                });
            }
            if there(number) {
                let _ = backs[&from].send(&buffer[..octets]).await;
            }
        }
    });
    address
}
