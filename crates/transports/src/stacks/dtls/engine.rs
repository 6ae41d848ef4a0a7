//! A DTLS session in the program: dimpl with the run's clock and a socket. It works while its application waits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dimpl::{Dtls, Error, Output, SecurityError};

use super::trust::Trust;
use super::wire::Wire;
use crate::epoch::Epoch;
use crate::error::Failure;
use crate::secure::tls_failure;
use crate::session::Session;

/// What the library calls never: it has no timer, and names an instant in ten years.
const NEVER: Duration = Duration::from_secs(366 * 86_400);

/// What was counted at one end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) datagrams_sent: u64,
    pub(super) datagrams_received: u64,
    /// Of these, behind the handshake: those with neither a message nor anything to answer.
    pub(super) datagrams_ignored: u64,
}

/// One end.
pub(super) struct Engine {
    pub(super) session: Arc<Session>,
    wire: Wire,
    dtls: Dtls,
    trust: Trust,
    /// Whether the other end has shown a certificate that is to be trusted.
    trusted: bool,
    epoch: Epoch,
    now_ns: i64,
    /// When the library wants to be called next.
    due_ns: i64,
    connected: bool,
    inbox: VecDeque<(Vec<u8>, i64)>,
    out: Vec<u8>,
    counts: Counts,
}

impl Engine {
    /// An end over a socket; `make` makes what the library needs.
    pub(super) fn new(
        session: &Arc<Session>,
        wire: Wire,
        trust: Trust,
        make: impl FnOnce(Instant) -> Result<Dtls, Failure>,
    ) -> Result<Self, Failure> {
        let now_ns = session.ctx.clock.now_ns();
        let epoch = Epoch::new(now_ns);
        let mut dtls = make(epoch.instant(now_ns))?;
        dtls.handle_timeout(epoch.instant(now_ns)).map_err(|error| configuration(&error))?;
        Ok(Self {
            session: Arc::clone(session),
            wire,
            dtls,
            trust,
            trusted: false,
            epoch,
            now_ns,
            due_ns: now_ns,
            connected: false,
            inbox: VecDeque::new(),
            out: vec![0; 2048],
            counts: Counts::default(),
        })
    }

    pub(super) fn look_at_clock(&mut self) -> i64 {
        self.now_ns = self.session.ctx.clock.now_ns();
        self.now_ns
    }

    pub(super) fn now_ns(&self) -> i64 {
        self.now_ns
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Datagrams that the own kernel dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.wire.dropped()
    }

    /// Whether something waits for room in the socket.
    pub(super) fn is_full(&self) -> bool {
        self.wire.is_full()
    }

    /// Whether nothing is left that may have to be sent again.
    pub(super) fn is_settled(&self) -> bool {
        self.due_ns == i64::MAX && !self.is_full()
    }

    /// The next message, and when its datagram reached this host.
    pub(super) fn next_message(&mut self) -> Option<(Vec<u8>, i64)> {
        self.inbox.pop_front()
    }

    /// Works until data may flow.
    ///
    /// # Errors
    /// A sentence: the handshake failed, or the limit was reached, while `doing`.
    pub(super) fn shake_hands(&mut self, doing: &str) -> Result<(), Failure> {
        self.look_at_clock();
        while !self.connected {
            self.turn(i64::MAX, doing)?;
        }
        Ok(())
    }

    /// Sends a message in a datagram of its own.
    ///
    /// # Errors
    /// A sentence: the session broke.
    pub(super) fn send(&mut self, message: &[u8]) -> Result<(), Failure> {
        match self.dtls.send_application_data(message) {
            Ok(_) => self.drain(self.now_ns).map(drop),
            Err(error) => Err(self.broke(&error)),
        }
    }

    /// Waits for a datagram, for something that is due or for `until_ns`, whichever is first, and lets DTLS act on it.
    ///
    /// # Errors
    /// A sentence: the session broke, the other half failed, or the limit was reached while `doing`.
    pub(super) fn turn(&mut self, until_ns: i64, doing: &str) -> Result<(), Failure> {
        let wake_ns = self.due_ns.min(until_ns);
        if wake_ns > self.now_ns {
            let room = if self.wire.is_full() { libc::POLLOUT } else { 0 };
            let fds = [self.wire.fd()];
            let ready = self.session.wait_any(&fds, libc::POLLIN | room, self.now_ns, wake_ns, doing)?;
            self.look_at_clock();
            if ready {
                self.wire.flush()?;
                self.take_arrivals()?;
            }
        } else {
            self.session.now_before_limit(doing)?;
        }
        if self.due_ns <= self.now_ns {
            self.advance()?;
            self.drain(self.now_ns)?;
        }
        Ok(())
    }

    fn take_arrivals(&mut self) -> Result<(), Failure> {
        for (datagram, realtime_ns) in self.wire.receive()? {
            let clock = &self.session.ctx.clock;
            let t_ns =
                if self.session.ctx.wake { clock.now_ns() } else { clock.from_realtime_ns(realtime_ns) };
            self.counts.datagrams_received += 1;
            self.advance()?;
            let established = self.connected;
            if let Err(error) = self.dtls.handle_packet(&datagram)
                && !(established && is_a_strangers(&error))
            {
                return Err(self.broke(&error));
            }
            if !self.drain(t_ns)? && established {
                self.counts.datagrams_ignored += 1;
            }
        }
        Ok(())
    }

    /// Tells the library what time it is.
    fn advance(&mut self) -> Result<(), Failure> {
        match self.dtls.handle_timeout(self.epoch.instant(self.now_ns)) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.broke(&error)),
        }
    }

    /// Does what the library asks for; what it delivers came at `t_ns`. Tells whether there was anything.
    fn drain(&mut self, t_ns: i64) -> Result<bool, Failure> {
        let mut any = false;
        loop {
            let Self { dtls, out, wire, .. } = self;
            match dtls.poll_output(out) {
                Output::Packet(datagram) => {
                    wire.send(datagram)?;
                    self.counts.datagrams_sent += 1;
                }
                Output::BufferTooSmall { needed } => out.resize(needed, 0),
                Output::Timeout(due) => {
                    let never = due.saturating_duration_since(self.epoch.instant(self.now_ns)) > NEVER;
                    self.due_ns = if never { i64::MAX } else { self.epoch.ns(due) };
                    return Ok(any);
                }
                Output::PeerCert(certificate) => {
                    self.trust.check(certificate)?;
                    self.trusted = true;
                }
                Output::Connected if self.trust.is_demanded() && !self.trusted => {
                    return Err(tls_failure("the DTLS handshake", &rustls::Error::NoCertificatesPresented));
                }
                Output::Connected => self.connected = true,
                Output::ApplicationData(message) => self.inbox.push_back((message.to_vec(), t_ns)),
                // Nobody of this program ends a session so, and what else there is nobody asked for.
                _ => {}
            }
            any = true;
        }
    }

    /// The sentence for a session that the library gives up.
    fn broke(&self, error: &Error) -> Failure {
        if let Some(failure) = self.session.failure() {
            return failure;
        }
        let what = if self.connected { "the DTLS session" } else { "the DTLS handshake" };
        match error {
            Error::Timeout(_) => Failure::TimedOut(format!(
                "timed out: {what} broke off: the other side did not answer what was sent again and again"
            )),
            Error::SecurityError(SecurityError::FatalAlert { description }) => {
                Failure::Echo(format!("{what} failed: the other side turned it down: alert {description}"))
            }
            error => Failure::new(format!("{what} failed: {error}")),
        }
    }
}

/// Whether a datagram that anybody can send brings this about in a session that is up. Such a datagram is discarded
/// (RFC 6347, 4.1.2.7; RFC 9147, 4.5.2).
fn is_a_strangers(error: &Error) -> bool {
    !matches!(
        error,
        Error::Timeout(_) | Error::ConnectionClosed | Error::SecurityError(SecurityError::FatalAlert { .. })
    )
}

fn configuration(error: &Error) -> Failure {
    Failure::new(format!("the DTLS session could not be set up: {error}"))
}
