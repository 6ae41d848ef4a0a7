//! Parameters, the length of records, and both ends over the loopback interface.

#[path = "../../../../workload/tests/flows/places.rs"]
mod places;

use std::time::Instant;

use dimpl::Output;
use serde_json::json;

use super::*;
use crate::clock::Clock;
use crate::context::Context;
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
    ];
    for (of, part) in cases {
        let found = build(&params(of)).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(found.contains(part), "{found}");
    }
}

/// A session between two places that nobody else uses, with 20 s until its limit.
fn session() -> Arc<Session> {
    let ctx = Context {
        clock: Clock::starting_now(false),
        limit_ns: 20_000_000_000,
        seed: 1,
        source: places::free_place(),
        destination: places::free_place(),
        source_further: Vec::new(),
        destination_further: Vec::new(),
        quiet_ns: 0,
        socket_interval_ns: None,
        messages: false,
        wire: false,
        wake: false,
        keys: false,
        qlog: None,
        progress: None,
    };
    Arc::new(Session::new(ctx).expect("descriptors are left"))
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

#[test]
fn a_record_is_as_much_longer_than_its_message_as_the_limit_of_messages_takes_it_to_be() {
    for (version, record_bytes) in [(Version::Dtls12, RECORD_BYTES_12), (Version::Dtls13, RECORD_BYTES_13)] {
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
        let mut ends = [
            stack.end(&pki.client_credentials(true), 1472, now).expect("a sound configuration"),
            stack.end(&pki.server_credentials(false), 1472, now).expect("a sound configuration"),
        ];
        ends[0].set_active(true);
        for end in &mut ends {
            end.handle_timeout(now).expect("nothing is late");
        }
        for turn in 0..8 {
            let [from, to] = if turn % 2 == 0 { [0, 1] } else { [1, 0] };
            for datagram in said(&mut ends[from]).0 {
                ends[to].handle_packet(&datagram).expect("it is as expected");
            }
        }
        let message = [7; 100];
        assert_eq!(ends[0].send_application_data(&message), Ok(100));
        let datagrams = said(&mut ends[0]).0;
        assert_eq!(datagrams.iter().map(Vec::len).collect::<Vec<_>>(), [100 + record_bytes], "{version:?}");
        // What comes twice is read once.
        for _ in 0..2 {
            ends[1].handle_packet(&datagrams[0]).expect("a repetition is ignored");
        }
        assert_eq!(said(&mut ends[1]).1, [message.to_vec()], "{version:?}");
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
