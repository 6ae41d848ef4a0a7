//! ResTP under test.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use restp_proto::profile::{AckReport, AckTiming, Congestion, FlowControl, Ordering, Reliability};
use restp_proto::{Profile, SendError};
use restp_sim::pair::{Pair, pattern};

use crate::attempt::{Try, message, message_number};
use crate::grid::Messages;

/// How long a connection may take before messages begin.
const SET_UP: Duration = Duration::from_secs(60);

/// A flow of messages whose losses are repaired from encoded packets, if at all.
pub fn without_repetition(reliability: Reliability) -> Profile {
    Profile {
        flow_control: FlowControl::None,
        congestion: Congestion::None,
        ordering: Ordering::Unordered,
        reliability,
        ack_timing: AckTiming::None,
        ack_report: AckReport::Cumulative,
        ..Profile::voice()
    }
}

pub fn transfer(profile: &Profile, attempt: &Try, size_bytes: usize, limit: Duration) -> Option<f64> {
    let mut pair = Pair::new(attempt.seed, profile, &attempt.link);
    let start = pair.net.now();
    let end = start + limit;
    let conn = pair.connect();
    let (client, server) = (pair.client, pair.server);
    let piece_bytes = pair.net.host(client).endpoint.max_message_bytes(conn)?;
    let data: Bytes = (0..size_bytes).map(pattern).collect();
    let mut pieces: VecDeque<Bytes> = (0..size_bytes)
        .step_by(piece_bytes)
        .map(|at| data.slice(at..(at + piece_bytes).min(size_bytes)))
        .collect();
    let (mut received, mut closing) = (0, false);
    loop {
        while let Some(piece) = pieces.pop_front() {
            if let Err(error) = pair.send(client, conn, piece) {
                match error {
                    SendError::Full(piece) => pieces.push_front(piece),
                    _ => return None,
                }
                break;
            }
        }
        if pieces.is_empty() && !closing {
            closing = true;
            pair.net.with(client, |host, now| host.endpoint.close(now, conn));
        }
        if let Some(accepted) = pair.accepted() {
            received +=
                pair.receive(server, accepted).iter().map(|message| message.payload.len()).sum::<usize>();
        }
        if received >= size_bytes {
            return Some((pair.net.now() - start).as_secs_f64());
        }
        if pair.net.next_event().is_none_or(|at| at > end) {
            return None;
        }
        pair.net.step();
    }
}

pub fn messages(profile: &Profile, attempt: &Try, flow: &Messages) -> Vec<f64> {
    let mut pair = Pair::new(attempt.seed, profile, &attempt.link);
    let conn = pair.connect();
    let (client, server) = (pair.client, pair.server);
    let deadline = pair.net.now() + SET_UP;
    while pair.accepted().is_none() && pair.net.next_event().is_some_and(|at| at < deadline) {
        pair.net.step();
    }
    let Some(accepted) = pair.accepted() else { return Vec::new() };
    // Both sides have time to learn that the connection stands.
    pair.net.run_for(Duration::from_secs(2));
    let start = pair.net.now();
    let end = start + flow.interval() * flow.count as u32 + flow.patience();
    let (mut sent, mut delays_s) = (0, Vec::new());
    while delays_s.len() < flow.count {
        let due = if sent < flow.count { start + flow.interval() * sent as u32 } else { end };
        if pair.net.now() >= due {
            // A message for which there is no room is not sent later, as speech is not.
            match (sent < flow.count).then(|| pair.send(client, conn, message(sent, flow.size_bytes))) {
                Some(Ok(()) | Err(SendError::Full(_))) => sent += 1,
                Some(Err(_)) | None => break,
            }
        } else if pair.net.next_event().is_some_and(|at| at <= due) {
            pair.net.step();
        } else {
            pair.net.run_until(due);
        }
        for message in pair.receive(server, accepted) {
            let Some(number) = message_number(&message.payload) else { continue };
            delays_s.push((pair.net.now() - (start + flow.interval() * number as u32)).as_secs_f64());
        }
    }
    delays_s
}
