//! Streams within a connection without a runtime, over real UDP on loopback.

mod common;

use std::io::{self, Read, Write};
use std::time::Duration;

use common::{HANGS, PORT, content};
use restp::blocking::{Connection, Endpoint};
use restp::{CloseReason, Error, Priority, Profile, StreamError};

/// Bytes of one stream: more than its window.
const SIZE_BYTES: usize = 3 << 20;
/// Limit of a wait that has to end with it, because nobody will do what is waited for.
const IN_VAIN: Duration = Duration::from_millis(100);
/// Streams that an end may open before the other has said more, and here altogether.
const STREAMS: u64 = 16;

fn profile() -> Profile {
    Profile::file_arq().with_streams()
}

/// A connected pair, client first, whose calls end with an error where they would hang; with their endpoints.
fn pair(profile: &Profile) -> ((Endpoint, Connection), (Endpoint, Connection)) {
    let server = Endpoint::bind("127.0.0.1:0").unwrap();
    let listener = server.listen(PORT, profile).unwrap();
    let client = Endpoint::bind("127.0.0.1:0").unwrap();
    let mut outgoing = client.connect_timeout(server.local_addr(), PORT, profile, HANGS).unwrap();
    let mut incoming = listener.accept_timeout(HANGS).unwrap();
    for connection in [&mut outgoing, &mut incoming] {
        connection.set_read_timeout(Some(HANGS));
        connection.set_write_timeout(Some(HANGS));
    }
    ((client, outgoing), (server, incoming))
}

#[test]
fn a_thread_a_stream_moves_megabytes_intact_at_once() {
    let ((_client, outgoing), (_server, incoming)) = pair(&profile());
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while let Some(mut stream) = incoming.accept_stream().unwrap() {
                threads.spawn(move || {
                    let mut send = stream.send.take().expect("both ends send on it");
                    io::copy(&mut stream.recv, &mut send).unwrap();
                    send.finish().unwrap();
                });
            }
            incoming.finish().unwrap();
        });
        let asking: Vec<_> = (0..8_u8)
            .map(|number| {
                let (mut send, mut recv) = outgoing.open_stream().unwrap();
                threads.spawn(move || {
                    let mut sent = content(SIZE_BYTES / 4);
                    sent[0] = number;
                    let copy = sent.clone();
                    let sending = std::thread::spawn(move || {
                        send.write_all(&copy).unwrap();
                        send.finish().unwrap();
                    });
                    let mut received = Vec::new();
                    recv.read_to_end(&mut received).unwrap();
                    sending.join().unwrap();
                    assert!(received == sent, "stream {number}");
                })
            })
            .collect();
        asking.into_iter().for_each(|thread| thread.join().unwrap());
        outgoing.finish().unwrap();
    });
}

#[test]
fn a_wait_in_vain_ends_with_its_limit_and_loses_nothing() {
    let ((_client, mut outgoing), (_server, incoming)) = pair(&profile());
    let mut nobody = incoming.clone();
    nobody.set_read_timeout(Some(IN_VAIN));
    let error = nobody.accept_stream().unwrap_err();
    assert!(matches!(error, Error::TimedOut(IN_VAIN)), "{error}");

    // Nobody reads: the writer stops when all windows and buffers are full.
    let mut send = outgoing.open_one_way_stream().unwrap();
    send.set_write_timeout(Some(IN_VAIN));
    let content = content(SIZE_BYTES);
    let mut written = 0;
    let error = loop {
        match send.write(&content[written..]) {
            Ok(count) => written += count,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(written < SIZE_BYTES, "all of it was taken");

    let mut stream = incoming.accept_stream().unwrap().expect("a stream was opened");
    assert!(stream.send.is_none());
    assert_eq!(stream.recv.id(), send.id());
    let mut received = vec![0; written];
    stream.recv.read_exact(&mut received).unwrap();
    assert!(received == content[..written]);
    stream.recv.set_read_timeout(Some(IN_VAIN));
    let error = stream.recv.recv(100).unwrap_err();
    assert!(matches!(error, Error::TimedOut(IN_VAIN)), "{error}");
    send.send("the rest").unwrap();
    drop(send);
    stream.recv.set_read_timeout(Some(HANGS));
    let mut rest = String::new();
    stream.recv.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "the rest");

    outgoing.set_read_timeout(Some(IN_VAIN));
    let (_send, mut recv) = outgoing.open_stream().unwrap();
    let error = recv.read(&mut [0; 10]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

#[test]
fn one_stream_more_than_the_peer_allows_waits_for_others_to_end() {
    let mut profile = profile();
    profile.tuning.max_streams = STREAMS;
    let ((_client, mut outgoing), (_server, incoming)) = pair(&profile);
    outgoing.set_write_timeout(Some(IN_VAIN));
    let open: Vec<_> = (0..STREAMS).map(|_| outgoing.open_one_way_stream().unwrap()).collect();
    let error = outgoing.open_one_way_stream().unwrap_err();
    assert!(matches!(error, Error::TimedOut(IN_VAIN)), "{error}");

    // Dropped they end, and the peer reads their ends.
    drop(open);
    for count in 0..STREAMS {
        let mut stream = incoming.accept_stream().unwrap().expect("a stream was opened");
        assert_eq!(stream.recv.id().count(), count);
        assert!(stream.recv.recv(100).unwrap().is_none());
    }
    outgoing.set_write_timeout(Some(HANGS));
    outgoing.open_one_way_stream().unwrap();
}

#[test]
fn a_reader_that_stops_and_a_writer_that_resets_are_heard() {
    let ((_client, outgoing), (_server, incoming)) = pair(&profile());
    let send = outgoing.open_one_way_stream().unwrap();
    send.send("x").unwrap();
    let mut stream = incoming.accept_stream().unwrap().expect("a stream was opened");
    stream.recv.stop(7).unwrap();
    let told = std::iter::repeat_with(|| send.send(vec![0; 10_000])).find_map(Result::err);
    assert!(matches!(told, Some(Error::Stream(StreamError::Stopped(7)))), "{told:?}");

    let (send, recv) = outgoing.open_stream().unwrap();
    send.set_priority(Priority::new(0, true)).unwrap();
    recv.ask_priority(Priority::new(7, false)).unwrap();
    send.send("y").unwrap();
    let mut stream = incoming.accept_stream().unwrap().expect("a stream was opened");
    assert_eq!(stream.recv.recv(100).unwrap().unwrap(), "y");
    send.reset(8).unwrap();
    let told = stream.recv.recv(100);
    assert!(matches!(told, Err(Error::Stream(StreamError::Reset(8)))), "{told:?}");
}

#[test]
fn who_waits_hears_of_the_end_of_the_connection() {
    let ((_client, outgoing), (_server, incoming)) = pair(&profile());
    let (send, mut recv) = outgoing.open_stream().unwrap();
    send.send("x").unwrap();
    // Kept: a stream that is dropped ends, and the end may be there before the abort is.
    let _kept = incoming.accept_stream().unwrap().expect("a stream was opened");
    let accepting = std::thread::spawn({
        let outgoing = outgoing.clone();
        move || outgoing.accept_stream().map(|stream| stream.is_some())
    });
    incoming.abort_with(5);
    for told in [recv.recv(100).map(|data| data.is_some()), accepting.join().unwrap()] {
        assert!(matches!(told, Err(Error::Closed(CloseReason::Application(5)))), "{told:?}");
    }

    let ((_client, outgoing), (_server, _incoming)) = pair(&Profile::file_arq());
    let none = outgoing.open_stream().unwrap_err();
    assert!(matches!(none, Error::Stream(StreamError::NoStreams)), "{none}");
}
