//! Byte-stream connections over kernel sockets: what TCP and MPTCP share.

use std::io::ErrorKind;
use std::net::Shutdown;
use std::sync::Arc;

use socket2::Socket;

use super::socket::{BETWEEN_MESSAGES, accept, pause_watching};
use super::work::SessionWork;
use crate::clock::Clock;
use crate::error::{Failure, OrFailure};
use crate::peers::broken;
use crate::session::{Guarded, Session, bound_receive};
use crate::sys::batch;
use crate::transport::DeliveryInstants;
use crate::transport::{Arrival, Connection, Listener, Sampler, Take};

/// What one read can bring. Large, because a system call of a guest costs as much wall time as moving this much.
const READ_BYTES: usize = 1 << 20;

/// Makes the sampler of a connection from a duplicate of its socket.
pub(crate) type MakeSampler = fn(Socket) -> Box<dyn Sampler>;

/// A listening byte-stream socket.
pub(crate) struct StreamListener {
    pub(crate) socket: Socket,
    pub(crate) session: Arc<Session>,
    /// Whether the instants of messages can be worked out from a capture of the packets.
    pub(crate) wire: bool,
    pub(crate) make_sampler: MakeSampler,
}

impl Listener for StreamListener {
    fn accept(&mut self) -> Result<Box<dyn Connection>, Failure> {
        let socket = accept(&self.socket, &self.session)?;
        let ctx = &self.session.ctx;
        let now_ns = ctx.clock.now_ns();
        bound_receive(&socket, ctx.limit_ns - now_ns)?;
        let instants =
            if self.wire && !ctx.wake { DeliveryInstants::Wire } else { DeliveryInstants::Application };
        let wake_for_each = ctx.wake || ctx.messages && instants == DeliveryInstants::Application;
        Ok(Box::new(StreamConnection {
            socket,
            established_ns: now_ns,
            fast_open: false,
            make_sampler: self.make_sampler,
            instants,
            wake_for_each,
            read_any: false,
            blocks: true,
            buffer: Vec::new(),
            work: SessionWork::of_listener(&self.session),
        }))
    }
}

/// A connected byte-stream socket: non-blocking at the sender, blocking at the receiver.
pub(crate) struct StreamConnection {
    socket: Guarded,
    established_ns: i64,
    /// Whether the request to open waits for the first data, so that the handshake may go on while data flow.
    fast_open: bool,
    make_sampler: MakeSampler,
    instants: DeliveryInstants,
    wake_for_each: bool,
    read_any: bool,
    blocks: bool,
    buffer: Vec<u8>,
    work: SessionWork,
}

impl StreamConnection {
    /// The sender's end, just connected, or with `fast_open` about to be.
    pub(crate) fn connected(socket: Guarded, make_sampler: MakeSampler, fast_open: bool) -> Self {
        let established_ns = socket.session().ctx.clock.now_ns();
        Self {
            socket,
            established_ns,
            fast_open,
            make_sampler,
            instants: DeliveryInstants::Application,
            wake_for_each: false,
            read_any: false,
            blocks: false,
            buffer: Vec::new(),
            work: SessionWork::none(),
        }
    }

    fn broken(&self, doing: &str, error: &std::io::Error) -> Failure {
        broken(self.socket.session(), doing, error)
    }
}

/// Whether a call on a socket that does not block has to be made again later.
fn waits(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::EINPROGRESS)
}

impl Connection for StreamConnection {
    fn established_ns(&self) -> Option<i64> {
        Some(self.established_ns)
    }

    fn offer(&mut self, block: &[u8], _message_bytes: usize, _seq: u64) -> Result<usize, Failure> {
        match self.socket.send_with_flags(block, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) {
            Ok(taken) => Ok(taken),
            Err(error) if waits(&error) => Ok(0),
            Err(error) => Err(self.broken("sending", &error)),
        }
    }

    fn wait_until_writable(&mut self, now_ns: i64, until_ns: i64) -> Result<(), Failure> {
        self.socket.wait_until_writable(now_ns, until_ns)?;
        self.work.has_room(&self.socket);
        Ok(())
    }

    fn pause_watching(&mut self, clock: &Clock, instant_ns: i64) -> Result<i64, Failure> {
        pause_watching(&self.socket, clock, instant_ns, |error| self.broken(BETWEEN_MESSAGES, error))
    }

    fn finish(&mut self) -> Result<Option<i64>, Failure> {
        if self.fast_open {
            // Ending a stream whose request is not answered yet would call it off; without data it has not even left.
            self.offer(&[], 0, 0)?;
            let session = self.socket.session();
            let doing = "the receiver did not answer the connection request";
            session.wait(&self.socket, libc::POLLOUT, session.ctx.clock.now_ns(), i64::MAX, doing)?;
        }
        self.socket.shutdown(Shutdown::Write).map_err(|e| self.broken("ending the stream", &e))?;
        let doing = "waiting for the receiver to get everything and close";
        let mut scrap = [0; 4096];
        loop {
            let session = self.socket.session();
            session.wait(&self.socket, libc::POLLIN, session.ctx.clock.now_ns(), i64::MAX, doing)?;
            match std::io::Read::read(&mut &*self.socket, &mut scrap) {
                Ok(0) => return Ok(Some(self.socket.session().ctx.clock.now_ns())),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(self.broken(doing, &error)),
            }
        }
    }

    fn instants(&self) -> DeliveryInstants {
        self.instants
    }

    fn receive(
        &mut self,
        _most_messages: u64,
        most_bytes: u64,
        take: &mut Take<'_>,
    ) -> Result<Arrival, Failure> {
        // A read that waits for all of its buffer ends at the instant of its last byte: so the first byte and,
        // when the amount is known, the last byte have exact instants even when nobody wakes in between.
        let (most, flags) = match (self.wake_for_each, self.read_any) {
            (true, _) => (READ_BYTES as u64, 0),
            (false, false) => (1, 0),
            (false, true) => (most_bytes.clamp(1, READ_BYTES as u64), libc::MSG_WAITALL),
        };
        // The end that connected does not block: it waits here, when an answer is what it waits for.
        if self.buffer.is_empty() {
            // Zeros of the kernel, which take no memory before something is read into them.
            self.buffer = vec![0; READ_BYTES];
        }
        let count = loop {
            match batch::read(self.socket.fd(), &mut self.buffer[..most as usize], flags) {
                Ok(count) => break count,
                Err(error) if error.kind() == ErrorKind::WouldBlock && !self.blocks => {
                    let session = self.socket.session();
                    session.wait(
                        &self.socket,
                        libc::POLLIN,
                        session.ctx.clock.now_ns(),
                        i64::MAX,
                        "the answer had not come",
                    )?;
                }
                Err(error) => return Err(self.broken("receiving", &error)),
            }
        };
        self.read_any |= count > 0;
        if count == 0 {
            return Ok(Arrival::End);
        }
        self.work.read(&self.socket);
        let now_ns = self.socket.session().ctx.clock.now_ns();
        take(&self.buffer[..count], Some(now_ns))?;
        Ok(Arrival::Data)
    }

    fn subflows(&self) -> Option<u32> {
        (self.make_sampler)(self.socket.try_clone().ok()?).subflows()
    }

    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure> {
        let copy = self.socket.try_clone().or_failure("a socket could not be duplicated")?;
        Ok(Some((self.make_sampler)(copy)))
    }
}
