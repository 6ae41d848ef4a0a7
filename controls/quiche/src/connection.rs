//! One connection: its requests, and answers that are under way.

use std::collections::HashMap;

use quiche::h3::{self, Event, Header, NameValue};

use crate::site;

/// One connection of a client.
pub struct Connection {
    pub quic: quiche::Connection,
    /// Under which IDs it is found.
    pub ids: [Vec<u8>; 2],
    http: Option<h3::Connection>,
    /// Answers by their streams.
    answers: HashMap<u64, Answer>,
}

/// What is left of an answer.
struct Answer {
    /// None: it is sent.
    head: Option<Vec<Header>>,
    octets_left: usize,
}

impl Connection {
    pub fn new(quic: quiche::Connection, ids: [Vec<u8>; 2]) -> Self {
        Self { quic, ids, http: None, answers: HashMap::new() }
    }

    /// Takes in requests that have come.
    pub fn answer(&mut self, config: &h3::Config) {
        if self.http.is_none() && self.quic.is_established() {
            self.http = h3::Connection::with_transport(&mut self.quic, config).ok();
        }
        let Some(http) = &mut self.http else { return };
        // An error that is no want of input has closed the connection.
        while let Ok((stream, event)) = http.poll(&mut self.quic) {
            if let Event::Headers { list, .. } = event {
                let path = list
                    .iter()
                    .find(|field| field.name() == b":path")
                    .map_or(&b""[..], |field| field.value());
                let octets = site::octets(path);
                let status: &[u8] = if octets.is_some() { b"200" } else { b"404" };
                let octets_left = octets.unwrap_or(0);
                let head = vec![
                    Header::new(b":status", status),
                    Header::new(b"content-length", octets_left.to_string().as_bytes()),
                ];
                self.answers.insert(stream, Answer { head: Some(head), octets_left });
            }
        }
    }

    /// Goes on with answers as far as there is room for them.
    pub fn go_on(&mut self) {
        let (Some(http), quic) = (&mut self.http, &mut self.quic) else { return };
        self.answers.retain(|stream, answer| match more(http, quic, *stream, answer) {
            Ok(()) => answer.head.is_some() || answer.octets_left > 0,
            Err(error) => matches!(error, h3::Error::Done | h3::Error::StreamBlocked),
        });
    }
}

/// Sends more of an answer. `Done` or `StreamBlocked`: there is no room.
fn more(
    http: &mut h3::Connection,
    quic: &mut quiche::Connection,
    stream: u64,
    answer: &mut Answer,
) -> Result<(), h3::Error> {
    if let Some(head) = &answer.head {
        http.send_response(quic, stream, head, answer.octets_left == 0)?;
        answer.head = None;
    }
    while answer.octets_left > 0 {
        let piece = &site::PIECE[..answer.octets_left.min(site::PIECE.len())];
        let is_last = piece.len() == answer.octets_left;
        answer.octets_left -= http.send_body(quic, stream, piece, is_last)?;
    }
    Ok(())
}
