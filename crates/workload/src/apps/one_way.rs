//! Messages of one size in one direction: what `bulk` and `cbr` have in common.
//!
//! A sender stamps many messages with one system call: whatever the transport takes in one call it takes at one
//! instant. It sleeps between calls, so that virtual time can go on.

use std::sync::Arc;

use crate::error::Failure;
use crate::ledger::{DeliveryInstants, NEVER, Received, Sent};
use crate::payload::{Outbox, Payload};
use crate::session::{SenderEnd, Session};
use crate::stacks::{Arrival, Connection, Service};

/// What is sent.
pub(super) struct Traffic {
    pub(super) message_bytes: u32,
    pub(super) pace: Pace,
    pub(super) amount: Amount,
}

/// When the next message is ready.
pub(super) enum Pace {
    /// At once.
    Greedy,
    /// Message k at k times its size over the rate; `scheduled` messages in all.
    Constant { rate_bps: f64, scheduled: u64 },
}

/// How much is sent.
pub(super) enum Amount {
    /// This many bytes; the last message is short when they do not divide.
    Bytes(u64),
    /// Whole messages, until so long after the start.
    For { duration_ns: i64 },
}

/// Bytes after which a sender whose clock does not move is called a mistake: nothing on the path takes time.
const MOST_BYTES_AT_ONE_INSTANT: u64 = 1 << 30;

impl Traffic {
    /// Bytes of the whole transfer, as far as they are known beforehand.
    fn total_bytes(&self) -> u64 {
        match (&self.amount, &self.pace) {
            (Amount::Bytes(bytes), _) => *bytes,
            (Amount::For { .. }, Pace::Constant { scheduled, .. }) => {
                scheduled * u64::from(self.message_bytes)
            }
            // Messages are numbered with 32 bits.
            (Amount::For { .. }, Pace::Greedy) => u64::from(u32::MAX) * u64::from(self.message_bytes),
        }
    }

    /// The instant at which message `seq` is ready.
    fn ready_ns(&self, start_ns: i64, seq: u64) -> i64 {
        match self.pace {
            Pace::Greedy => start_ns,
            Pace::Constant { rate_bps, .. } => {
                start_ns + (seq as f64 * f64::from(self.message_bytes) * 8e9 / rate_bps).round() as i64
            }
        }
    }

    /// Messages that are ready at `now_ns`.
    fn ready_messages(&self, start_ns: i64, now_ns: i64) -> u64 {
        match self.pace {
            Pace::Greedy => u64::from(u32::MAX),
            Pace::Constant { rate_bps, scheduled } => {
                let passed = (now_ns - start_ns).max(0) as f64;
                let mut ready = (passed * rate_bps / (f64::from(self.message_bytes) * 8e9)) as u64;
                // Rounding may put the division a message off either way; the instants decide.
                while self.ready_ns(start_ns, ready) <= now_ns {
                    ready += 1;
                }
                while ready > 0 && self.ready_ns(start_ns, ready - 1) > now_ns {
                    ready -= 1;
                }
                ready.min(scheduled)
            }
        }
    }

    /// The sending end.
    pub(super) fn send(
        &self,
        connection: &mut dyn Connection,
        session: &Arc<Session>,
        start_ns: i64,
        sent: &mut Sent,
    ) -> Result<(), Failure> {
        let payload = Payload::new(session.ctx.seed, self.message_bytes);
        let mut outbox = Outbox::new(&payload);
        let result = if connection.takes_release_times() && matches!(self.pace, Pace::Constant { .. }) {
            self.send_ahead(connection, start_ns, &mut outbox, sent)
        } else {
            self.send_when_ready(connection, session, start_ns, &mut outbox, sent)
        };
        let last_ns = sent.last_ns.unwrap_or(start_ns);
        session.announce_sender_end(SenderEnd { messages: sent.messages, last_ns });
        result
    }

    /// Hands every message over when it is ready, or as soon as the transport takes it.
    fn send_when_ready(
        &self,
        connection: &mut dyn Connection,
        session: &Arc<Session>,
        start_ns: i64,
        outbox: &mut Outbox,
        sent: &mut Sent,
    ) -> Result<(), Failure> {
        let size = u64::from(self.message_bytes);
        let total = self.total_bytes();
        let clock = &session.ctx.clock;
        let end_ns = match self.amount {
            Amount::Bytes(_) => i64::MAX,
            Amount::For { duration_ns } => start_ns + duration_ns,
        };
        // Nobody asks when each message was taken, and no instant ends the transfer.
        let only_totals = !session.ctx.messages && matches!(self.amount, Amount::Bytes(_));
        let mut offset = 0;
        let mut still = Standstill::default();
        let mut now_ns = clock.now_ns();
        while offset < total {
            if now_ns >= session.ctx.limit_ns {
                return Err(session.limit_reached("the sender was still sending"));
            }
            let whole = offset.is_multiple_of(size);
            if now_ns >= end_ns && whole {
                break;
            }
            // A message that is half handed over is completed even after the end.
            let ready = if now_ns >= end_ns {
                offset.next_multiple_of(size)
            } else {
                (self.ready_messages(start_ns, now_ns) * size).min(total)
            };
            if ready <= offset {
                let ready_ns = self.ready_ns(start_ns, offset / size);
                now_ns = connection.pause(clock, ready_ns.min(end_ns).min(session.ctx.limit_ns))?;
                continue;
            }
            let block = outbox.bytes(offset..ready);
            let message_bytes = self.message_bytes as usize;
            let taken = if only_totals {
                connection.offer_all(block, message_bytes, offset / size)?
            } else {
                connection.offer(block, message_bytes, offset / size)?
            };
            let offered = block.len();
            let complete = |bytes: u64| if bytes == total { bytes.div_ceil(size) } else { bytes / size };
            let before = offset;
            offset += taken as u64;
            sent.note(complete(offset) - complete(before), taken as u64, now_ns);
            still.check(now_ns, taken as u64)?;
            if taken < offered {
                let until_ns = if offset.is_multiple_of(size) { end_ns } else { i64::MAX };
                connection.wait_until_writable(now_ns, until_ns)?;
                now_ns = clock.now_ns();
            } else {
                now_ns = if only_totals { clock.now_ns() } else { clock.after(now_ns) };
            }
        }
        Ok(())
    }

    /// Hands messages over ahead of time; the kernel holds each until it is ready.
    fn send_ahead(
        &self,
        connection: &mut dyn Connection,
        start_ns: i64,
        outbox: &mut Outbox,
        sent: &mut Sent,
    ) -> Result<(), Failure> {
        let size = u64::from(self.message_bytes);
        let total = self.total_bytes() / size;
        let mut seq = 0;
        while seq < total {
            let block = outbox.bytes(seq * size..total * size);
            let releases: Vec<i64> = (seq..)
                .take((block.len() as u64 / size).min(crate::sys::batch::LONGEST_BATCH as u64) as usize)
                .map(|seq| self.ready_ns(start_ns, seq))
                .collect();
            let (taken, earliest_ns) = connection.offer_released(
                &block[..releases.len() * size as usize],
                size as usize,
                &releases,
            )?;
            for release_ns in &releases[..taken / size as usize] {
                sent.note(1, size, earliest_ns.max(*release_ns));
            }
            seq += taken as u64 / size;
        }
        Ok(())
    }

    /// The receiving end.
    pub(super) fn receive(
        &self,
        connection: &mut dyn Connection,
        session: &Arc<Session>,
        service: Service,
        received: &mut Received,
    ) -> Result<(), Failure> {
        let payload = Payload::new(session.ctx.seed, self.message_bytes);
        match service {
            Service::Stream => self.receive_stream(connection, session, &payload, received),
            Service::Messages { streams } => {
                self.receive_messages(connection, session, &payload, streams, received)
            }
            Service::Datagrams => self.receive_datagrams(connection, session, &payload, received),
        }
    }

    fn receive_stream(
        &self,
        connection: &mut dyn Connection,
        session: &Arc<Session>,
        payload: &Payload,
        received: &mut Received,
    ) -> Result<(), Failure> {
        let size = u64::from(self.message_bytes);
        let total = self.total_bytes();
        let each = connection.instants() == DeliveryInstants::Application;
        loop {
            let left = total.saturating_sub(received.bytes);
            let arrival = connection.receive(u64::MAX, left, &mut |bytes, t_ns| {
                let before = received.bytes;
                if !payload.matches(before, bytes) {
                    return Err(altered(before / size));
                }
                received.bytes += bytes.len() as u64;
                let complete = |bytes: u64| if bytes == total { bytes.div_ceil(size) } else { bytes / size };
                for _ in complete(before)..complete(received.bytes) {
                    received.note_next(t_ns.filter(|_| each));
                }
                received.note_arrival(t_ns.unwrap_or(NEVER));
                Ok(())
            })?;
            match arrival {
                Arrival::Data => session.report_progress(received.last_ns.unwrap_or(0), received.bytes),
                Arrival::Silence => {}
                Arrival::End => return self.check_complete(session, received),
            }
        }
    }

    fn receive_messages(
        &self,
        connection: &mut dyn Connection,
        session: &Arc<Session>,
        payload: &Payload,
        streams: u16,
        received: &mut Received,
    ) -> Result<(), Failure> {
        let last_seq = self.total_bytes().div_ceil(u64::from(self.message_bytes)) - 1;
        // Within a stream, a message that came early waits for the ones before it.
        let mut latest_ns = vec![i64::MIN; usize::from(streams)];
        loop {
            let left = (last_seq + 1).saturating_sub(received.messages);
            let arrival = connection.receive(left, u64::MAX, &mut |bytes, t_ns| {
                let seq = payload
                    .recognise(bytes, u32::try_from(last_seq).ok())
                    .filter(|seq| u64::from(*seq) <= last_seq)
                    .ok_or_else(|| altered(received.messages))?;
                let latest = &mut latest_ns[seq as usize % usize::from(streams)];
                *latest = (*latest).max(t_ns.unwrap_or(NEVER));
                received.note_numbered(seq, bytes.len() as u64, *latest);
                Ok(())
            })?;
            match arrival {
                Arrival::Data => session.report_progress(received.last_ns.unwrap_or(0), received.bytes),
                Arrival::Silence => {}
                Arrival::End => return self.check_complete(session, received),
            }
        }
    }

    fn receive_datagrams(
        &self,
        connection: &mut dyn Connection,
        session: &Arc<Session>,
        payload: &Payload,
        received: &mut Received,
    ) -> Result<(), Failure> {
        let scheduled = self.total_bytes() / u64::from(self.message_bytes);
        let ctx = &session.ctx;
        loop {
            let sender_end = session.sender_end();
            let expected = sender_end.map_or(scheduled, |end| end.messages);
            if received.messages >= expected {
                return Ok(());
            }
            let arrival =
                connection.receive(expected - received.messages, u64::MAX, &mut |bytes, t_ns| {
                    let seq =
                        payload.recognise(bytes, None).filter(|seq| u64::from(*seq) < scheduled).ok_or_else(
                            || Failure::new("a datagram arrived that this flow's sender did not send"),
                        )?;
                    received.note_numbered(seq, bytes.len() as u64, t_ns.unwrap_or(NEVER));
                    Ok(())
                })?;
            if arrival == Arrival::Data {
                session.report_progress(received.last_ns.unwrap_or(0), received.bytes);
                continue;
            }
            if let Some(failure) = session.failure() {
                return Err(failure);
            }
            let now_ns = ctx.clock.now_ns();
            let quiet = sender_end.is_some_and(|end| {
                now_ns - received.last_ns.map_or(end.last_ns, |at| at.max(end.last_ns)) >= ctx.quiet_ns
            });
            if arrival == Arrival::End || quiet {
                return Ok(());
            }
            if now_ns >= ctx.limit_ns {
                return Err(session.limit_reached("the receiver was still waiting for datagrams"));
            }
        }
    }

    /// A reliable transport that ends in order has delivered everything, or the sender stopped half-way.
    fn check_complete(&self, session: &Arc<Session>, received: &Received) -> Result<(), Failure> {
        let expected = match self.amount {
            Amount::Bytes(bytes) => Some(bytes),
            Amount::For { .. } => {
                session.sender_end().map(|end| end.messages * u64::from(self.message_bytes))
            }
        };
        match expected {
            Some(bytes) if bytes != received.bytes => Err(Failure::new(format!(
                "the sender ended the connection after {} of {bytes} bytes",
                received.bytes
            ))),
            _ => Ok(()),
        }
    }
}

fn altered(seq: u64) -> Failure {
    Failure::new(format!("message {seq} arrived altered: its bytes are not those that were sent"))
}

/// Notices a sender that is never made to wait.
#[derive(Default)]
struct Standstill {
    at_ns: i64,
    bytes: u64,
}

impl Standstill {
    fn check(&mut self, now_ns: i64, bytes: u64) -> Result<(), Failure> {
        if now_ns != self.at_ns {
            *self = Self { at_ns: now_ns, bytes: 0 };
        }
        self.bytes += bytes;
        if self.bytes > MOST_BYTES_AT_ONE_INSTANT {
            return Err(Failure::new(
                "the path takes any amount at one instant: give it a rate or a delay, or give the sender a rate",
            ));
        }
        Ok(())
    }
}
