//! Two ends over a simulated network, in time that nobody waits for. For tests, fuzzing and the [`model`].

mod link;
pub mod model;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

pub use link::Link;

use crate::config::{Config, ConfigError};
use crate::endpoint::{Endpoint, SendError};
use crate::event::{Ending, Event, State};
use crate::seeds::{Seeds, Stream};
use crate::time::Instant;

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Opens the connection.
    Client,
    /// Waits for it.
    Server,
}

impl Side {
    /// Both ends.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A message that an application got, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When it came out of the end.
    pub at: Instant,
    /// What it says.
    pub message: Vec<u8>,
}

/// What an application saw.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Messages, in the order in which they came out.
    pub deliveries: Vec<Delivery>,
    /// How the connection ended, if it did.
    pub ending: Option<Ending>,
    /// States that were entered, with the moment.
    pub states: Vec<(Instant, State)>,
    /// Everything else.
    pub others: Vec<Event>,
}

/// A frame under way; frames come in the order of their moments, and those of one moment in that of their sending.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct UnderWay {
    at: Instant,
    number: u64,
    to: Side,
    channel: usize,
    frame: Vec<u8>,
}

/// Two ends and the links between them.
#[derive(Clone, Debug)]
pub struct Pair {
    now: Instant,
    ends: [Endpoint; 2],
    seen: [Seen; 2],
    /// By channel; the same for both directions.
    links: Vec<Link>,
    /// When the last frame leaves the bottleneck of each channel, to the client and to the server.
    busy_until: Vec<[Instant; 2]>,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    frames: u64,
    /// Frames whose number in the order of sending is here are lost: for known answers.
    lost_by_number: Vec<u64>,
    stream: Stream,
}

impl Pair {
    /// Two closed ends, a link for each channel.
    ///
    /// # Errors
    /// What is wrong with a configuration.
    ///
    /// # Panics
    /// If a configuration has not as many channels as there are links.
    pub fn new(client: Config, server: Config, links: Vec<Link>, seed: u64) -> Result<Self, ConfigError> {
        let seeds =
            [Seeds::from_u64(seed.wrapping_mul(2)), Seeds::from_u64(seed.wrapping_mul(2).wrapping_add(1))];
        Self::with_seeds(client, server, links, seed, seeds)
    }

    /// The same with numbers of one's choice.
    ///
    /// # Errors
    /// What is wrong with a configuration.
    ///
    /// # Panics
    /// If a configuration has not as many channels as there are links.
    pub fn with_seeds(
        client: Config,
        server: Config,
        links: Vec<Link>,
        seed: u64,
        seeds: [Seeds; 2],
    ) -> Result<Self, ConfigError> {
        assert!(
            [&client, &server].iter().all(|config| config.channels == links.len()),
            "a link for each channel"
        );
        let [client_seeds, server_seeds] = seeds;
        Ok(Self {
            now: Instant::ZERO,
            ends: [Endpoint::new(client, client_seeds)?, Endpoint::new(server, server_seeds)?],
            seen: [Seen::default(), Seen::default()],
            busy_until: vec![[Instant::ZERO; 2]; links.len()],
            links,
            under_way: BinaryHeap::new(),
            frames: 0,
            lost_by_number: Vec::new(),
            stream: Stream::new(seed),
        })
    }

    /// Configurations that fit each other: `change` is applied to both.
    #[must_use]
    pub fn configs(change: impl Fn(&mut Config)) -> [Config; 2] {
        [(96, 97), (97, 96)].map(|(local, remote)| {
            let mut config = Config::new(local, remote);
            change(&mut config);
            config
        })
    }

    /// Now.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// An end.
    #[must_use]
    pub const fn end(&self, side: Side) -> &Endpoint {
        &self.ends[side as usize]
    }

    /// What the application of an end saw so far.
    #[must_use]
    pub const fn seen(&self, side: Side) -> &Seen {
        &self.seen[side as usize]
    }

    /// Frames sent so far, over all channels and both ways.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// Loses the frame with this number (counted from 0 over everything that is sent).
    pub fn lose(&mut self, number: u64) {
        self.lost_by_number.push(number);
    }

    /// Other properties of a channel from now on.
    pub fn set_link(&mut self, channel: usize, link: Link) {
        self.links[channel] = link;
    }

    /// Opens both ends, the server first. An end that is open stays so.
    pub fn open(&mut self) {
        for side in [Side::Server, Side::Client] {
            // An end that is not closed answers with an error and stays as it is.
            let _ = self.ends[side as usize].open(self.now);
            self.collect(side);
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// Why the end does not take it.
    pub fn send(&mut self, side: Side, message: impl Into<Vec<u8>>) -> Result<(), SendError> {
        let sent = self.ends[side as usize].send(self.now, message);
        self.collect(side);
        sent
    }

    /// Closes an end.
    pub fn close(&mut self, side: Side, detail: u16) {
        self.ends[side as usize].close(self.now, detail);
        self.collect(side);
    }

    /// Puts octets before an end as if they had come over a channel now.
    pub fn inject(&mut self, to: Side, channel: usize, octets: &[u8]) {
        self.ends[to as usize].handle(self.now, channel, octets);
        self.collect(to);
    }

    /// Lets time pass.
    pub fn run_for(&mut self, duration: Duration) {
        self.run_until(self.now + duration);
    }

    /// Lets time pass until `end`.
    pub fn run_until(&mut self, end: Instant) {
        while self.step(end) {}
        self.now = end;
    }

    /// The next thing that happens, if it happens until `end`; whether something did.
    pub fn step(&mut self, end: Instant) -> bool {
        let arrival = self.under_way.peek().map(|Reverse(next)| next.at);
        let timeouts = Side::BOTH.map(|side| self.ends[side as usize].poll_timeout());
        let Some(next) = [arrival, timeouts[0], timeouts[1]].into_iter().flatten().min() else {
            return false;
        };
        if next > end {
            return false;
        }
        self.now = self.now.max(next);
        if arrival == Some(next) {
            let Reverse(frame) = self.under_way.pop().expect("it was there");
            self.ends[frame.to as usize].handle(self.now, frame.channel, &frame.frame);
            self.collect(frame.to);
        } else {
            for (side, timeout) in Side::BOTH.into_iter().zip(timeouts) {
                if timeout == Some(next) {
                    self.ends[side as usize].handle_timeout(self.now);
                    self.collect(side);
                }
            }
        }
        true
    }

    fn collect(&mut self, side: Side) {
        while let Some(transmit) = self.ends[side as usize].poll_transmit() {
            self.carry(side.other(), transmit.channel, transmit.frame);
        }
        let seen = &mut self.seen[side as usize];
        while let Some(event) = self.ends[side as usize].poll_event() {
            match event {
                Event::Message(message) => seen.deliveries.push(Delivery { at: self.now, message }),
                Event::State(state) => seen.states.push((self.now, state)),
                Event::Ended(ending) => seen.ending = Some(ending),
                other => seen.others.push(other),
            }
        }
    }

    fn carry(&mut self, to: Side, channel: usize, frame: Vec<u8>) {
        let number = self.frames;
        self.frames += 1;
        if self.lost_by_number.contains(&number) {
            return;
        }
        let busy_until = &mut self.busy_until[channel][to as usize];
        for (copy, (at, frame)) in
            self.links[channel].carry(self.now, busy_until, frame, &mut self.stream).into_iter().enumerate()
        {
            let number = number * 2 + copy as u64;
            self.under_way.push(Reverse(UnderWay { at, number, to, channel, frame }));
        }
    }
}
