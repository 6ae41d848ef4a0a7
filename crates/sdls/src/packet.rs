//! Space packets (CCSDS 133.0-B). Their headers are those of the library `spacepackets`, re-exported; here is what data
//! fields need: packets cut out of a run of octets, and segments of packets put together again.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

pub use spacepackets;
use spacepackets::SpHeader;

use crate::frame::{SegmentHeader, SequenceFlags};

/// Octets of a space packet's primary header.
pub const HEADER_OCTETS: usize = 6;

/// Octets of the packet that begins with `octets`: known from its first six.
#[must_use]
pub fn packet_octets(octets: &[u8]) -> Option<usize> {
    let &[.., high, low] = octets.first_chunk::<HEADER_OCTETS>()?;
    Some(HEADER_OCTETS + usize::from(u16::from_be_bytes([high, low])) + 1)
}

/// A packet's header and user data; none if the octets are not just one packet of version 0.
#[must_use]
pub fn parse(octets: &[u8]) -> Option<(SpHeader, &[u8])> {
    if packet_octets(octets)? != octets.len() || octets[0] >> 5 != 0 {
        return None;
    }
    SpHeader::from_be_bytes(octets).ok()
}

/// Splits a run of whole packets; what is left over after the last whole one is the second result.
#[must_use]
pub fn split(mut octets: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut packets = Vec::new();
    while let Some((packet, rest)) = packet_octets(octets).and_then(|end| octets.split_at_checked(end)) {
        packets.push(packet);
        octets = rest;
    }
    (packets, octets)
}

/// Cuts data into segments of at most `largest` octets for access point `map`, each with its segment header. Data that
/// fit are one, unsegmented; `largest` below 1 counts as 1.
#[must_use]
pub fn segment(data: &[u8], map: u8, largest: usize) -> Vec<(SegmentHeader, Vec<u8>)> {
    let largest = largest.max(1);
    let count = data.len().div_ceil(largest).max(1);
    (0..count)
        .map(|place| {
            let flags = match (place == 0, place + 1 == count) {
                (true, true) => SequenceFlags::Unsegmented,
                (true, false) => SequenceFlags::First,
                (false, true) => SequenceFlags::Last,
                (false, false) => SequenceFlags::Continuing,
            };
            let from = place * largest;
            let part = data[from..data.len().min(from + largest)].to_vec();
            (SegmentHeader { flags, map }, part)
        })
        .collect()
}

/// Why a segment was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// A middle or last part without its first one.
    #[error("access point {map} got a later part of data whose first part is missing")]
    NoFirst {
        /// The access point.
        map: u8,
    },
    /// The data are longer than the receiver takes.
    #[error("access point {map} got more than {largest} octets of one unit of data")]
    TooLong {
        /// The access point.
        map: u8,
        /// Octets of the longest unit.
        largest: usize,
    },
}

/// Puts segments together again, for each access point on its own.
#[derive(Clone, Debug)]
pub struct Reassembler {
    largest: usize,
    parts: BTreeMap<u8, Vec<u8>>,
    dropped: u64,
}

impl Reassembler {
    /// One that takes data of up to `largest` octets.
    #[must_use]
    pub fn new(largest: usize) -> Self {
        Self { largest, parts: BTreeMap::new(), dropped: 0 }
    }

    /// Units of data that were dropped so far.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Takes a segment; data come out whole with their last one. A unit that never became whole is dropped and counted
    /// when the next one begins.
    ///
    /// # Errors
    /// If the segment is of no use: its first part was lost, or its unit is too long.
    pub fn take(&mut self, header: SegmentHeader, data: &[u8]) -> Result<Option<Vec<u8>>, SegmentError> {
        let result = self.assemble(header, data);
        self.dropped += u64::from(result.is_err());
        result
    }

    fn assemble(&mut self, header: SegmentHeader, data: &[u8]) -> Result<Option<Vec<u8>>, SegmentError> {
        let map = header.map;
        let too_long = SegmentError::TooLong { map, largest: self.largest };
        match header.flags {
            SequenceFlags::Unsegmented | SequenceFlags::First => {
                self.dropped += u64::from(self.parts.remove(&map).is_some());
                if data.len() > self.largest {
                    return Err(too_long);
                }
                if header.flags == SequenceFlags::First {
                    self.parts.insert(map, data.to_vec());
                }
                Ok((header.flags == SequenceFlags::Unsegmented).then(|| data.to_vec()))
            }
            SequenceFlags::Continuing | SequenceFlags::Last => {
                let part = self.parts.get_mut(&map).ok_or(SegmentError::NoFirst { map })?;
                if part.len() + data.len() > self.largest {
                    self.parts.remove(&map);
                    return Err(too_long);
                }
                part.extend_from_slice(data);
                Ok(if header.flags == SequenceFlags::Last { self.parts.remove(&map) } else { None })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_two_access_points_do_not_mix() {
        let data: Vec<u8> = (0..100).collect();
        let mut there = Reassembler::new(1000);
        let (one, other) = (segment(&data, 1, 30), segment(&data[..50], 2, 30));
        assert_eq!((one.len(), other.len()), (4, 2));
        assert_eq!(there.take(one[0].0, &one[0].1), Ok(None));
        assert_eq!(there.take(other[0].0, &other[0].1), Ok(None));
        assert_eq!(there.take(other[1].0, &other[1].1), Ok(Some(data[..50].to_vec())));
        assert_eq!(there.take(one[2].0, &one[2].1), Ok(None));
        assert_eq!(
            there.take(one[3].0, &one[3].1).unwrap().unwrap().len(),
            70,
            "COP-1 keeps segments in order"
        );
    }

    #[test]
    fn lost_segments_are_counted() {
        let parts = segment(&[7; 90], 0, 30);
        let mut there = Reassembler::new(60);
        assert_eq!(there.take(parts[1].0, &parts[1].1), Err(SegmentError::NoFirst { map: 0 }));
        assert_eq!(there.take(parts[0].0, &parts[0].1), Ok(None));
        assert_eq!(
            there.take(parts[0].0, &parts[0].1),
            Ok(None),
            "the first one again ends what was not whole"
        );
        assert_eq!(there.take(parts[1].0, &parts[1].1), Ok(None));
        assert_eq!(there.take(parts[2].0, &parts[2].1), Err(SegmentError::TooLong { map: 0, largest: 60 }));
        assert_eq!(there.dropped(), 3);
    }

    #[test]
    fn packets_are_split_and_read() {
        let octets = [0x18, 5, 0xC0, 9, 0, 1, 1, 2];
        let twice = [&octets[..], &octets, &octets[..4]].concat();
        let (packets, rest) = split(&twice);
        assert_eq!((packets.len(), rest.len()), (2, 4));
        let (read, data) = parse(packets[0]).unwrap();
        assert_eq!((read.apid().value(), read.data_len, data), (5, 1, &[1, 2][..]));
        assert!(parse(&twice).is_none());
    }
}
