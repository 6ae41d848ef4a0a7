//! What was sent and has to be sent again if it is lost (RFC 9002), one packet number space at a time, and the time-out
//! of all of them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::quic_wire::ranges::Ranges;

/// A packet counts as lost when one sent so many later is acknowledged (RFC 9002, section 6.1.1).
const REORDERING: u64 = 3;
/// Before the first measurement (RFC 9002, section 6.2.2).
const FIRST_RTT: Duration = Duration::from_millis(333);
/// Timers are no finer (RFC 9002, section 6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);
/// How long a server may wait with an acknowledgement, unless it says otherwise (RFC 9000, section 18.2).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

struct Sent {
    number: u64,
    at: Instant,
    frames: Vec<u8>,
}

/// Packets of one space that are not acknowledged.
#[derive(Default)]
pub struct Unacknowledged {
    /// Ascending.
    packets: VecDeque<Sent>,
}

impl Unacknowledged {
    pub fn sent(&mut self, number: u64, at: Instant, frames: Vec<u8>) {
        self.packets.push_back(Sent { number, at, frames });
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Takes an acknowledgement. Gives back what is lost, and when the largest of what is newly acknowledged was sent.
    pub fn acknowledged(&mut self, packets: &Ranges) -> (Vec<Vec<u8>>, Option<Instant>) {
        let Some(largest) = packets.last() else { return (Vec::new(), None) };
        let (mut lost, mut at) = (Vec::new(), None);
        self.packets.retain_mut(|packet| {
            if packets.contains(packet.number) {
                at = (packet.number == largest).then_some(packet.at);
                return false;
            }
            let is_lost = packet.number + REORDERING <= largest;
            if is_lost {
                lost.push(std::mem::take(&mut packet.frames));
            }
            !is_lost
        });
        (lost, at)
    }

    /// Gives back the frames of all packets, to be sent again.
    pub fn take_all(&mut self) -> Vec<Vec<u8>> {
        self.packets.drain(..).map(|packet| packet.frames).collect()
    }
}

/// The round-trip time, and how long an answer is waited for.
#[derive(Default)]
pub struct Timer {
    smoothed: Option<(Duration, Duration)>,
    /// Time-outs since something was acknowledged.
    expired: u32,
}

impl Timer {
    pub fn measured(&mut self, rtt: Duration) {
        self.smoothed = Some(match self.smoothed {
            None => (rtt, rtt / 2),
            Some((smoothed, variation)) => {
                ((smoothed * 7 + rtt) / 8, (variation * 3 + smoothed.abs_diff(rtt)) / 4)
            }
        });
    }

    /// Something new is acknowledged.
    pub fn progress(&mut self) {
        self.expired = 0;
    }

    pub fn expire(&mut self) {
        self.expired += 1;
    }

    /// Probe timeout (RFC 9002, section 6.2.1), doubled with each that passed.
    pub fn timeout(&self) -> Duration {
        let (smoothed, variation) = self.smoothed.unwrap_or((FIRST_RTT, FIRST_RTT / 2));
        let once = smoothed + (variation * 4).max(GRANULARITY) + MAX_ACK_DELAY;
        once * (1 << self.expired.min(6))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(numbers: &[u64]) -> Ranges {
        let mut packets = Ranges::default();
        for number in numbers {
            packets.insert(*number, number + 1);
        }
        packets
    }

    #[test]
    fn three_later_is_lost() {
        let now = Instant::now();
        let mut unacknowledged = Unacknowledged::default();
        for number in 0..5 {
            unacknowledged.sent(number, now, vec![number as u8]);
        }
        let (lost, at) = unacknowledged.acknowledged(&packets(&[4]));
        assert_eq!((lost, at), (vec![vec![0], vec![1]], Some(now)));
        assert_eq!(unacknowledged.take_all(), [[2], [3]]);
        assert!(unacknowledged.is_empty());
    }

    #[test]
    fn an_old_acknowledgement_measures_nothing() {
        let mut unacknowledged = Unacknowledged::default();
        unacknowledged.sent(0, Instant::now(), Vec::new());
        let (_, at) = unacknowledged.acknowledged(&packets(&[0, 1]));
        assert_eq!(at, None, "the largest, 1, was acknowledged before or carried nothing");
    }

    #[test]
    fn the_time_out_follows_the_round_trip_and_doubles() {
        let mut timer = Timer::default();
        assert_eq!(timer.timeout(), Duration::from_millis(333 + 666 + 25));
        timer.measured(Duration::from_millis(8));
        assert_eq!(timer.timeout(), Duration::from_millis(8 + 16 + 25));
        timer.measured(Duration::from_millis(16));
        assert_eq!(timer.timeout(), Duration::from_millis(9 + 20 + 25));
        timer.expire();
        timer.expire();
        assert_eq!(timer.timeout(), Duration::from_millis(54 * 4));
        timer.progress();
        assert_eq!(timer.timeout(), Duration::from_millis(54));
    }
}
