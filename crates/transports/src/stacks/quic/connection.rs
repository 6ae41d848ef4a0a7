//! Sessions over QUIC, whatever the library: a stream or datagrams, and how they end.

use std::net::SocketAddr;

use super::driver::Driver;
use super::library::Library;
use super::sentence::{Loss, lost, unanswered};
use super::{BROKEN_OFF, DONE};
use crate::clock::Clock;
use crate::error::Failure;
use crate::session::{LOOK_UP_NS, next_look_ns};
use crate::transport::{Arrival, Connection, DeliveryInstants, Listener, Sampler, Take};

/// Takes a connection that arrived off the list, with the instant at which data may flow; `None` when there is none.
pub(super) type Accept<L> = fn(&mut <L as Library>::Engine, i64) -> Result<Option<(L, i64)>, Failure>;

/// An endpoint that waits for connections.
pub(super) struct QuicListener<L: Library> {
    pub(super) driver: Driver<L::Engine>,
    pub(super) accept: Accept<L>,
    pub(super) datagrams: bool,
}

impl<L: Library> Listener for QuicListener<L> {
    fn accept(&mut self) -> Result<Box<dyn Connection>, Failure> {
        let (link, established_ns) =
            self.driver.work_until("nobody connected to the receiver", self.accept)?;
        let driver = self.driver.clone();
        let datagrams = self.datagrams;
        Ok(Box::new(QuicConnection { driver, link, datagrams, established_ns, sends: false, over: Over::No }))
    }
}

/// How far a session is towards its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    /// Data may still flow.
    No,
    /// The other side has sent all it had to send.
    Received,
    /// Both sides are done.
    Done,
}

/// A session, at either end.
pub(super) struct QuicConnection<L: Library> {
    driver: Driver<L::Engine>,
    link: L,
    datagrams: bool,
    established_ns: i64,
    sends: bool,
    over: Over,
}

/// Why the connection is over, unless it ended well.
fn check<L: Library>(
    driver: &Driver<L::Engine>,
    link: &mut L,
    engine: &mut L::Engine,
    doing: &str,
) -> Result<(), Failure> {
    match link.loss(engine) {
        None => Ok(()),
        Some(loss) => Err(driver.session().failure().unwrap_or_else(|| lost(doing, loss))),
    }
}

impl<L: Library> QuicConnection<L> {
    /// The sender's end of a connection that was just asked for.
    pub(super) fn opening(driver: Driver<L::Engine>, link: L, datagrams: bool) -> Self {
        let established_ns = driver.now_ns();
        Self { driver, link, datagrams, established_ns, sends: true, over: Over::No }
    }

    /// The same once the connection is there.
    pub(super) fn established_at(mut self, established_ns: i64) -> Self {
        self.established_ns = established_ns;
        self
    }

    /// Waits until data may flow, as `ready` tells it.
    pub(super) fn establish(
        &mut self,
        to: SocketAddr,
        ready: impl Fn(&mut L, &mut L::Engine, i64) -> Option<i64>,
    ) -> Result<(), Failure> {
        let doing = format!("{to} did not answer the connection request");
        self.established_ns =
            self.driver.work_until(&doing, |engine, now_ns| match self.link.loss(engine) {
                Some(Loss::TimedOut) => Err(unanswered(to)),
                Some(loss) => Err(lost("the handshake", loss)),
                None => Ok(ready(&mut self.link, engine, now_ns)),
            })?;
        Ok(())
    }

    /// Does something to the library's connection.
    pub(super) fn with(&mut self, step: impl FnOnce(&mut L, &mut L::Engine)) {
        step(&mut self.link, &mut self.driver.lock().engine);
    }

    /// Refuses messages that do not fit a datagram. Said before the connection is closed, so that nobody takes the other
    /// side's report of that for the cause.
    pub(super) fn check_datagram(&mut self, message_bytes: u32) -> Result<(), Failure> {
        let longest = self.link.longest_datagram(&mut self.driver.lock().engine);
        let failure = match longest {
            Some(longest) if message_bytes as usize <= longest => return Ok(()),
            Some(longest) => Failure::new(format!(
                "a message of {message_bytes} bytes is too long for a QUIC datagram on this path; \
                 `message_size_bytes` may be at most {longest}"
            )),
            None => Failure::new("the other side takes no QUIC datagrams"),
        };
        self.driver.session().fail(failure.clone());
        Err(failure)
    }

    /// Ends the stream and waits until the other side has ended its half.
    fn finish_stream(&mut self) -> Result<i64, Failure> {
        let doing = "waiting for the receiver to get everything and close";
        self.link.end(&mut self.driver.lock().engine).map_err(|loss| lost(doing, loss))?;
        self.driver.work_until(doing, |engine, now_ns| {
            match self.link.read(engine, u64::MAX, doing, &mut |_| Ok(()))? {
                Some(Arrival::End) => Ok(Some(now_ns)),
                _ => check(&self.driver, &mut self.link, engine, doing).map(|()| None),
            }
        })
    }

    /// Waits until the receiver, which knows what it may expect, has closed the connection. One that never does has
    /// stopped listening: datagrams promise nothing.
    fn finish_datagrams(&mut self) -> Result<i64, Failure> {
        let ctx = &self.driver.session().ctx;
        let until_ns = (self.driver.now_ns() + ctx.quiet_ns).min(ctx.limit_ns - 1);
        self.driver.work(until_ns, "waiting for the receiver to close", |engine, _| {
            Ok(self.link.loss(engine).is_some().then_some(()))
        })?;
        Ok(self.driver.now_ns())
    }

    fn receive_datagrams(&mut self, most_messages: u64, take: &mut Take<'_>) -> Result<Arrival, Failure> {
        let until_ns = self.driver.now_ns() + LOOK_UP_NS;
        let arrival = self.driver.work(until_ns, "the receiver was still receiving", |engine, now_ns| {
            if self.link.read_datagrams(engine, now_ns, most_messages, take)? {
                return Ok(Some(Arrival::Data));
            }
            match self.link.loss(engine) {
                // The sender closed in order, or was not heard of any more.
                Some(Loss::Application(code)) if code == u64::from(DONE) => Ok(Some(Arrival::End)),
                Some(Loss::TimedOut) => Ok(Some(Arrival::End)),
                Some(loss) => Err(lost("receiving", loss)),
                None => Ok(None),
            }
        })?;
        Ok(arrival.unwrap_or(Arrival::Silence))
    }

    /// The receiver of everything ends its half of the stream too, and stays until the sender knows.
    fn linger(&mut self) -> Result<(), Failure> {
        // A stream that was stopped needs no end.
        let _ = self.link.end(&mut self.driver.lock().engine);
        let since_ns = self.driver.now_ns();
        loop {
            let until_ns = next_look_ns(since_ns, self.driver.now_ns());
            let gone = self.driver.work(until_ns, "waiting for the sender to close", |engine, _| {
                Ok(self.link.is_left(engine).then_some(()))
            })?;
            // A sender that is over, or failed, hears nothing any more.
            if gone.is_some() || !self.driver.session().sender_runs_until(0) {
                return Ok(());
            }
        }
    }
}

impl<L: Library> Connection for QuicConnection<L> {
    fn established_ns(&self) -> Option<i64> {
        Some(self.established_ns)
    }

    fn offer(&mut self, block: &[u8], message_bytes: usize, _seq: u64) -> Result<usize, Failure> {
        let mut state = self.driver.lock();
        let engine = &mut state.engine;
        check(&self.driver, &mut self.link, engine, "sending")?;
        match self.datagrams {
            true => self.link.write_datagrams(engine, block, message_bytes),
            false => self.link.write(engine, block),
        }
    }

    fn wait_until_writable(&mut self, now_ns: i64, until_ns: i64) -> Result<(), Failure> {
        let mut state = self.driver.lock();
        state.note_time(now_ns);
        self.link.begin_waiting(&mut state.engine);
        drop(state);
        self.driver.work(until_ns, "the sender was still sending", |engine, _| {
            check(&self.driver, &mut self.link, engine, "sending")?;
            Ok(self.link.has_room(engine)?.then_some(()))
        })?;
        Ok(())
    }

    fn pause(&mut self, _clock: &Clock, instant_ns: i64) -> Result<i64, Failure> {
        self.driver.work(instant_ns, "the application paused", |engine, _| {
            check(&self.driver, &mut self.link, engine, "the session").map(|()| None::<()>)
        })?;
        Ok(self.driver.now_ns())
    }

    fn finish(&mut self) -> Result<Option<i64>, Failure> {
        let ended_ns = if self.datagrams { self.finish_datagrams()? } else { self.finish_stream()? };
        self.over = Over::Done;
        Ok(Some(ended_ns))
    }

    fn instants(&self) -> DeliveryInstants {
        DeliveryInstants::Application
    }

    fn receive(
        &mut self,
        most_messages: u64,
        most_bytes: u64,
        take: &mut Take<'_>,
    ) -> Result<Arrival, Failure> {
        if self.datagrams {
            return self.receive_datagrams(most_messages, take);
        }
        let doing = "receiving";
        let arrival = self.driver.work_until("the receiver was still receiving", |engine, now_ns| {
            let take = &mut |bytes: &[u8]| take(bytes, Some(now_ns));
            match self.link.read(engine, most_bytes.max(1), doing, take)? {
                None => check(&self.driver, &mut self.link, engine, doing).map(|()| None),
                arrival => Ok(arrival),
            }
        })?;
        if arrival == Arrival::End {
            self.over = Over::Received;
        }
        Ok(arrival)
    }

    fn sender_dropped_messages(&mut self) -> Option<u64> {
        match self.datagrams {
            true => self.link.dropped_datagrams(&mut self.driver.lock().engine),
            false => None,
        }
    }

    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure> {
        Ok(self.sends.then(|| self.link.sampler(&self.driver)))
    }
}

impl<L: Library> Drop for QuicConnection<L> {
    fn drop(&mut self) {
        if self.over == Over::Received && self.linger().is_ok() {
            self.over = Over::Done;
        }
        let well = match self.sends {
            // A receiver of datagrams decides by itself when it has enough.
            false if self.datagrams => self.driver.session().failure().is_none(),
            _ => self.over == Over::Done,
        };
        let mut state = self.driver.lock();
        let now_ns = state.now_ns();
        self.link.close(&mut state.engine, if well { DONE } else { BROKEN_OFF }, now_ns);
        state.settle();
    }
}
