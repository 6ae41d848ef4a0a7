//! Short messages that share packets, each behind its length.
//!
//! Fixed framing gives every message a packet of its own, which lets a lost one be repeated or passed over alone. Where
//! everything must arrive in order anyway, short messages are many times cheaper on a coalescing connection: there they
//! are a stream, which packets cut anywhere. Over fixed framing a packet holds whole messages, as many as were fed before
//! a flush and fit; those of one packet are lost, late or passed over together.

use std::collections::VecDeque;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use restp_proto::profile::{Framing, Ordering};
use restp_proto::{Composition, Message, SendError, SendOptions};

use crate::connection::Connection;
use crate::error::{Error, STREAMS_INSTEAD};
use crate::waiters::seated;

/// Octets of the length before each record, big-endian.
const LENGTH_BYTES: usize = 4;
/// Octets that are gathered before they are handed to the connection, unless `flush` comes first.
const GATHER_BYTES: usize = 32 << 10;
/// Pieces of the stream that are taken at once.
const PIECES: usize = 64;
/// Longest record that a peer may send unless told otherwise; it bounds the memory that a peer can claim.
pub const MAX_RECORD_BYTES: usize = 16 << 20;

/// Messages of any length over a connection with coalescing framing, of up to a packet over one with fixed framing. Both
/// ends must use it.
pub struct Records {
    connection: Connection,
    /// Gathered messages that the send buffer has had no room for.
    leaving: VecDeque<Bytes>,
    /// The first of them, while it is handed over.
    next: Option<Bytes>,
    /// Octets that share a packet, where packets hold whole messages.
    packet_bytes: Option<usize>,
    gathered: BytesMut,
    taken: std::vec::IntoIter<Message>,
    /// What is left of the piece that was taken last.
    piece: Bytes,
    /// A record, with its length, of which only the beginning has come.
    begun: BytesMut,
    limit_bytes: usize,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("connection", &self.connection).finish_non_exhaustive()
    }
}

impl Records {
    /// Messages over `connection`, none longer than [`MAX_RECORD_BYTES`].
    ///
    /// # Errors
    /// [`Error::Send`] if the connection is over, [`Error::WrongService`] if it carries streams.
    pub fn new(connection: Connection) -> Result<Self, Error> {
        let composition = connection.composition();
        let profile = composition.as_ref().map(Composition::profile);
        let packet_bytes = match profile.map(|profile| (profile.ordering, profile.framing)) {
            Some((Ordering::Streams, _)) => return Err(Error::WrongService(STREAMS_INSTEAD)),
            Some((_, Framing::Coalesce)) => None,
            _ => Some(connection.max_message_bytes().ok_or(SendError::Closed)?),
        };
        Ok(Self {
            connection,
            packet_bytes,
            leaving: VecDeque::new(),
            next: None,
            gathered: BytesMut::new(),
            taken: Vec::new().into_iter(),
            piece: Bytes::new(),
            begun: BytesMut::new(),
            limit_bytes: MAX_RECORD_BYTES,
        })
    }

    /// Takes records of at most `limit_bytes` bytes from the peer; a longer one is an error.
    #[must_use]
    pub fn with_limit(mut self, limit_bytes: usize) -> Self {
        self.limit_bytes = limit_bytes;
        self
    }

    /// The connection below, to finish it. Flush before.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Takes a message; it leaves with the next [`Records::flush`], or earlier when many have gathered.
    ///
    /// Once polled the message has been taken, also if the future is dropped then: do not feed it again.
    ///
    /// # Errors
    /// As [`Connection::send`], and [`Error::Record`] if the message is longer than its length can say, or than a packet
    /// over fixed framing.
    // R-FRM-3
    pub async fn feed(&mut self, message: &[u8]) -> Result<(), Error> {
        let Ok(length) = u32::try_from(message.len()) else {
            return Err(Error::Record(format!("a message of {} bytes is too long; cut it", message.len())));
        };
        if let Some(packet_bytes) = self.packet_bytes {
            let room = packet_bytes.saturating_sub(LENGTH_BYTES);
            if message.len() > room {
                return Err(Error::Record(format!(
                    "a message of {} bytes does not fit a packet, which has room for {room}; cut it, or choose a profile \
                     with coalescing framing",
                    message.len()
                )));
            }
            if self.gathered.len() + LENGTH_BYTES + message.len() > packet_bytes {
                self.leave();
            }
        }
        self.gathered.put_u32(length);
        self.gathered.extend_from_slice(message);
        if self.gathered.len() >= GATHER_BYTES {
            self.leave();
        }
        self.hand_over().await
    }

    /// Hands everything that was fed to the connection.
    ///
    /// Cancel safe: what could not be handed over stays with the records, for the next call.
    ///
    /// # Errors
    /// As [`Connection::send`].
    pub async fn flush(&mut self) -> Result<(), Error> {
        self.leave();
        self.hand_over().await
    }

    /// What has gathered leaves behind what leaves already.
    fn leave(&mut self) {
        if !self.gathered.is_empty() {
            self.leaving.push_back(self.gathered.split().freeze());
            self.gathered.reserve(self.packet_bytes.unwrap_or(GATHER_BYTES));
        }
    }

    /// Hands over what leaves.
    async fn hand_over(&mut self) -> Result<(), Error> {
        loop {
            if self.next.is_none() {
                self.next = self.leaving.pop_front();
            }
            if self.next.is_none() {
                return Ok(());
            }
            seated(|cx, seat| self.connection.poll_send(cx, seat, &mut self.next, SendOptions::default()))
                .await?;
        }
    }

    /// Sends one message at once.
    ///
    /// Once polled the message has been taken, as by [`Records::feed`].
    ///
    /// # Errors
    /// As [`Records::feed`].
    pub async fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        self.feed(message).await?;
        self.flush().await
    }

    /// The next message; `None` when the peer has closed and everything was read.
    ///
    /// Cancel safe: nothing that arrived is lost.
    ///
    /// # Errors
    /// [`Error::Closed`] if the connection ended in another way, [`Error::Record`] if it ended within a message or the
    /// message is longer than the limit.
    pub async fn recv(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            if let Some(record) = self.try_recv()? {
                return Ok(Some(record));
            }
            let mut pieces = Vec::with_capacity(PIECES);
            if self.connection.recv_many(&mut pieces, PIECES).await? == 0 {
                return if self.begun.is_empty() {
                    Ok(None)
                } else {
                    Err(Error::Record("the peer closed in the middle of a message".into()))
                };
            }
            self.taken = pieces.into_iter();
        }
    }

    /// The next message among what was taken from the connection already; cheaper than [`Records::recv`] after it.
    ///
    /// # Errors
    /// [`Error::Record`] if the message is longer than the limit.
    pub fn try_recv(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            if self.piece.is_empty() {
                let Some(next) = self.taken.next() else { return Ok(None) };
                self.piece = next.payload;
            }
            if self.begun.is_empty()
                && let Some(head) = self.piece.first_chunk::<LENGTH_BYTES>()
            {
                let length = self.check(*head)?;
                if self.piece.len() >= LENGTH_BYTES + length {
                    self.piece.advance(LENGTH_BYTES);
                    return Ok(Some(self.piece.split_to(length)));
                }
            }
            if self.packet_bytes.is_some() {
                // R-FRM-3
                return Err(Error::Record(
                    "a packet ends in the middle of a message; both ends must use Records".into(),
                ));
            }
            let missing = match self.begun.first_chunk::<LENGTH_BYTES>() {
                None => LENGTH_BYTES - self.begun.len(),
                Some(head) => LENGTH_BYTES + self.check(*head)? - self.begun.len(),
            };
            self.begun.extend_from_slice(&self.piece.split_to(missing.min(self.piece.len())));
            if let Some(head) = self.begun.first_chunk::<LENGTH_BYTES>()
                && self.begun.len() == LENGTH_BYTES + self.check(*head)?
            {
                self.begun.advance(LENGTH_BYTES);
                return Ok(Some(self.begun.split().freeze()));
            }
        }
    }

    fn check(&self, head: [u8; LENGTH_BYTES]) -> Result<usize, Error> {
        let length = u32::from_be_bytes(head) as usize;
        if length > self.limit_bytes {
            return Err(Error::Record(format!(
                "the peer announces a message of {length} bytes but {} are allowed; both ends must use Records, and \
                 with_limit sets the limit",
                self.limit_bytes
            )));
        }
        Ok(length)
    }
}
