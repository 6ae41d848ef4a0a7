//! Parameters, and both stacks over the loopback interface.

use std::os::fd::BorrowedFd;

use serde_json::json;

use super::*;
use crate::loopback::session;
use crate::transport::{Arrival, Signal};

type Build = fn(&Map<String, Value>) -> Result<Box<dyn Stack>, SpecError>;

fn sentence(build: Build, params: Value) -> String {
    let params = params.as_object().expect("an object").clone();
    build(&params).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn mistakes_are_sentences() {
    let cases = [
        (json!({"t_max_s": 0.2}), "shorter than T_max"),
        (json!({"t_h_s": 0}), "`t_h_s` is 0"),
        (json!({"t_seq_s": 2}), "T_seq"),
        (json!({"mwa": 20}), "below N_sendMax (20)"),
        (json!({"safety_code": "crc"}), "unknown variant `crc`"),
        (json!({"homes": 9}), "`homes` is 9; RaSTA has from 1 to 8 channels here"),
    ];
    for (params, part) in cases {
        let found = sentence(build, params);
        assert!(found.contains(part) && found.contains("`rasta`"), "{found}");
    }
}

#[test]
fn within_tls_there_is_one_channel_and_what_resumes_is_left_out() {
    let with = |more: Value| {
        let mut params = json!({"congestion_control": "cubic"});
        params.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        sentence(build_over_tls, params)
    };
    assert_eq!(with(json!({"t_max_s": 5, "client_auth": true})), "");
    for (key, value) in [("transport", json!("sctp")), ("resumption", json!(true)), ("homes", json!(2))] {
        let found = with(json!({key: value}));
        assert!(found.contains(&format!("unknown field `{key}`")), "{found}");
    }
}

const MESSAGE_BYTES: usize = 20;

fn stack(name: &str, params: Value) -> Box<dyn Stack> {
    crate::stacks::build(name, params.as_object().expect("an object")).expect("sound parameters")
}

/// Messages that differ, one after the other.
fn block(messages: u8) -> Vec<u8> {
    (0..messages).flat_map(|number| [number; MESSAGE_BYTES]).collect()
}

/// All that comes until the end, and the number of the messages.
fn receive(connection: &mut dyn Connection) -> (Vec<u8>, usize) {
    let (mut bytes, mut messages) = (Vec::new(), 0);
    let mut take = |message: &[u8], _| {
        bytes.extend_from_slice(message);
        messages += 1;
        Ok(())
    };
    while connection.receive(1, u64::MAX, &mut take).expect("the sender goes on") != Arrival::End {}
    (bytes, messages)
}

fn send_all(connection: &mut dyn Connection, block: &[u8]) {
    let mut taken = 0;
    while taken < block.len() {
        taken += connection.offer(&block[taken..], MESSAGE_BYTES, 0).expect("the connection stands");
        connection.wait_until_writable(0, i64::MAX).expect("the connection stands");
    }
    connection.finish().expect("everything is confirmed");
}

#[test]
fn more_messages_than_may_wait_arrive_in_order_over_one_connection_after_the_other() {
    for (name, params) in [
        ("rasta", json!({})),
        ("rasta", json!({"safety_code": "siphash-full", "check_code": "c", "n_max_packet": 3})),
        ("rasta-tls", json!({"congestion_control": "cubic", "client_auth": true})),
    ] {
        let (stack, session) = (stack(name, params), session());
        let mut listener = stack.listen(&session, MESSAGE_BYTES as u32).expect("the port is free");
        for messages in [100, 1] {
            std::thread::scope(|scope| {
                let receiving = scope.spawn(|| {
                    let mut connection = listener.accept().expect("the sender is there");
                    (receive(connection.as_mut()), connection.signals())
                });
                let mut sender =
                    stack.connect(&session, MESSAGE_BYTES as u32).expect("the receiver is there");
                send_all(sender.as_mut(), &block(messages));
                assert_eq!(sender.signals(), []);
                drop(sender);
                let (received, signals) = receiving.join().expect("the receiver does not panic");
                assert_eq!(received, (block(messages), usize::from(messages)), "{name}");
                assert_eq!(signals, [], "{name}");
            });
        }
    }
}

/// Channels that lose one frame of those that are sent, counted from 1.
struct Losing {
    below: Datagrams,
    sent: usize,
    lost: usize,
}

impl Channels for Losing {
    fn waits(&self) -> (Vec<BorrowedFd<'_>>, libc::c_short) {
        self.below.waits()
    }

    fn send(&mut self, channel: usize, frame: &[u8]) -> Result<(), Failure> {
        self.sent += 1;
        if self.sent == self.lost { Ok(()) } else { self.below.send(channel, frame) }
    }

    fn receive(&mut self, take: &mut dyn FnMut(usize, &[u8])) -> Result<(), Failure> {
        self.below.receive(take)
    }
}

/// What both ends were told, and what the receiver counted, where the sender's frame of this number is lost. A request
/// for a connection has number 1, the heartbeat that opens it 2, the first message 3.
fn with_a_loss(lost: usize, params: Value) -> ([Vec<Signal>; 2], std::collections::BTreeMap<String, u64>) {
    let params: Params =
        parse_params("stack_params", OVER_UDP, params.as_object().expect("an object")).expect("sound");
    let common = Common::new(OVER_UDP, params).expect("sound parameters");
    let session = session();
    let engine = |end| {
        let endpoint = common.endpoint(&session, end, MESSAGE_BYTES as u32).expect("sound");
        let max_frame_bytes = endpoint.config().max_frame_bytes();
        let below = Datagrams::open(&session, end, 1, max_frame_bytes).expect("the port is free");
        let lost = if end == End::Sender { lost } else { 0 };
        Engine::new(&session, endpoint, Box::new(Losing { below, sent: 0, lost }), Pool::none())
    };
    let (mut sender, mut receiver) = (engine(End::Sender), engine(End::Receiver));
    std::thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            receiver.accept().expect("the sender comes");
            let mut connection = RastaConnection::new(receiver);
            assert_eq!(receive(&mut connection), (block(3), 3));
            (connection.signals(), connection.counts())
        });
        sender.connect().expect("the receiver is there");
        let mut connection = RastaConnection::new(sender);
        send_all(&mut connection, &block(3));
        let (signals, counts) = receiving.join().expect("the receiver does not panic");
        ([connection.signals(), signals], counts)
    })
}

#[test]
fn a_missing_message_is_sent_again_and_its_receiver_is_told() {
    let ([at_sender, at_receiver], counts) = with_a_loss(3, json!({}));
    assert_eq!(at_sender, []);
    let told: Vec<_> = at_receiver.iter().map(|signal| signal.sentence.as_str()).collect();
    // The two behind it have waited for T_seq: at the first of them it is asked for, the second is dropped.
    assert_eq!(told, ["RaSTA lacks a message and asked for it again (sequence_number 2, ignored 1)"]);
    assert_eq!(counts["retransmissions_requested"], 1);
    assert_eq!(counts["frames_given_up"], 1);
}

#[test]
fn a_request_that_is_lost_is_made_anew_and_its_sender_is_told() {
    let ([at_sender, at_receiver], _) =
        with_a_loss(1, json!({"t_max_s": 0.3, "t_h_s": 0.1, "t_seq_s": 0.05}));
    let told: Vec<_> = at_sender.iter().map(|signal| signal.sentence.as_str()).collect();
    assert_eq!(told, ["timed out: RaSTA's connection request was not answered within T_max"]);
    assert_eq!(at_receiver, []);
}

#[test]
fn who_stops_answering_ends_the_connection_after_t_max() {
    let (stack, session) = (stack("rasta", json!({"t_max_s": 0.3, "t_h_s": 0.1})), session());
    let mut listener = stack.listen(&session, MESSAGE_BYTES as u32).expect("the port is free");
    std::thread::scope(|scope| {
        let accepting = scope.spawn(|| listener.accept().expect("the sender is there"));
        let mut sender = stack.connect(&session, MESSAGE_BYTES as u32).expect("the receiver is there");
        let silent = accepting.join().expect("the receiver does not panic");
        let failure = sender.pause(&session.ctx.clock, i64::MAX).expect_err("nobody answers");
        assert!(matches!(failure, Failure::TimedOut(_)), "{failure:?}");
        let sentence = failure.to_string();
        assert!(sentence.ends_with("while sending: no message came in time"), "{sentence}");
        drop(silent);
    });
}
