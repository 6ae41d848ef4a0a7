//! Parameters, the length of records, and both ends over the loopback interface.

use std::time::Instant;

use dimpl::Output;
use serde_json::json;

use super::*;
use crate::loopback::session;
use crate::transport::{Arrival, DeliveryInstants};

fn params(params: Value) -> Map<String, Value> {
    params.as_object().expect("an object").clone()
}

fn stack(of: Value) -> Box<dyn Stack> {
    build(&params(of)).expect("sound parameters")
}

#[test]
fn mistakes_are_sentences() {
    let cases = [
        (json!({"version": "1.1"}), "unknown variant `1.1`"),
        (json!({"initial_timer_s": 0}), "`initial_timer_s` is 0"),
        (json!({"resumption": true}), "unknown field `resumption`"),
        (json!({"send_buffer_bytes": 0}), "`send_buffer_bytes`"),
        (json!({"fault": "rain"}), "unknown variant `rain`"),
        (json!({"fault": "no_client_certificate"}), "cannot be had"),
        (json!({"fault": "tickets_kept"}), "there are no tickets to keep"),
    ];
    for (of, part) in cases {
        let found = build(&params(of)).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(found.contains(part), "{found}");
    }
}

/// What an end says until it waits, and what it is told.
fn said(end: &mut Dtls) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (mut datagrams, mut messages) = (Vec::new(), Vec::new());
    let mut out = vec![0; 4096];
    loop {
        match end.poll_output(&mut out) {
            Output::Packet(datagram) => datagrams.push(datagram.to_vec()),
            Output::ApplicationData(message) => messages.push(message.to_vec()),
            Output::Timeout(_) => return (datagrams, messages),
            _ => {}
        }
    }
}

/// An end that has not said anything, of a sender or of a receiver.
fn end(version: Version, is_sender: bool) -> Dtls {
    let stack = OverUdp {
        version,
        client_auth: false,
        cookie: true,
        initial_timer: Duration::from_secs(1),
        fault: None,
        buffers: Buffers::default(),
        pki: OnceLock::new(),
    };
    let (session, now) = (session(), Instant::now());
    let pki = stack.pki(&session).expect("the system has randomness");
    let credentials = if is_sender { pki.client_credentials(true) } else { pki.server_credentials(false) };
    let mut end = stack.end(&credentials, 1472, now).expect("a sound configuration");
    if is_sender {
        end.set_active(true);
    }
    end.handle_timeout(now).expect("nothing is late");
    end
}

/// Sender and receiver that have shaken hands.
fn opened(version: Version) -> [Dtls; 2] {
    let mut ends = [end(version, true), end(version, false)];
    for turn in 0..8 {
        let [from, to] = if turn % 2 == 0 { [0, 1] } else { [1, 0] };
        for datagram in said(&mut ends[from]).0 {
            ends[to].handle_packet(&datagram).expect("it is as expected");
        }
    }
    ends
}

const VERSIONS: [(Version, usize); 2] =
    [(Version::Dtls12, RECORD_BYTES_12), (Version::Dtls13, RECORD_BYTES_13)];

/// The datagram with a message.
fn sealed(sender: &mut Dtls, message: &[u8]) -> Vec<u8> {
    assert_eq!(sender.send_application_data(message), Ok(message.len()));
    let mut datagrams = said(sender).0;
    assert_eq!(datagrams.len(), 1);
    datagrams.remove(0)
}

/// What a receiver reads of a datagram.
fn read(receiver: &mut Dtls, datagram: &[u8]) -> Vec<Vec<u8>> {
    receiver.handle_packet(datagram).expect("who cannot read it ignores it");
    said(receiver).1
}

#[test]
fn a_record_is_as_much_longer_than_its_message_as_the_limit_of_messages_takes_it_to_be() {
    for (version, record_bytes) in VERSIONS {
        let [mut sender, _] = opened(version);
        assert_eq!(sealed(&mut sender, &[7; 100]).len(), 100 + record_bytes, "{version:?}");
    }
}

#[test]
fn a_record_is_read_once_and_only_while_it_is_one_of_the_latest_64() {
    for (version, _) in VERSIONS {
        let [mut sender, mut receiver] = opened(version);
        let messages: Vec<Vec<u8>> = (0..66).map(|number| vec![number; 20]).collect();
        let datagrams: Vec<Vec<u8>> = messages.iter().map(|it| sealed(&mut sender, it)).collect();
        // The first two are held back until the third is the oldest one of 64.
        for number in 2..=64 {
            assert_eq!(read(&mut receiver, &datagrams[number]), [messages[number].clone()], "{version:?}");
        }
        assert_eq!(read(&mut receiver, &datagrams[1]), [messages[1].clone()], "{version:?}");
        for too_late_or_again in [0, 1, 2, 40, 64] {
            let found = read(&mut receiver, &datagrams[too_late_or_again]);
            assert!(found.is_empty(), "{version:?}: {too_late_or_again}");
        }
        assert_eq!(read(&mut receiver, &datagrams[65]), [messages[65].clone()], "{version:?}");
    }
}

#[test]
fn a_record_in_which_a_bit_turned_over_is_ignored_wherever_the_bit_is() {
    for (version, _) in VERSIONS {
        // The library does not look at the last octet of DTLS 1.2's version: the message is what it was.
        let unread = if matches!(version, Version::Dtls12) { 16..24 } else { 0..0 };
        let [mut sender, mut receiver] = opened(version);
        let datagram = sealed(&mut sender, &[7; 20]);
        for bit in (0..8 * datagram.len()).filter(|bit| !unread.contains(bit)) {
            let mut damaged = datagram.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&mut receiver, &damaged).is_empty(), "{version:?}: bit {bit}");
        }
        assert_eq!(read(&mut receiver, &datagram), [vec![7; 20]], "{version:?}");
    }
}

const MESSAGE_BYTES: usize = 20;

/// Messages that differ, one after the other.
fn block(messages: u8) -> Vec<u8> {
    (0..messages).flat_map(|number| [number; MESSAGE_BYTES]).collect()
}

#[test]
fn messages_arrive_whole_with_every_version_and_handshake() {
    for of in [
        json!({}),
        json!({"client_auth": true}),
        json!({"cookie": false}),
        json!({"version": "1.2"}),
        json!({"version": "1.2", "client_auth": true}),
    ] {
        let (stack, session) = (stack(of.clone()), session());
        let mut listener = stack.listen(&session, MESSAGE_BYTES as u32).expect("the port is free");
        let sent = block(50);
        let received = std::thread::scope(|scope| {
            let receiving = scope.spawn(|| {
                let mut connection = listener.accept().expect("the sender is there");
                assert_eq!(connection.instants(), DeliveryInstants::Kernel);
                let mut bytes = Vec::new();
                while bytes.len() < 50 * MESSAGE_BYTES {
                    let arrival = connection.receive(1, u64::MAX, &mut |message, _| {
                        assert_eq!(message.len(), MESSAGE_BYTES);
                        bytes.extend_from_slice(message);
                        Ok(())
                    });
                    assert_ne!(arrival.expect("the session stands"), Arrival::End);
                }
                assert!(connection.counts()["datagrams_received"] >= 50);
                bytes
            });
            let mut connection =
                stack.connect(&session, MESSAGE_BYTES as u32).unwrap_or_else(|error| panic!("{of}: {error}"));
            assert_eq!(connection.offer(&sent, MESSAGE_BYTES, 0), Ok(sent.len()));
            connection.finish().expect("the handshake is over");
            receiving.join().expect("all arrived")
        });
        // The kernel may hand over what waits in the order in which it came only.
        assert_eq!(received, sent, "{of}");
    }
}

#[test]
fn who_is_not_to_be_trusted_is_told_so() {
    let cases = [
        (json!({"fault": "wrong_ca"}), "not trusted here"),
        (json!({"fault": "expired_certificate"}), "has expired"),
        (json!({"fault": "wrong_ca", "version": "1.2", "client_auth": true}), "not trusted here"),
    ];
    for (of, part) in cases {
        let (stack, session) = (stack(of.clone()), session());
        let mut listener = stack.listen(&session, MESSAGE_BYTES as u32).expect("the port is free");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if let Some(failure) = listener.accept().err() {
                    session.fail(failure);
                }
            });
            let connected = stack.connect(&session, MESSAGE_BYTES as u32);
            let finished = connected.and_then(|mut connection| connection.finish());
            if let Err(failure) = finished {
                session.fail(failure);
            }
        });
        let found = session.failure().map(|failure| failure.to_string()).unwrap_or_default();
        assert!(found.starts_with("the DTLS handshake failed: ") && found.contains(part), "{of}: {found}");
    }
}

#[test]
fn a_message_that_fits_no_datagram_is_refused_by_either_end() {
    let (stack, session) = (stack(json!({})), session());
    // An Ethernet's 1500 bytes less the headers of IPv4 and UDP and the record.
    let room = 1500 - 20 - 8 - RECORD_BYTES_13 as u32;
    assert!(stack.listen(&session, room).is_ok());
    for failed in [stack.listen(&session, room + 1).err(), stack.connect(&session, room + 1).err()] {
        let found = failed.map(|failure| failure.to_string()).unwrap_or_default();
        assert!(found.contains(&format!("has room for {room}")), "{found}");
    }
}

#[test]
fn a_receiver_that_is_not_there_is_a_sentence() {
    let failure = stack(json!({})).connect(&session(), MESSAGE_BYTES as u32).err();
    assert!(matches!(failure, Some(Failure::Refused(_))), "{failure:?}");
}

#[test]
fn a_report_of_the_kernel_ends_one_wait_and_no_other() {
    let session = session();
    let mut wire = Wire::connected(&session, session.ctx.source, Buffers::default()).expect("a free port");
    // One more byte than IPv4 can carry: the kernel drops it, and reports that too.
    wire.send(&[0; 65_508]).expect("it is lost like any other");
    assert_eq!(wire.dropped(), 1);
    let is_ready = |wire: &Wire| {
        let now_ns = session.ctx.clock.now_ns();
        session.wait_any(&[wire.fd()], libc::POLLIN, now_ns, now_ns + 1_000_000, "the test waited")
    };
    assert_eq!(is_ready(&wire), Ok(true));
    assert_eq!(wire.receive(), Ok(Vec::new()));
    assert_eq!(is_ready(&wire), Ok(false));
}

#[test]
fn a_handshake_that_a_stranger_begins_in_the_senders_place_ends_no_session() {
    for (version, name) in [(Version::Dtls12, "1.2"), (Version::Dtls13, "1.3")] {
        let (stack, session) = (stack(json!({"version": name})), session());
        let mut listener = stack.listen(&session, MESSAGE_BYTES as u32).expect("the port is free");
        let mut receiving = std::thread::scope(|scope| {
            let accepted = scope.spawn(|| listener.accept().expect("the sender is there"));
            let mut sending = stack.connect(&session, MESSAGE_BYTES as u32).expect("a handshake");
            sending.finish().expect("it is over");
            accepted.join().expect("so is the receiver's")
        });
        let stranger = std::net::UdpSocket::bind(session.ctx.source).expect("the sender has gone");
        let hellos = said(&mut end(version, true)).0;
        let before = receiving.counts()["datagrams_received"];
        for hello in &hellos {
            stranger.send_to(hello, session.ctx.destination).expect("it is short");
        }
        let arrival = receiving.receive(1, u64::MAX, &mut |_, _| unreachable!("nothing was sent"));
        assert_eq!(arrival, Ok(Arrival::Silence), "{version:?}");
        let received = receiving.counts()["datagrams_received"];
        assert_eq!(received, before + hellos.len() as u64, "{version:?}");
    }
}
