//! Throughput and delay by arithmetic, and the same by simulation.
//!
//! AB4Rail D3.4 (appendix) says of RaSTA on an ideal channel with one-way traffic: if the time until an acknowledgement
//! comes is longer than the round trip, throughput falls below that of TCP in proportion to the ratio of round trip and
//! acknowledgement time; losses reduce it further, in proportion to their probability. It gives no formula. The ones
//! here are the simplest that say this, with the times that the protocol's own parameters imply.

use std::time::Duration;

use super::{Link, Pair, Side};
use crate::config::{Config, ConfigError};
use crate::endpoint::SendError;
use crate::time::Instant;

/// One-way traffic of a sender that always has something to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Messages that may be under way unconfirmed: N_sendMax of the sender.
    pub window: u16,
    /// Octets of each application message.
    pub message_bytes: usize,
    /// Round trip without queueing.
    pub round_trip: Duration,
    /// T_h of the receiver, whose heartbeats confirm when no MWA is reached.
    pub t_h: Duration,
    /// MWA of the receiver.
    pub mwa: u16,
    /// T_seq of both ends.
    pub t_seq: Duration,
    /// Places in the deferral queues. Below the window a loss leaves a second gap, of frames that found no place, and the
    /// retransmission itself is deferred: several stalls for one loss, which the formula does not have.
    pub n_defer_queue: usize,
    /// Probability that a frame is lost, 0 to 1, both ways.
    pub loss: f64,
}

impl Flow {
    /// Time from the sending of a window to the moment at which it may be sent again.
    ///
    /// With an MWA that divides the window that is the round trip. With an MWA above the window only heartbeats confirm,
    /// and the first one that leaves after the window has arrived comes in a multiple of T_h.
    #[must_use]
    pub fn acknowledgement(&self) -> Duration {
        if self.mwa <= self.window {
            return self.round_trip;
        }
        let periods = self.round_trip.as_nanos().div_ceil(self.t_h.as_nanos()).max(1);
        self.t_h.saturating_mul(u32::try_from(periods).unwrap_or(u32::MAX))
    }

    /// Application bit/s: a window for each acknowledgement time. Each loss adds a stall of T_seq (the gap is waited
    /// out) and a round trip (request and answer); a window's confirmations can be lost too.
    #[must_use]
    pub fn throughput_bit_per_s(&self) -> f64 {
        let window = f64::from(self.window);
        let confirmations =
            if self.mwa <= self.window { (window / f64::from(self.mwa)).floor() } else { 1.0 };
        let stall_s = (self.t_seq + self.round_trip).as_secs_f64();
        let cycle_s = self.acknowledgement().as_secs_f64() + self.loss * (window + confirmations) * stall_s;
        window * self.message_bytes as f64 * 8.0 / cycle_s
    }

    /// What the same window gives where every round trip confirms it: TCP's part in the comparison of D3.4.
    #[must_use]
    pub fn window_per_round_trip_bit_per_s(&self) -> f64 {
        f64::from(self.window) * self.message_bytes as f64 * 8.0 / self.round_trip.as_secs_f64()
    }

    /// Delay of a single message that the only channel loses, when the next one follows after `gap`: the next one
    /// arrives, waits T_seq for the lost one, and request and answer cross the line.
    #[must_use]
    pub fn delay_of_a_lost_message(&self, gap: Duration) -> Duration {
        gap + self.t_seq + self.round_trip + self.round_trip / 2
    }

    fn configs(&self) -> [Config; 2] {
        let [mut client, mut server] = Pair::configs(|config| {
            (config.t_seq, config.n_defer_queue) = (self.t_seq, self.n_defer_queue);
            config.max_message_bytes = config.max_message_bytes.max(self.message_bytes);
        });
        client.n_send_max = self.window;
        client.mwa = 1;
        // The sender's own heartbeats would take places of its window: they are as rare as SBB's stack allows.
        client.t_h = Duration::from_millis(750);
        server.n_send_max = self.mwa.max(self.window).saturating_add(1);
        server.mwa = self.mwa;
        server.t_h = self.t_h;
        [client, server]
    }

    /// Two ends that are open over one channel of half the round trip.
    ///
    /// # Errors
    /// If the configuration that follows from the flow cannot run.
    pub fn pair(&self, seed: u64) -> Result<Pair, ConfigError> {
        let [client, server] = self.configs();
        let mut pair = Pair::new(client, server, vec![Link::delay(self.round_trip / 2)], seed)?;
        pair.open();
        pair.run_for(self.round_trip * 2);
        Ok(pair)
    }

    /// Application bit/s in `duration` of simulation, after a tenth of it that does not count. Connections that end are
    /// opened again at once; their number comes with the throughput.
    ///
    /// # Errors
    /// If the configuration that follows from the flow cannot run.
    pub fn simulate(&self, duration: Duration, seed: u64) -> Result<Simulated, ConfigError> {
        let mut pair = self.pair(seed)?;
        pair.set_link(0, Link { loss: self.loss, ..Link::delay(self.round_trip / 2) });
        let from = pair.now() + duration / 10;
        let until = pair.now() + duration;
        let message = vec![0; self.message_bytes];
        let mut endings = 0;
        loop {
            while pair.end(Side::Client).state().is_open() {
                match pair.send(Side::Client, message.clone()) {
                    Ok(()) => {}
                    Err(SendError::Full(_)) => break,
                    Err(error) => unreachable!("an open end takes messages or is full: {error}"),
                }
            }
            if Side::BOTH.iter().any(|side| pair.end(*side).state() == crate::State::Closed) {
                endings += 1;
                for side in Side::BOTH {
                    pair.close(side, 0);
                }
                pair.run_for(self.round_trip);
                pair.open();
            }
            if !pair.step(until) {
                break;
            }
        }
        let counted =
            pair.seen(Side::Server).deliveries.iter().filter(|delivery| delivery.at >= from).count();
        let throughput_bit_per_s =
            (counted * self.message_bytes * 8) as f64 / until.saturating_since(from).as_secs_f64();
        Ok(Simulated { throughput_bit_per_s, endings })
    }
}

/// What a simulation measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Simulated {
    /// Application bits a second that came out at the receiver.
    pub throughput_bit_per_s: f64,
    /// How many connections ended on the way.
    pub endings: u32,
}

/// One-way delay of each message that `side` got, where its first octets are the moment of sending in nanoseconds.
#[must_use]
pub fn delays(pair: &Pair, side: Side) -> Vec<Duration> {
    let stamp = |message: &[u8]| message.first_chunk().map_or(0, |nanos| u64::from_le_bytes(*nanos));
    let deliveries = &pair.seen(side).deliveries;
    deliveries.iter().map(|one| one.at.saturating_since(Instant::from_nanos(stamp(&one.message)))).collect()
}
