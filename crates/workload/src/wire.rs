//! When the bytes of a TCP stream could be read, worked out from the packets that arrived at the receiver.
//!
//! Byte n can be read once every byte up to n has arrived, so its instant is the latest of the first arrivals of the
//! bytes up to n. The receiver need not wake to know it. This holds for packets that the receiver's kernel keeps: those
//! that it throws away because a link has damaged them are not to be in the capture (`only_intact` of
//! `netlab::CaptureOptions`). It does not hold for what exceeds a full receive buffer.

mod frontier;
mod packet;

use std::net::SocketAddr;

use frontier::Frontier;
use packet::Segment;
use transports::Failure;

/// Follows one direction of one TCP connection through a capture.
#[derive(Debug)]
pub struct WireTap {
    source: SocketAddr,
    destination: SocketAddr,
    /// Sequence number of the first byte of the stream and what has arrived, once the SYN was seen.
    stream: Option<Stream>,
}

#[derive(Debug)]
struct Stream {
    first_byte: u32,
    /// Offset of the latest in-order byte: where a 32-bit sequence number lies is taken relative to it.
    frontier: Frontier,
}

impl WireTap {
    /// A tap on the packets from `source` to `destination`.
    pub fn new(source: SocketAddr, destination: SocketAddr) -> Self {
        Self { source, destination, stream: None }
    }

    /// Looks at a packet that arrived at `t_ns`: its first captured bytes, from the IP header on (112 are always
    /// enough). Packets of other flows are passed over. Packets must come in the order of their arrival, and be
    /// undamaged.
    pub fn packet(&mut self, t_ns: i64, captured: &[u8]) {
        let Some(segment) = packet::parse(captured) else { return };
        if segment.source != self.source || segment.destination != self.destination {
            return;
        }
        if segment.syn {
            self.open(&segment);
        }
        if let Some(stream) = &mut self.stream {
            stream.arrive(t_ns, &segment);
        }
    }

    /// A SYN that repeats the one before it changes nothing; another one begins a connection anew (a first attempt was
    /// given up by the kernel).
    fn open(&mut self, segment: &Segment) {
        let first_byte = segment.sequence.wrapping_add(1);
        if self.stream.as_ref().is_none_or(|stream| stream.first_byte != first_byte) {
            self.stream = Some(Stream { first_byte, frontier: Frontier::default() });
        }
    }

    /// The instants of the stream.
    ///
    /// # Errors
    /// The capture holds no SYN of this flow, so the place of its bytes in the stream is unknown.
    pub fn finish(self) -> Result<StreamInstants, Failure> {
        match self.stream {
            Some(stream) => Ok(StreamInstants { steps: stream.frontier.into_steps() }),
            None => Err(Failure::new(format!(
                "the capture at the receiver holds no SYN from {} to {}",
                self.source, self.destination
            ))),
        }
    }
}

impl Stream {
    fn arrive(&mut self, t_ns: i64, segment: &Segment) {
        if segment.payload_bytes == 0 {
            return;
        }
        // The data of a SYN (TCP Fast Open) begins one number after it.
        let sequence = if segment.syn { segment.sequence.wrapping_add(1) } else { segment.sequence };
        let reached = self.frontier.reached();
        let ahead = sequence.wrapping_sub(self.first_byte).wrapping_sub(reached as u32) as i32;
        let start = reached as i64 + i64::from(ahead);
        let end = start + i64::from(segment.payload_bytes);
        if end > 0 {
            self.frontier.arrive(t_ns, start.max(0) as u64..end as u64);
        }
    }
}

/// When each byte of a stream could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamInstants {
    /// Ends of stretches that became readable at one instant, both rising.
    steps: Vec<(u64, i64)>,
}

impl StreamInstants {
    /// Bytes that could be read in the end.
    pub fn bytes(&self) -> u64 {
        self.steps.last().map_or(0, |(end, _)| *end)
    }

    /// When the first `bytes` bytes (more than none) could be read; `None` when they never arrived.
    pub fn instant_ns(&self, bytes: u64) -> Option<i64> {
        let step = self.steps.partition_point(|(end, _)| *end < bytes);
        self.steps.get(step).map(|(_, t_ns)| *t_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: ([u8; 4], u16) = ([10, 0, 1, 1], 40_000);
    const DESTINATION: ([u8; 4], u16) = ([10, 0, 2, 1], 5000);

    /// A TCP packet without options, as a capture would hold it.
    fn packet(from: ([u8; 4], u16), sequence: u32, flags: u8, payload_bytes: u16) -> Vec<u8> {
        let mut bytes = vec![0x45, 0];
        bytes.extend((40 + payload_bytes).to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        bytes.extend(from.0);
        bytes.extend(DESTINATION.0);
        bytes.extend(from.1.to_be_bytes());
        bytes.extend(DESTINATION.1.to_be_bytes());
        bytes.extend(sequence.to_be_bytes());
        bytes.extend([0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    fn tap() -> WireTap {
        WireTap::new(SOURCE.into(), DESTINATION.into())
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut tap = tap();
        let isn = u32::MAX - 1500;
        tap.packet(1, &packet(SOURCE, isn, 0x02, 0));
        for (index, t_ns) in (0..4).zip([2, 3, 5, 4]) {
            tap.packet(t_ns, &packet(SOURCE, isn.wrapping_add(1 + index * 1000), 0x10, 1000));
        }
        let instants = tap.finish().expect("the SYN was seen");
        assert_eq!(instants.bytes(), 4000);
        assert_eq!(
            [1, 1000, 1001, 2000].map(|n| instants.instant_ns(n)),
            [Some(2), Some(2), Some(3), Some(3)]
        );
        assert_eq!(instants.instant_ns(4001), None);
    }

    #[test]
    fn retransmissions_count_once_and_strangers_not_at_all() {
        let mut tap = tap();
        tap.packet(1, &packet(SOURCE, 99, 0x02, 0));
        tap.packet(2, &packet(SOURCE, 100, 0x10, 10));
        tap.packet(3, &packet(SOURCE, 120, 0x10, 10));
        tap.packet(4, &packet(([10, 0, 1, 9], 40_000), 110, 0x10, 10));
        tap.packet(5, &packet(SOURCE, 105, 0x10, 15));
        tap.packet(6, &packet(SOURCE, 100, 0x11, 30));
        let instants = tap.finish().expect("the SYN was seen");
        assert_eq!((instants.bytes(), instants.instant_ns(1)), (30, Some(2)));
        assert_eq!([10, 11, 30].map(|n| instants.instant_ns(n)), [Some(2), Some(5), Some(5)]);
    }

    #[test]
    fn more_than_four_gigabytes_keep_their_place() {
        let mut tap = tap();
        tap.packet(0, &packet(SOURCE, 0, 0x02, 0));
        let step = 60_000_u16;
        for index in 0..80_000_u64 {
            let sequence = (1 + index * u64::from(step)) as u32;
            tap.packet(index as i64, &packet(SOURCE, sequence, 0x10, step));
        }
        let instants = tap.finish().expect("the SYN was seen");
        assert_eq!(instants.bytes(), 80_000 * u64::from(step));
        assert_eq!(instants.instant_ns(79_000 * u64::from(step) + 1), Some(79_000));
    }

    #[test]
    fn a_capture_without_the_start_is_refused() {
        let mut tap = tap();
        tap.packet(2, &packet(SOURCE, 100, 0x10, 10));
        assert!(tap.finish().is_err());
    }
}
