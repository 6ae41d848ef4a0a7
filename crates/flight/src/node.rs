//! The node: Command Ingest, the software bus, Telemetry Output and the Benchmark module, without sockets and clocks.
//! Datagrams and the time go in, datagrams and a wake-up time come out.

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::apps::benchmark::Benchmark;
pub use crate::apps::benchmark::Series;
use crate::apps::ingest::{DEFAULT_LIMIT, Ingest};
use crate::apps::output::Output;
use crate::bus::{Bus, BusCounters, PipeId};
use crate::dictionary::bus;
use crate::message::{LARGEST_OCTETS, telemetry_header_octets};
use crate::time::{FlightTime, Subseconds};

/// What a mission chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// The format of telemetry's sub-seconds.
    pub subseconds: Subseconds,
    /// Octets of the longest datagram that Command Ingest takes; what is longer is cut off. CI_LAB has 768
    /// (`CI_LAB_MAX_INGEST`, nasa/ci_lab 04e089e).
    pub largest_ingest_octets: usize,
    /// What the Benchmark module publishes when it is started.
    pub series: Series,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self { subseconds: Subseconds::default(), largest_ingest_octets: 768, series: Series::default() }
    }
}

/// Why a node cannot be as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The Benchmark module's payloads do not fit a message.
    #[error("a payload of the Benchmark module has 4 to {largest} octets, not {octets}")]
    Payload {
        /// Octets asked for.
        octets: usize,
        /// The most there can be.
        largest: usize,
    },
}

/// A flight-software node. Times are since its start and never go back.
#[derive(Clone, Debug)]
pub struct Node {
    bus: Bus,
    ingest: Ingest,
    output: Output,
    benchmark: Benchmark,
    /// The bus's own pipe, for requests of its housekeeping.
    bus_pipe: PipeId,
}

impl Node {
    /// A node that was just started; its telemetry goes nowhere yet.
    ///
    /// # Errors
    /// If its configuration is impossible.
    pub fn new(config: &NodeConfig) -> Result<Self, ConfigError> {
        let (octets, header) = (config.series.payload_octets, telemetry_header_octets(config.subseconds));
        let largest = LARGEST_OCTETS - header;
        if !(4..=largest).contains(&octets) {
            return Err(ConfigError::Payload { octets, largest });
        }
        let mut on = Bus::new(config.subseconds);
        let bus_pipe = on.pipe(DEFAULT_LIMIT);
        on.subscribe(bus_pipe, bus::SEND_HOUSEKEEPING, DEFAULT_LIMIT);
        Ok(Self {
            ingest: Ingest::new(&mut on, config.largest_ingest_octets),
            output: Output::new(&mut on),
            benchmark: Benchmark::new(&mut on, config.series),
            bus: on,
            bus_pipe,
        })
    }

    /// Takes a datagram that came to Command Ingest, and does what it asks for.
    pub fn datagram_in(&mut self, octets: &[u8], now: Duration) {
        self.ingest.datagram_in(&mut self.bus, octets);
        self.run(now);
    }

    /// The next datagram that Telemetry Output sends, and to which address; the port is
    /// [`TELEMETRY_PORT`](crate::dictionary::TELEMETRY_PORT). To be asked until there is none: pipes are bounded.
    pub fn poll_out(&mut self, now: Duration) -> Option<(Ipv4Addr, Vec<u8>)> {
        self.run(now);
        loop {
            if let Some(out) = self.output.poll(&mut self.bus) {
                return Some(out);
            }
            if !self.benchmark.publish_due(&mut self.bus, FlightTime::after_start(now), now) {
                return None;
            }
        }
    }

    /// When [`poll_out`](Self::poll_out) may have something without a datagram before it.
    #[must_use]
    pub fn next_wake(&self) -> Option<Duration> {
        self.benchmark.due()
    }

    /// What the bus did not deliver.
    #[must_use]
    pub fn bus_counters(&self) -> BusCounters {
        self.bus.counters()
    }

    /// Lets applications work until none has anything to do.
    fn run(&mut self, now: Duration) {
        let time = FlightTime::after_start(now);
        loop {
            let mut busy = self.ingest.run(&mut self.bus, time);
            busy |= self.output.run(&mut self.bus, time);
            busy |= self.benchmark.run(&mut self.bus, time, now);
            busy |= self.report_bus(time);
            if !busy {
                return;
            }
        }
    }

    fn report_bus(&mut self, time: FlightTime) -> bool {
        if self.bus.receive(self.bus_pipe).is_none() {
            return false;
        }
        let payload = self.bus.counters().housekeeping().encode();
        // The id is a constant and the payload short.
        let _ = self.bus.publish(bus::HOUSEKEEPING, time, &payload);
        true
    }
}
