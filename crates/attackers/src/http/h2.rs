//! HTTP/2 (RFC 9113): frames, and fields that are written out or are in HPACK's static table (RFC 7541).

use super::{Answer, put_integer, put_string};
use crate::outcome::Outcome;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const FRAME_HEADER_OCTETS: usize = 9;

/// Kinds of frames.
pub mod kind {
    /// Body.
    pub const DATA: u8 = 0x0;
    /// Fields.
    pub const HEADERS: u8 = 0x1;
    /// The end of a stream before its time.
    pub const RST_STREAM: u8 = 0x3;
    /// What an end wants and allows.
    pub const SETTINGS: u8 = 0x4;
    /// A sign of life.
    pub const PING: u8 = 0x6;
    /// The end of the connection.
    pub const GOAWAY: u8 = 0x7;
    /// More may be sent.
    pub const WINDOW_UPDATE: u8 = 0x8;
    /// More fields.
    pub const CONTINUATION: u8 = 0x9;
}

/// Flags of frames.
pub mod flag {
    /// The last frame of the stream.
    pub const END_STREAM: u8 = 0x1;
    /// An answer to SETTINGS or PING.
    pub const ACK: u8 = 0x1;
    /// No CONTINUATION follows.
    pub const END_HEADERS: u8 = 0x4;
}

/// SETTINGS_INITIAL_WINDOW_SIZE.
const INITIAL_WINDOW_SIZE: u16 = 0x4;
/// CANCEL, as an error code.
pub const CANCEL: u32 = 0x8;
/// `:status: 200` in HPACK's static table, as a field.
const STATUS_200: u8 = 0x88;

/// Appends a frame.
pub fn put_frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.push(kind);
    out.push(flags);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// Appends what a client says first: the preface and SETTINGS with the window that each stream of the server has.
pub fn put_preface(out: &mut Vec<u8>, window: u32) {
    out.extend_from_slice(PREFACE);
    let mut settings = INITIAL_WINDOW_SIZE.to_be_bytes().to_vec();
    settings.extend_from_slice(&window.to_be_bytes());
    put_frame(out, kind::SETTINGS, 0, 0, &settings);
}

/// Fields of a request, as HPACK writes them without its dynamic table.
#[must_use]
pub fn fields(method: &str, host: &str, path: &str) -> Vec<u8> {
    let mut out = Vec::new();
    // Names by their indices in the static table: :method 2, :scheme https 7, :path 4, :authority 1.
    match method {
        "GET" => out.push(0x82),
        _ => put_named(&mut out, 2, method),
    }
    out.push(0x87);
    put_named(&mut out, 4, path);
    put_named(&mut out, 1, host);
    out
}

/// A field whose name is in a table, without being put into the dynamic one.
fn put_named(out: &mut Vec<u8>, index: usize, value: &str) {
    put_integer(out, 0, 4, index);
    put_string(out, 0, 7, value.as_bytes());
}

/// Appends a field that is put into the dynamic table, where its index is 62.
pub fn put_remembered(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.push(0x40);
    put_string(out, 0, 7, name.as_bytes());
    put_string(out, 0, 7, value);
}

/// The newest field of the dynamic table, as one octet.
pub const REMEMBERED: u8 = 0x80 | 62;

/// Appends a field that is written out, name and value.
pub fn put_literal(out: &mut Vec<u8>, name: &str, value: &str) {
    out.push(0x00);
    put_string(out, 0, 7, name.as_bytes());
    put_string(out, 0, 7, value.as_bytes());
}

/// A frame that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its kind.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Its stream.
    pub stream: u32,
    /// What it carries.
    pub payload: &'a [u8],
}

/// Takes the first frame; none if it is not whole.
#[must_use]
pub fn first_frame(octets: &[u8]) -> Option<(Frame<'_>, &[u8])> {
    let (head, rest) = octets.split_at_checked(FRAME_HEADER_OCTETS)?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let (payload, rest) = rest.split_at_checked(length as usize)?;
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7fff_ffff;
    Some((Frame { kind: head[3], flags: head[4], stream, payload }, rest))
}

/// Reads what the server says, and says what it has to be answered.
#[derive(Debug, Default)]
pub struct Reader {
    buffer: Vec<u8>,
    /// Octets of DATA that were read since the connection's window was last opened.
    consumed: u32,
}

/// Something that the server said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An answer on this stream ended, or its beginning told how it will end.
    Answered(u32, Outcome),
    /// The server gives this stream up, with this error code.
    Reset(u32, u32),
    /// The server ends the connection, with this error code.
    GoAway(u32),
}

impl Reader {
    /// Takes what came. Appends to `answers` what has to be sent: acknowledgements, and the connection's window.
    pub fn take(&mut self, came: &[u8], answers: &mut Vec<u8>) -> Vec<Event> {
        self.buffer.extend_from_slice(came);
        let mut events = Vec::new();
        let mut rest = &self.buffer[..];
        while let Some((frame, behind)) = first_frame(rest) {
            rest = behind;
            let code = |payload: &[u8]| payload.first_chunk().map_or(0, |code| u32::from_be_bytes(*code));
            match frame.kind {
                kind::SETTINGS if frame.flags & flag::ACK == 0 => {
                    put_frame(answers, kind::SETTINGS, flag::ACK, 0, &[]);
                }
                kind::PING if frame.flags & flag::ACK == 0 => {
                    put_frame(answers, kind::PING, flag::ACK, 0, frame.payload);
                }
                kind::HEADERS => {
                    if frame.payload.first() != Some(&STATUS_200) {
                        events.push(Event::Answered(frame.stream, Outcome::Status));
                    } else if frame.flags & flag::END_STREAM != 0 {
                        events.push(Event::Answered(frame.stream, Outcome::Ok));
                    }
                }
                kind::DATA => {
                    self.consumed += frame.payload.len() as u32;
                    if frame.flags & flag::END_STREAM != 0 {
                        events.push(Event::Answered(frame.stream, Outcome::Ok));
                    }
                }
                kind::RST_STREAM => events.push(Event::Reset(frame.stream, code(frame.payload))),
                kind::GOAWAY => {
                    events.push(Event::GoAway(code(frame.payload.get(4..).unwrap_or_default())));
                }
                _ => {}
            }
        }
        let read = self.buffer.len() - rest.len();
        self.buffer.drain(..read);
        if self.consumed > 0 {
            put_frame(answers, kind::WINDOW_UPDATE, 0, 0, &self.consumed.to_be_bytes());
            self.consumed = 0;
        }
        events
    }

    /// How the answer on this stream stands after these events.
    #[must_use]
    pub fn answer(events: &[Event], stream: u32) -> Answer {
        for event in events {
            match event {
                Event::Answered(of, outcome) if *of == stream => return Answer::Over(*outcome),
                Event::Reset(of, _) if *of == stream => return Answer::Over(Outcome::Reset),
                Event::GoAway(code) => return Answer::Over(Outcome::Closed(Some((*code).into()))),
                _ => {}
            }
        }
        Answer::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_request_of_the_standard() {
        // RFC 7541, appendix C.3.1, but for the scheme (https) and that nothing is remembered.
        let expected = b"\x82\x87\x04\x01/\x01\x0fwww.example.com";
        assert_eq!(fields("GET", "www.example.com", "/"), expected);
        assert!(fields("POST", "h", "/").starts_with(b"\x02\x04POST\x87"));
    }

    #[test]
    fn settings_and_pings_are_answered_and_windows_opened() {
        let mut came = Vec::new();
        put_frame(&mut came, kind::SETTINGS, 0, 0, &[]);
        put_frame(&mut came, kind::PING, 0, 0, &[7; 8]);
        put_frame(&mut came, kind::HEADERS, flag::END_HEADERS, 1, &[STATUS_200]);
        put_frame(&mut came, kind::DATA, flag::END_STREAM, 1, b"octets");
        let (mut reader, mut answers, mut events) = (Reader::default(), Vec::new(), Vec::new());
        for octet in came {
            events.extend(reader.take(&[octet], &mut answers));
        }
        assert_eq!(events, [Event::Answered(1, Outcome::Ok)]);
        assert_eq!(Reader::answer(&events, 1), Answer::Over(Outcome::Ok));
        assert_eq!(Reader::answer(&events, 3), Answer::Pending);
        let mut expected = Vec::new();
        put_frame(&mut expected, kind::SETTINGS, flag::ACK, 0, &[]);
        put_frame(&mut expected, kind::PING, flag::ACK, 0, &[7; 8]);
        put_frame(&mut expected, kind::WINDOW_UPDATE, 0, 0, &[0, 0, 0, 6]);
        assert_eq!(answers, expected);
    }

    #[test]
    fn the_end_of_the_connection_ends_every_answer() {
        let mut came = Vec::new();
        put_frame(&mut came, kind::GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 11]);
        let events = Reader::default().take(&came, &mut Vec::new());
        assert_eq!(events, [Event::GoAway(11)]);
        assert_eq!(Reader::answer(&events, 1), Answer::Over(Outcome::Closed(Some(11))));
    }
}
