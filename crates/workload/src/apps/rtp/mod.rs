//! Media over RTP, whatever its source: each packet is handed over when it is due, with the header of RFC 3550, and its
//! receiver knows it by that header alone.
//!
//! Where the transport keeps messages apart, each packet is one; in a byte stream its length stands before it (RFC 4571).
//! Nothing is held back at the sender: all packets of a frame are handed over at once, and what the transport does not take
//! yet waits, as in a program without a congestion control of its own. What is still waiting at the end of the flow is never
//! sent.

mod header;
mod media;

use std::sync::Arc;

use transports::{Arrival, Failure, SenderEnd, Service, Session, SpecError, Stack};

use self::header::HEADER_BYTES as RTP_HEADER_BYTES;
pub(super) use self::media::{Frame, Media, Packet};
use self::media::{Framing, LENGTH_BYTES, Packetizer};
use super::in_order::InOrder;
use crate::application::Application;
use crate::exchange::{Exchange, OK};
use crate::framing::Messages;
use crate::ledger::{ClientResult, NEVER, Received, Sent, ServerResult};
use crate::one_session::{End, receive_over_one_session, send_over_one_session};

/// The header in front of each payload.
pub(super) const HEADER_BYTES: u32 = RTP_HEADER_BYTES as u32;

/// Packets that a flow may have; each takes memory at both ends.
pub(super) const MOST_PACKETS: u64 = 10_000_000;

/// What makes the packets, the same at both ends.
pub(super) trait Source: Send + Sync {
    /// How long it sends.
    fn duration_ns(&self) -> i64;

    /// The longest packet with its header.
    fn longest_packet_bytes(&self) -> u32;

    /// All that is sent; whatever chance decides follows from `seed`.
    fn media(&self, seed: u64) -> Media;
}

/// A source and its receiver.
pub(super) struct OverRtp<S> {
    pub(super) source: S,
}

impl<S: Source> OverRtp<S> {
    fn packetizer(&self, session: &Session, service: Service) -> Packetizer {
        let framing = if service == Service::Stream { Framing::Length } else { Framing::Whole };
        let seed = session.ctx.seed;
        Packetizer::new(self.source.media(seed), seed, framing)
    }

    fn longest_bytes(&self, service: Service) -> u32 {
        let length = if service == Service::Stream { LENGTH_BYTES as u32 } else { 0 };
        self.source.longest_packet_bytes() + length
    }
}

impl<S: Source> Application for OverRtp<S> {
    fn message_bytes(&self) -> u32 {
        0
    }

    /// Where they begin in a stream is told by lengths, which somebody who joins in the middle does not find.
    fn messages(&self) -> Option<Box<dyn Messages>> {
        None
    }

    fn suits(&self, _: &dyn Stack) -> Result<(), SpecError> {
        Ok(())
    }

    fn run_client(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        start_ns: i64,
        result: &mut ClientResult,
    ) -> Result<(), Failure> {
        let service = stack.service();
        let send = &mut |end: &mut End<'_>, sent: &mut Sent| {
            let packetizer = self.packetizer(end.session, service);
            note_frames(&packetizer.media, start_ns, end.session.ctx.messages, sent);
            let sender =
                Sender { packetizer: &packetizer, start_ns, end_ns: start_ns + self.source.duration_ns() };
            sender.send(end, sent)
        };
        send_over_one_session(stack, session, self.longest_bytes(service), result, send)
    }

    fn run_server(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        result: &mut ServerResult,
    ) -> Result<(), Failure> {
        let service = stack.service();
        let receive = &mut |end: &mut End<'_>, received: &mut Received| {
            let packetizer = self.packetizer(end.session, service);
            match service {
                Service::Stream => receive_stream(&packetizer, end, received),
                Service::Messages { .. } | Service::Datagrams => {
                    receive_messages(&packetizer, service, end, received)
                }
            }
        };
        receive_over_one_session(stack, session, self.longest_bytes(service), result, receive)
    }
}

/// Notes every frame that falls due, whatever becomes of it, where messages are noted one by one.
fn note_frames(media: &Media, start_ns: i64, kept: bool, sent: &mut Sent) {
    for frame in media.frames.iter().filter(|_| kept) {
        let ready_ns = start_ns + frame.ready_ns;
        sent.exchanges.push(Exchange::begun(
            frame.object.to_owned(),
            frame.size_bytes,
            ready_ns,
            OK.to_owned(),
        ));
        sent.parts.push(frame.packets.clone());
    }
}

/// What the sender does when its limit comes.
const SENDING: &str = "the sender was still sending";

struct Sender<'a> {
    packetizer: &'a Packetizer,
    start_ns: i64,
    end_ns: i64,
}

impl Sender<'_> {
    fn send(&self, end: &mut End<'_>, sent: &mut Sent) -> Result<(), Failure> {
        let session = end.session;
        let outcome = self.hand_over_all(end, sent);
        let last_ns = sent.last_ns.unwrap_or(self.start_ns);
        session.announce_sender_end(SenderEnd { messages: sent.messages, last_ns });
        outcome?;
        if sent.messages > 0 {
            return Ok(());
        }
        let after_s = (session.ctx.clock.now_ns() - self.start_ns) as f64 / 1e9;
        Err(Failure::new(format!(
            "nothing was sent: the session came up {after_s:.3} s after the start, too late"
        )))
    }

    fn hand_over_all(&self, end: &mut End<'_>, sent: &mut Sent) -> Result<(), Failure> {
        let session = end.session;
        let clock = &session.ctx.clock;
        let mut bytes = Vec::new();
        // Whether the transport did not take at once what was due. Who is late without that was woken late by the machine,
        // which happens in real time alone, and sends what was due before the end.
        let mut behind = clock.now_ns() >= self.end_ns;
        for (number, packet) in (0..).zip(&self.packetizer.media.packets) {
            let due_ns = self.start_ns + packet.ready_ns;
            let mut now_ns = session.now_before_limit(SENDING)?;
            behind &= now_ns >= due_ns;
            while now_ns < due_ns {
                end.connection.pause(clock, due_ns.min(session.ctx.limit_ns))?;
                now_ns = session.now_before_limit(SENDING)?;
            }
            if behind && now_ns >= self.end_ns {
                return Ok(());
            }
            self.packetizer.write(number, &mut bytes);
            let Some(handed) = self.hand_over(end, &bytes, number)? else { return Ok(()) };
            behind |= handed.late;
            sent.note_sized(bytes.len() as u32, handed.at_ns);
        }
        Ok(())
    }

    /// Hands a packet over, or nothing of it when the transport has no room before the end. One of which the transport has
    /// taken a part is completed whatever the time.
    fn hand_over(&self, end: &mut End<'_>, bytes: &[u8], number: u32) -> Result<Option<Handed>, Failure> {
        let (mut taken, mut late) = (0, false);
        loop {
            let now_ns = end.session.now_before_limit(SENDING)?;
            let rest = &bytes[taken..];
            taken += end.connection.offer(rest, rest.len(), u64::from(number))?;
            if taken == bytes.len() {
                return Ok(Some(Handed { at_ns: now_ns, late }));
            }
            late = true;
            if taken == 0 && now_ns >= self.end_ns {
                return Ok(None);
            }
            let until_ns = if taken == 0 { self.end_ns } else { i64::MAX };
            end.connection.wait_until_writable(now_ns, until_ns)?;
        }
    }
}

/// When the transport had the whole of a packet, and whether it had to be waited for.
struct Handed {
    at_ns: i64,
    late: bool,
}

fn receive_stream(
    packetizer: &Packetizer,
    end: &mut End<'_>,
    received: &mut Received,
) -> Result<(), Failure> {
    let mut inbox = Inbox::default();
    loop {
        let arrival =
            end.receive_bytes(u64::MAX, &mut |bytes, t_ns| inbox.take(packetizer, bytes, t_ns, received))?;
        if arrival == Arrival::End {
            return inbox.check_empty();
        }
        end.report(arrival, received);
    }
}

/// Takes packets out of a stream.
#[derive(Default)]
struct Inbox {
    /// The beginning of a packet that is not whole.
    rest: Vec<u8>,
}

impl Inbox {
    fn take(
        &mut self,
        packetizer: &Packetizer,
        bytes: &[u8],
        t_ns: Option<i64>,
        received: &mut Received,
    ) -> Result<(), Failure> {
        self.rest.extend_from_slice(bytes);
        let mut at = 0;
        while let Some((length, behind)) = self.rest[at..].split_first_chunk::<LENGTH_BYTES>() {
            let Some(packet) = behind.get(..usize::from(u16::from_be_bytes(*length))) else { break };
            if packetizer.recognise(packet).map(u64::from) != Some(received.messages) {
                return Err(altered(received.messages));
            }
            received.note_next(t_ns);
            at += LENGTH_BYTES + packet.len();
        }
        self.rest.drain(..at);
        received.bytes += bytes.len() as u64;
        received.note_arrival(t_ns.unwrap_or(NEVER));
        Ok(())
    }

    fn check_empty(&self) -> Result<(), Failure> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(Failure::new(format!("the sender ended the session {} bytes into a packet", self.rest.len())))
    }
}

fn altered(number: u64) -> Failure {
    Failure::new(format!("what arrived as packet {number} is not what was sent"))
}

fn receive_messages(
    packetizer: &Packetizer,
    service: Service,
    end: &mut End<'_>,
    received: &mut Received,
) -> Result<(), Failure> {
    let session = end.session;
    let all = packetizer.media.packets.len() as u64;
    let mut order = InOrder::new(service);
    loop {
        let expected = session.sender_end().map_or(all, |end| end.messages);
        let over = service == Service::Datagrams && received.messages >= expected;
        if over {
            return Ok(());
        }
        let lacking = all.saturating_sub(received.messages).max(1);
        let arrival = end.connection.receive(lacking, u64::MAX, &mut |bytes, t_ns| {
            let number = packetizer.recognise(bytes).ok_or_else(|| altered(received.messages))?;
            let readable_ns = order.readable_ns(number, t_ns.unwrap_or(NEVER));
            received.note_numbered(number, bytes.len() as u64, readable_ns);
            Ok(())
        })?;
        end.report(arrival, received);
        match arrival {
            Arrival::Data => {}
            Arrival::End => return Ok(()),
            Arrival::Silence if is_quiet(session, received)? => return Ok(()),
            Arrival::Silence => {}
        }
    }
}

/// Whether nothing more is to be expected of a sender that is done.
fn is_quiet(session: &Session, received: &Received) -> Result<bool, Failure> {
    if let Some(failure) = session.failure() {
        return Err(failure);
    }
    let now_ns = session.now_before_limit("the receiver was still waiting for packets")?;
    let Some(end) = session.sender_end() else { return Ok(false) };
    let last_ns = received.last_ns.map_or(end.last_ns, |at| at.max(end.last_ns));
    Ok(now_ns - last_ns >= session.ctx.quiet_ns)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn two_a_frame(frames: u32) -> Media {
        let packet = |number: u32| Packet {
            ready_ns: i64::from(number / 2) * 40_000_000,
            payload_bytes: 100 + number,
            timestamp: number / 2 * 3600,
            marker: number % 2 == 1,
        };
        Media { payload_type: 96, packets: (0..2 * frames).map(packet).collect(), frames: Vec::new() }
    }

    proptest! {
        #[test]
        fn packets_are_taken_out_of_a_stream_in_any_pieces(frames in 1_u32..20, step in 1_usize..900) {
            let packetizer = Packetizer::new(two_a_frame(frames), 5, Framing::Length);
            let (mut stream, mut bytes, mut ends) = (Vec::new(), Vec::new(), Vec::new());
            for number in 0..2 * frames {
                packetizer.write(number, &mut bytes);
                stream.extend_from_slice(&bytes);
                ends.push(stream.len());
            }
            let (mut inbox, mut received) = (Inbox::default(), Received::new(true));
            for (index, piece) in stream.chunks(step).enumerate() {
                inbox.take(&packetizer, piece, Some(index as i64), &mut received).expect("it was sent");
            }
            prop_assert!(inbox.check_empty().is_ok());
            prop_assert_eq!(received.bytes, stream.len() as u64);
            let whole: Vec<_> = ends.iter().map(|end| ((end - 1) / step) as i64).collect();
            prop_assert_eq!(received.instants_ns, whole);
        }
    }

    #[test]
    fn a_packet_out_of_its_place_is_not_what_was_sent() {
        let packetizer = Packetizer::new(two_a_frame(2), 5, Framing::Length);
        let mut bytes = Vec::new();
        packetizer.write(1, &mut bytes);
        let taken = Inbox::default().take(&packetizer, &bytes, Some(1), &mut Received::new(true));
        assert!(taken.is_err());
        let mut inbox = Inbox::default();
        packetizer.write(0, &mut bytes);
        inbox.take(&packetizer, &bytes[..50], Some(1), &mut Received::new(true)).expect("half a packet");
        assert!(inbox.check_empty().is_err());
    }
}
