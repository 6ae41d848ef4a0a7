//! Records with calls that wait.

use bytes::Bytes;

use super::Connection;
use super::waiting::wait_within;
use crate::error::Error;

/// Messages of any length, with calls that wait; see [`crate::Records`]. The timeouts are those that the connection had.
#[derive(Debug)]
pub struct Records {
    inner: crate::Records,
    /// For the timeouts, and to be lent.
    connection: Connection,
}

impl Records {
    /// Messages over `connection`; see [`crate::Records::new`].
    ///
    /// # Errors
    /// As [`crate::Records::new`].
    pub fn new(connection: Connection) -> Result<Self, Error> {
        Ok(Self { inner: crate::Records::new(connection.inner.clone())?, connection })
    }

    /// Takes records of at most `limit_bytes` bytes from the peer; a longer one is an error.
    #[must_use]
    pub fn with_limit(self, limit_bytes: usize) -> Self {
        Self { inner: self.inner.with_limit(limit_bytes), ..self }
    }

    /// The connection below, to finish it. Flush before.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Takes a message; it leaves with the next [`Records::flush`], or earlier when many have gathered.
    ///
    /// # Errors
    /// As [`crate::Records::feed`], or [`Error::TimedOut`]; the message has been taken then, too.
    pub fn feed(&mut self, message: &[u8]) -> Result<(), Error> {
        wait_within(self.connection.write_timeout, self.inner.feed(message))
    }

    /// Hands everything that was fed to the connection.
    ///
    /// # Errors
    /// As [`crate::Records::flush`], or [`Error::TimedOut`]; what is left stays for the next call.
    pub fn flush(&mut self) -> Result<(), Error> {
        wait_within(self.connection.write_timeout, self.inner.flush())
    }

    /// Sends one message at once.
    ///
    /// # Errors
    /// As [`Records::feed`].
    pub fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        wait_within(self.connection.write_timeout, self.inner.send(message))
    }

    /// The next message; `None` when the peer has closed and everything was read.
    ///
    /// # Errors
    /// As [`crate::Records::recv`], or [`Error::TimedOut`]; nothing that arrived is lost then.
    pub fn recv(&mut self) -> Result<Option<Bytes>, Error> {
        wait_within(self.connection.read_timeout, self.inner.recv())
    }
}
