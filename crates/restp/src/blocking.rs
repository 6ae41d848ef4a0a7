//! The same endpoint for programs without a runtime: calls that wait, in the manner of `std::net`.
//!
//! ```
//! use std::io::{Read, Write};
//! use restp::{Profile, blocking::Endpoint};
//!
//! let server = Endpoint::bind("127.0.0.1:0")?;
//! let listener = server.listen(7, Profile::web_opt())?;
//! let address = server.local_addr();
//! let echo = std::thread::spawn(move || -> Result<(), restp::Error> {
//!     let connection = listener.accept()?;
//!     while let Some(message) = connection.recv()? {
//!         connection.send(message.payload)?;
//!     }
//!     connection.finish()
//! });
//!
//! let client = Endpoint::bind("127.0.0.1:0")?;
//! let mut stream = client.connect(address, 7, Profile::web_opt())?.into_stream()?;
//! stream.write_all(b"all is well")?;
//! stream.shutdown();
//! let mut answer = String::new();
//! stream.read_to_string(&mut answer)?;
//! assert_eq!(answer, "all is well");
//! echo.join().unwrap()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod records;
mod streams;
mod waiting;

pub use records::Records;
pub use streams::{IncomingStream, RecvStream, SendStream};

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use bytes::Bytes;
use restp_proto::{CloseReason, EventKind, Message, PathId, SendOptions};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::datagram::Peer;
use crate::endpoint::Builder;
use crate::error::Error;
use crate::services::Services;
use waiting::{step_within, wait_within};

fn resolve(address: impl ToSocketAddrs) -> Result<Vec<SocketAddr>, Error> {
    let resolved = address.to_socket_addrs().map_err(Error::io("cannot find the address; check its name"))?;
    Ok(resolved.collect())
}

impl Builder {
    /// Like [`Builder::bind`], with a thread of its own for the endpoint instead of a runtime.
    ///
    /// # Errors
    /// As [`Builder::bind`].
    pub fn bind_blocking(self, address: impl ToSocketAddrs) -> Result<Endpoint, Error> {
        let address = *resolve(address)?.first().ok_or(Error::NoAddress { family: "IP" })?;
        let no_thread = "cannot start the endpoint's thread; the system has no resources left";
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .map_err(Error::io(no_thread))?;
        let (inner, driver) = {
            let _entered = runtime.enter();
            self.build(address)?
        };
        // The thread ends with the driver: when all handles are gone and everything sent is delivered.
        std::thread::Builder::new()
            .name("restp".into())
            .spawn(move || runtime.block_on(driver))
            .map_err(Error::io(no_thread))?;
        Ok(Endpoint { inner })
    }
}

/// An [endpoint](crate::Endpoint) with a thread of its own.
#[derive(Clone, Debug)]
pub struct Endpoint {
    inner: crate::Endpoint,
}

impl Endpoint {
    /// Binds UDP with default settings; for others see [`Builder::bind_blocking`].
    ///
    /// # Errors
    /// [`Error::Io`] if the address is not ours or its port is taken.
    pub fn bind(address: impl ToSocketAddrs) -> Result<Self, Error> {
        crate::Endpoint::builder().bind_blocking(address)
    }

    /// The address that the socket is bound to.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.inner.local_addr()
    }

    /// Accepts connections on an inner port; see [`crate::Endpoint::listen`].
    ///
    /// # Errors
    /// As [`crate::Endpoint::listen`].
    pub fn listen(&self, port: u16, services: impl Services) -> Result<Listener, Error> {
        Ok(Listener { inner: self.inner.listen(port, services)? })
    }

    /// Like [`Endpoint::listen`], but offers only what `services` itself has; see [`crate::Endpoint::listen_exactly`].
    ///
    /// # Errors
    /// As [`crate::Endpoint::listen_exactly`].
    pub fn listen_exactly(&self, port: u16, services: impl Services) -> Result<Listener, Error> {
        Ok(Listener { inner: self.inner.listen_exactly(port, services)? })
    }

    /// A connectionless inner port; see [`crate::Endpoint::datagrams`].
    ///
    /// # Errors
    /// As [`crate::Endpoint::datagrams`].
    pub fn datagrams(&self, port: u16, services: impl Services) -> Result<DatagramPort, Error> {
        let inner = self.inner.datagrams(port, services)?;
        Ok(DatagramPort { inner, read_timeout: None, write_timeout: None })
    }

    /// Opens a connection and waits until it stands; see [`crate::Endpoint::connect`].
    ///
    /// # Errors
    /// As [`crate::Endpoint::connect`].
    pub fn connect(
        &self,
        remote: impl ToSocketAddrs,
        port: u16,
        services: impl Services,
    ) -> Result<Connection, Error> {
        let connection = self.connect_early(remote, port, services)?;
        wait_within(None, connection.inner.established())?;
        Ok(connection)
    }

    /// Like [`Endpoint::connect`], but gives up after `limit`. To find the address of a name may take longer.
    ///
    /// # Errors
    /// As [`Endpoint::connect`], or [`Error::TimedOut`].
    pub fn connect_timeout(
        &self,
        remote: impl ToSocketAddrs,
        port: u16,
        services: impl Services,
        limit: Duration,
    ) -> Result<Connection, Error> {
        let connection = self.connect_early(remote, port, services)?;
        let established = wait_within(Some(limit), connection.inner.established());
        established.inspect_err(|_| connection.inner.abort())?;
        Ok(connection)
    }

    /// Goes on from another address of this host; see [`crate::Endpoint::rebind`].
    ///
    /// # Errors
    /// As [`crate::Endpoint::rebind`].
    pub fn rebind(&self, address: impl ToSocketAddrs) -> Result<(), Error> {
        self.inner.rebind(*resolve(address)?.first().ok_or(Error::NoAddress { family: "IP" })?)
    }

    /// Opens a connection and returns at once; see [`crate::Endpoint::connect_early`]. Whether it stands is told by
    /// [`Connection::established`].
    ///
    /// # Errors
    /// As [`crate::Endpoint::connect_early`].
    pub fn connect_early(
        &self,
        remote: impl ToSocketAddrs,
        port: u16,
        services: impl Services,
    ) -> Result<Connection, Error> {
        let composition = services.compose()?;
        let remotes = resolve(remote)?;
        let inner = wait_within(None, self.inner.connect_early(&remotes[..], port, composition))?;
        Ok(Connection::new(inner))
    }

    /// Waits until no connection is left; see [`crate::Endpoint::idle`].
    ///
    /// # Errors
    /// [`Error::Stopped`] if the socket failed, [`Error::TimedOut`] after `limit`.
    pub fn idle(&self, limit: Option<Duration>) -> Result<(), Error> {
        wait_within(limit, self.inner.idle())
    }

    /// Everything that never waits and has no call here: statistics and the like.
    #[must_use]
    pub fn as_async(&self) -> &crate::Endpoint {
        &self.inner
    }
}

/// Accepts connections on one inner port.
#[derive(Debug)]
pub struct Listener {
    inner: crate::Listener,
}

impl Listener {
    /// The inner port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.inner.port()
    }

    /// The next connection.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the socket failed.
    pub fn accept(&self) -> Result<Connection, Error> {
        wait_within(None, self.inner.accept()).map(Connection::new)
    }

    /// Like [`Listener::accept`], but waits for at most `limit`.
    ///
    /// # Errors
    /// As [`Listener::accept`], or [`Error::TimedOut`].
    pub fn accept_timeout(&self, limit: Duration) -> Result<Connection, Error> {
        wait_within(Some(limit), self.inner.accept()).map(Connection::new)
    }
}

/// A connection; clones are handles of the same one, with their own timeouts.
#[derive(Clone, Debug)]
pub struct Connection {
    inner: crate::Connection,
    read_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
}

impl Connection {
    fn new(inner: crate::Connection) -> Self {
        Self { inner, read_timeout: None, write_timeout: None }
    }

    /// Waits until the connection stands, after [`Endpoint::connect_early`]; see [`crate::Connection::established`].
    ///
    /// # Errors
    /// As [`crate::Connection::established`], or [`Error::TimedOut`].
    pub fn established(&self) -> Result<(), Error> {
        wait_within(self.read_timeout, self.inner.established())
    }

    /// Longest wait of `recv`, `accept_stream`, `established`, `next_event`, `open_path`, `closed` and `finish`; `None`, the
    /// default, waits for ever.
    pub fn set_read_timeout(&mut self, limit: Option<Duration>) {
        self.read_timeout = limit;
    }

    /// Longest wait of `send` for room in the send buffer, and for the peer to allow a further stream; `None`, the default,
    /// waits for ever.
    pub fn set_write_timeout(&mut self, limit: Option<Duration>) {
        self.write_timeout = limit;
    }

    /// Sends a message, or bytes of the stream.
    ///
    /// # Errors
    /// As [`crate::Connection::send`], or [`Error::TimedOut`].
    pub fn send(&self, payload: impl Into<Bytes>) -> Result<(), Error> {
        self.send_with(payload, SendOptions::default())
    }

    /// Like `send`, with a lifetime or a push hint.
    ///
    /// # Errors
    /// As [`Connection::send`].
    pub fn send_with(&self, payload: impl Into<Bytes>, options: SendOptions) -> Result<(), Error> {
        wait_within(self.write_timeout, self.inner.send_with(payload, options))
    }

    /// The next message, or piece of the stream; `None` when the peer has closed and everything was read.
    ///
    /// # Errors
    /// As [`crate::Connection::recv`], or [`Error::TimedOut`].
    pub fn recv(&self) -> Result<Option<Message>, Error> {
        wait_within(self.read_timeout, self.inner.recv())
    }

    /// Ends our direction after everything that was sent.
    pub fn close(&self) {
        self.inner.close();
    }

    /// Ends the connection at once; see [`crate::Connection::abort`].
    pub fn abort(&self) {
        self.inner.abort();
    }

    /// Ends the connection at once and tells the peer a number; see [`crate::Connection::abort_with`].
    pub fn abort_with(&self, code: u32) {
        self.inner.abort_with(code);
    }

    /// Waits until the connection is over and says why.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the socket failed, or [`Error::TimedOut`].
    pub fn closed(&self) -> Result<CloseReason, Error> {
        wait_within(self.read_timeout, self.inner.closed())
    }

    /// Closes and waits until everything sent has been delivered.
    ///
    /// # Errors
    /// As [`crate::Connection::finish`], or [`Error::TimedOut`].
    pub fn finish(&self) -> Result<(), Error> {
        wait_within(self.read_timeout, self.inner.finish())
    }

    /// The next event; see [`crate::Connection::next_event`].
    ///
    /// # Errors
    /// As [`crate::Connection::next_event`], or [`Error::TimedOut`].
    pub fn next_event(&self) -> Result<Option<EventKind>, Error> {
        wait_within(self.read_timeout, self.inner.next_event())
    }

    /// Opens a further path; see [`crate::Connection::open_path`]. What never waits of paths is with
    /// [`Connection::as_async`].
    ///
    /// # Errors
    /// As [`crate::Connection::open_path`], or [`Error::TimedOut`].
    pub fn open_path(&self, local: IpAddr, remote: SocketAddr, backup: bool) -> Result<PathId, Error> {
        wait_within(self.read_timeout, self.inner.open_path(local, remote, backup))
    }

    /// This connection as a byte stream with `Read` and `Write`.
    ///
    /// # Errors
    /// [`Error::WrongService`] unless the framing is coalescing.
    pub fn into_stream(self) -> Result<Stream, Error> {
        let Self { inner, read_timeout, write_timeout } = self;
        Ok(Stream { inner: inner.into_stream()?, read_timeout, write_timeout })
    }

    /// Whom the peer proved to be; see [`crate::Connection::peer_public_key`].
    #[cfg(feature = "protected")]
    #[must_use]
    pub fn peer_public_key(&self) -> Option<restp_proto::protected::PublicKey> {
        self.inner.peer_public_key()
    }

    /// Everything that never waits and has no call here: statistics, paths, knobs and dials.
    #[must_use]
    pub fn as_async(&self) -> &crate::Connection {
        &self.inner
    }
}

/// A byte stream.
#[derive(Debug)]
pub struct Stream {
    inner: crate::Stream,
    read_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
}

impl Stream {
    /// Ends our direction after everything that was written.
    pub fn shutdown(&self) {
        self.inner.connection().close();
    }

    /// The connection below.
    #[must_use]
    pub fn connection(&self) -> Connection {
        Connection {
            inner: self.inner.connection().clone(),
            read_timeout: self.read_timeout,
            write_timeout: self.write_timeout,
        }
    }
}

impl io::Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut buffer = ReadBuf::new(bytes);
        step_within(self.read_timeout, &mut self.inner, |stream, cx| stream.poll_read(cx, &mut buffer))?;
        Ok(buffer.filled().len())
    }
}

impl io::Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        step_within(self.write_timeout, &mut self.inner, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connectionless inner port.
#[derive(Debug)]
pub struct DatagramPort {
    inner: crate::DatagramPort,
    read_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
}

impl DatagramPort {
    /// The inner port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.inner.port()
    }

    /// Largest packet in bytes; see [`crate::DatagramPort::max_packet_bytes`].
    #[must_use]
    pub fn max_packet_bytes(&self) -> usize {
        self.inner.max_packet_bytes()
    }

    /// Longest wait of `recv_from`; `None`, the default, waits for ever.
    pub fn set_read_timeout(&mut self, limit: Option<Duration>) {
        self.read_timeout = limit;
    }

    /// Longest wait of `send_to` while many messages have not left yet; `None`, the default, waits for ever.
    pub fn set_write_timeout(&mut self, limit: Option<Duration>) {
        self.write_timeout = limit;
    }

    /// Sends one message without any promise.
    ///
    /// # Errors
    /// As [`crate::DatagramPort::send_to`], or [`Error::TimedOut`].
    pub fn send_to(&self, payload: impl Into<Bytes>, peer: Peer) -> Result<(), Error> {
        wait_within(self.write_timeout, self.inner.send_to(payload, peer))
    }

    /// The next message and who sent it.
    ///
    /// # Errors
    /// As [`crate::DatagramPort::recv_from`], or [`Error::TimedOut`].
    pub fn recv_from(&self) -> Result<(Bytes, Peer), Error> {
        wait_within(self.read_timeout, self.inner.recv_from())
    }
}
