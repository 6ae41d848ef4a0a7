//! HTTP/3 (RFC 9114): frames, and fields that are written out or are in QPACK's static table (RFC 9204).

use super::{put_integer, put_string};
use crate::outcome::Outcome;
use crate::quic::Receive;
use crate::quic_wire::varint::{self, Reader};

/// Body.
pub const DATA: u64 = 0x0;
/// Fields.
pub const HEADERS: u64 = 0x1;
const SETTINGS: u64 = 0x4;
/// H3_REQUEST_CANCELLED.
pub const REQUEST_CANCELLED: u64 = 0x10c;
/// `:status: 200` in QPACK's static table, as a field.
const STATUS_200: u8 = 0xc0 | 25;

/// What a client says first on a stream of one direction: that it is the control stream, and SETTINGS of which all are
/// left as they are.
#[must_use]
pub fn control() -> Vec<u8> {
    let mut out = vec![0x00];
    put_frame(&mut out, SETTINGS, &[]);
    out
}

/// The same, of SETTINGS whose payload is still to come.
#[must_use]
pub fn control_head(octets: u64) -> Vec<u8> {
    let mut out = vec![0x00];
    put_frame_head(&mut out, SETTINGS, octets);
    out
}

/// Appends a frame.
pub fn put_frame(out: &mut Vec<u8>, kind: u64, payload: &[u8]) {
    put_frame_head(out, kind, payload.len() as u64);
    out.extend_from_slice(payload);
}

/// Appends the beginning of a frame, whose payload is still to come.
pub fn put_frame_head(out: &mut Vec<u8>, kind: u64, octets: u64) {
    varint::put(out, kind);
    varint::put(out, octets);
}

/// Fields of a request, as QPACK writes them without its dynamic table.
#[must_use]
pub fn fields(method: &str, host: &str, path: &str) -> Vec<u8> {
    // No dynamic table; then :method GET is 17 in the static one and POST 20, :scheme https 23, :path 1, :authority 0.
    let mut out = vec![0, 0];
    put_indexed(&mut out, if method == "POST" { 20 } else { 17 });
    put_indexed(&mut out, 23);
    put_named(&mut out, 1, path);
    put_named(&mut out, 0, host);
    out
}

/// Appends a field of the static table.
pub fn put_indexed(out: &mut Vec<u8>, index: usize) {
    put_integer(out, 0xc0, 6, index);
}

fn put_named(out: &mut Vec<u8>, index: usize, value: &str) {
    put_integer(out, 0x50, 4, index);
    put_string(out, 0, 7, value.as_bytes());
}

/// Appends a field that is written out, name and value.
pub fn put_literal(out: &mut Vec<u8>, name: &str, value: &str) {
    put_string(out, 0x20, 3, name.as_bytes());
    put_string(out, 0, 7, value.as_bytes());
}

/// A request without a body.
#[must_use]
pub fn get(host: &str, path: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_frame(&mut out, HEADERS, &fields("GET", host, path));
    out
}

/// How an answer ended; none if it has not.
#[must_use]
pub fn answer(stream: &Receive) -> Option<Outcome> {
    if stream.reset.is_some() {
        return Some(Outcome::Reset);
    }
    stream.is_complete().then(|| if is_200(&stream.head) { Outcome::Ok } else { Outcome::Status })
}

/// Whether a stream begins with fields whose first is `:status: 200`.
fn is_200(head: &[u8]) -> bool {
    let mut reader = Reader::new(head);
    let (kind, length) = (reader.varint(), reader.varint());
    kind == Some(HEADERS) && length.is_some() && reader.rest().get(2) == Some(&STATUS_200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_in_octets() {
        let expected = b"\x01\x0c\0\0\xd1\xd7\x51\x01/\x50\x03one";
        assert_eq!(get("one", "/"), expected);
        assert_eq!(control(), [0, 4, 0]);
        assert_eq!(control_head(100), [0, 4, 0x40, 100]);
        let mut field = Vec::new();
        put_literal(&mut field, "x-name", "v");
        assert_eq!(field, b"\x26x-name\x01v");
        field.clear();
        put_indexed(&mut field, 85);
        assert_eq!(field, [0xff, 22]);
    }

    #[test]
    fn the_status_is_the_first_field() {
        assert!(is_200(&[1, 3, 0, 0, 0xd9]));
        assert!(is_200(&[1, 0x40, 3, 0, 0, 0xd9]));
        assert!(!is_200(&[1, 3, 0, 0, 0xdb]), "404");
        assert!(!is_200(&[0, 3, 0, 0, 0xd9]), "DATA");
        assert!(!is_200(&[1, 3, 0]));
    }
}
