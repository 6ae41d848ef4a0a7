//! The QUIC client on its own.

use std::rc::Rc;
use std::time::{Duration, Instant};

use attackers::context::{Common, Context, Protocol};
use attackers::http::h3;
use attackers::outcome::Outcome;
use attackers::quic::QuicSession;
use attackers::quic_wire::frame;
use attackers::quic_wire::transport_parameters::Stated;
use clap::Parser;

use crate::peers::{self, Peer};

#[derive(Parser)]
struct Options {
    #[command(flatten)]
    common: Common,
}

fn context(peer: &Peer) -> Rc<Context> {
    let target = peer.address.to_string();
    let options = Options::try_parse_from(["test", "--target", target.as_str()]).unwrap();
    Context::new(&options.common, &[Protocol::H3]).unwrap()
}

async fn get(session: &mut QuicSession, path: &str) -> Outcome {
    let deadline = Instant::now() + Duration::from_secs(20);
    session.until(deadline, |client| client.is_confirmed()).await.unwrap();
    let id = session.client.open_bidi().expect("a stream");
    session.client.watch(id);
    session.client.send(id, &h3::get("localhost", path), true);
    let answered = |client: &mut attackers::quic::Client| {
        client.received(id).is_some_and(|stream| h3::answer(stream).is_some())
    };
    session.until(deadline, answered).await.unwrap();
    let outcome = session.client.received(id).and_then(h3::answer).unwrap();
    session.client.forget(id);
    outcome
}

/// quinn updates its keys of its own accord after some packets, and when told to.
#[tokio::test]
async fn updates_of_keys_are_followed() {
    let peer = peers::quic(false, true);
    let mut session = QuicSession::open(&context(&peer), peer.address.ip(), &Stated::default()).unwrap();
    for _ in 0..3 {
        assert_eq!(get(&mut session, "/bytes/100000").await, Outcome::Ok);
        peer.seen.lock().unwrap().quic[0].force_key_update();
    }
    assert_eq!(get(&mut session, "/").await, Outcome::Ok);
    assert_eq!(peer.count(|seen| seen.requests), 4);
}

#[tokio::test]
async fn a_long_answer_comes_whole() {
    let peer = peers::quic(false, true);
    let mut session = QuicSession::open(&context(&peer), peer.address.ip(), &Stated::default()).unwrap();
    assert_eq!(get(&mut session, "/bytes/3000000").await, Outcome::Ok);
    assert!(session.client.stream_octets > 3_000_000);
}

#[tokio::test]
async fn streams_end_with_the_servers_limit() {
    let peer = peers::quic(false, false);
    let mut session = QuicSession::open(&context(&peer), peer.address.ip(), &Stated::default()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    session.until(deadline, |client| client.is_confirmed()).await.unwrap();
    assert!(session.client.allows(1000) && !session.client.allows(1 << 40));
    // quinn's own limit.
    for _ in 0..100 {
        let id = session.client.open_bidi().expect("a stream");
        session.client.send(id, b"request", true);
    }
    assert_eq!(session.client.open_bidi(), None);
    session.until(deadline, |_| peer.count(|seen| seen.requests) == 100).await.unwrap();
}

#[tokio::test]
async fn the_servers_close_is_told_with_its_code() {
    let peer = peers::quic(false, true);
    let mut session = QuicSession::open(&context(&peer), peer.address.ip(), &Stated::default()).unwrap();
    assert_eq!(get(&mut session, "/").await, Outcome::Ok);
    peer.seen.lock().unwrap().quic[0].close(0x107_u32.into(), b"enough");
    let ended = session.until(Instant::now() + Duration::from_secs(20), |_| false).await;
    assert_eq!(ended, Err(Outcome::Closed(Some(0x107))));
}

#[tokio::test]
async fn a_server_that_forgot_the_connection_resets_it() {
    let peer = peers::forgetful(Duration::from_millis(50));
    let mut session = QuicSession::open(&context(&peer), peer.address.ip(), &Stated::default()).unwrap();
    assert_eq!(get(&mut session, "/").await, Outcome::Ok);
    let connection = peer.seen.lock().unwrap().quic[0].clone();
    assert_eq!(connection.closed().await, quinn::ConnectionError::TimedOut);
    let mut frames = Vec::new();
    frame::ping(&mut frames);
    session.client.send_frames(frames, true);
    let ended = session.until(Instant::now() + Duration::from_secs(20), |_| false).await;
    assert_eq!(ended, Err(Outcome::Reset));
}
