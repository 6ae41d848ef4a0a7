//! A connection: messages in both directions, statistics, events.

mod paths;

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
#[cfg(feature = "protected")]
use restp_proto::protected::PublicKey;
use restp_proto::{
    CloseReason, Composition, ConnId, ConnStats, Dial, EventKind, Instant, Knob, Message, PathAddr, PathId,
    PathStats, SendError, SendOptions,
};

use crate::error::{Error, STREAMS_INSTEAD};
use crate::state::{Hold, Slot, State};
use crate::waiters::{Seat, seated};

/// A connection. Clones are handles of the same one, for instance to send and receive in different tasks.
///
/// When the last handle is dropped the connection is closed: what was sent is still delivered (the endpoint sees to it
/// for up to 30 s), what comes is thrown away.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

struct Inner {
    hold: Hold,
    id: ConnId,
    path: PathAddr,
    /// The peer's inner port, if this side connected.
    asked_port: Option<u16>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.hold.lock().abandon(self.hold.clock.now(), self.id);
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("id", &self.inner.id)
            .field("remote_addr", &self.inner.path.remote)
            .finish_non_exhaustive()
    }
}

impl Connection {
    pub(crate) fn new(hold: Hold, id: ConnId, path: PathAddr, asked_port: Option<u16>) -> Self {
        Self { inner: Arc::new(Inner { hold, id, path, asked_port }) }
    }

    /// Runs `step` under the lock at the present time.
    pub(crate) fn with<T>(&self, step: impl FnOnce(&mut State, Instant, ConnId) -> T) -> T {
        let mut state = self.inner.hold.lock();
        step(&mut state, self.inner.hold.clock.now(), self.inner.id)
    }

    /// The connection's name in the event log.
    #[must_use]
    pub fn id(&self) -> ConnId {
        self.inner.id
    }

    /// The peer's outer address on the first path, as it was when the connection began.
    #[must_use]
    pub fn remote_addr(&self) -> SocketAddr {
        self.inner.path.remote
    }

    /// Our outer address on the first path, at present: another one after [`crate::Endpoint::rebind`].
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.path_stats().first().map_or(self.inner.path.local, |(_, stats)| stats.addr.local)
    }

    /// Waits until the connection stands. Accepted connections do from the start. Cancel safe.
    ///
    /// # Errors
    /// [`Error::NotListening`] or [`Error::Refused`] if the peer refused, [`Error::Closed`] if it did not answer.
    pub async fn established(&self) -> Result<(), Error> {
        seated(|cx, seat| {
            self.with(|state, _, id| {
                state.check_running()?;
                let slot = slot(state, id)?;
                if slot.connected {
                    return Poll::Ready(Ok(()));
                }
                if let Some(ended) = &slot.ended {
                    let addr = self.remote_addr();
                    return Poll::Ready(Err(match (ended.reason, self.inner.asked_port) {
                        (CloseReason::NotListening, Some(port)) => Error::NotListening { addr, port },
                        (CloseReason::Refused | CloseReason::Reset, Some(port)) => {
                            Error::Refused { addr, port }
                        }
                        (reason, _) => Error::Closed(reason),
                    }));
                }
                slot.watchers.add(seat, cx.waker());
                Poll::Pending
            })
        })
        .await
    }

    /// Sends a message (fixed framing), or bytes of the stream (coalescing); waits while the send buffer is full.
    ///
    /// Cancel safe in that a message whose future is dropped before it has answered was not sent; it is dropped with the
    /// future ([`Connection::try_send`] gives it back).
    ///
    /// # Errors
    /// [`Error::Send`] if the message does not fit or the connection was closed, [`Error::Closed`] if it ended.
    pub async fn send(&self, payload: impl Into<Bytes>) -> Result<(), Error> {
        self.send_with(payload, SendOptions::default()).await
    }

    /// Like [`Connection::send`], and as cancel safe, with a lifetime or a push hint.
    ///
    /// # Errors
    /// As [`Connection::send`].
    pub async fn send_with(&self, payload: impl Into<Bytes>, options: SendOptions) -> Result<(), Error> {
        let mut payload = Some(payload.into());
        seated(|cx, seat| self.poll_send(cx, seat, &mut payload, options)).await
    }

    /// Sends without waiting.
    ///
    /// # Errors
    /// [`Error::Send`] with [`SendError::Full`], which gives the message back, otherwise as [`Connection::send`].
    pub fn try_send(&self, payload: impl Into<Bytes>, options: SendOptions) -> Result<(), Error> {
        self.with(|state, now, id| {
            state.check_running()?;
            let sent = state.proto.send(now, id, payload.into(), options);
            if sent.is_ok() {
                state.wake_driver();
            }
            sent.map_err(|error| explain_closed(state, id, error))
        })
    }

    pub(crate) fn poll_send(
        &self,
        cx: &mut Context<'_>,
        seat: &mut Seat,
        payload: &mut Option<Bytes>,
        options: SendOptions,
    ) -> Poll<Result<(), Error>> {
        let Some(message) = payload.take() else { return Poll::Ready(Ok(())) };
        self.with(|state, now, id| {
            state.check_running()?;
            match state.proto.send(now, id, message, options) {
                Ok(()) => {
                    state.wake_driver();
                    Poll::Ready(Ok(()))
                }
                Err(SendError::Full(message)) => {
                    *payload = Some(message);
                    slot(state, id)?.writers.add(seat, cx.waker());
                    Poll::Pending
                }
                Err(error) => Poll::Ready(Err(explain_closed(state, id, error))),
            }
        })
    }

    /// The next message, or piece of the stream; `None` when the peer has closed and everything was read.
    ///
    /// Cancel safe: a message that came is handed out by the next call.
    ///
    /// # Errors
    /// [`Error::Closed`] if the connection ended in another way, [`Error::WrongService`] if it carries streams.
    pub async fn recv(&self) -> Result<Option<Message>, Error> {
        seated(|cx, seat| match self.poll_recv(cx, seat) {
            Poll::Pending if self.carries_streams() => Poll::Ready(Err(Error::WrongService(STREAMS_INSTEAD))),
            answer => answer,
        })
        .await
    }

    fn carries_streams(&self) -> bool {
        self.with(|state, _, id| state.carries_streams(id))
    }

    /// Takes up to `limit` messages that are there, at least one, and appends them to `messages`; cheaper than one by one.
    /// Returns how many; 0 when the peer has closed and everything was read. Cancel safe: `messages` then is as before.
    ///
    /// # Errors
    /// As [`Connection::recv`].
    pub async fn recv_many(&self, messages: &mut Vec<Message>, limit: usize) -> Result<usize, Error> {
        let Some(first) = self.recv().await? else { return Ok(0) };
        messages.push(first);
        let more = limit.saturating_sub(1);
        Ok(1 + self.with(|state, now, id| state.proto.recv_many(now, id, messages, more)))
    }

    /// The next message if there is one.
    ///
    /// # Errors
    /// [`Error::Closed`] if there is none and the connection ended, also if it ended well, [`Error::WrongService`] if it
    /// carries streams.
    pub fn try_recv(&self) -> Result<Option<Message>, Error> {
        self.with(|state, now, id| {
            state.check_running()?;
            let message = state.proto.recv(now, id);
            state.wake_driver();
            if message.is_some() {
                return Ok(message);
            }
            let streams = state.carries_streams(id);
            match &slot(state, id)?.ended {
                Some(ended) => Err(Error::Closed(ended.reason)),
                None if streams => Err(Error::WrongService(STREAMS_INSTEAD)),
                None => Ok(None),
            }
        })
    }

    pub(crate) fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        seat: &mut Seat,
    ) -> Poll<Result<Option<Message>, Error>> {
        self.with(|state, now, id| {
            state.check_running()?;
            let message = state.proto.recv(now, id);
            // Reading opens the window and starts the wait for holes.
            state.wake_driver();
            if message.is_some() {
                return Poll::Ready(Ok(message));
            }
            let slot = slot(state, id)?;
            match &slot.ended {
                _ if slot.finished => Poll::Ready(Ok(None)),
                Some(ended) if ended.reason == CloseReason::Graceful => Poll::Ready(Ok(None)),
                Some(ended) => Poll::Ready(Err(Error::Closed(ended.reason))),
                None => {
                    slot.readers.add(seat, cx.waker());
                    Poll::Pending
                }
            }
        })
    }

    /// Ends our direction after everything that was sent. The peer may go on; read until `recv` answers `None`.
    pub fn close(&self) {
        self.with(|state, now, id| {
            state.proto.close(now, id);
            state.wake_driver();
        });
    }

    /// Ends the connection at once: the peer gets a reset, what was not sent yet is dropped.
    pub fn abort(&self) {
        self.with(|state, now, id| {
            state.proto.abort(now, id);
            state.wake_driver();
        });
    }

    /// Ends the connection at once, as [`Connection::abort`] does, and tells the peer a number of the application: its end
    /// is [`CloseReason::Application`]. It is told once and not repeated: where that packet is lost the peer hears
    /// [`CloseReason::Reset`] or nothing until it times out.
    pub fn abort_with(&self, code: u32) {
        self.with(|state, now, id| {
            state.proto.abort_with(now, id, code);
            state.wake_driver();
        });
    }

    /// Waits until the connection is over and says why. Cancel safe.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the socket failed.
    pub async fn closed(&self) -> Result<CloseReason, Error> {
        seated(|cx, seat| {
            self.with(|state, _, id| {
                state.check_running()?;
                let slot = slot(state, id)?;
                if let Some(ended) = &slot.ended {
                    return Poll::Ready(Ok(ended.reason));
                }
                slot.watchers.add(seat, cx.waker());
                Poll::Pending
            })
        })
        .await
    }

    /// Closes our direction, throws away what still comes, and waits until both sides have ended: then everything that
    /// was sent has been delivered. May be called again after its future was dropped; what was thrown away is gone.
    ///
    /// # Errors
    /// [`Error::Closed`] if the connection did not end well.
    pub async fn finish(&self) -> Result<(), Error> {
        self.close();
        while seated(|cx, seat| self.poll_recv(cx, seat)).await?.is_some() {}
        match self.closed().await? {
            CloseReason::Graceful => Ok(()),
            reason => Err(Error::Closed(reason)),
        }
    }

    /// The next event other than those that `established`, `send`, `recv` and `closed` wait for: paths, causes of loss,
    /// messages given up. `None` when the connection is over. Up to 64 events are kept.
    /// Cancel safe.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the socket failed.
    pub async fn next_event(&self) -> Result<Option<EventKind>, Error> {
        seated(|cx, seat| {
            self.with(|state, _, id| {
                state.check_running()?;
                let slot = slot(state, id)?;
                if let Some(event) = slot.events.pop_front() {
                    return Poll::Ready(Ok(Some(event)));
                }
                if slot.ended.is_some() {
                    return Poll::Ready(Ok(None));
                }
                slot.watchers.add(seat, cx.waker());
                Poll::Pending
            })
        })
        .await
    }

    /// Counters since the beginning; after the end the last ones.
    #[must_use]
    pub fn stats(&self) -> ConnStats {
        self.with(|state, _, id| {
            let ended = || Some(state.slots.get(&id)?.ended.as_ref()?.stats.clone());
            state.proto.conn_stats(id).cloned().or_else(ended).unwrap_or_default()
        })
    }

    /// State of the paths; none any more once the connection has ended.
    #[must_use]
    pub fn path_stats(&self) -> Vec<(PathId, PathStats)> {
        self.with(|state, _, id| state.proto.path_stats(id))
    }

    /// The services in force after negotiation; `None` only if the connection ended before it began.
    #[must_use]
    pub fn composition(&self) -> Option<Composition> {
        self.with(|state, _, id| {
            let ended = || state.slots.get(&id)?.ended.as_ref()?.composition.clone();
            state.proto.composition(id).cloned().or_else(ended)
        })
    }

    /// What is in force and why, in sentences. Says loudly if the connection is in clear text.
    #[must_use]
    pub fn explain(&self) -> String {
        let live = self.with(|state, _, id| state.proto.explain(id));
        live.or_else(|| Some(self.composition()?.explain())).unwrap_or_default()
    }

    /// The public key that the peer proved to have; `None` in clear text and with a shared secret.
    ///
    /// With keys that take any peer ([`crate::protected::Peers::Any`]) this is how to find out whom one talks to.
    #[cfg(feature = "protected")]
    #[cfg_attr(docsrs, doc(cfg(feature = "protected")))]
    #[must_use]
    pub fn peer_public_key(&self) -> Option<PublicKey> {
        self.with(|state, _, id| {
            let ended = state.slots.get(&id).and_then(|slot| slot.ended.as_ref());
            ended.map_or_else(|| state.proto.peer_public_key(id), |ended| ended.peer)
        })
    }

    /// Largest message of fixed framing, in bytes; `None` after the end.
    #[must_use]
    pub fn max_message_bytes(&self) -> Option<usize> {
        self.with(|state, _, id| state.proto.max_message_bytes(id))
    }

    /// Tells the connection what the layers below know: a path that is gone, the rate of the link, the cause of losses.
    pub fn dial(&self, dial: Dial) {
        self.with(|state, now, id| {
            state.proto.dial(now, id, dial);
            state.wake_driver();
        });
    }

    /// Changes a wish while the connection runs.
    pub fn turn(&self, knob: Knob) {
        self.with(|state, now, id| {
            state.proto.turn(now, id, knob);
            state.wake_driver();
        });
    }
}

/// The user's side of a connection; it exists as long as a handle does.
fn slot(state: &mut State, id: ConnId) -> Result<&mut Slot, Error> {
    state.slots.get_mut(&id).map(Box::as_mut).ok_or(Error::Send(SendError::Unknown))
}

/// A connection that ended says why, rather than that it is closed.
fn explain_closed(state: &State, id: ConnId, error: SendError) -> Error {
    let ended = state.slots.get(&id).and_then(|slot| slot.ended.as_ref());
    match (&error, ended) {
        (SendError::Closed | SendError::Unknown, Some(ended)) if ended.reason != CloseReason::Graceful => {
            Error::Closed(ended.reason)
        }
        _ => error.into(),
    }
}
