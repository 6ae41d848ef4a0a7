//! Security of the link: what stands between messages and the datagrams that carry them, without sockets and clocks.
//!
//! One end is on ground, the other in space; each has one [`LinkSecurity`] for both directions. [`Plain`] gives none,
//! [`Sdls`] is CCSDS's. A protocol with a handshake (QUIC, TLS, DTLS, ResTP) fits too: a datagram may make datagrams, and
//! time may.

mod plain;
mod sdls;

pub use plain::Plain;
pub use sdls::{Algorithm, End, Keys, Sdls, SdlsConfig, SdlsError};

use std::collections::BTreeMap;
use std::time::Duration;

/// Why a message was not protected or a datagram not opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    /// A short name that does not change, for counters.
    pub code: &'static str,
    /// A sentence for people.
    pub reason: String,
}

/// What comes out of a [`LinkSecurity`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A datagram for the other end.
    Datagram(Vec<u8>),
    /// A message from the other end, as it was given there.
    Message(Vec<u8>),
}

/// One end of a protected link. Times are since any instant, the same for all calls, and never go back.
pub trait LinkSecurity: Send {
    /// Its name, as the programs' option `--security` has it.
    fn name(&self) -> &'static str;

    /// Protects a message for the other end. Its datagrams come out of [`poll`](Self::poll), now or later.
    ///
    /// # Errors
    /// If it cannot be protected.
    fn apply(&mut self, message: &[u8], now: Duration) -> Result<(), Refusal>;

    /// Takes a datagram that came from the link. Messages in it come out of [`poll`](Self::poll).
    ///
    /// # Errors
    /// If it is not the other end's, or came before; nothing of it comes out then.
    fn process(&mut self, datagram: &[u8], now: Duration) -> Result<(), Refusal>;

    /// What comes next; to be asked until there is nothing.
    fn poll(&mut self) -> Option<Output>;

    /// When [`handle_timeout`](Self::handle_timeout) is to be called, if nothing comes before.
    fn next_timeout(&self) -> Option<Duration> {
        None
    }

    /// Does what is due.
    fn handle_timeout(&mut self, _now: Duration) {}

    /// What was lost without anything that could be refused: parts of messages whose other parts never came.
    fn incomplete(&self) -> u64 {
        0
    }
}

/// What a link did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Messages given for the other end.
    pub messages_out: u64,
    /// Datagrams made.
    pub datagrams_out: u64,
    /// Datagrams that came.
    pub datagrams_in: u64,
    /// Messages that came out of them.
    pub messages_in: u64,
    /// Messages and datagrams that were refused, by [`Refusal::code`].
    pub refused: BTreeMap<&'static str, u64>,
}

/// An end of a link with its counters: no refusal is lost.
pub struct Link {
    security: Box<dyn LinkSecurity>,
    counters: LinkCounters,
}

impl Link {
    /// An end that has done nothing yet.
    #[must_use]
    pub fn new(security: Box<dyn LinkSecurity>) -> Self {
        Self { security, counters: LinkCounters::default() }
    }

    /// As [`LinkSecurity::apply`].
    ///
    /// # Errors
    /// If the message cannot be protected; it is counted.
    pub fn apply(&mut self, message: &[u8], now: Duration) -> Result<(), Refusal> {
        self.counters.messages_out += 1;
        let result = self.security.apply(message, now);
        self.count(result)
    }

    /// As [`LinkSecurity::process`].
    ///
    /// # Errors
    /// If the datagram is refused; it is counted.
    pub fn process(&mut self, datagram: &[u8], now: Duration) -> Result<(), Refusal> {
        self.counters.datagrams_in += 1;
        let result = self.security.process(datagram, now);
        self.count(result)
    }

    fn count(&mut self, result: Result<(), Refusal>) -> Result<(), Refusal> {
        if let Err(refusal) = &result {
            *self.counters.refused.entry(refusal.code).or_default() += 1;
        }
        result
    }

    /// As [`LinkSecurity::poll`], after what is due was done.
    pub fn poll(&mut self, now: Duration) -> Option<Output> {
        if self.security.next_timeout().is_some_and(|due| due <= now) {
            self.security.handle_timeout(now);
        }
        let output = self.security.poll()?;
        match &output {
            Output::Datagram(_) => self.counters.datagrams_out += 1,
            Output::Message(_) => self.counters.messages_in += 1,
        }
        Some(output)
    }

    /// As [`LinkSecurity::next_timeout`].
    #[must_use]
    pub fn next_timeout(&self) -> Option<Duration> {
        self.security.next_timeout()
    }

    /// As [`LinkSecurity::name`].
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.security.name()
    }

    /// As [`LinkSecurity::incomplete`].
    #[must_use]
    pub fn incomplete(&self) -> u64 {
        self.security.incomplete()
    }

    /// What it did.
    #[must_use]
    pub fn counters(&self) -> &LinkCounters {
        &self.counters
    }
}
