//! A port on which peers connect.

use std::task::Poll;
use std::time::Duration;

use crate::clock::within;
use crate::connection::Connection;
use crate::error::Error;
use crate::state::Hold;
use crate::waiters::seated;

/// Accepts connections on one inner port. Dropped, it accepts no more; accepted connections go on.
pub struct Listener {
    hold: Hold,
    port: u16,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("port", &self.port).finish_non_exhaustive()
    }
}

impl Listener {
    pub(crate) fn new(hold: Hold, port: u16) -> Self {
        Self { hold, port }
    }

    /// The inner port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The next connection. With an opportunistic handshake it may be handed out before the peer's address is proven; its
    /// first messages are then marked as early.
    ///
    /// Cancel safe: a connection that came is handed out by the next call.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the socket failed.
    pub async fn accept(&self) -> Result<Connection, Error> {
        seated(|cx, seat| {
            let mut state = self.hold.lock();
            state.check_running()?;
            let Some(backlog) = state.listeners.get_mut(&self.port) else {
                return Poll::Ready(Err(Error::Stopped("the port was closed".into())));
            };
            if let Some((id, path)) = backlog.waiting.pop_front() {
                drop(state);
                return Poll::Ready(Ok(Connection::new(self.hold.clone(), id, path, None)));
            }
            backlog.acceptors.add(seat, cx.waker());
            Poll::Pending
        })
        .await
    }
}

impl Listener {
    /// Like [`Listener::accept`], and as cancel safe, but waits for at most `limit`.
    ///
    /// # Errors
    /// As [`Listener::accept`], or [`Error::TimedOut`].
    pub async fn accept_timeout(&self, limit: Duration) -> Result<Connection, Error> {
        within(limit, self.accept()).await
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = self.hold.lock();
        state.proto.unlisten(self.port);
        let now = self.hold.clock.now();
        if let Some(backlog) = state.listeners.remove(&self.port) {
            for (id, _) in backlog.waiting {
                state.forget(now, id);
            }
        }
        state.wake_driver();
    }
}
