//! Messages of one size in one direction: what `bulk`, `cbr`, `vbr` and `voip` are.
//!
//! A sender stamps many messages with one system call: whatever the transport takes in one call it takes at one
//! instant. It sleeps between calls, so that virtual time can go on.

use transports::{Arrival, DeliveryInstants, Failure, SenderEnd, Service, Session, SpecError, Stack, Take};

use super::checks::{check_count, check_greedy, check_message_size};
use super::in_order::InOrder;
use super::on_off::OnOff;
use super::timetable::{Period, Timetable};
use crate::ledger::{NEVER, Received, Sent};
use crate::one_session::{End, OneSession};
use crate::payload::{Outbox, Payload};

/// Messages of one size, at a rate or as fast as the transport takes them.
pub(super) struct Paced {
    /// The application's name in a plan.
    pub(super) name: &'static str,
    /// Size of every message but perhaps the last.
    pub(super) message_bytes: u32,
    /// None: as fast as the transport takes them.
    pub(super) rate_bps: Option<f64>,
    /// What a plan calls the rate.
    pub(super) rate_key: &'static str,
    /// How much is sent.
    pub(super) amount: Amount,
}

/// How much is sent.
#[derive(Clone, Copy)]
pub(super) enum Amount {
    /// This many bytes; the last message is short when they do not divide.
    Bytes(u64),
    /// Whole messages, until so long after the start; with a source that is on and off in turn.
    For { duration_ns: i64, on_off: Option<OnOff> },
}

impl OneSession for Paced {
    fn message_bytes(&self) -> u32 {
        self.message_bytes
    }

    fn suits(&self, stack: &dyn Stack) -> Result<(), SpecError> {
        let name = self.name;
        match self.amount {
            Amount::Bytes(_) if stack.service() == Service::Datagrams => {
                return Err(SpecError::new(format!(
                    "`{name}` needs a transport that delivers everything, which `{}` does not; use `cbr` with a \
                     `rate_bps`",
                    stack.name()
                )));
            }
            Amount::Bytes(_) => {}
            Amount::For { .. } => check_greedy(name, self.rate_key, self.rate_bps, stack)?,
        }
        check_message_size(name, self.message_bytes, stack)?;
        match (self.amount, self.rate_bps) {
            (Amount::Bytes(bytes), _) => {
                check_count(name, "size_bytes", bytes.div_ceil(u64::from(self.message_bytes)))
            }
            // As if it never were off, which is the most that chance can make of it.
            (Amount::For { duration_ns, .. }, Some(rate_bps)) => {
                let whole = Period { from_ns: 0, until_ns: duration_ns };
                check_count(name, "duration_s", whole.messages(rate_bps, self.message_bytes))
            }
            (Amount::For { .. }, None) => Ok(()),
        }
    }

    fn send(&self, end: &mut End<'_>, start_ns: i64, sent: &mut Sent) -> Result<(), Failure> {
        self.traffic(end.session.ctx.seed).send(end, start_ns, sent)
    }

    fn receive(&self, end: &mut End<'_>, service: Service, received: &mut Received) -> Result<(), Failure> {
        self.traffic(end.session.ctx.seed).receive(end, service, received)
    }
}

impl Paced {
    /// What is sent, the same at both ends; whatever chance decides follows from `seed`.
    fn traffic(&self, seed: u64) -> Traffic {
        let Self { message_bytes, rate_bps, amount, .. } = *self;
        let (periods, most) = match amount {
            Amount::Bytes(bytes) => (vec![Period::ENDLESS], bytes.div_ceil(u64::from(message_bytes))),
            // Messages are numbered with 32 bits.
            Amount::For { duration_ns, on_off: None } => {
                (vec![Period { from_ns: 0, until_ns: duration_ns }], u64::from(u32::MAX))
            }
            Amount::For { duration_ns, on_off: Some(source) } => {
                (source.periods(duration_ns, seed), u64::from(u32::MAX))
            }
        };
        Traffic { message_bytes, timetable: Timetable::new(message_bytes, rate_bps, periods, most), amount }
    }
}

/// What is sent and when it is ready.
struct Traffic {
    message_bytes: u32,
    timetable: Timetable,
    amount: Amount,
}

/// Bytes after which a sender whose clock does not move is called a mistake: nothing on the path takes time.
const MOST_BYTES_AT_ONE_INSTANT: u64 = 1 << 30;

impl Traffic {
    /// Bytes of the whole transfer, as far as they are known beforehand.
    fn total_bytes(&self) -> u64 {
        match self.amount {
            Amount::Bytes(bytes) => bytes,
            Amount::For { .. } => self.timetable.messages() * u64::from(self.message_bytes),
        }
    }

    /// Whether nobody asks when each message was taken or came, and no instant ends the transfer.
    fn only_totals(&self, session: &Session) -> bool {
        !session.ctx.messages && matches!(self.amount, Amount::Bytes(_))
    }

    /// The sending end.
    fn send(&self, end: &mut End<'_>, start_ns: i64, sent: &mut Sent) -> Result<(), Failure> {
        let payload = Payload::new(end.session.ctx.seed, self.message_bytes);
        let mut outbox = Outbox::new(&payload);
        let result = if end.connection.takes_release_times() && !self.timetable.is_greedy() {
            self.send_ahead(end, start_ns, &mut outbox, sent)
        } else {
            self.send_when_ready(end, start_ns, &mut outbox, sent)
        };
        let last_ns = sent.last_ns.unwrap_or(start_ns);
        end.session.announce_sender_end(SenderEnd { messages: sent.messages, last_ns });
        result.and_then(|()| self.check_sent(end.session, start_ns, sent))
    }

    /// A flow that had something to send and whose time was over before it could has failed.
    fn check_sent(&self, session: &Session, start_ns: i64, sent: &Sent) -> Result<(), Failure> {
        if sent.bytes > 0 || self.total_bytes() == 0 {
            return Ok(());
        }
        let after_s = (session.ctx.clock.now_ns() - start_ns) as f64 / 1e9;
        Err(Failure::new(format!(
            "nothing was sent: the session came up {after_s:.3} s after the start, too late"
        )))
    }

    /// Hands every message over when it is ready, or as soon as the transport takes it.
    fn send_when_ready(
        &self,
        End { connection, session }: &mut End<'_>,
        start_ns: i64,
        outbox: &mut Outbox,
        sent: &mut Sent,
    ) -> Result<(), Failure> {
        let size = u64::from(self.message_bytes);
        let total = self.total_bytes();
        let clock = &session.ctx.clock;
        let end_ns = match self.amount {
            Amount::Bytes(_) => i64::MAX,
            Amount::For { duration_ns, .. } => start_ns + duration_ns,
        };
        let only_totals = self.only_totals(session);
        let mut offset = 0;
        // Whether the transport took all that was ready so far. Who is late then was woken late by the machine, which
        // happens in real time alone, and sends what was ready before the end.
        let mut keeps_up = false;
        let mut still = Standstill::default();
        let mut now_ns = clock.now_ns();
        while offset < total {
            if now_ns >= session.ctx.limit_ns {
                return Err(session.limit_reached("the sender was still sending"));
            }
            let over = now_ns >= end_ns;
            let at_ns = if over && keeps_up { end_ns - 1 } else { now_ns };
            let ready = if at_ns >= end_ns { 0 } else { self.timetable.ready_messages(at_ns - start_ns) };
            if over && offset.is_multiple_of(size) && ready * size <= offset {
                break;
            }
            // A message that is half handed over is completed whatever the time.
            let ready = (ready * size).min(total).max(offset.next_multiple_of(size).min(total));
            if ready <= offset {
                let ready_ns = self.timetable.ready_ns(offset / size, now_ns - start_ns);
                let next_ns = start_ns.saturating_add(ready_ns);
                now_ns = connection.pause(clock, next_ns.min(end_ns).min(session.ctx.limit_ns))?;
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
            keeps_up = taken == offered && !self.timetable.is_greedy() && (keeps_up || !over);
            if taken < offered {
                let offer_ends_ns = start_ns.saturating_add(self.timetable.offer_ends_ns(now_ns - start_ns));
                let until_ns = if offset.is_multiple_of(size) { end_ns.min(offer_ends_ns) } else { i64::MAX };
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
        End { connection, .. }: &mut End<'_>,
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
                .take((block.len() as u64 / size).min(transports::LONGEST_BATCH as u64) as usize)
                .map(|seq| start_ns + self.timetable.ready_ns(seq, 0))
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
    fn receive(&self, end: &mut End<'_>, service: Service, received: &mut Received) -> Result<(), Failure> {
        let payload = Payload::new(end.session.ctx.seed, self.message_bytes);
        match service {
            Service::Stream => self.receive_stream(end, &payload, received),
            Service::Messages { .. } => self.receive_messages(end, &payload, InOrder::new(service), received),
            Service::Datagrams => self.receive_datagrams(end, &payload, received),
        }
    }

    fn receive_stream(
        &self,
        end: &mut End<'_>,
        payload: &Payload,
        received: &mut Received,
    ) -> Result<(), Failure> {
        let size = u64::from(self.message_bytes);
        let total = self.total_bytes();
        let each = end.connection.instants() == DeliveryInstants::Application;
        loop {
            let left = total.saturating_sub(received.bytes);
            let arrival = end.receive_bytes(left, &mut |bytes, t_ns| {
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
            if arrival == Arrival::End {
                return self.check_complete(end.session, received);
            }
            end.report(arrival, received);
        }
    }

    fn receive_messages(
        &self,
        end: &mut End<'_>,
        payload: &Payload,
        mut order: InOrder,
        received: &mut Received,
    ) -> Result<(), Failure> {
        let last_seq = self.total_bytes().div_ceil(u64::from(self.message_bytes)) - 1;
        let only_totals = self.only_totals(end.session);
        loop {
            let left = (last_seq + 1).saturating_sub(received.messages);
            let later = only_totals && received.messages > 0;
            let take: &mut Take<'_> = &mut |bytes, t_ns| {
                let seq = payload
                    .recognise(bytes, u32::try_from(last_seq).ok())
                    .filter(|seq| u64::from(*seq) <= last_seq)
                    .ok_or_else(|| altered(received.messages))?;
                let readable_ns = order.readable_ns(seq, t_ns.unwrap_or(NEVER));
                received.note_numbered(seq, bytes.len() as u64, readable_ns);
                Ok(())
            };
            let arrival = if later {
                end.connection.receive_all(left, take)?
            } else {
                end.connection.receive(left, u64::MAX, take)?
            };
            if arrival == Arrival::End {
                return self.check_complete(end.session, received);
            }
            end.report(arrival, received);
        }
    }

    fn receive_datagrams(
        &self,
        end: &mut End<'_>,
        payload: &Payload,
        received: &mut Received,
    ) -> Result<(), Failure> {
        let scheduled = self.total_bytes() / u64::from(self.message_bytes);
        let session = end.session;
        loop {
            let sender_end = session.sender_end();
            let expected = sender_end.map_or(scheduled, |end| end.messages);
            if received.messages >= expected {
                return Ok(());
            }
            let arrival =
                end.connection.receive(expected - received.messages, u64::MAX, &mut |bytes, t_ns| {
                    let seq =
                        payload.recognise(bytes, None).filter(|seq| u64::from(*seq) < scheduled).ok_or_else(
                            || Failure::new("a datagram arrived that this flow's sender did not send"),
                        )?;
                    received.note_numbered(seq, bytes.len() as u64, t_ns.unwrap_or(NEVER));
                    Ok(())
                })?;
            end.report(arrival, received);
            if arrival == Arrival::Data {
                continue;
            }
            if let Some(failure) = session.failure() {
                return Err(failure);
            }
            let now_ns = session.ctx.clock.now_ns();
            let quiet = sender_end.is_some_and(|end| {
                now_ns - received.last_ns.map_or(end.last_ns, |at| at.max(end.last_ns))
                    >= session.ctx.quiet_ns
            });
            if arrival == Arrival::End || quiet {
                return Ok(());
            }
            if now_ns >= session.ctx.limit_ns {
                return Err(session.limit_reached("the receiver was still waiting for datagrams"));
            }
        }
    }

    /// A reliable transport that ends in order has delivered everything, or the sender stopped half-way.
    fn check_complete(&self, session: &Session, received: &Received) -> Result<(), Failure> {
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
