//! What tickets bring, over the loopback interface. Nothing here looks at a clock: who need not wait is driven alone.

use std::sync::Arc;

use serde_json::json;

use super::build;
use crate::loopback::session;
use crate::session::Session;
use crate::transport::{Arrival, Connection, Listener, Stack};

/// The message of these tests; its length matters to none.
const MESSAGE: &[u8] = b"a message of some bytes";

fn connect(stack: &dyn Stack, session: &Arc<Session>) -> Box<dyn Connection> {
    stack.connect(session, MESSAGE.len() as u32).expect("the receiver is there")
}

fn listen(stack: &dyn Stack, session: &Arc<Session>) -> Box<dyn Listener> {
    stack.listen(session, MESSAGE.len() as u32).expect("the port is free")
}

/// Everything that the next session brings.
fn receive(listener: &mut dyn Listener) -> Vec<u8> {
    let mut connection = listener.accept().expect("the sender is there");
    let mut received = Vec::new();
    let mut take = |bytes: &[u8], _| {
        received.extend_from_slice(bytes);
        Ok(())
    };
    while connection.receive(1, u64::MAX, &mut take).expect("the sender goes on") != Arrival::End {}
    received
}

/// Hands over a message and sees it off.
fn send(connection: &mut dyn Connection, session: &Session) {
    assert_eq!(connection.offer(MESSAGE, MESSAGE.len(), 0).expect("the session stands"), MESSAGE.len());
    let now_ns = session.ctx.clock.now_ns();
    connection.pause(&session.ctx.clock, now_ns).expect("the session stands");
}

/// A sender that has a ticket, and the receiver from which it has it.
fn acquainted() -> (Box<dyn Stack>, Arc<Session>, Box<dyn Listener>) {
    let params = json!({"resumption": true, "early_data": true, "client_auth": true});
    let stack = build(params.as_object().expect("it is one")).expect("sound parameters");
    let session = session();
    let mut listener = listen(stack.as_ref(), &session);
    std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(listener.as_mut()));
        let mut sender = connect(stack.as_ref(), &session);
        send(sender.as_mut(), &session);
        sender.finish().expect("the receiver gets everything");
        drop(sender);
        assert_eq!(receiving.join().expect("the receiver does not panic"), MESSAGE);
    });
    (stack, session, listener)
}

#[test]
fn with_a_ticket_a_message_is_read_before_the_sender_heard_anything() {
    let (stack, session, mut listener) = acquainted();
    let mut sender = connect(stack.as_ref(), &session);
    send(sender.as_mut(), &session);
    // The sender does not go on with the handshake meanwhile.
    let mut receiver = listener.accept().expect("early data is there");
    let mut take = |bytes: &[u8], _| {
        assert_eq!(bytes, MESSAGE);
        Ok(())
    };
    assert_eq!(receiver.receive(1, u64::MAX, &mut take).expect("early data is there"), Arrival::Data);
}

#[test]
fn a_receiver_that_does_not_know_the_ticket_gets_everything_all_the_same() {
    let (stack, _, _) = acquainted();
    // Another receiver has other keys for its tickets.
    let session = session();
    let mut listener = listen(stack.as_ref(), &session);
    let mut sender = connect(stack.as_ref(), &session);
    send(sender.as_mut(), &session);
    std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(listener.as_mut()));
        sender.finish().expect("the receiver gets everything");
        drop(sender);
        assert_eq!(receiving.join().expect("the receiver does not panic"), MESSAGE);
    });
}
