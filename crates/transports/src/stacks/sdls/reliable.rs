//! COP-1 over a UDP socket, driven by the thread of its application: what arrives is handled when that thread waits.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use socket2::Socket;

use super::cop1::{Receiving, Sending};
use crate::clock::Clock;
use crate::error::{Failure, OrFailure};
use crate::peers::same_end;
use crate::session::{Guarded, Session, next_look_ns};
use crate::sys::batch::{self, RecvBatch};
use crate::sys::options;
use crate::transport::{Arrival, Connection, DeliveryInstants, Listener, Sampler, Take};

/// Datagrams taken with one call, and the longest.
const RECEIVE_DATAGRAMS: usize = 32;
const LONGEST_DATAGRAM: usize = 2048;

const SENDING: &str = "the sender was still sending";
const FINISHING: &str = "waiting for the acknowledgement of everything";

/// A bound socket with the time as last seen.
pub(super) struct Wire {
    socket: Guarded,
    session: Arc<Session>,
    inbound: RecvBatch,
    now_ns: i64,
}

impl Wire {
    pub(super) fn new(socket: Socket, session: &Arc<Session>) -> Result<Self, Failure> {
        options::enable(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS)
            .or_failure("receive stamps could not be switched on")?;
        Ok(Self {
            socket: Guarded::new(socket, session)?,
            session: Arc::clone(session),
            inbound: RecvBatch::new(RECEIVE_DATAGRAMS, LONGEST_DATAGRAM),
            now_ns: session.ctx.clock.now_ns(),
        })
    }

    /// The time of the run, which is never before its zero.
    pub(super) fn now(&self) -> Duration {
        Duration::from_nanos(self.now_ns.max(0) as u64)
    }

    /// The time, for a caller that may have waited elsewhere.
    fn look_at_clock(&mut self) -> i64 {
        self.now_ns = self.session.ctx.clock.now_ns();
        self.now_ns
    }

    /// Sends a datagram. What the kernel refuses is lost, as on the way.
    fn send(&self, to: SocketAddr, octets: &[u8]) {
        let _ = batch::send_to(self.socket.fd(), to, octets, octets.len());
    }

    /// Waits for a datagram until `until_ns`, and hands what came to `take` with its sender.
    fn wait(
        &mut self,
        until_ns: i64,
        doing: &str,
        mut take: impl FnMut(SocketAddr, &[u8]),
    ) -> Result<(), Failure> {
        if until_ns <= self.now_ns {
            return self.session.now_before_limit(doing).map(drop);
        }
        let came = self.session.wait_any(&[self.socket.fd()], libc::POLLIN, self.now_ns, until_ns, doing)?;
        let clock = self.session.ctx.clock;
        self.now_ns = clock.now_ns();
        if !came {
            return Ok(());
        }
        loop {
            let count = match self.inbound.receive(self.socket.fd(), RECEIVE_DATAGRAMS, libc::MSG_DONTWAIT) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                Err(error) => return Err(Failure::system("receiving frames failed", &error)),
            };
            for index in 0..count {
                let datagram = self.inbound.message(index);
                if let Some(failure) = self.session.failure().filter(|_| datagram.bytes.is_empty()) {
                    return Err(failure);
                }
                if let Some(from) = datagram.from {
                    take(from, datagram.bytes);
                }
            }
            if count < RECEIVE_DATAGRAMS {
                return Ok(());
            }
        }
    }
}

fn nanoseconds(at: Duration) -> i64 {
    i64::try_from(at.as_nanos()).unwrap_or(i64::MAX)
}

/// The sender's end.
pub(super) struct ReliableSender {
    wire: Wire,
    sending: Sending,
    established_ns: i64,
}

impl ReliableSender {
    pub(super) fn new(wire: Wire, sending: Sending) -> Self {
        let established_ns = wire.now_ns;
        Self { wire, sending, established_ns }
    }

    /// Sends what may leave now.
    fn flush(&mut self) -> Result<(), Failure> {
        let to = self.wire.session.ctx.destination;
        while let Some(frame) = self.sending.poll(self.wire.now())? {
            self.wire.send(to, &frame);
        }
        Ok(())
    }

    /// Lets time pass until `until_ns` at the latest: until something came or the timer is due.
    fn turn(&mut self, until_ns: i64, doing: &str) -> Result<(), Failure> {
        self.flush()?;
        let due_ns = self.sending.due().map_or(i64::MAX, nanoseconds);
        let to = self.wire.session.ctx.destination;
        let mut arrived = Vec::new();
        self.wire.wait(due_ns.min(until_ns), doing, |from, octets| {
            if from == to {
                arrived.push(octets.to_vec());
            }
        })?;
        let now = self.wire.now();
        for octets in arrived {
            self.sending.handle(&octets, now)?;
        }
        if self.sending.due().is_some_and(|due| due <= now) {
            self.sending.handle_timeout(now)?;
        }
        self.flush()
    }
}

impl Connection for ReliableSender {
    fn established_ns(&self) -> Option<i64> {
        Some(self.established_ns)
    }

    fn offer(&mut self, block: &[u8], message_bytes: usize, _seq: u64) -> Result<usize, Failure> {
        self.wire.look_at_clock();
        let mut taken = 0;
        for message in block.chunks(message_bytes) {
            if !self.sending.has_room() {
                break;
            }
            self.sending.push(message)?;
            taken += message.len();
            self.flush()?;
        }
        Ok(taken)
    }

    fn wait_until_writable(&mut self, now_ns: i64, until_ns: i64) -> Result<(), Failure> {
        self.wire.now_ns = self.wire.now_ns.max(now_ns);
        while !self.sending.has_room() && self.wire.now_ns < until_ns {
            self.turn(until_ns, SENDING)?;
        }
        Ok(())
    }

    fn pause(&mut self, _: &Clock, instant_ns: i64) -> Result<i64, Failure> {
        let until_ns = instant_ns.min(self.wire.session.ctx.limit_ns);
        self.wire.look_at_clock();
        while self.wire.now_ns < until_ns {
            self.turn(until_ns, SENDING)?;
        }
        Ok(self.wire.now_ns)
    }

    fn finish(&mut self) -> Result<Option<i64>, Failure> {
        self.wire.look_at_clock();
        self.flush()?;
        while !self.sending.is_done() {
            self.turn(i64::MAX, FINISHING)?;
        }
        Ok(Some(self.wire.now_ns))
    }

    fn instants(&self) -> DeliveryInstants {
        DeliveryInstants::Application
    }

    fn receive(&mut self, _: u64, _: u64, _: &mut Take<'_>) -> Result<Arrival, Failure> {
        Err(Failure::new("the sender of telecommands receives nothing but reports"))
    }

    fn counts(&self) -> BTreeMap<String, u64> {
        self.sending.frames().counts()
    }

    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure> {
        Ok(None)
    }
}

/// The receiver before its sender comes.
pub(super) struct ReliableListener {
    parts: Option<(Wire, Receiving)>,
    report_interval_ns: i64,
}

impl ReliableListener {
    pub(super) fn new(wire: Wire, receiving: Receiving, report_interval_ns: i64) -> Self {
        Self { parts: Some((wire, receiving)), report_interval_ns }
    }
}

impl Listener for ReliableListener {
    fn accept(&mut self) -> Result<Box<dyn Connection>, Failure> {
        let (wire, receiving) = self.parts.take().ok_or_else(|| {
            Failure::new("a receiver of telecommands serves one session and was asked for a second")
        })?;
        Ok(Box::new(ReliableReceiver {
            wire,
            receiving,
            report_interval_ns: self.report_interval_ns,
            ground: None,
            report_ns: i64::MAX,
            heard_ns: 0,
        }))
    }
}

/// The receiver's end.
struct ReliableReceiver {
    wire: Wire,
    receiving: Receiving,
    report_interval_ns: i64,
    /// Where reports go, once a frame has come from there.
    ground: Option<SocketAddr>,
    /// When the next report is due.
    report_ns: i64,
    /// When a frame came last.
    heard_ns: i64,
}

impl ReliableReceiver {
    fn report(&mut self) -> Result<(), Failure> {
        if let Some(ground) = self.ground {
            let frame = self.receiving.report()?;
            self.wire.send(ground, &frame);
            self.report_ns = self.wire.now_ns.saturating_add(self.report_interval_ns);
        }
        Ok(())
    }

    /// Lets time pass until `until_ns` at the latest: until something came or a report is due.
    fn turn(&mut self, until_ns: i64) -> Result<(), Failure> {
        let (source, receiving) = (self.wire.session.expected_source(), &mut self.receiving);
        let (mut worth, mut ground) = (false, self.ground);
        self.wire.wait(
            self.report_ns.min(until_ns),
            "the receiver was still receiving",
            |from, octets| {
                if same_end(&from.into(), source) && receiving.handle(octets) {
                    (worth, ground) = (true, Some(from));
                }
            },
        )?;
        self.ground = ground;
        if worth {
            self.heard_ns = self.wire.now_ns;
        }
        if worth || self.wire.now_ns >= self.report_ns { self.report() } else { Ok(()) }
    }
}

impl Connection for ReliableReceiver {
    fn established_ns(&self) -> Option<i64> {
        None
    }

    fn offer(&mut self, _: &[u8], _: usize, _: u64) -> Result<usize, Failure> {
        Err(Failure::new("the receiver of telecommands sends nothing but reports"))
    }

    fn wait_until_writable(&mut self, _: i64, _: i64) -> Result<(), Failure> {
        Ok(())
    }

    fn finish(&mut self) -> Result<Option<i64>, Failure> {
        Ok(None)
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
        let look_up_ns = next_look_ns(self.heard_ns, self.wire.look_at_clock());
        loop {
            let (mut messages, mut bytes) = (0, 0);
            while messages < most_messages && bytes < most_bytes.max(1) {
                let Some(message) = self.receiving.next() else { break };
                messages += 1;
                bytes += message.len() as u64;
                take(&message, Some(self.wire.now_ns))?;
            }
            if messages > 0 {
                return Ok(Arrival::Data);
            }
            // COP-1 ends no session: the sender is over once everything was acknowledged.
            if !self.wire.session.sender_runs_until(0) {
                return self.wire.session.failure().map_or(Ok(Arrival::End), Err);
            }
            if self.wire.now_ns >= look_up_ns {
                return Ok(Arrival::Silence);
            }
            self.turn(look_up_ns)?;
        }
    }

    fn counts(&self) -> BTreeMap<String, u64> {
        self.receiving.frames().counts()
    }

    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure> {
        Ok(None)
    }
}
