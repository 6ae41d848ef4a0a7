//! The log of an in-path node: what it saw, which rules matched, what left it and when.

use serde::Serialize;

use super::checksums;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A packet came.
    Seen,
    /// A rule matched it.
    Matched,
    /// What the rule was to do did not fit it: a field that it has not, a store that is empty.
    Unfit,
    /// It is gone, by a rule.
    Dropped,
    /// It waits to be let go.
    Held,
    /// A packet left.
    Emitted(Emitted),
    /// The kernel took it not: it is longer than the link allows.
    Refused(Emitted),
    /// It had not left when the run ended.
    Waiting,
}

/// How a packet that left relates to the one that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Emitted {
    /// It is the same.
    Passed,
    /// Its bytes are others.
    Altered,
    /// It is one more of the same bytes.
    Copied,
    /// It comes from the node itself.
    Inserted,
}

impl Event {
    /// Its name in the record.
    pub fn name(self) -> &'static str {
        match self {
            Event::Seen => "seen",
            Event::Matched => "matched",
            Event::Unfit => "unfit",
            Event::Dropped => "dropped",
            Event::Held => "held",
            Event::Emitted(_) => "emitted",
            Event::Refused(_) => "refused",
            Event::Waiting => "waiting",
        }
    }

    /// How a packet that left relates to the one that came, by name.
    pub fn how(self) -> Option<&'static str> {
        match self {
            Event::Emitted(how) | Event::Refused(how) => Some(match how {
                Emitted::Passed => "passed",
                Emitted::Altered => "altered",
                Emitted::Copied => "copied",
                Emitted::Inserted => "inserted",
            }),
            _ => None,
        }
    }
}

/// By what a packet is known again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// From the IP header on.
    pub length_bytes: u32,
    /// CRC-32 (zlib's) of its first [`HEAD_BYTES`] bytes.
    pub head_crc32: u32,
    /// CRC-32 of all.
    pub packet_crc32: u32,
    /// Whether all its checksums are right; none where that cannot be told.
    pub checksum_valid: Option<bool>,
}

/// What a capture of headers keeps of a packet.
pub const HEAD_BYTES: usize = crate::Snap::Headers.bytes();

impl Fingerprint {
    pub(crate) fn of(packet: &[u8]) -> Fingerprint {
        Fingerprint {
            length_bytes: packet.len() as u32,
            head_crc32: checksums::crc32(&packet[..packet.len().min(HEAD_BYTES)]),
            packet_crc32: checksums::crc32(packet),
            checksum_valid: checksums::are_right(packet),
        }
    }
}

/// A line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// In nanoseconds from the start of the run.
    pub t_ns: i64,
    /// What happened.
    pub event: Event,
    /// Number of the packet that came, from 0 on; none where the clock called a rule.
    pub packet: Option<u32>,
    /// The rule that did it, by its place.
    pub rule: Option<u16>,
    /// To which of the two nodes the packet goes, by its place in `between`.
    pub towards: Option<u8>,
    /// The packet that came or left.
    pub fingerprint: Option<Fingerprint>,
}

/// Counts of one node. Each packet that came has one of the fates passed, altered, dropped, refused or waiting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct InPathCounters {
    /// Its name.
    pub node: String,
    /// The nodes beside it.
    pub between: [String; 2],
    /// Packets that came.
    pub seen_packets: u64,
    /// Of them, left as they came.
    pub passed_packets: u64,
    /// Of them, left with other bytes.
    pub altered_packets: u64,
    /// Of them, gone by a rule.
    pub dropped_packets: u64,
    /// Of them, not gone when the run ended.
    pub waiting_packets: u64,
    /// Left later than they came.
    pub late_packets: u64,
    /// Copies that left.
    pub copied_packets: u64,
    /// Packets of the node's own that left.
    pub inserted_packets: u64,
    /// Packets that the kernel did not take.
    pub refused_packets: u64,
    /// Packets that came while there was no room for them: neither seen nor emitted.
    pub missed_packets: u64,
    /// When it stopped, in nanoseconds from the start of the run: what came later it has not seen.
    pub stopped_ns: i64,
    /// Each rule.
    pub rules: Vec<RuleCounters>,
}

/// Counts of one rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RuleCounters {
    /// Its name.
    pub id: String,
    /// Packets that it matched (or calls of the clock).
    pub matched_packets: u64,
    /// Of them, those with which it could not do what it was to do.
    pub unfit_packets: u64,
}

/// What an in-path node has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InPathLog {
    /// Counts.
    pub counters: InPathCounters,
    /// All of it, in order.
    pub rows: Vec<Row>,
}

/// Counts what the rows say.
pub(crate) fn count(rows: &[Row], counters: &mut InPathCounters) {
    let mut came_ns = Vec::new();
    for row in rows {
        match row.event {
            Event::Seen => {
                counters.seen_packets += 1;
                came_ns.push(row.t_ns);
            }
            Event::Matched => of_rule(counters, row).matched_packets += 1,
            Event::Unfit => of_rule(counters, row).unfit_packets += 1,
            Event::Dropped => counters.dropped_packets += 1,
            Event::Held => {}
            Event::Emitted(how) => {
                match how {
                    Emitted::Passed => counters.passed_packets += 1,
                    Emitted::Altered => counters.altered_packets += 1,
                    Emitted::Copied => counters.copied_packets += 1,
                    Emitted::Inserted => counters.inserted_packets += 1,
                }
                let came = row.packet.and_then(|packet| came_ns.get(packet as usize));
                let own = matches!(how, Emitted::Passed | Emitted::Altered);
                counters.late_packets += u64::from(own && came.is_some_and(|came| row.t_ns > *came));
            }
            Event::Refused(_) => counters.refused_packets += 1,
            Event::Waiting => counters.waiting_packets += 1,
        }
    }
}

fn of_rule<'a>(counters: &'a mut InPathCounters, row: &Row) -> &'a mut RuleCounters {
    &mut counters.rules[usize::from(row.rule.unwrap_or(0))]
}
