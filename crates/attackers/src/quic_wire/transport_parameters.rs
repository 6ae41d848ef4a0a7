//! Transport parameters (RFC 9000, section 18): those that an attacker states or minds.

use super::varint::{self, Reader};
use super::{ConnectionId, ResetToken};

const MAX_IDLE_TIMEOUT: u64 = 0x01;
const STATELESS_RESET_TOKEN: u64 = 0x02;
const MAX_UDP_PAYLOAD_SIZE: u64 = 0x03;
const INITIAL_MAX_DATA: u64 = 0x04;
const INITIAL_MAX_STREAM_DATA_BIDI_LOCAL: u64 = 0x05;
const INITIAL_MAX_STREAM_DATA_BIDI_REMOTE: u64 = 0x06;
const INITIAL_MAX_STREAM_DATA_UNI: u64 = 0x07;
const INITIAL_MAX_STREAMS_BIDI: u64 = 0x08;
const INITIAL_MAX_STREAMS_UNI: u64 = 0x09;
const ACTIVE_CONNECTION_ID_LIMIT: u64 = 0x0e;
const INITIAL_SOURCE_CONNECTION_ID: u64 = 0x0f;

/// What this end states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated {
    /// After how many milliseconds without a word the connection is over; never, if 0.
    pub max_idle_timeout_ms: u64,
    /// Octets that the server may send on all streams.
    pub initial_max_data: u64,
    /// Octets that the server may send in answer on one stream.
    pub initial_max_stream_data_bidi_local: u64,
    /// Streams of one direction that the server may open.
    pub initial_max_streams_uni: u64,
    /// Connection IDs of the server that this end keeps, at least 2.
    pub active_connection_id_limit: u64,
}

impl Default for Stated {
    /// As much as goes: no limit ever makes the server wait.
    fn default() -> Self {
        Self {
            max_idle_timeout_ms: 0,
            initial_max_data: varint::MOST,
            initial_max_stream_data_bidi_local: varint::MOST,
            initial_max_streams_uni: 100,
            active_connection_id_limit: 2,
        }
    }
}

impl Stated {
    /// As they stand in the ClientHello of an end whose first connection ID is `source`.
    #[must_use]
    pub fn encode(&self, source: &ConnectionId) -> Vec<u8> {
        let integers = [
            (MAX_IDLE_TIMEOUT, self.max_idle_timeout_ms),
            (MAX_UDP_PAYLOAD_SIZE, 1472),
            (INITIAL_MAX_DATA, self.initial_max_data),
            (INITIAL_MAX_STREAM_DATA_BIDI_LOCAL, self.initial_max_stream_data_bidi_local),
            (INITIAL_MAX_STREAM_DATA_UNI, 1 << 20),
            (INITIAL_MAX_STREAMS_UNI, self.initial_max_streams_uni),
            (ACTIVE_CONNECTION_ID_LIMIT, self.active_connection_id_limit),
        ];
        let mut out = Vec::with_capacity(80);
        for (id, value) in integers {
            let mut encoded = Vec::with_capacity(8);
            varint::put(&mut encoded, value);
            put(&mut out, id, &encoded);
        }
        put(&mut out, INITIAL_SOURCE_CONNECTION_ID, source.as_slice());
        out
    }
}

fn put(out: &mut Vec<u8>, id: u64, value: &[u8]) {
    varint::put(out, id);
    varint::put(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// What the server grants; what it does not state is 0, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// Octets on all streams.
    pub max_data: u64,
    /// Octets on a stream of both directions that this end opens.
    pub max_stream_data: u64,
    /// Octets on a stream of one direction that this end opens.
    pub max_stream_data_uni: u64,
    /// Streams of both directions that this end may open.
    pub max_streams_bidi: u64,
    /// Streams of one direction that this end may open.
    pub max_streams_uni: u64,
    /// Of its first connection ID.
    pub reset_token: Option<ResetToken>,
}

impl Granted {
    /// As the server has encoded it; none if it is cut short.
    #[must_use]
    pub fn decode(encoded: &[u8]) -> Option<Self> {
        let mut granted = Self::default();
        let mut reader = Reader::new(encoded);
        while !reader.rest().is_empty() {
            let id = reader.varint()?;
            let length = reader.varint()?;
            let value = reader.take(length)?;
            let granted = match id {
                INITIAL_MAX_DATA => &mut granted.max_data,
                INITIAL_MAX_STREAM_DATA_BIDI_REMOTE => &mut granted.max_stream_data,
                INITIAL_MAX_STREAM_DATA_UNI => &mut granted.max_stream_data_uni,
                INITIAL_MAX_STREAMS_BIDI => &mut granted.max_streams_bidi,
                INITIAL_MAX_STREAMS_UNI => &mut granted.max_streams_uni,
                STATELESS_RESET_TOKEN => {
                    granted.reset_token = Some(value.try_into().ok()?);
                    continue;
                }
                _ => continue,
            };
            *granted = Reader::new(value).varint()?;
        }
        Some(granted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_granted_is_read_and_the_rest_passed_over() {
        let mut encoded =
            vec![0x04, 2, 0x40, 0x64, 0x08, 1, 3, 0x40, 0x99, 3, 1, 2, 3, 0x06, 1, 9, 0x07, 1, 8, 0x09, 1, 5];
        encoded.extend_from_slice(&[0x02, 16]);
        encoded.extend_from_slice(&[4; 16]);
        let granted = Granted {
            max_data: 100,
            max_stream_data: 9,
            max_stream_data_uni: 8,
            max_streams_bidi: 3,
            max_streams_uni: 5,
            reset_token: Some([4; 16]),
        };
        assert_eq!(Granted::decode(&encoded), Some(granted));
        assert_eq!(Granted::decode(&encoded[..2]), None);
        assert_eq!(Granted::decode(&[0x02, 1, 4]), None, "no token");
    }

    #[test]
    fn the_first_connection_id_is_stated() {
        let encoded = Stated::default().encode(&ConnectionId::of([7; 8]));
        assert!(encoded.ends_with(&[0x0f, 8, 7, 7, 7, 7, 7, 7, 7, 7]));
        assert!(encoded.starts_with(&[0x01, 1, 0, 0x03, 2, 0x45, 0xc0]));
    }
}
