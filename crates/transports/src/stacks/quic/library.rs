//! What a QUIC library does for one connection: what differs between libraries, below what their sessions share.

use super::driver::{Driver, Engine};
use super::sentence::Loss;
use crate::error::Failure;
use crate::transport::{Arrival, Sampler, Take};

/// One connection of a library: one bidirectional stream, or unreliable datagrams (RFC 9221). Calls come with the
/// endpoint that it belongs to.
pub(super) trait Library: Send + 'static {
    /// The library's endpoint.
    type Engine: Engine + 'static;

    /// Why the connection is over, if it is; nothing from a library that tells when the stream is used.
    fn loss(&mut self, engine: &mut Self::Engine) -> Option<Loss>;

    /// Reads what is there of the stream, at most `most_bytes`; `None` when nothing is.
    ///
    /// # Errors
    /// A sentence: the stream broke while `doing`; or what `take` returned.
    fn read(
        &mut self,
        engine: &mut Self::Engine,
        most_bytes: u64,
        doing: &str,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<Option<Arrival>, Failure>;

    /// Hands over as much as the stream takes without waiting; returns how much.
    ///
    /// # Errors
    /// A sentence: the stream broke.
    fn write(&mut self, engine: &mut Self::Engine, block: &[u8]) -> Result<usize, Failure>;

    /// Says that nothing more will come over the stream.
    ///
    /// # Errors
    /// Why it cannot, from a library that tells only then.
    fn end(&mut self, engine: &mut Self::Engine) -> Result<(), Loss>;

    /// A sender begins to wait for room.
    fn begin_waiting(&mut self, _engine: &mut Self::Engine) {}

    /// Whether there is room for as much as is worth waking a sender for.
    ///
    /// # Errors
    /// A sentence: the stream broke.
    fn has_room(&mut self, engine: &mut Self::Engine) -> Result<bool, Failure>;

    /// Whether the connection is over, or the other side has opened another one.
    fn is_left(&mut self, engine: &mut Self::Engine) -> bool;

    /// Closes the connection, of which nothing more is asked, with `code` for the other side.
    fn close(&mut self, engine: &mut Self::Engine, code: u32, now_ns: i64);

    /// Reads the state of the connection.
    fn sampler(&self, driver: &Driver<Self::Engine>) -> Box<dyn Sampler>;

    /// The longest datagram that may be sent; `None` where the other side takes none.
    fn longest_datagram(&mut self, _engine: &mut Self::Engine) -> Option<usize> {
        None
    }

    /// Hands over as many messages of `block` as there is room for; returns their bytes.
    ///
    /// # Errors
    /// A sentence: one of them cannot be sent.
    fn write_datagrams(
        &mut self,
        _engine: &mut Self::Engine,
        _block: &[u8],
        _message_bytes: usize,
    ) -> Result<usize, Failure> {
        Ok(0)
    }

    /// Reads the datagrams that are there, at most `most`; tells whether there was any.
    ///
    /// # Errors
    /// What `take` returned.
    fn read_datagrams(
        &mut self,
        _engine: &mut Self::Engine,
        _now_ns: i64,
        _most: u64,
        _take: &mut Take<'_>,
    ) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Datagrams that the library took and never put into a packet; `None` if it is never so.
    fn dropped_datagrams(&mut self, _engine: &mut Self::Engine) -> Option<u64> {
        None
    }
}
