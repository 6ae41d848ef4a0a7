//! What a transport is to the rest of the program.
//!
//! A stack opens a session (which may take round trips and keys) and then carries data; the two are apart, so that
//! session set-up has its own instants in the record.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::error::{Failure, SpecError};
use crate::http::carrier::HttpCarrier;
use crate::opening::Opening;
use crate::sample::SocketSample;
use crate::secure::RecordMap;
use crate::session::Session;

/// How the instants of arrival were taken (`delivery_instants` of the record).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeliveryInstants {
    /// From a capture of the packets that arrived at the receiver.
    Wire,
    /// From the kernel's receive stamps.
    Kernel,
    /// From the clock, by a receiver that woke for each arrival.
    Application,
}

impl DeliveryInstants {
    /// The word in the record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wire => "wire",
            Self::Kernel => "kernel",
            Self::Application => "application",
        }
    }
}

/// What a transport promises about what is handed to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// Bytes arrive complete and in order; where one hand-over ended is forgotten.
    Stream,
    /// Messages arrive complete and whole; those of one stream in order.
    Messages {
        /// Streams over which message k is spread: it takes stream k modulo this number.
        streams: u16,
    },
    /// Messages arrive whole or not at all, in any order, perhaps twice.
    Datagrams,
}

/// How messages lie in the packets of a transport that does not hide them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carriage {
    /// Each datagram of UDP is a message.
    Datagrams,
    /// They follow each other in a stream of TCP.
    Stream,
    /// Each is in a DATA chunk of SCTP, or in several that follow each other (RFC 9260, section 3.3.1).
    Chunks,
    /// Datagrams of UDP are frames of RaSTA; those with a data message hold one or several.
    Rasta,
}

/// What decides how much a sender may send before the first acknowledgement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InitialWindow {
    /// The transport itself: no route changes it.
    Own,
    /// The route, which names nothing: the kernel's ten segments (RFC 6928).
    #[default]
    Default,
    /// The route, so many segments of TCP.
    Segments(u32),
}

/// A transport with its parameters.
pub trait Stack: Send + Sync {
    /// Its name in a plan.
    fn name(&self) -> &'static str;

    /// What it promises.
    fn service(&self) -> Service;

    /// Whether its messages are released one by one at given instants, which needs fq on the sender's interface.
    fn wants_release_times(&self) -> bool {
        false
    }

    /// What its first flight is bounded by. A route's window is set before the stack is used, by whoever makes the
    /// network.
    fn initial_window(&self) -> InitialWindow {
        InitialWindow::Own
    }

    /// How what is handed to it lies in its packets, for whoever looks at them on their way; `None` if nobody there can
    /// tell.
    fn carriage(&self) -> Option<Carriage> {
        None
    }

    /// How the packets that open its sessions are told from others; `None` if there is nothing to tell them by.
    fn opening(&self) -> Option<Opening> {
        None
    }

    /// What carries HTTP; `None` where this transport cannot.
    ///
    /// # Errors
    /// A sentence: a parameter is in the way.
    fn http(&self) -> Result<Option<&dyn HttpCarrier>, SpecError> {
        Ok(None)
    }

    /// Whether a session takes up the keys of an earlier one of its flow, and can do so at once from the same port.
    fn resumes(&self) -> bool {
        false
    }

    /// Whether the end that listens tells the processor of its node what it does.
    fn works_on_a_processor(&self) -> bool {
        false
    }

    /// How many addresses of either end it uses at most.
    fn homes(&self) -> usize {
        1
    }

    /// Makes what both ends must have in common (certificates), before they part: for ends in processes of their own.
    ///
    /// # Errors
    /// A sentence: it could not be made.
    fn prepare(&self, _session: &Session) -> Result<(), Failure> {
        Ok(())
    }

    /// Gets ready to accept a session at the destination of `session`, whose messages are of this size.
    ///
    /// # Errors
    /// A sentence: the kernel lacks the transport, the port is taken, a parameter is refused.
    fn listen(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Listener>, Failure>;

    /// Opens a session from the source to the destination of `session`; returns when data may flow.
    ///
    /// # Errors
    /// A sentence: refused, unreachable, not in time, or as for `listen`.
    fn connect(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Connection>, Failure>;
}

/// A receiver that waits for its sender.
pub trait Listener: Send {
    /// Waits for the session.
    ///
    /// # Errors
    /// A sentence: nobody came before the limit, or the other half failed.
    fn accept(&mut self) -> Result<Box<dyn Connection>, Failure>;
}

/// Takes what arrives: the bytes (of a stream, or of one message) and when they arrived, if known.
pub type Take<'a> = dyn FnMut(&[u8], Option<i64>) -> Result<(), Failure> + 'a;

/// Something that a transport tells its user although the session goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// When, in time of the run.
    pub t_ns: i64,
    /// What, in a sentence.
    pub sentence: String,
}

/// What a call to [`Connection::receive`] brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// Something.
    Data,
    /// Nothing for some time; the session goes on.
    Silence,
    /// The sender has ended the session; nothing more will come.
    End,
}

/// A session through which data flows.
pub trait Connection: Send {
    /// When data could flow, or `None` for a transport without sessions.
    fn established_ns(&self) -> Option<i64>;

    /// When the handshake of the transport below was over, where the session needs one more of its own (TLS).
    fn transport_established_ns(&self) -> Option<i64> {
        self.established_ns()
    }

    /// Hands over as much of `block` as the transport takes without waiting. `block` holds messages of
    /// `message_bytes` (its first and last may be cut), the first of which has the number `seq`. Returns the bytes
    /// taken: any number on a stream, whole messages otherwise.
    ///
    /// # Errors
    /// A sentence: the session broke.
    fn offer(&mut self, block: &[u8], message_bytes: usize, seq: u64) -> Result<usize, Failure>;

    /// Hands over as [`Connection::offer`] does, but may wait until the transport has taken all of it: for a sender who
    /// need not know when each message was taken.
    ///
    /// # Errors
    /// As for [`Connection::offer`].
    fn offer_all(&mut self, block: &[u8], message_bytes: usize, seq: u64) -> Result<usize, Failure> {
        self.offer(block, message_bytes, seq)
    }

    /// Waits from `now_ns` until more can be handed over, or until `until_ns`.
    ///
    /// # Errors
    /// A sentence: the limit was reached or the other half failed.
    fn wait_until_writable(&mut self, now_ns: i64, until_ns: i64) -> Result<(), Failure>;

    /// Lets time pass until `instant_ns` while the application has nothing to do, and returns the time then. A transport
    /// that runs in the program rather than in the kernel does its work meanwhile.
    ///
    /// # Errors
    /// A sentence: the session broke.
    fn pause(&mut self, clock: &Clock, instant_ns: i64) -> Result<i64, Failure> {
        Ok(clock.sleep_until(instant_ns))
    }

    /// Lets time pass as [`Connection::pause`] does, for a sender who is to learn at once that the other side has ended
    /// the session or broken it off, and not when he next hands something over.
    ///
    /// # Errors
    /// A sentence: the session broke, or the other side has ended it.
    fn pause_watching(&mut self, clock: &Clock, instant_ns: i64) -> Result<i64, Failure> {
        self.pause(clock, instant_ns)
    }

    /// Whether messages can be handed over ahead of time by [`Connection::offer_released`].
    fn takes_release_times(&self) -> bool {
        false
    }

    /// Hands over messages that leave at the given instants (time of the run), waiting while the transport has no
    /// room. Returns the bytes taken, whole messages, and the instant before which none of them can have left.
    ///
    /// # Errors
    /// A sentence: the session broke, or this transport has no release times.
    fn offer_released(&mut self, _: &[u8], _: usize, _: &[i64]) -> Result<(usize, i64), Failure> {
        Err(Failure::new("this transport cannot hold a message until its release time"))
    }

    /// Says that nothing more will be handed over, and waits until the other side has ended the session too.
    /// Returns when that was.
    ///
    /// # Errors
    /// A sentence: the session broke before everything was delivered.
    fn finish(&mut self) -> Result<Option<i64>, Failure>;

    /// How the instants of [`Connection::receive`] are taken.
    fn instants(&self) -> DeliveryInstants;

    /// Where the bytes that were received stood in the transport's own stream, when it wraps them into records: needed
    /// to work out their instants from a capture.
    fn records(&mut self) -> Option<RecordMap> {
        None
    }

    /// Waits for something to arrive and passes it on: at most `most_messages` messages of a message transport, at
    /// most `most_bytes` of a stream.
    ///
    /// # Errors
    /// A sentence: the session broke, or what `take` returned.
    fn receive(
        &mut self,
        most_messages: u64,
        most_bytes: u64,
        take: &mut Take<'_>,
    ) -> Result<Arrival, Failure>;

    /// Receives as [`Connection::receive`] does, but may wait until all of `most_messages` have arrived, and then tells
    /// the instant of the last one for each: for a receiver of messages who has had the first one and need know no more
    /// than when the last one came.
    ///
    /// # Errors
    /// As for [`Connection::receive`].
    fn receive_all(&mut self, most_messages: u64, take: &mut Take<'_>) -> Result<Arrival, Failure> {
        self.receive(most_messages, u64::MAX, take)
    }

    /// How many subflows the session has now; `None` for a transport that never has more than one.
    fn subflows(&self) -> Option<u32> {
        None
    }

    /// Messages that the sender handed over and that never entered the network, because a queue of the sender's own
    /// dropped them; `None` for a transport that never does so.
    fn sender_dropped_messages(&mut self) -> Option<u64> {
        None
    }

    /// What a transport that runs in the program counted at this end, by name, for the record: what it sent, what was
    /// lost, what it refused.
    fn counts(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }

    /// What the transport has told its user since this was last asked, beside an end that is a failure: that it noticed
    /// something wrong and went on.
    fn signals(&mut self) -> Vec<Signal> {
        Vec::new()
    }

    /// Reads the state of the sender's socket; `None` for a transport without one.
    ///
    /// # Errors
    /// A sentence: the socket could not be duplicated for another thread.
    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure>;
}

/// Reads the state of a socket from another thread than the one that uses it.
pub trait Sampler: Send {
    /// The state now, without flow and instant; `None` when the session is over.
    fn sample(&self) -> Option<SocketSample>;

    /// As [`Connection::subflows`].
    fn subflows(&self) -> Option<u32> {
        None
    }
}
