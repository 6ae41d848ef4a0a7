//! The gateway: ends the security of a link in front of a flight software that knows nothing of it, without sockets and
//! clocks. Protected datagrams come from ground and go there; plain messages go to Command Ingest and come from Telemetry
//! Output.

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::dictionary::{self, output};
use crate::message::Message;
use crate::security::{Link, LinkCounters, Output, Refusal};

/// What the gateway sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forward {
    /// A plain message to Command Ingest.
    ToFlightSoftware(Vec<u8>),
    /// A protected datagram to ground, at this address.
    ToGround(Ipv4Addr, Vec<u8>),
}

/// A gateway. TO_LAB sends telemetry to the address that its command names: the gateway writes its own there, remembers
/// ground's, and leaves every other message as it is.
pub struct Gateway {
    link: Link,
    here: Ipv4Addr,
    ground: Option<Ipv4Addr>,
    unsent: u64,
}

impl Gateway {
    /// A gateway whose address, as the flight software sees it, is `here`.
    #[must_use]
    pub fn new(link: Link, here: Ipv4Addr) -> Self {
        Self { link, here, ground: None, unsent: 0 }
    }

    /// Takes a protected datagram that came from ground.
    ///
    /// # Errors
    /// If it is refused; it is counted.
    pub fn from_ground(&mut self, datagram: &[u8], now: Duration) -> Result<(), Refusal> {
        self.link.process(datagram, now)
    }

    /// Takes a plain message that came from Telemetry Output.
    ///
    /// # Errors
    /// If it cannot be protected; it is counted.
    pub fn from_flight_software(&mut self, message: &[u8], now: Duration) -> Result<(), Refusal> {
        self.link.apply(message, now)
    }

    /// What is to be sent next; to be asked until there is nothing.
    pub fn poll(&mut self, now: Duration) -> Option<Forward> {
        loop {
            match self.link.poll(now)? {
                Output::Message(message) => {
                    return Some(Forward::ToFlightSoftware(self.redirected(message)));
                }
                Output::Datagram(datagram) => match self.ground {
                    Some(ground) => return Some(Forward::ToGround(ground, datagram)),
                    None => self.unsent += 1,
                },
            }
        }
    }

    /// When [`poll`](Self::poll) may have something without anything before it.
    #[must_use]
    pub fn next_wake(&self) -> Option<Duration> {
        self.link.next_timeout()
    }

    /// What its link did.
    #[must_use]
    pub fn counters(&self) -> &LinkCounters {
        self.link.counters()
    }

    /// Messages of ground of which only a part came.
    #[must_use]
    pub fn incomplete(&self) -> u64 {
        self.link.incomplete()
    }

    /// Datagrams that went nowhere, since no command had said where ground is.
    #[must_use]
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// The message for the flight software: with the gateway's address where it asks for telemetry.
    fn redirected(&mut self, message: Vec<u8>) -> Vec<u8> {
        let Ok(Ok(command)) = Message::parse(&message).map(|message| message.command()) else {
            return message;
        };
        if (command.id, command.code) != (output::COMMAND, output::ENABLE_OUTPUT) {
            return message;
        }
        let Some(ground) = dictionary::destination(command.payload) else { return message };
        self.ground = Some(ground);
        dictionary::enable_output(self.here)
    }
}
