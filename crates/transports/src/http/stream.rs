//! Kernel sockets as byte streams that futures read and write.

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use rustls::{ClientConfig, ServerConfig};
use socket2::Socket;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::tasks::Waits;
use crate::error::{Failure, OrFailure};
use crate::kernel::work::SessionWork;
use crate::peers::{connect_failure, same_end};
use crate::session::Session;

/// A transport of the kernel's over which HTTP goes.
pub(crate) trait StreamCarrier {
    /// A socket at the source of `session`.
    ///
    /// # Errors
    /// A sentence: the kernel lacks the transport, the port is taken, a parameter is refused.
    fn at_source(&self, session: &Session) -> Result<Socket, Failure>;

    /// A socket at its destination.
    ///
    /// # Errors
    /// As for [`StreamCarrier::at_source`].
    fn at_destination(&self, session: &Session) -> Result<Socket, Failure>;

    /// Most bytes that one hand-over may hold: on a transport of messages, each becomes one.
    fn longest_write(&self) -> usize;

    /// The TLS of both ends, if there is any.
    ///
    /// # Errors
    /// A sentence: the configuration is refused.
    fn tls(&self, session: &Session) -> Result<Option<TlsEnds>, Failure>;
}

/// The TLS of both ends; protocol names (ALPN) are still to be added.
pub(crate) struct TlsEnds {
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) client: Arc<ClientConfig>,
}

/// What one read can bring.
const READ_BYTES: usize = 1 << 16;

/// Connections that may wait to be accepted: more than a browser opens at a time.
const BACKLOG: i32 = 128;

/// Waits for sockets on behalf of futures.
pub(super) struct Reactor {
    session: Arc<Session>,
    now_ns: Cell<i64>,
    waiting: RefCell<Vec<Waiting>>,
}

struct Waiting {
    socket: Rc<Socket>,
    events: libc::c_short,
    waker: Waker,
}

impl Reactor {
    pub(super) fn new(session: &Arc<Session>) -> Rc<Self> {
        let now_ns = Cell::new(session.ctx.clock.now_ns());
        Rc::new(Self { session: Arc::clone(session), now_ns, waiting: RefCell::default() })
    }

    /// The time of what is being handled.
    pub(super) fn now_ns(&self) -> i64 {
        let now_ns = self.session.ctx.clock.after(self.now_ns.get());
        self.now_ns.set(now_ns);
        now_ns
    }

    fn wake_when(&self, socket: &Rc<Socket>, events: libc::c_short, context: &Context<'_>) {
        if !self.still_waits(socket, events, context) {
            let waker = context.waker().clone();
            self.waiting.borrow_mut().push(Waiting { socket: Rc::clone(socket), events, waker });
        }
    }

    /// Whether a socket that is waited for was not ready yet. A future may be polled for another reason than the one it
    /// waits for.
    fn still_waits(&self, socket: &Rc<Socket>, events: libc::c_short, context: &Context<'_>) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        let known = waiting.iter_mut().find(|one| Rc::ptr_eq(&one.socket, socket) && one.events == events);
        known.map(|one| one.waker.clone_from(context.waker())).is_some()
    }

    fn forget(&self, socket: &Rc<Socket>) {
        self.waiting.borrow_mut().retain(|one| !Rc::ptr_eq(&one.socket, socket));
    }
}

impl Waits for Reactor {
    fn turn(&self, doing: &str) -> Result<(), Failure> {
        let mut waiting = self.waiting.borrow_mut();
        let fds: Vec<_> = waiting.iter().map(|one| (one.socket.as_fd(), one.events)).collect();
        // A processor may have let some time pass.
        let ctx = &self.session.ctx;
        let now_ns = if ctx.processor.is_some() { ctx.clock.now_ns() } else { self.now_ns() };
        let ready = self.session.wait_each(&fds, now_ns, i64::MAX, doing)?.unwrap_or_default();
        drop(fds);
        self.now_ns.set(self.session.ctx.clock.now_ns());
        let mut ready = ready.into_iter();
        waiting.retain(|one| {
            let ready = ready.next().unwrap_or(false);
            if ready {
                one.waker.wake_by_ref();
            }
            !ready
        });
        Ok(())
    }
}

/// A socket that does not block.
pub(super) struct Stream {
    socket: Rc<Socket>,
    reactor: Rc<Reactor>,
    longest_write: usize,
    /// Nothing is left to read, as far as is known: a read brought less than it could have.
    drained: bool,
    work: SessionWork,
    /// It had no room when it was last written to.
    full: bool,
}

impl Stream {
    fn new(
        socket: Socket,
        reactor: &Rc<Reactor>,
        longest_write: usize,
        work: SessionWork,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let (socket, reactor) = (Rc::new(socket), Rc::clone(reactor));
        Ok(Self { socket, reactor, longest_write, drained: false, work, full: false })
    }

    /// Connects a socket.
    ///
    /// # Errors
    /// A sentence: refused, unreachable.
    pub(super) async fn connect(
        socket: Socket,
        to: SocketAddr,
        reactor: &Rc<Reactor>,
        longest_write: usize,
    ) -> Result<Self, Failure> {
        let stream = Self::new(socket, reactor, longest_write, SessionWork::none())
            .or_failure("a socket could not be set up")?;
        match stream.socket.connect(&to.into()) {
            Ok(()) => return Ok(stream),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(error) => return Err(connect_failure(to, &error)),
        }
        let mut asked = false;
        std::future::poll_fn(|context| {
            if std::mem::replace(&mut asked, true) {
                let waits = reactor.still_waits(&stream.socket, libc::POLLOUT, context);
                return if waits { Poll::Pending } else { Poll::Ready(()) };
            }
            reactor.wake_when(&stream.socket, libc::POLLOUT, context);
            Poll::Pending
        })
        .await;
        match stream.socket.take_error().unwrap_or_else(Some) {
            Some(error) => Err(connect_failure(to, &error)),
            None => Ok(stream),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = self.get_mut();
        if std::mem::take(&mut stream.drained) {
            stream.reactor.wake_when(&stream.socket, libc::POLLIN, context);
            return Poll::Pending;
        }
        let room = buffer.initialize_unfilled_to(buffer.remaining().min(READ_BYTES));
        match (&*stream.socket).read(room) {
            Ok(count) => {
                stream.drained = count > 0 && count < room.len();
                buffer.advance(count);
                if count > 0 {
                    stream.work.read(&stream.socket);
                }
                Poll::Ready(Ok(()))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                stream.reactor.wake_when(&stream.socket, libc::POLLIN, context);
                Poll::Pending
            }
            // How the end of an SCTP association is told.
            Err(error) if error.kind() == ErrorKind::NotConnected => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let stream = self.get_mut();
        let bytes = &bytes[..bytes.len().min(stream.longest_write)];
        if std::mem::take(&mut stream.full) {
            stream.work.has_room(&stream.socket);
        }
        match stream.socket.send_with_flags(bytes, libc::MSG_NOSIGNAL) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                stream.full = true;
                stream.reactor.wake_when(&stream.socket, libc::POLLOUT, context);
                Poll::Pending
            }
            done => Poll::Ready(done),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.socket.shutdown(Shutdown::Write) {
            Err(error) if error.kind() != ErrorKind::NotConnected => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(())),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.reactor.forget(&self.socket);
    }
}

/// A socket that listens.
pub(super) struct Listener {
    socket: Rc<Socket>,
    reactor: Rc<Reactor>,
    longest_write: usize,
}

impl Listener {
    /// Listens.
    ///
    /// # Errors
    /// A sentence: the kernel refused.
    pub(super) fn new(socket: Socket, reactor: &Rc<Reactor>, longest_write: usize) -> Result<Self, Failure> {
        socket
            .listen(BACKLOG)
            .and_then(|()| socket.set_nonblocking(true))
            .or_failure("the server could not listen")?;
        Ok(Self { socket: Rc::new(socket), reactor: Rc::clone(reactor), longest_write })
    }

    /// Waits for a connection from the source of the session; others are closed.
    ///
    /// # Errors
    /// A sentence: the kernel has none to give.
    pub(super) async fn accept(&self) -> Result<Stream, Failure> {
        let source = self.reactor.session.expected_source();
        std::future::poll_fn(|context| {
            loop {
                match self.socket.accept() {
                    Ok((socket, peer)) if same_end(&peer, source) => {
                        let work = SessionWork::of_listener(&self.reactor.session);
                        return Poll::Ready(Stream::new(socket, &self.reactor, self.longest_write, work));
                    }
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        self.reactor.wake_when(&self.socket, libc::POLLIN, context);
                        return Poll::Pending;
                    }
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
        })
        .await
        .or_failure("the server could not accept a connection")
    }
}
