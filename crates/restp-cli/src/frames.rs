//! Frames of known length over any framing: messages as they are, or cut from the stream.

use bytes::{Bytes, BytesMut};
use restp::{Connection, Error};

/// A connection that carries frames.
pub struct Frames {
    connection: Connection,
    fixed: bool,
    rest: BytesMut,
}

impl Frames {
    /// Frames over `connection`.
    pub fn new(connection: Connection) -> Self {
        let framing = connection.composition().map(|composition| composition.profile().framing);
        let fixed = framing == Some(restp::profile::Framing::Fixed);
        Self { connection, fixed, rest: BytesMut::new() }
    }

    /// The connection below.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// True if messages keep their boundaries.
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// Sends one frame.
    ///
    /// # Errors
    /// As [`Connection::send`].
    pub async fn send(&self, frame: Bytes) -> Result<(), Error> {
        self.connection.send(frame).await
    }

    /// The next frame of `size_bytes` bytes (a message may have another length); `None` at the end.
    ///
    /// # Errors
    /// As [`Connection::recv`].
    pub async fn recv(&mut self, size_bytes: usize) -> Result<Option<Bytes>, Error> {
        if self.fixed {
            return Ok(self.connection.recv().await?.map(|message| message.payload));
        }
        while self.rest.len() < size_bytes {
            match self.connection.recv().await? {
                Some(piece) => self.rest.extend_from_slice(&piece.payload),
                None => return Ok(None),
            }
        }
        Ok(Some(self.rest.split_to(size_bytes).freeze()))
    }
}
