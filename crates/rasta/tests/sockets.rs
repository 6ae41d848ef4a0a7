//! Two ports over real sockets on the loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rasta::net::{Channel, NetError, Port, PortEvent, Refused};
use rasta::{CheckCode, CodeLength, Config, DisconnectReason, Ending, Event, SafetyCode, Seeds, State};
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};

fn anywhere() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}

fn config(local: u32, remote: u32, channels: usize) -> Config {
    Config { channels, check_code: CheckCode::B, ..Config::new(local, remote) }
}

async fn server(channels: Vec<Channel>) -> Port {
    let count = channels.len();
    Port::bind(config(97, 96, count), Seeds::from_u64(2), channels).await.expect("loopback")
}

async fn client(channels: Vec<Channel>) -> Port {
    let count = channels.len();
    Port::bind(config(96, 97, count), Seeds::from_u64(1), channels).await.expect("loopback")
}

/// A certificate of its own for each test, and the configurations of both sides: each proves itself to the other.
fn tls() -> (Arc<rustls::ServerConfig>, Arc<rustls::ClientConfig>) {
    let made = rcgen::generate_simple_self_signed(["rail.test".into()]).expect("a name");
    let certificate = made.cert.der().clone();
    let key = || PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.clone()).expect("a certificate");
    let roots = Arc::new(roots);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        rustls::server::WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone());
    let server = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_client_cert_verifier(verifier.build().expect("a root"))
        .with_single_cert(vec![certificate.clone()], key())
        .expect("certificate and key");
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![certificate], key())
        .expect("certificate and key");
    (Arc::new(server), Arc::new(client))
}

/// Messages both ways over both ports, then the client closes and the server hears why.
async fn talk(mut client: Port, mut server: Port) {
    let (opened, waited) = tokio::join!(client.open(), server.open());
    opened.expect("the client is up");
    waited.expect("the server is up");
    // As many as may wait, then as many out again: flow control and order both ways.
    for round in 0_u32..10 {
        let numbers = round * 10..(round + 1) * 10;
        for number in numbers.clone() {
            client.send(number.to_le_bytes()).await.expect("sent");
            server.send(number.to_le_bytes()).await.expect("sent");
        }
        for number in numbers {
            assert_eq!(client.receive().await.expect("a message"), number.to_le_bytes());
            assert_eq!(server.receive().await.expect("a message"), number.to_le_bytes());
        }
    }
    let report = server.report().await.expect("it lives");
    assert_eq!(report.state, State::Up);
    assert_eq!(report.connection.errors.named().map(|(_, count)| count), [0; 10]);
    client.close(5).await.expect("it lives");
    match server.receive().await {
        Err(NetError::Ended(Ending::There(said))) => {
            assert_eq!((said.detail, said.reason), (5, DisconnectReason::UserRequest));
        }
        other => panic!("{other:?}"),
    }
}

/// What was refused, and nothing else.
fn refused(count: impl FnOnce(&mut Refused)) -> Refused {
    let mut refused = Refused::default();
    count(&mut refused);
    refused
}

#[tokio::test]
async fn two_channels_over_udp() {
    let server = server(vec![Channel::udp_server(anywhere()), Channel::udp_server(anywhere())]).await;
    let to = server.local_addresses().to_vec();
    let client = client(to.into_iter().map(Channel::udp_client).collect()).await;
    talk(client, server).await;
}

#[tokio::test]
async fn two_channels_over_tcp() {
    let listen = || Channel::TcpListen { local: anywhere() };
    let server = server(vec![listen(), listen()]).await;
    let to = server.local_addresses().to_vec();
    let client = client(to.into_iter().map(|remote| Channel::TcpConnect { remote }).collect()).await;
    talk(client, server).await;
}

#[tokio::test]
async fn tls_beside_udp() {
    let (server_tls, client_tls) = tls();
    let listen = Channel::TlsListen { local: anywhere(), config: server_tls };
    let server = server(vec![listen, Channel::udp_server(anywhere())]).await;
    let [tls_at, udp_at] = server.local_addresses() else { panic!("two channels") };
    let name = ServerName::try_from("rail.test").expect("a name");
    let connect = Channel::TlsConnect { remote: *tls_at, name, config: client_tls };
    let client = client(vec![connect, Channel::udp_client(*udp_at)]).await;
    talk(client, server).await;
}

/// A relay that a test can cut: the second channel carries on without a message lost.
#[tokio::test]
async fn a_channel_that_breaks_is_told_and_the_other_carries_on() {
    let listen = || Channel::TcpListen { local: anywhere() };
    let mut server = server(vec![listen(), listen()]).await;
    let relay = tokio::net::TcpListener::bind(anywhere()).await.expect("loopback");
    let relay_at = relay.local_addr().expect("bound");
    let [first, second] = server.local_addresses().to_vec()[..] else { panic!("two channels") };
    let cut = tokio::spawn(async move {
        let (mut here, _) = relay.accept().await.expect("the client");
        drop(relay);
        let mut there = tokio::net::TcpStream::connect(first).await.expect("the server");
        tokio::io::copy_bidirectional(&mut here, &mut there).await
    });
    let channels = [relay_at, second].map(|remote| Channel::TcpConnect { remote });
    let mut client = client(channels.to_vec()).await;
    let (opened, waited) = tokio::join!(client.open(), server.open());
    opened.and(waited).expect("both are up");
    cut.abort();
    loop {
        match client.event().await.expect("it lives") {
            PortEvent::ChannelDown { channel: 0, .. } => break,
            PortEvent::Rasta(Event::Ended(ending)) => panic!("{ending:?}"),
            _ => {}
        }
    }
    for number in 0_u32..50 {
        client.send(number.to_le_bytes()).await.expect("sent");
        assert_eq!(server.receive().await.expect("a message"), number.to_le_bytes());
    }
    assert!(client.report().await.expect("it lives").not_sent[0] >= 50);
}

#[tokio::test]
async fn strangers_do_not_become_the_peer() {
    let mut server = server(vec![Channel::udp_server(anywhere())]).await;
    let to = server.local_addresses()[0];
    server.begin_open().await.expect("it lives");
    let stranger = tokio::net::UdpSocket::bind(anywhere()).await.expect("loopback");
    stranger.send_to(b"not a frame", to).await.expect("sent");
    let mut client = client(vec![Channel::udp_client(to)]).await;
    client.open().await.expect("the client is up");
    stranger.send_to(b"not a frame either", to).await.expect("sent");
    client.send("from the peer").await.expect("sent");
    assert_eq!(server.receive().await.expect("a message"), b"from the peer");
    let report = server.report().await.expect("it lives");
    assert_eq!(report.frames.malformed, 0, "what a stranger sends does not even count as the channel's");
    assert_eq!(report.refused, refused(|it| it.malformed = 2));
    assert!(report.received[0] > 2, "those of the peer, too: {report:?}");
}

/// Both ends run with codes of their own, which nothing on the wire says.
#[tokio::test]
async fn frames_of_a_peer_with_other_codes_are_told_by_what_is_wrong() {
    let same = || config(96, 97, 1);
    let safety_code = SafetyCode::md4(CodeLength::Full);
    let cases = [
        (Config { safety_code, ..same() }, refused(|it| it.safety_code = 1)),
        (Config { check_code: CheckCode::C, ..same() }, refused(|it| it.check_code = 1)),
        (Config { check_code: CheckCode::A, ..same() }, refused(|it| it.check_code = 1)),
        (config(96, 98, 1), refused(|it| it.address = 1)),
        (Config { safety_code: SafetyCode::Unprotected, ..same() }, refused(|it| it.safety_code = 1)),
    ];
    for (other, refused) in cases {
        for tcp in [false, true] {
            let listen = Channel::TcpListen { local: anywhere() };
            let mut server = server(vec![if tcp { listen } else { Channel::udp_server(anywhere()) }]).await;
            let remote = server.local_addresses()[0];
            server.begin_open().await.expect("it lives");
            let goes = if tcp { Channel::TcpConnect { remote } } else { Channel::udp_client(remote) };
            let client = Port::bind(other.clone(), Seeds::from_u64(1), vec![goes]).await.expect("loopback");
            client.begin_open().await.expect("it lives");
            let told = loop {
                if let PortEvent::Refused(told) = server.event().await.expect("it lives") {
                    break told;
                }
            };
            assert_eq!(told, refused, "{other:?}, tcp {tcp}");
        }
    }
}

/// Over TCP nothing but the end itself looks at what comes.
#[tokio::test]
async fn a_client_that_comes_again_with_the_right_codes_is_heard() {
    let mut server = server(vec![Channel::TcpListen { local: anywhere() }]).await;
    let remote = server.local_addresses()[0];
    server.begin_open().await.expect("it lives");
    let other = Config { safety_code: SafetyCode::md4(CodeLength::Full), ..config(96, 97, 1) };
    let connect = || vec![Channel::TcpConnect { remote }];
    let wrong = Port::bind(other, Seeds::from_u64(1), connect()).await.expect("loopback");
    wrong.begin_open().await.expect("it lives");
    while !matches!(server.event().await.expect("it lives"), PortEvent::Refused(_)) {}
    drop(wrong);
    let mut right = client(connect()).await;
    right.open().await.expect("the server answers");
}

#[tokio::test]
async fn refused_frames_are_told_whenever_they_are_twice_as_many() {
    let mut server = server(vec![Channel::udp_server(anywhere())]).await;
    let stranger = tokio::net::UdpSocket::bind(anywhere()).await.expect("loopback");
    server.begin_open().await.expect("it lives");
    let mut told = Vec::new();
    for count in 1..=9 {
        stranger.send_to(b"not a frame", server.local_addresses()[0]).await.expect("sent");
        while server.report().await.expect("it lives").refused.frames() < count {
            tokio::task::yield_now().await;
        }
    }
    while told.len() < 4 {
        if let PortEvent::Refused(refused) = server.event().await.expect("it lives") {
            told.push(refused.malformed);
        }
    }
    assert_eq!(told, [1, 2, 4, 8]);
}

#[tokio::test]
async fn nobody_there_ends_in_a_time_out() {
    let free = tokio::net::UdpSocket::bind(anywhere()).await.expect("loopback");
    let to = free.local_addr().expect("bound");
    let quick = Config {
        t_max: Duration::from_millis(60),
        t_h: Duration::from_millis(20),
        t_seq: Duration::from_millis(20),
        ..config(96, 97, 1)
    };
    let channels = vec![Channel::udp_client(to)];
    let mut client = Port::bind(quick, Seeds::from_u64(1), channels).await.expect("loopback");
    let error = client.open().await.expect_err("nobody answers");
    assert_eq!(error.to_string(), "closed by this end: no message came in time");
}

#[tokio::test]
async fn what_cannot_be_bound_is_said() {
    let taken = tokio::net::UdpSocket::bind(anywhere()).await.expect("loopback");
    let local = taken.local_addr().expect("bound");
    let bind = Port::bind(config(97, 96, 1), Seeds::from_u64(1), vec![Channel::udp_server(local)]);
    let error = bind.await.expect_err("it is taken").to_string();
    assert!(error.starts_with(&format!("channel 0: cannot bind {local}: ")), "{error}");
    let error =
        Port::bind(config(97, 96, 2), Seeds::from_u64(1), vec![]).await.expect_err("none").to_string();
    assert_eq!(error, "the configuration has 2 channels, 0 were given");
}
