//! What anybody on the way can read of QUIC: long headers, whose form all versions share (RFC 8999, section 5.1).

use super::packet::{Headers, UDP, u32_at};

/// Version 1 (RFC 9000).
pub(crate) const VERSION_1: u32 = 1;
/// The longest connection ID of version 1 (RFC 9000, section 17.2).
pub(crate) const LONGEST_ID_BYTES: usize = 20;
/// The bit of a long header, and its packet type in version 1 (RFC 9000, section 17.2).
const LONG: u8 = 0x80;
const TYPE: u8 = 0x30;

/// The long header at the beginning of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LongHeader<'a> {
    first: u8,
    /// 0 in a Version Negotiation packet.
    pub version: u32,
    pub destination: &'a [u8],
    pub source: &'a [u8],
}

impl<'a> LongHeader<'a> {
    /// Where both connection IDs with their lengths stand in the datagram.
    pub const IDS_AT: usize = 5;

    /// Reads a datagram; none of what has no long header, or is cut in it.
    pub fn of(datagram: &'a [u8]) -> Option<LongHeader<'a>> {
        let first = *datagram.first().filter(|first| *first & LONG != 0)?;
        let (destination, rest) = id(datagram.get(Self::IDS_AT..)?)?;
        let (source, _) = id(rest)?;
        Some(LongHeader { first, version: u32_at(datagram, 1)?, destination, source })
    }

    /// That of a packet over UDP.
    pub fn of_packet(packet: &'a [u8], headers: &Headers) -> Option<LongHeader<'a>> {
        if headers.protocol == UDP { Self::of(headers.payload(packet)) } else { None }
    }

    /// Whether it is that of an Initial packet of version 1.
    pub fn is_initial(&self) -> bool {
        let allowed = |id: &[u8]| id.len() <= LONGEST_ID_BYTES;
        self.version == VERSION_1
            && self.first & TYPE == 0
            && allowed(self.destination)
            && allowed(self.source)
    }
}

/// A connection ID behind its length, and what follows.
fn id(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(*length))
}

/// Connection IDs, each behind its length, which is that of a version that is known here.
pub(crate) fn ids(destination: &[u8], source: &[u8]) -> Vec<u8> {
    [&[destination.len() as u8][..], destination, &[source.len() as u8], source].concat()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::in_path::tests::datagram;

    /// Bytes of both connection IDs with their lengths.
    pub(crate) fn ids_bytes(header: &LongHeader<'_>) -> usize {
        2 + header.destination.len() + header.source.len()
    }

    pub(crate) const DESTINATION: &[u8] = &[1, 2, 3, 4, 5, 6, 7, 8];
    pub(crate) const SOURCE: &[u8] = &[9, 10, 11];

    /// A packet with a long header of this first byte and version, and something behind it.
    pub(crate) fn long(first: u8, version: u32) -> Vec<u8> {
        let head = [&[first][..], &version.to_be_bytes(), &ids(DESTINATION, SOURCE)].concat();
        datagram(&[&head[..], &[0, 0x44, 0x50, 7, 7, 7]].concat())
    }

    #[test]
    fn both_connection_ids_are_read_and_nothing_else_is_a_long_header() {
        let packet = long(0xc3, VERSION_1);
        let headers = Headers::of(&packet).expect("it is whole");
        let header = LongHeader::of_packet(&packet, &headers).expect("it is one");
        assert_eq!((header.version, header.destination, header.source), (1, DESTINATION, SOURCE));
        assert!(header.is_initial());
        assert_eq!(ids_bytes(&header), ids(DESTINATION, SOURCE).len());
        let payload = headers.payload(&packet);
        let whole = LongHeader::IDS_AT + ids_bytes(&header);
        assert!((0..whole).all(|bytes| LongHeader::of(&payload[..bytes]).is_none()));
        assert!(LongHeader::of(&payload[..whole]).is_some());
        assert_eq!(LongHeader::of(&[&[0x43][..], &payload[1..]].concat()), None);
    }

    #[test]
    fn initial_packets_are_those_of_version_1_with_their_type() {
        for (first, version, initial) in
            [(0xc0, 1, true), (0xe0, 1, false), (0xf0, 1, false), (0xc0, 2, false)]
        {
            let packet = long(first, version);
            let headers = Headers::of(&packet).expect("it is whole");
            let header = LongHeader::of_packet(&packet, &headers).expect("it is one");
            assert_eq!(header.is_initial(), initial, "{first:02x} {version}");
        }
    }
}
