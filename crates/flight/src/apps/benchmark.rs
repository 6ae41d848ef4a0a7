//! The Benchmark module of the study: takes commands with payloads, and publishes a series of packets, one each gap.
//!
//! Facts from ssloxford/spaceQUIC f479321 (`benchmark_app.c`). Two things differ: each packet has its own number, which
//! the study wrote into the first one only, and a second start begins a new series, where the study's did nothing.

use std::time::Duration;

use super::ingest::DEFAULT_LIMIT;
use crate::bus::{Bus, PipeId};
use crate::dictionary::{BenchmarkHousekeeping, benchmark};
use crate::message::Message;
use crate::time::FlightTime;

/// Messages that wait in its pipe: as CI_LAB's.
const PIPE_DEPTH: usize = 32;

/// What a series is; the study compiled it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// Packets.
    pub packets: u32,
    /// Time between two of them, and before the first.
    pub gap: Duration,
    /// Octets of each payload, at least the four of its number.
    pub payload_octets: usize,
}

impl Default for Series {
    /// The study's: 20 packets with 128 octets, one in two seconds.
    fn default() -> Self {
        Self {
            packets: benchmark::PACKETS,
            gap: Duration::from_secs(2),
            payload_octets: benchmark::PAYLOAD_OCTETS,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Benchmark {
    pipe: PipeId,
    series: Series,
    /// Number of the next packet of a series that is under way, and when it is due.
    next: Option<(u32, Duration)>,
    counters: BenchmarkHousekeeping,
}

impl Benchmark {
    pub(crate) fn new(bus: &mut Bus, series: Series) -> Self {
        let pipe = bus.pipe(PIPE_DEPTH);
        bus.subscribe(pipe, benchmark::COMMAND, DEFAULT_LIMIT);
        bus.subscribe(pipe, benchmark::SEND_HOUSEKEEPING, DEFAULT_LIMIT);
        Self { pipe, series, next: None, counters: BenchmarkHousekeeping::default() }
    }

    /// Does what waits in its pipe; whether there was something.
    pub(crate) fn run(&mut self, bus: &mut Bus, time: FlightTime, now: Duration) -> bool {
        let Some(octets) = bus.receive(self.pipe) else { return false };
        let Ok(message) = Message::parse(&octets) else { return true };
        if message.id() == benchmark::SEND_HOUSEKEEPING {
            // The id is a constant and the payload short.
            let _ = bus.publish(benchmark::HOUSEKEEPING, time, &self.counters.encode());
        } else if let Ok(command) = message.command() {
            match command.code {
                benchmark::NOOP => {}
                benchmark::START => {
                    self.next = (self.series.packets > 0).then_some((0, now + self.series.gap));
                }
                benchmark::TAKE_DATA => {
                    self.counters.payloads = self.counters.payloads.wrapping_add(1);
                    let octets = u32::try_from(command.payload.len()).unwrap_or(u32::MAX);
                    self.counters.payload_octets = self.counters.payload_octets.wrapping_add(octets);
                }
                _ => {
                    self.counters.command_errors = self.counters.command_errors.wrapping_add(1);
                    return true;
                }
            }
            self.counters.commands = self.counters.commands.wrapping_add(1);
        }
        true
    }

    /// When the next packet is due.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.next.map(|(_, due)| due)
    }

    /// Publishes what is due: one packet, so that one that asks late gets the series still in packets of their own.
    pub(crate) fn publish_due(&mut self, bus: &mut Bus, time: FlightTime, now: Duration) -> bool {
        let Some((number, due)) = self.next.filter(|(_, due)| *due <= now) else { return false };
        let mut payload = number.to_le_bytes().to_vec();
        payload.extend((4..self.series.payload_octets).map(|place| (place % 0xFF) as u8));
        // A payload that no message can hold is refused when the node is made.
        let _ = bus.publish(benchmark::DATA, time, &payload);
        self.counters.packets = self.counters.packets.wrapping_add(1);
        self.next = (number + 1 < self.series.packets).then_some((number + 1, due + self.series.gap));
        true
    }
}
