//! One end of a connection with both its layers: what comes from the transport channels and the time go in, frames,
//! events and a wake-up time come out.

use std::collections::VecDeque;

use crate::config::{Config, ConfigError};
use crate::connection::Connection;
use crate::diagnostics::{ChannelReport, ConnectionReport, FrameCounters};
use crate::event::{Event, State};
use crate::redundancy::Redundancy;
use crate::seeds::Seeds;
use crate::time::Instant;

/// A frame and the transport channel over which it is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The channel, counted from 0.
    pub channel: usize,
    /// The whole frame: over UDP one datagram, over TCP and TLS as it stands.
    pub frame: Vec<u8>,
}

/// Why an end cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection is {} already: it can be opened when it is closed", .0.name())]
pub struct OpenError(
    /// The state in which it was.
    pub State,
);

/// Why a message is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The state does not allow it; a connection that was opening is closed now, as the state table asks.
    #[error("the connection is {}: messages can be sent when it is up", .0.name())]
    State(State),
    /// As many messages wait as may (N_sendMax); the peer has to confirm some first.
    #[error("{0} messages wait already: try again when the peer has confirmed some")]
    Full(u16),
    /// The message is empty, or longer than the configuration allows.
    #[error("a message of {bytes} octets cannot be sent: 1 to {most}")]
    Length {
        /// Its octets.
        bytes: usize,
        /// What the configuration allows.
        most: usize,
    },
}

/// One end of one connection.
///
/// It never asks for the time: every call that needs it takes it. After each call,
/// [`poll_transmit`](Self::poll_transmit) and [`poll_event`](Self::poll_event) are to be asked until they have nothing
/// more, and [`handle_timeout`](Self::handle_timeout) is to be called at [`poll_timeout`](Self::poll_timeout).
#[derive(Clone, Debug)]
pub struct Endpoint {
    config: Config,
    connection: Connection,
    redundancy: Redundancy,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
}

impl Endpoint {
    /// An end that is closed.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn new(config: Config, seeds: Seeds) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            connection: Connection::new(config.clone(), seeds),
            redundancy: Redundancy::new(config.clone()),
            config,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        })
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The state of the connection.
    #[must_use]
    pub const fn state(&self) -> State {
        self.connection.state()
    }

    /// Opens: a client asks for the connection, a server waits to be asked.
    ///
    /// # Errors
    /// If it is not closed. Unlike a service call of the standard, this leaves the connection as it is.
    pub fn open(&mut self, now: Instant) -> Result<(), OpenError> {
        if self.state() != State::Closed {
            return Err(OpenError(self.state()));
        }
        self.redundancy.open();
        self.connection.open(now);
        self.settle();
        Ok(())
    }

    /// Sends an application message, or lets it wait for confirmations.
    ///
    /// # Errors
    /// Why it is not taken.
    pub fn send(&mut self, now: Instant, message: impl Into<Vec<u8>>) -> Result<(), SendError> {
        let (message, most) = (message.into(), self.config.max_message_bytes);
        if message.is_empty() || message.len() > most {
            return Err(SendError::Length { bytes: message.len(), most });
        }
        let state = self.state();
        if state.is_open() && !self.connection.has_place() {
            return Err(SendError::Full(self.config.n_send_max));
        }
        self.connection.send(now, message);
        self.settle();
        if state.is_open() { Ok(()) } else { Err(SendError::State(state)) }
    }

    /// Closes; `detail` goes to the peer with the reason.
    pub fn close(&mut self, now: Instant, detail: u16) {
        self.connection.close(now, detail);
        self.settle();
    }

    /// Takes what came over a transport channel, one frame.
    ///
    /// # Panics
    /// If the configuration has no such channel.
    pub fn handle(&mut self, now: Instant, channel: usize, octets: &[u8]) {
        assert!(channel < self.config.channels, "channel {channel} of {}", self.config.channels);
        self.redundancy.receive(now, channel, octets);
        self.deliver(now);
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.redundancy.handle_timeout(now);
        self.deliver(now);
        self.connection.handle_timeout(now);
        self.settle();
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called, if nothing happens before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        [self.connection.poll_timeout(), self.redundancy.poll_timeout()].into_iter().flatten().min()
    }

    /// The next frame to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The diagnosis of the connection: the window so far, and errors since it opened.
    #[must_use]
    pub fn connection_report(&self) -> ConnectionReport {
        self.connection.report()
    }

    /// The diagnosis of a transport channel: the window so far; `None` if there is no such channel.
    #[must_use]
    pub fn channel_report(&self, channel: usize) -> Option<ChannelReport> {
        self.redundancy.report(channel)
    }

    /// What the redundancy layer counted since the end was made.
    #[must_use]
    pub const fn frame_counters(&self) -> FrameCounters {
        self.redundancy.counters()
    }

    /// Application messages that the peer has not confirmed. After the end of a connection they may have arrived or
    /// not; they are counted until the next one opens. A disconnection request confirms where the peer's application
    /// asked for it.
    #[must_use]
    pub fn unconfirmed(&self) -> usize {
        self.connection.unconfirmed()
    }

    fn deliver(&mut self, now: Instant) {
        while let Some(message) = self.redundancy.poll_ready() {
            self.connection.receive(now, &message);
            if self.state() == State::Down {
                // Nothing of it was taken: whoever asks for the connection next begins with the first number, too.
                self.redundancy.open();
            }
            self.settle();
        }
        self.settle();
    }

    /// Hands on what the layers have done. A closed connection closes its redundancy channel.
    fn settle(&mut self) {
        while let Some(message) = self.connection.poll_output() {
            let frame = self.redundancy.send(&message);
            self.transmits
                .extend((0..self.config.channels).map(|channel| Transmit { channel, frame: frame.clone() }));
        }
        while let Some((channel, report)) = self.redundancy.poll_full() {
            self.events.push_back(Event::ChannelDiagnosis { channel, report });
        }
        while let Some(event) = self.connection.poll_event() {
            if matches!(event, Event::Ended(_)) {
                self.redundancy.close();
            }
            self.events.push_back(event);
        }
    }
}
