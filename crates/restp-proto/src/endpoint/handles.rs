//! What the user of an endpoint does with one connection: data, paths, wishes, questions.

use std::net::SocketAddr;

use bytes::Bytes;

use super::Endpoint;
use super::table::Key;
use crate::conn::{Connection, Message};
use crate::error::{PathError, SendError};
use crate::event::{ConnId, Dial, Knob, SendOptions};
use crate::path::{PathAddr, PathId};
use crate::profile::Composition;
use crate::protected::PublicKey;
use crate::stats::{ConnStats, PathStats};
use crate::time::Instant;

impl Endpoint {
    /// Sends a message (fixed framing) or bytes of the stream (coalescing).
    ///
    /// # Errors
    /// [`SendError`] says why it was not taken; when full, the data comes back.
    pub fn send(
        &mut self,
        now: Instant,
        conn: ConnId,
        payload: Bytes,
        options: SendOptions,
    ) -> Result<(), SendError> {
        self.with(now, conn, |conn, cx| conn.send(cx.now, payload, options))
            .unwrap_or(Err(SendError::Unknown))
    }

    /// The next message, or piece of the stream, that was received.
    pub fn recv(&mut self, now: Instant, conn: ConnId) -> Option<Message> {
        self.with(now, conn, |conn, cx| conn.recv(cx)).flatten()
    }

    /// Appends up to `limit` messages that were received to `messages`, and says how many; cheaper than one by one.
    pub fn recv_many(
        &mut self,
        now: Instant,
        conn: ConnId,
        messages: &mut Vec<Message>,
        limit: usize,
    ) -> usize {
        let taken = self.with(now, conn, |conn, cx| {
            let before = messages.len();
            messages.extend(std::iter::from_fn(|| conn.recv(cx)).take(limit));
            messages.len() - before
        });
        taken.unwrap_or(0)
    }

    /// Closes our direction after everything that was sent; the peer's direction stays open until it closes too.
    pub fn close(&mut self, now: Instant, conn: ConnId) {
        self.with(now, conn, |conn, cx| conn.close(cx));
    }

    /// Ends the connection at once; the peer gets a reset, unsent data are dropped.
    pub fn abort(&mut self, now: Instant, conn: ConnId) {
        self.with(now, conn, |conn, cx| conn.abort(cx));
    }

    /// Ends the connection at once, as [`Endpoint::abort`] does, and tells the peer a number of the application, once: its
    /// end is [`crate::CloseReason::Application`].
    pub fn abort_with(&mut self, now: Instant, conn: ConnId, code: u32) {
        self.with(now, conn, |conn, cx| conn.abort_saying(cx, code));
    }

    /// Forgets a connection: like `abort`, and received data that were not read are dropped too.
    pub fn forget(&mut self, now: Instant, conn: ConnId) {
        self.with(now, conn, |conn, cx| {
            conn.abort(cx);
            while conn.recv(cx).is_some() {}
            conn.discard_streams();
            while conn.poll_event().is_some() {}
        });
    }

    /// Tells a connection what the layers below know.
    pub fn dial(&mut self, now: Instant, conn: ConnId, dial: Dial) {
        self.with(now, conn, |conn, cx| conn.dial(cx, dial));
    }

    /// Changes a wish of the application.
    pub fn turn(&mut self, now: Instant, conn: ConnId, knob: Knob) {
        self.with(now, conn, |conn, _| conn.turn(knob));
    }

    /// Opens a further path; events `PathUp` or `PathDown` tell the outcome.
    ///
    /// # Errors
    /// [`PathError`] if this side, the profile, or a limit does not allow it.
    pub fn open_path(
        &mut self,
        now: Instant,
        conn: ConnId,
        path: PathAddr,
        backup: bool,
    ) -> Result<PathId, PathError> {
        let (local_port, remote_port) = self.table.get(conn).ok_or(PathError::Unknown)?.ports();
        let key = Key { addr: path, local_port, remote_port };
        if self.table.has_key(&key) {
            self.drop_stale_key(&key);
            if self.table.has_key(&key) {
                return Err(PathError::Exists);
            }
        }
        let isn = self.initial_number(now, &key);
        let opened = self.with(now, conn, |conn, cx| conn.open_path(cx, path, backup, isn));
        let (index, id) = opened.unwrap_or(Err(PathError::Unknown))?;
        self.table.bind(key, conn, index);
        Ok(id)
    }

    /// Unbinds a key whose path was dropped in the meantime.
    fn drop_stale_key(&mut self, key: &Key) {
        if let Some((id, index)) = self.table.find(key)
            && !self.table.get(id).is_some_and(|conn| conn.owns(index, &key.addr))
        {
            self.table.unbind(key);
        }
    }

    /// Lets a path go on from the address `local` of this host, for instance after the network has changed. The peer moves
    /// once the address has proven to be ours (R-ENCAP-3); a packet that asks it to leaves at once.
    ///
    /// # Errors
    /// [`PathError`] if there is no such path, or another connection or path has the address already.
    pub fn rebind_path(
        &mut self,
        now: Instant,
        conn: ConnId,
        path: PathId,
        local: SocketAddr,
    ) -> Result<(), PathError> {
        let inside = self.table.get(conn).ok_or(PathError::Unknown)?;
        let (local_port, remote_port) = inside.ports();
        let (index, addr) = inside.live_path(path).ok_or(PathError::NoSuchPath)?;
        let key = Key { addr: PathAddr { local, ..addr }, local_port, remote_port };
        if key.addr == addr {
            return Ok(());
        }
        self.drop_stale_key(&key);
        if self.table.has_key(&key) {
            return Err(PathError::Exists);
        }
        self.table.unbind(&Key { addr, ..key });
        self.table.bind(key, conn, index);
        self.with(now, conn, |conn, cx| conn.continue_from(cx, index, key.addr));
        Ok(())
    }

    /// Closes one of several paths.
    ///
    /// # Errors
    /// [`PathError`] if there is no such path or it is the last.
    pub fn close_path(&mut self, now: Instant, conn: ConnId, path: PathId) -> Result<(), PathError> {
        self.with(now, conn, |conn, cx| conn.close_path(cx, path)).unwrap_or(Err(PathError::Unknown))
    }

    /// Marks a path as a backup for the others, or takes the mark away; the peer is told.
    ///
    /// # Errors
    /// [`PathError`] if there is no such path.
    pub fn set_backup(
        &mut self,
        now: Instant,
        conn: ConnId,
        path: PathId,
        backup: bool,
    ) -> Result<(), PathError> {
        self.with(now, conn, |conn, _| conn.set_backup(path, backup)).unwrap_or(Err(PathError::Unknown))
    }

    /// What is in force on a connection and why, in sentences.
    #[must_use]
    pub fn explain(&self, conn: ConnId) -> Option<String> {
        let conn = self.table.get(conn)?;
        let mut text = conn.composition().explain();
        if let Some(key) = conn.peer_public_key() {
            text.push_str(&format!("The peer proved to have the private key to {key}.\n"));
        }
        Some(text)
    }

    /// The public key that the peer of a protected connection proved to have, once it has; none with a shared secret.
    // R-PROT-10
    #[must_use]
    pub fn peer_public_key(&self, conn: ConnId) -> Option<PublicKey> {
        self.table.get(conn)?.peer_public_key()
    }

    /// The composition in force, after negotiation.
    #[must_use]
    pub fn composition(&self, conn: ConnId) -> Option<&Composition> {
        self.table.get(conn).map(Connection::composition)
    }

    /// Largest message of fixed framing, in bytes.
    #[must_use]
    pub fn max_message_bytes(&self, conn: ConnId) -> Option<usize> {
        self.table.get(conn).map(Connection::max_message_bytes)
    }

    /// True once data can flow in both directions.
    #[must_use]
    pub fn is_established(&self, conn: ConnId) -> bool {
        self.table.get(conn).is_some_and(Connection::is_established)
    }

    /// Counters of a connection.
    #[must_use]
    pub fn conn_stats(&self, conn: ConnId) -> Option<&ConnStats> {
        self.table.get(conn).map(Connection::stats)
    }

    /// State of the paths of a connection.
    #[must_use]
    pub fn path_stats(&self, conn: ConnId) -> Vec<(PathId, PathStats)> {
        self.table.get(conn).map(Connection::path_stats).unwrap_or_default()
    }
}
