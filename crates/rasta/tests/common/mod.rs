//! A peer by hand: one end under test, and the messages of the other written out by the test.

#![allow(dead_code, reason = "each test program uses its part")]

use std::time::Duration;

use rasta::{
    Body, Config, Disconnection, Ending, Endpoint, Event, Frame, Header, Instant, Message, Parameters, Seeds,
    State, Version,
};

/// Where the end under test starts its sequence numbers.
pub const OWN_SN: u32 = 1000;
/// Where the peer by hand starts.
pub const PEER_SN: u32 = 500;
/// The end's clock stands here at the origin.
pub const OWN_TS: u32 = 7000;
/// The peer's clock stands here at the origin.
pub const PEER_TS: u32 = 90_000;

/// The end under test with the peer by hand.
pub struct Script {
    pub end: Endpoint,
    pub now: Instant,
    frames: u32,
    pub own_sn: u32,
    pub peer_sn: u32,
}

impl Script {
    /// Opened; the end under test is the client if `client`.
    pub fn new(client: bool, change: impl Fn(&mut Config)) -> Self {
        Self::with_numbers(client, OWN_SN, PEER_SN, change)
    }

    pub fn with_numbers(client: bool, own_sn: u32, peer_sn: u32, change: impl Fn(&mut Config)) -> Self {
        let mut config = if client { Config::new(96, 97) } else { Config::new(97, 96) };
        change(&mut config);
        let mut end =
            Endpoint::new(config, Seeds::fixed(own_sn, OWN_TS)).expect("the configuration is sound");
        end.open(Instant::ZERO).expect("it was closed");
        Self { end, now: Instant::ZERO, frames: 0, own_sn, peer_sn }
    }

    /// Up: the end under test is the server; it has sent one message and taken two.
    pub fn up(change: impl Fn(&mut Config)) -> Self {
        Self::up_with_numbers(OWN_SN, PEER_SN, change)
    }

    pub fn up_with_numbers(own_sn: u32, peer_sn: u32, change: impl Fn(&mut Config)) -> Self {
        let mut script = Self::with_numbers(false, own_sn, peer_sn, change);
        script.give(peer_sn, 0, Body::ConnectionRequest(parameters("0303")));
        assert_eq!(script.sent().len(), 1, "the connection response");
        script.give(peer_sn.wrapping_add(1), own_sn, Body::Heartbeat);
        assert_eq!(script.end.state(), State::Up);
        script.events();
        script
    }

    /// The next number that the end under test will send after `more` messages of set-up and traffic.
    pub fn own(&self, more: u32) -> u32 {
        self.own_sn.wrapping_add(more)
    }

    pub fn peer(&self, more: u32) -> u32 {
        self.peer_sn.wrapping_add(more)
    }

    pub fn header(&self, sequence_number: u32, confirmed_sequence_number: u32) -> Header {
        let millis = (self.now.as_nanos() / 1_000_000) as u32;
        Header {
            receiver_id: self.end.config().local_id,
            sender_id: self.end.config().remote_id,
            sequence_number,
            confirmed_sequence_number,
            time_stamp_ms: PEER_TS.wrapping_add(millis),
            confirmed_time_stamp_ms: OWN_TS.wrapping_add(millis),
        }
    }

    /// A message of the peer, its stamps those of now and its confirmed stamp without any round trip.
    pub fn give(&mut self, sequence_number: u32, confirmed: u32, body: Body) {
        let header = self.header(sequence_number, confirmed);
        self.give_whole(Message { header, body });
    }

    pub fn give_whole(&mut self, message: Message) {
        let octets = message.encode(&self.end.config().safety_code.clone());
        self.give_octets(&octets);
    }

    /// The peer starts anew: its frames begin with the first number.
    pub fn restart_peer(&mut self) {
        self.frames = 0;
    }

    /// Octets of the safety layer in the next frame.
    pub fn give_octets(&mut self, octets: &[u8]) {
        let frame = Frame { sequence_number: self.frames, payload: octets };
        self.frames += 1;
        self.end.handle(self.now, 0, &frame.encode(self.end.config().check_code));
    }

    /// What the end under test has sent since the last time.
    pub fn sent(&mut self) -> Vec<Message> {
        let (safety_code, check_code) = (self.end.config().safety_code.clone(), self.end.config().check_code);
        std::iter::from_fn(|| self.end.poll_transmit())
            .map(|transmit| {
                let frame = Frame::decode(&transmit.frame, check_code).expect("it sends frames");
                Message::decode(frame.payload, &safety_code).expect("it sends messages")
            })
            .collect()
    }

    /// The same, bodies with their sequence numbers.
    pub fn sent_bodies(&mut self) -> Vec<(u32, Body)> {
        self.sent().into_iter().map(|message| (message.header.sequence_number, message.body)).collect()
    }

    pub fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.end.poll_event()).collect()
    }

    /// Messages for the application since the last time.
    pub fn messages(&mut self) -> Vec<String> {
        let text = |event| match event {
            Event::Message(message) => Some(String::from_utf8(message).expect("the test sends text")),
            _ => None,
        };
        self.events().into_iter().filter_map(text).collect()
    }

    /// How the connection ended.
    pub fn ending(&mut self) -> Option<Ending> {
        self.events().into_iter().find_map(|event| match event {
            Event::Ended(ending) => Some(ending),
            _ => None,
        })
    }

    pub fn ended_here(&mut self) -> Option<Disconnection> {
        match self.ending() {
            Some(Ending::Here(disconnection)) => Some(disconnection),
            _ => None,
        }
    }

    pub fn send(&mut self, text: &str) {
        self.end.send(self.now, text).expect("it takes the message");
    }

    /// Lets time pass; what is due is done.
    pub fn pass_ms(&mut self, millis: u64) {
        let until = self.now + Duration::from_millis(millis);
        while let Some(timeout) = self.end.poll_timeout().filter(|timeout| *timeout <= until) {
            self.now = timeout;
            self.end.handle_timeout(timeout);
        }
        self.now = until;
    }
}

pub fn parameters(version: &str) -> Parameters {
    let version = Version::new(version.as_bytes().try_into().expect("four digits")).expect("digits");
    Parameters { version, n_send_max: 20 }
}

pub fn data(text: &str) -> Body {
    Body::Data(vec![text.into()])
}

pub fn again(text: &str) -> Body {
    Body::RetransmittedData(vec![text.into()])
}
