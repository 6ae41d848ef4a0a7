//! Drives a QUIC library in the thread of whoever waits: datagrams in, timers, datagrams out.
//!
//! A wake-up costs two system calls (wait, receive) and one more for each batch that is sent. The clock is read only
//! where nothing else tells the time: a thread that was waiting when a datagram came wakes at the instant of the
//! datagram's receive stamp.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::arrivals::Arrivals;
use super::socket::{Datagram, UdpSocket};
use crate::clock::Clock;
use crate::error::Failure;
use crate::session::{Guarded, Session};

/// The endpoint of a library that does no input and output of its own. Instants are those of the run's clock.
pub(super) trait Engine: Send {
    /// Handles datagrams that arrived, and the timers that are due.
    fn advance(&mut self, inbox: Vec<Datagram>, socket: &mut UdpSocket, now_ns: i64);

    /// Sends what is to be sent now. Tells whether the application may find something new.
    fn settle(&mut self, socket: &mut UdpSocket, now_ns: i64) -> bool;

    /// When the next timer is due; `i64::MAX` for never.
    fn due_ns(&mut self) -> i64;
}

/// An endpoint with its socket.
pub(super) struct State<E> {
    pub(super) engine: E,
    socket: UdpSocket,
    now_ns: i64,
    /// What it makes a processor do, where there is one that works for it.
    arrivals: Option<Arrivals>,
}

impl<E: Engine> State<E> {
    /// The time of what is being handled.
    pub(super) fn now_ns(&self) -> i64 {
        self.now_ns
    }

    /// Takes the time anew where a processor has let some pass.
    fn note_work(&mut self, clock: &Clock) {
        if self.arrivals.is_some() {
            self.note_time(clock.now_ns());
        }
    }

    /// Says what time it is.
    pub(super) fn note_time(&mut self, now_ns: i64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Sends what is to be sent now. Tells whether the application may find something new.
    pub(super) fn settle(&mut self) -> bool {
        self.engine.settle(&mut self.socket, self.now_ns)
    }
}

/// An endpoint that connections and threads share.
pub(super) struct Driver<E> {
    state: Arc<Mutex<State<E>>>,
    socket: Arc<Guarded>,
    session: Arc<Session>,
}

impl<E> Clone for Driver<E> {
    fn clone(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
            socket: Arc::clone(&self.socket),
            session: Arc::clone(&self.session),
        }
    }
}

impl<E: Engine> Driver<E> {
    /// Puts an engine on a socket at the instant `now_ns`; `listens`: it takes connections.
    pub(super) fn new(
        session: &Arc<Session>,
        socket: UdpSocket,
        engine: E,
        listens: bool,
        now_ns: i64,
    ) -> Self {
        let guarded = socket.guarded();
        let workplace = session.ctx.processor.as_ref().filter(|_| listens);
        let arrivals = workplace.map(Arrivals::at);
        let state = Arc::new(Mutex::new(State { engine, socket, now_ns, arrivals }));
        Self { state, socket: guarded, session: Arc::clone(session) }
    }

    pub(super) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last instant at which something was handled.
    pub(super) fn now_ns(&self) -> i64 {
        self.lock().now_ns
    }

    /// Works until `ready` has an answer, or until `until_ns`: then there is none. `ready` is asked whenever it may find
    /// something new, with the time.
    ///
    /// # Errors
    /// What `ready` says, the failure that ended the flow, or that its limit was reached while `doing`.
    pub(super) fn work<T>(
        &self,
        until_ns: i64,
        doing: &str,
        mut ready: impl FnMut(&mut E, i64) -> Result<Option<T>, Failure>,
    ) -> Result<Option<T>, Failure> {
        let clock = &self.session.ctx.clock;
        let mut state = self.lock();
        state.now_ns = clock.after(state.now_ns);
        state.note_work(clock);
        loop {
            state.settle();
            loop {
                let now_ns = state.now_ns;
                let answer = ready(&mut state.engine, now_ns)?;
                state.note_work(clock);
                if let Some(answer) = answer {
                    return Ok(Some(answer));
                }
                // What was read gives the other side new credit.
                if !state.settle() {
                    break;
                }
            }
            if state.now_ns >= until_ns {
                return Ok(None);
            }
            let now_ns = state.now_ns;
            let wake_ns = state.engine.due_ns().min(until_ns);
            let room = if state.socket.is_full() { libc::POLLOUT } else { 0 };
            drop(state);
            let ready =
                self.session.wait_any(&[self.socket.fd()], libc::POLLIN | room, now_ns, wake_ns, doing)?;
            state = self.lock();
            let mut inbox = Vec::new();
            let stamp_ns = if ready { state.socket.receive(&mut inbox) } else { None };
            // Whatever came before this thread waited is older than the last instant that it knows.
            let now_ns = match stamp_ns {
                Some(stamp_ns) => clock.after(clock.from_realtime_ns(stamp_ns).max(state.now_ns)),
                None => clock.now_ns(),
            };
            state.note_time(now_ns);
            if let State { arrivals: Some(arrivals), socket, .. } = &mut *state {
                arrivals.came(&inbox, socket.sent_datagrams());
                state.note_work(clock);
            }
            let State { engine, socket, now_ns, .. } = &mut *state;
            engine.advance(inbox, socket, *now_ns);
        }
    }

    /// The answer of a wait without an end.
    ///
    /// # Errors
    /// As for [`Driver::work`].
    pub(super) fn work_until<T>(
        &self,
        doing: &str,
        ready: impl FnMut(&mut E, i64) -> Result<Option<T>, Failure>,
    ) -> Result<T, Failure> {
        self.work(i64::MAX, doing, ready)?.ok_or_else(|| self.session.limit_reached(doing))
    }
}
