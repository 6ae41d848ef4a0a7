//! What the two halves of a flow share: who is ready, who failed, and how blocked calls are ended.

use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use socket2::Socket;

use crate::context::{Context, Progress};
use crate::error::{Failure, OrFailure};
use crate::news::{News, SenderEnd};
use crate::secure::KeyLines;
use crate::sys::poll::{self, Switch, Woken};

/// The state of one flow while it runs. Whichever half fails first ends the other: every socket is shut down,
/// every wait is called off.
pub struct Session {
    /// The surroundings of the flow.
    pub ctx: Context,
    state: Mutex<State>,
    changed: Condvar,
    call_off: Switch,
    keys: Option<Arc<KeyLines>>,
    on_news: OnceLock<OnNews>,
    further: AtomicUsize,
}

/// Called with what the other half has to know; returns when it knows it.
pub type OnNews = Box<dyn Fn(News) + Send + Sync>;

#[derive(Default)]
struct State {
    listening: bool,
    failure: Option<Failure>,
    sender_end: Option<SenderEnd>,
    sender_over: bool,
    last_session_over: bool,
    sockets: Vec<Socket>,
}

impl State {
    fn shut_sockets(&self) {
        for socket in &self.sockets {
            // A socket that is already closed has nothing left to end.
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Session {
    /// A session that nobody has begun yet.
    ///
    /// # Errors
    /// The process has no file descriptors left.
    pub fn new(ctx: Context) -> io::Result<Self> {
        let state = Mutex::new(State::default());
        let keys = ctx.keys.then(Arc::default);
        Ok(Self {
            ctx,
            state,
            changed: Condvar::new(),
            call_off: Switch::new()?,
            keys,
            on_news: OnceLock::new(),
            further: AtomicUsize::new(0),
        })
    }

    /// The sender's next session is a further one.
    pub fn begin_further(&self) {
        self.further.fetch_add(1, Ordering::Relaxed);
    }

    /// How many further ones the sender has begun.
    pub(crate) fn further(&self) -> usize {
        self.further.load(Ordering::Relaxed)
    }

    /// Address and port that the sender's present session binds: packets of one that is over are not taken for its.
    pub(crate) fn source(&self) -> SocketAddr {
        let mut source = self.ctx.source;
        let own = self.further().checked_sub(1).and_then(|place| self.ctx.further_ports.get(place));
        source.set_port(own.copied().unwrap_or(source.port()));
        source
    }

    /// Whether the session from one of the sender's ports is that from another one, or behind it.
    pub(crate) fn is_as_late(&self, port: u16, other: u16) -> bool {
        let place = |port| self.ctx.further_ports.iter().position(|further| *further == port);
        place(port) >= place(other)
    }

    /// From where the receiver is to expect sessions; port 0: from any.
    pub(crate) fn expected_source(&self) -> SocketAddr {
        let mut source = self.ctx.source;
        if !self.ctx.further_ports.is_empty() {
            source.set_port(0);
        }
        source
    }

    /// Where the sender of a secure session writes its secrets, when they are to be kept.
    pub fn keys(&self) -> Option<Arc<KeyLines>> {
        self.keys.clone()
    }

    /// Has `on_news` carry to the other half what that has to know, for halves that do not share this session. The first
    /// one that is given here counts.
    pub fn on_news(&self, on_news: OnNews) {
        let _ = self.on_news.set(on_news);
    }

    /// Takes in what the other half has told.
    pub fn hear(&self, news: News) {
        match news {
            News::Listening => self.state().listening = true,
            News::SenderEnd(end) => {
                // Looked at between receives; nobody waits for it.
                self.state().sender_end = Some(end);
                return;
            }
            News::SenderOver => self.state().sender_over = true,
            News::LastSessionOver => {
                let mut state = self.state();
                state.last_session_over = true;
                self.end_waits(&state);
                return;
            }
            News::Failed(failure) => {
                let is_echo = |failure: &Failure| matches!(failure, Failure::Echo(_));
                let mut state = self.state();
                if state.failure.as_ref().is_none_or(|known| is_echo(known) && !is_echo(&failure)) {
                    state.failure = Some(failure);
                }
                self.end_waits(&state);
            }
        }
        self.changed.notify_all();
    }

    /// Wakes whoever waits. The switch comes first: who was woken by a socket's end alone would look at it again and
    /// again, and keep the one core of a guest until the kernel's next tick.
    fn end_waits(&self, state: &State) {
        self.call_off.throw();
        state.shut_sockets();
    }

    /// Takes in what this half tells, and has the other one hear of it.
    fn tell(&self, news: News) {
        match self.on_news.get() {
            None => self.hear(news),
            Some(carry) => {
                self.hear(news.clone());
                carry(news);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that the receiver can be connected to.
    pub fn announce_listening(&self) {
        self.tell(News::Listening);
    }

    /// Waits until the receiver can be connected to.
    pub fn wait_until_listening(&self) -> Result<(), Failure> {
        let mut state = self.state();
        loop {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            if state.listening {
                return Ok(());
            }
            let left_ns = self.ctx.limit_ns - self.ctx.clock.now_ns();
            if left_ns <= 0 {
                return Err(self.limit_reached("the receiver never listened"));
            }
            let left = Duration::from_nanos(left_ns as u64);
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Records the first failure and ends both halves. What one end heard of the other's failure gives way to the
    /// failure itself: in real time it may be noticed first.
    pub fn fail(&self, failure: Failure) {
        self.tell(News::Failed(failure));
    }

    /// Why the flow failed, if it has.
    pub fn failure(&self) -> Option<Failure> {
        self.state().failure.clone()
    }

    /// A request came: returns when the processor of the end that listens has done what it takes to answer, with the time
    /// then; `None` where computing costs nothing.
    pub fn serve_request(&self) -> Option<i64> {
        self.ctx.processor.as_ref().map(|workplace| workplace.request())
    }

    /// Says that everything has been handed over.
    pub fn announce_sender_end(&self, end: SenderEnd) {
        self.tell(News::SenderEnd(end));
    }

    /// What the sender had handed over, once it is done.
    pub fn sender_end(&self) -> Option<SenderEnd> {
        self.state().sender_end
    }

    /// Says that the sending half has nothing more to do.
    pub fn announce_sender_over(&self) {
        self.tell(News::SenderOver);
    }

    /// Says that no further session will be opened, to a receiver that waits for one.
    pub fn announce_last_session_over(&self) {
        self.tell(News::LastSessionOver);
    }

    /// Whether the sender has said so.
    pub fn last_session_is_over(&self) -> bool {
        self.state().last_session_over
    }

    /// Waits until `instant_ns`; returns early, with `false`, when the sending half is over or the flow has failed.
    pub fn sender_runs_until(&self, instant_ns: i64) -> bool {
        let mut state = self.state();
        loop {
            if state.sender_over || state.failure.is_some() {
                return false;
            }
            let left_ns = instant_ns - self.ctx.clock.now_ns();
            if left_ns <= 0 {
                return true;
            }
            let left = Duration::from_nanos(left_ns as u64);
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Sleeps until `instant_ns`.
    ///
    /// # Errors
    /// The failure that ended the flow, or at once that its limit comes first.
    pub fn pause_until(&self, instant_ns: i64) -> Result<(), Failure> {
        if instant_ns >= self.ctx.limit_ns {
            return Err(self.limit_reached("the flow was not to start before"));
        }
        // Not poll(2), whose timeout may be late by a thousandth of its length (select_estimate_accuracy in the
        // kernel's fs/select.c).
        if self.sender_runs_until(instant_ns) { Ok(()) } else { Err(self.called_off()) }
    }

    /// Waits for `events` on a socket from `now_ns` until `until_ns` or the limit of the run, whichever is first.
    ///
    /// # Errors
    /// The failure that ended the flow, or that its limit was reached while `doing`.
    pub(crate) fn wait(
        &self,
        socket: &Socket,
        events: libc::c_short,
        now_ns: i64,
        until_ns: i64,
        doing: &str,
    ) -> Result<(), Failure> {
        self.wait_any(&[socket.as_fd()], events, now_ns, until_ns, doing).map(drop)
    }

    /// The same for one of several descriptors. Tells whether one is ready.
    pub(crate) fn wait_any(
        &self,
        fds: &[BorrowedFd<'_>],
        events: libc::c_short,
        now_ns: i64,
        until_ns: i64,
        doing: &str,
    ) -> Result<bool, Failure> {
        let fds: Vec<_> = fds.iter().map(|fd| (*fd, events)).collect();
        Ok(self.wait_each(&fds, now_ns, until_ns, doing)?.is_some())
    }

    /// The same for several descriptors with events of their own. Tells which are ready; `None` at `until_ns`.
    pub(crate) fn wait_each(
        &self,
        fds: &[(BorrowedFd<'_>, libc::c_short)],
        mut now_ns: i64,
        until_ns: i64,
        doing: &str,
    ) -> Result<Option<Vec<bool>>, Failure> {
        loop {
            let left_ns = until_ns.min(self.ctx.limit_ns) - now_ns;
            match poll::wait(fds, self.call_off.fd(), left_ns) {
                Ok((Woken::Ready, answer)) => return Ok(Some(answer)),
                Ok((Woken::CalledOff, _)) => return Err(self.called_off()),
                Ok((Woken::TimedOut, _)) if until_ns < self.ctx.limit_ns => return Ok(None),
                Ok((Woken::TimedOut, _)) => return Err(self.limit_reached(doing)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => now_ns = self.ctx.clock.now_ns(),
                Err(error) => return Err(Failure::system("waiting for a socket failed", &error)),
            }
        }
    }

    fn called_off(&self) -> Failure {
        self.failure().unwrap_or_else(|| Failure::new("the flow was called off"))
    }

    /// The time now.
    ///
    /// # Errors
    /// That the limit was reached while `doing`.
    pub fn now_before_limit(&self, doing: &str) -> Result<i64, Failure> {
        let now_ns = self.ctx.clock.now_ns();
        if now_ns < self.ctx.limit_ns { Ok(now_ns) } else { Err(self.limit_reached(doing)) }
    }

    /// The failure of a flow that is not done in time.
    pub fn limit_reached(&self, doing: &str) -> Failure {
        Failure::Limit(format!("the limit of {} s was reached: {doing}", self.ctx.limit_ns as f64 / 1e9))
    }

    /// Tells the caller how far the receiver is.
    pub fn report_progress(&self, t_ns: i64, received_bytes: u64) {
        if let Some(report) = &self.ctx.progress {
            report(Progress { t_ns, received_bytes });
        }
    }
}

/// How often an end in silence looks whether the other one is done.
pub(crate) const LOOK_UP_NS: i64 = 1_000_000_000;

/// Of a long silence the hundredth part: light may take days, and a look each second of them takes hours to compute.
const LOOK_UP_SHARE: i64 = 100;

/// When an end that has heard nothing since `silent_since_ns` looks up next.
pub(crate) fn next_look_ns(silent_since_ns: i64, now_ns: i64) -> i64 {
    let silence_ns = now_ns.saturating_sub(silent_since_ns);
    now_ns.saturating_add((silence_ns / LOOK_UP_SHARE).max(LOOK_UP_NS))
}

/// Bounds how long a blocking receive on this socket may take.
pub(crate) fn bound_receive(socket: &Socket, timeout_ns: i64) -> Result<(), Failure> {
    socket
        .set_read_timeout(Some(socket_timeout(timeout_ns)))
        .or_failure("the receive timeout of a socket could not be set")
}

/// Bounds how long a blocking send on this socket may take.
pub(crate) fn bound_send(socket: &Socket, timeout_ns: i64) -> Result<(), Failure> {
    socket
        .set_write_timeout(Some(socket_timeout(timeout_ns)))
        .or_failure("the send timeout of a socket could not be set")
}

/// A timeout of zero would mean for ever.
fn socket_timeout(timeout_ns: i64) -> Duration {
    Duration::from_nanos(timeout_ns.max(1_000_000) as u64)
}

/// A socket that is shut down when the flow fails, so that a thread that is blocked in it wakes.
pub(crate) struct Guarded {
    socket: Socket,
    session: Arc<Session>,
    copy: RawFd,
}

impl Guarded {
    pub(crate) fn new(socket: Socket, session: &Arc<Session>) -> Result<Self, Failure> {
        let copy = socket.try_clone().or_failure("a socket could not be duplicated")?;
        let key = copy.as_raw_fd();
        let mut state = session.state();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        state.sockets.push(copy);
        drop(state);
        Ok(Self { socket, session: Arc::clone(session), copy: key })
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The last part of a wait, a two hundredth: the kernel may end a poll later than it was to by a thousandth of its length
/// (select_estimate_accuracy in fs/select.c).
const SLEPT_SHARE: i64 = 200;

impl Guarded {
    /// Waits until there is something to read, or the other side has ended its half or broken off: then there is `true`.
    /// At `until_ns` there is `false`.
    pub(crate) fn wait_until_readable(&self, until_ns: i64) -> Result<bool, Failure> {
        const DOING: &str = "the sender was between two messages";
        let session = &self.session;
        let clock = &session.ctx.clock;
        let now_ns = clock.now_ns();
        if now_ns >= until_ns {
            return Ok(false);
        }
        let polled_ns = until_ns - (until_ns - now_ns) / SLEPT_SHARE;
        let ready = session.wait_any(&[self.fd()], libc::POLLIN, now_ns, polled_ns, DOING)?;
        if !ready {
            clock.sleep_until(until_ns);
        }
        Ok(ready)
    }

    /// As [`crate::Connection::wait_until_writable`].
    pub(crate) fn wait_until_writable(&self, now_ns: i64, until_ns: i64) -> Result<(), Failure> {
        self.session.wait(self, libc::POLLOUT, now_ns, until_ns, "the sender was still sending")
    }
}

impl Deref for Guarded {
    type Target = Socket;

    fn deref(&self) -> &Socket {
        &self.socket
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // The connection closes with its last descriptor: the session's copy goes first.
        self.session.state().sockets.retain(|socket| socket.as_raw_fd() != self.copy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_days_of_silence_take_a_few_hundred_looks() {
        let (since_ns, ten_days_ns) = (5_000_000_000, 10 * 86_400 * 1_000_000_000);
        let mut looks = vec![since_ns];
        while looks[looks.len() - 1] < since_ns + ten_days_ns {
            looks.push(next_look_ns(since_ns, looks[looks.len() - 1]));
        }
        assert!(looks[..100].windows(2).all(|pair| pair[1] - pair[0] == LOOK_UP_NS));
        assert!((500..1500).contains(&looks.len()), "{}", looks.len());
    }

    #[test]
    fn the_switch_is_thrown_before_sockets_end() {
        use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
        let over = Failure::new("over");
        for news in [News::LastSessionOver, News::Failed(over)] {
            let session = crate::loopback::session();
            let socket = Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None).unwrap();
            socket.connect(&session.ctx.destination.into()).unwrap();
            let socket = Guarded::new(socket, &session).unwrap();
            // What epoll tells stands in the order in which it came about.
            let order = Epoll::new(EpollCreateFlags::empty()).unwrap();
            order.add(socket.fd(), EpollEvent::new(EpollFlags::EPOLLIN, 1)).unwrap();
            order.add(session.call_off.fd(), EpollEvent::new(EpollFlags::EPOLLIN, 2)).unwrap();
            session.hear(news);
            let mut told = [EpollEvent::empty(); 2];
            assert_eq!(order.wait(&mut told, EpollTimeout::ZERO), Ok(2));
            assert_eq!(told.map(|one| one.data()), [2, 1]);
        }
    }
}
