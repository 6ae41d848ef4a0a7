//! What client and server tell each other on the control connection: lines of JSON.

use bytes::Bytes;
use restp::Connection;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::figures::{Delays, Moved};
use crate::outcome::Outcome;
use crate::profile_args::ProfileArgs;

/// Inner port of the control connection.
pub const CONTROL_PORT: u16 = 5100;
/// Longest line that is taken from a peer, in bytes.
const MAX_LINE_BYTES: usize = 64 << 10;

/// What to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "test", rename_all = "snake_case", deny_unknown_fields)]
pub enum Test {
    /// Bytes from the client to the server, or back.
    Throughput {
        /// Bytes to move.
        size_bytes: u64,
        /// From the server to the client.
        reverse: bool,
    },
    /// Requests and responses.
    Requests {
        /// Bytes of a request.
        request_bytes: usize,
        /// Bytes of a response.
        response_bytes: usize,
    },
    /// Messages with their time of departure.
    Delay {
        /// Bytes of a message.
        message_bytes: usize,
    },
}

/// The first line, from the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What to measure.
    pub test: Test,
    /// With which services.
    pub profile: ProfileArgs,
}

/// The second line, from the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Connect to this inner port.
    Port(u16),
    /// It cannot be done.
    Refused(String),
}

/// The last line, from the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// Of throughput, if the client sent.
    Moved(Moved),
    /// Of one-way delay.
    Delays(Delays),
    /// Nothing that the client does not know.
    Nothing,
    /// The measurement broke off.
    Failed(String),
}

/// The control connection.
pub struct Control {
    connection: Connection,
    rest: Vec<u8>,
}

impl Control {
    /// Takes over a connection with a coalescing profile.
    pub fn new(connection: Connection) -> Self {
        Self { connection, rest: Vec::new() }
    }

    /// The connection below.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Sends one line.
    pub async fn say(&self, what: &impl Serialize) -> Outcome {
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        Ok(self.connection.send(Bytes::from(line)).await?)
    }

    /// Waits for a line.
    pub async fn hear<T: DeserializeOwned>(&mut self) -> Result<T, Box<dyn std::error::Error + Send + Sync>> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return serde_json::from_slice(&line).map_err(|error| not_understood(&error).into());
            }
            if self.rest.len() > MAX_LINE_BYTES {
                return Err("the peer sent an endless line; it is no perf peer".into());
            }
            match self.connection.recv().await? {
                Some(piece) => self.rest.extend_from_slice(&piece.payload),
                None => return Err("the peer closed the control connection too early".into()),
            }
        }
    }
}

fn not_understood(error: &serde_json::Error) -> String {
    if error.is_data() {
        format!("the peer speaks another version of perf: {error}; use the same version on both sides")
    } else {
        format!("the peer does not speak perf; on inner port {CONTROL_PORT} use `restp perf` on both sides")
    }
}
