//! TLS records in a byte stream: cut one by one out of what arrives, and where the application's bytes stand in them.

use serde::{Deserialize, Serialize};

/// Bytes of a record's header: content type, version, length (RFC 8446, section 5.1).
const HEADER_BYTES: usize = 5;

/// Content types of TLS 1.3, from change_cipher_spec to application_data (RFC 8446, appendix B.1).
const CONTENT_TYPES: std::ops::RangeInclusive<u8> = 20..=23;

/// The part of a stream that has arrived and was not passed on yet.
pub(crate) struct Incoming {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    passed_on: u64,
}

impl Incoming {
    /// Room for `most_bytes` in one read, and for a record under way before it.
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { buffer: vec![0; most_bytes], start: 0, end: 0, passed_on: 0 }
    }

    /// Where the next `most` bytes go; say with [`Incoming::arrived`] how many came.
    pub(crate) fn space(&mut self, most: usize) -> &mut [u8] {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.buffer.len() < self.end + most {
            // Zeros of the kernel, which take no memory before something is read into them.
            let mut larger = vec![0; self.end + most];
            larger[..self.end].copy_from_slice(&self.buffer[..self.end]);
            self.buffer = larger;
        }
        &mut self.buffer[self.end..self.end + most]
    }

    /// Counts `bytes` bytes that were put into the space.
    pub(crate) fn arrived(&mut self, bytes: usize) {
        self.end += bytes;
    }

    /// The next record, whole. Bytes that cannot be a record are passed on as they are, so that TLS says so.
    pub(crate) fn next_record(&mut self) -> Option<&[u8]> {
        let length = match self.length() {
            Some(length) if length <= self.held() => length,
            _ => return None,
        };
        let start = self.start;
        self.start += length;
        self.passed_on += length as u64;
        Some(&self.buffer[start..self.start])
    }

    /// Bytes of the record under way that are here.
    pub(crate) fn held(&self) -> usize {
        self.end - self.start
    }

    /// Bytes that the record under way lacks, as far as they are known; at least one.
    pub(crate) fn lacking(&self) -> usize {
        self.length().unwrap_or(HEADER_BYTES).saturating_sub(self.held()).max(1)
    }

    /// Bytes of the stream that were passed on.
    pub(crate) fn passed_on(&self) -> u64 {
        self.passed_on
    }

    fn length(&self) -> Option<usize> {
        let here = &self.buffer[self.start..self.end];
        let [kind, major, _, high, low] = *here.first_chunk::<HEADER_BYTES>()?;
        let record = CONTENT_TYPES.contains(&kind) && major == 3;
        Some(if record { HEADER_BYTES + usize::from(u16::from_be_bytes([high, low])) } else { here.len() })
    }
}

/// Which of an application's bytes can be read once how much of the stream that carries them has arrived.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordMap {
    /// For each record with application data: the bytes up to its end, of the application and of the stream.
    ends: Vec<(u64, u64)>,
}

impl RecordMap {
    /// Notes that the record that ends the first `stream_bytes` of the stream ends the first `application_bytes`.
    pub(crate) fn note(&mut self, application_bytes: u64, stream_bytes: u64) {
        self.ends.push((application_bytes, stream_bytes));
    }

    /// Bytes of the stream that must have arrived before the first `application_bytes` (more than none) can be read.
    pub fn stream_bytes(&self, application_bytes: u64) -> Option<u64> {
        let index = self.ends.partition_point(|(end, _)| *end < application_bytes);
        self.ends.get(index).map(|(_, stream)| *stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(bytes: u16) -> Vec<u8> {
        let mut record = vec![23, 3, 3];
        record.extend(bytes.to_be_bytes());
        record.resize(HEADER_BYTES + usize::from(bytes), 7);
        record
    }

    proptest! {
        #[test]
        fn records_come_out_as_they_went_in(lengths in prop::collection::vec(0_u16..17_000, 1..8), step in 1_usize..9000) {
            let records: Vec<_> = lengths.iter().map(|length| record(*length)).collect();
            let stream = records.concat();
            let mut incoming = Incoming::new(100);
            let mut found = Vec::new();
            for piece in stream.chunks(step) {
                incoming.space(piece.len()).copy_from_slice(piece);
                incoming.arrived(piece.len());
                while let Some(record) = incoming.next_record() {
                    found.push(record.to_vec());
                }
            }
            prop_assert_eq!(found, records);
            prop_assert_eq!(incoming.passed_on(), stream.len() as u64);
        }

        #[test]
        fn what_lacks_completes_the_record(length in 0_u16..17_000, here in 0_usize..17_000) {
            let record = record(length);
            let here = here.min(record.len() - 1);
            let mut incoming = Incoming::new(10);
            incoming.space(here).copy_from_slice(&record[..here]);
            incoming.arrived(here);
            prop_assert!(incoming.next_record().is_none());
            let lacking = incoming.lacking();
            let whole = if here < HEADER_BYTES { HEADER_BYTES } else { record.len() };
            prop_assert_eq!(here + lacking, whole.max(here + 1));
        }
    }

    #[test]
    fn what_is_no_record_is_passed_on_at_once() {
        let mut incoming = Incoming::new(10);
        incoming.space(16).copy_from_slice(b"HTTP/1.1 400 Bad");
        incoming.arrived(16);
        assert_eq!(incoming.next_record(), Some(b"HTTP/1.1 400 Bad".as_slice()));
        assert_eq!(incoming.next_record(), None);
    }

    #[test]
    fn a_byte_can_be_read_at_the_end_of_its_record() {
        let mut map = RecordMap::default();
        map.note(100, 150);
        map.note(101, 173);
        assert_eq!([1, 100, 101, 102].map(|n| map.stream_bytes(n)), [Some(150), Some(150), Some(173), None]);
    }
}
