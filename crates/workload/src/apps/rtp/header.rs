//! The fixed header of RTP (RFC 3550, section 5.1), written and read.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |V=2|P|X|  CC   |M|     PT      |       sequence number         |
//! |                           timestamp                           |
//! |           synchronization source (SSRC) identifier            |
//! ```

/// Its length: there are no contributing sources, no extension and no padding.
pub(super) const HEADER_BYTES: usize = 12;

/// Version 2 without padding, extension and contributing sources.
const FIRST_BYTE: u8 = 2 << 6;

/// What differs from packet to packet and from source to source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Of video: whether a frame ends here; of voice: whether a talk spurt begins (RFC 3551, section 4.1).
    pub(super) marker: bool,
    /// What the payload is, 7 bits.
    pub(super) payload_type: u8,
    pub(super) sequence: u16,
    /// In units of the payload's clock.
    pub(super) timestamp: u32,
    pub(super) ssrc: u32,
}

impl Header {
    /// As it stands in a packet.
    pub(super) fn bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = FIRST_BYTE;
        bytes[1] = u8::from(self.marker) << 7 | self.payload_type & 0x7f;
        bytes[2..4].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.timestamp.to_be_bytes());
        bytes[8..].copy_from_slice(&self.ssrc.to_be_bytes());
        bytes
    }

    /// The header and the payload of a packet; `None` if it does not begin with such a header.
    pub(super) fn parse(packet: &[u8]) -> Option<(Self, &[u8])> {
        let ([first, second, s0, s1, t0, t1, t2, t3, c0, c1, c2, c3], payload) =
            packet.split_first_chunk::<HEADER_BYTES>()?;
        (*first == FIRST_BYTE).then_some((
            Self {
                marker: second >> 7 == 1,
                payload_type: second & 0x7f,
                sequence: u16::from_be_bytes([*s0, *s1]),
                timestamp: u32::from_be_bytes([*t0, *t1, *t2, *t3]),
                ssrc: u32::from_be_bytes([*c0, *c1, *c2, *c3]),
            },
            payload,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST_OF_A_FRAME: Header = Header {
        marker: true,
        payload_type: 96,
        sequence: 0x1234,
        timestamp: 0x0001_5f90,
        ssrc: 0xdead_beef,
    };

    #[test]
    fn fields_stand_where_the_standard_has_them() {
        let bytes = [0x80, 0xe0, 0x12, 0x34, 0x00, 0x01, 0x5f, 0x90, 0xde, 0xad, 0xbe, 0xef];
        assert_eq!(LAST_OF_A_FRAME.bytes(), bytes);
        let spurt = Header { marker: false, payload_type: 0, ..LAST_OF_A_FRAME };
        assert_eq!(spurt.bytes()[..2], [0x80, 0x00]);
    }

    #[test]
    fn what_was_written_is_read() {
        let mut packet = LAST_OF_A_FRAME.bytes().to_vec();
        packet.extend([7, 8, 9]);
        assert_eq!(Header::parse(&packet), Some((LAST_OF_A_FRAME, &[7, 8, 9][..])));
        assert_eq!(Header::parse(&packet[..11]), None);
        packet[0] = 0x40;
        assert_eq!(Header::parse(&packet), None, "version 1 is not RTP as it stands today");
    }
}
