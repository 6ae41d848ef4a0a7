//! What a node keeps: packets that were remembered, and packets that wait to be let go.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::frame::Frame;
use super::packet::Headers;

/// Both kinds, by name.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    pub captured: BTreeMap<String, Remembered>,
    pub held: BTreeMap<String, Vec<Held>>,
}

/// Packets in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    frames: Vec<Frame>,
    of: BTreeMap<Connection, Vec<usize>>,
}

impl Remembered {
    pub fn push(&mut self, frame: &Frame) {
        if let Some(connection) = Connection::of(frame) {
            self.of.entry(connection).or_default().push(self.frames.len());
        }
        self.frames.push(frame.clone());
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }

    pub fn get(&self, place: usize) -> Option<&Frame> {
        self.frames.get(place)
    }

    /// The places of those of the connection that `frame` is of; none without ports.
    pub fn of_connection(&self, frame: &Frame) -> &[usize] {
        Connection::of(frame).and_then(|connection| self.of.get(&connection)).map_or(&[], Vec::as_slice)
    }
}

/// Protocol and ends of a connection, the lesser end first, so that both ways are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Connection {
    protocol: u8,
    ends: [(IpAddr, u16); 2],
}

impl Connection {
    fn of(frame: &Frame) -> Option<Connection> {
        let headers = Headers::of(&frame.bytes)?;
        let (source_port, destination_port) = headers.ports(&frame.bytes)?;
        let mut ends = [(headers.source, source_port), (headers.destination, destination_port)];
        ends.sort_unstable();
        Some(Connection { protocol: headers.protocol, ends })
    }
}

/// A packet that waits.
#[derive(Debug)]
pub(crate) struct Held {
    pub frame: Frame,
    /// Its number among those that were seen.
    pub packet: u32,
    pub altered: bool,
}
