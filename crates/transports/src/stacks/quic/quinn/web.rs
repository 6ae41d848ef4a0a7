//! quinn under HTTP/3: its connections and streams as the h3 library takes them.
//!
//! A future that cannot go on leaves its waker with the connection, under what it waits for; the events of the protocol
//! core wake those that can. The endpoint is worked by whoever runs the futures ([`WebEndpoint::turn`]).

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, WriteBuf};
use quinn_proto::{
    ConnectionError, ConnectionHandle, Dir, FinishError, ReadError, ReadableError, StreamId, VarInt,
    WriteError,
};

use super::Quinn;
use super::calls::loss;
use super::engine::{Link, On, QuinnEngine};
use crate::context::Context as Surroundings;
use crate::error::Failure;
use crate::secure::SERVER_NAME;
use crate::session::Session;
use crate::stacks::quic::driver::Driver;
use crate::stacks::quic::sentence::{lost, unanswered};

/// The code of a connection that ends without an error (H3_NO_ERROR: RFC 9114, section 8.1).
const NO_ERROR: u32 = 0x100;

/// A UDP socket with the connections over it.
pub(crate) struct WebEndpoint {
    driver: Driver<QuinnEngine>,
}

impl Quinn {
    /// An endpoint at the destination of `session` that takes connections for `protocol` (ALPN).
    ///
    /// # Errors
    /// A sentence: the port is taken, a parameter is refused.
    pub(crate) fn web_listen(&self, session: &Arc<Session>, protocol: &[u8]) -> Result<WebEndpoint, Failure> {
        let Surroundings { source, destination, .. } = session.ctx;
        let server = Some(self.server(session, protocol)?);
        Ok(WebEndpoint { driver: self.open(session, destination, source, server)? })
    }

    /// An endpoint at the source of `session` that opens connections to its destination.
    ///
    /// # Errors
    /// As for [`Quinn::web_listen`].
    pub(crate) fn web_open(&self, session: &Arc<Session>) -> Result<WebEndpoint, Failure> {
        let Surroundings { source, destination, .. } = session.ctx;
        Ok(WebEndpoint { driver: self.open(session, source, destination, None)? })
    }

    /// A connection of `endpoint` for `protocol`, that was just asked for.
    ///
    /// # Errors
    /// A sentence: a parameter is refused, or there are too many connections.
    pub(crate) fn web_connect(
        &self,
        session: &Session,
        endpoint: &WebEndpoint,
        protocol: &[u8],
    ) -> Result<WebConnection, Failure> {
        let config = self.client(session, protocol, &Arc::default())?;
        let handle = {
            let mut state = endpoint.driver.lock();
            let now_ns = state.now_ns();
            state.engine.connect(config, SERVER_NAME, now_ns)?
        };
        Ok(WebConnection(Arc::new(Shared { driver: endpoint.driver.clone(), handle })))
    }
}

impl WebEndpoint {
    /// The last instant at which something was handled.
    pub(crate) fn now_ns(&self) -> i64 {
        self.driver.now_ns()
    }

    /// Sends what is to be sent, and waits until a future can go on.
    ///
    /// # Errors
    /// The failure that ended the flow, or that its limit was reached while `doing`.
    pub(crate) fn turn(&self, doing: &str) -> Result<(), Failure> {
        self.driver.work_until(doing, |engine, _| Ok(engine.take_woken().then_some(())))
    }

    /// The next connection that comes.
    pub(crate) async fn accept(&self) -> WebConnection {
        std::future::poll_fn(|context| {
            let engine = &mut self.driver.lock().engine;
            match engine.arrived().first().copied() {
                Some(handle) => {
                    engine.take_arrived(handle);
                    Poll::Ready(WebConnection(Arc::new(Shared { driver: self.driver.clone(), handle })))
                }
                None => {
                    engine.wake_at_arrival(context.waker());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

/// A connection: the last one who has it closes it.
struct Shared {
    driver: Driver<QuinnEngine>,
    handle: ConnectionHandle,
}

impl Shared {
    /// What `find` finds in the connection; else the future is woken when `on` happens.
    fn poll<T>(
        &self,
        context: &Context<'_>,
        on: On,
        find: impl FnOnce(&mut Link) -> Option<T>,
    ) -> Poll<Result<T, ConnectionErrorIncoming>> {
        let mut state = self.driver.lock();
        let link = state.engine.link(self.handle);
        if let Some(found) = find(link) {
            return Poll::Ready(Ok(found));
        }
        if let Some(reason) = &link.lost {
            return Poll::Ready(Err(over(reason)));
        }
        link.wake_at(on, context.waker());
        Poll::Pending
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut state = self.driver.lock();
        let now_ns = state.now_ns();
        state.engine.abandon(self.handle, NO_ERROR, now_ns);
        state.settle();
    }
}

fn over(reason: &ConnectionError) -> ConnectionErrorIncoming {
    match reason {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other.clone())),
    }
}

/// A connection that HTTP/3 may use. Clones share it.
#[derive(Clone)]
pub(crate) struct WebConnection(Arc<Shared>);

impl WebConnection {
    /// Waits for the end of the handshake, and returns when that was.
    ///
    /// # Errors
    /// A sentence: nobody answered at `to`, or TLS or QUIC refused.
    pub(crate) async fn established(&self, to: SocketAddr) -> Result<i64, Failure> {
        let established =
            std::future::poll_fn(|context| self.0.poll(context, On::Handshake, |link| link.connected_ns))
                .await;
        established.map_err(|_| match self.0.driver.lock().engine.link(self.0.handle).lost {
            Some(ConnectionError::TimedOut) => unanswered(to),
            Some(ref reason) => lost("the handshake", loss(reason)),
            None => Failure::new("the handshake failed"),
        })
    }

    /// Why the connection is over while `doing` something, if it is.
    pub(crate) fn lost(&self, doing: &str) -> Option<Failure> {
        let mut state = self.0.driver.lock();
        let reason = state.engine.link(self.0.handle).lost.as_ref()?;
        Some(lost(doing, loss(reason)))
    }

    fn stream<B: Buf>(&self, id: StreamId) -> WebStream<B> {
        WebStream { connection: Arc::clone(&self.0), id, unsent: None }
    }

    fn poll_open<B: Buf>(
        &self,
        context: &Context<'_>,
        dir: Dir,
    ) -> Poll<Result<WebStream<B>, StreamErrorIncoming>> {
        self.0
            .poll(context, On::Room(dir), |link| link.quic.streams().open(dir))
            .map_ok(|id| self.stream(id))
            .map_err(|connection_error| StreamErrorIncoming::ConnectionErrorIncoming { connection_error })
    }

    fn poll_accept<B: Buf>(
        &self,
        context: &Context<'_>,
        dir: Dir,
    ) -> Poll<Result<WebStream<B>, ConnectionErrorIncoming>> {
        self.0
            .poll(context, On::Arrival(dir), |link| link.quic.streams().accept(dir))
            .map_ok(|id| self.stream(id))
    }
}

impl<B: Buf> quic::OpenStreams<B> for WebConnection {
    type BidiStream = WebStream<B>;
    type SendStream = WebStream<B>;

    fn poll_open_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, StreamErrorIncoming>> {
        self.poll_open(context, Dir::Bi)
    }

    fn poll_open_send(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::SendStream, StreamErrorIncoming>> {
        self.poll_open(context, Dir::Uni)
    }

    fn close(&mut self, code: h3::error::Code, reason: &[u8]) {
        let mut state = self.0.driver.lock();
        let now_ns = state.now_ns();
        let code = VarInt::from_u64(code.value()).unwrap_or(VarInt::MAX);
        state.engine.close(self.0.handle, code, Bytes::copy_from_slice(reason), now_ns);
    }
}

impl<B: Buf> quic::Connection<B> for WebConnection {
    type RecvStream = WebStream<B>;
    type OpenStreams = Self;

    fn poll_accept_recv(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::RecvStream, ConnectionErrorIncoming>> {
        self.poll_accept(context, Dir::Uni)
    }

    fn poll_accept_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, ConnectionErrorIncoming>> {
        self.poll_accept(context, Dir::Bi)
    }

    fn opener(&self) -> Self::OpenStreams {
        self.clone()
    }
}

/// A stream of a connection, either way.
pub(crate) struct WebStream<B: Buf> {
    connection: Arc<Shared>,
    id: StreamId,
    /// What was handed over and not taken yet.
    unsent: Option<WriteBuf<B>>,
}

fn terminated(code: VarInt) -> StreamErrorIncoming {
    StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
}

impl<B: Buf> WebStream<B> {
    fn number(&self) -> quic::StreamId {
        let number = u64::from(VarInt::from(self.id));
        number.try_into().expect("both libraries number streams as RFC 9000 does")
    }

    fn poll<T>(
        &self,
        context: &Context<'_>,
        on: On,
        find: impl FnOnce(&mut Link) -> Option<Result<T, StreamErrorIncoming>>,
    ) -> Poll<Result<T, StreamErrorIncoming>> {
        self.connection.poll(context, on, find).map(|found| match found {
            Ok(found) => found,
            Err(connection_error) => Err(StreamErrorIncoming::ConnectionErrorIncoming { connection_error }),
        })
    }
}

impl<B: Buf> quic::SendStream<B> for WebStream<B> {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        let Some(mut unsent) = self.unsent.take() else { return Poll::Ready(Ok(())) };
        let sent = self.poll(context, On::Write(self.id), |link| {
            while unsent.has_remaining() {
                match link.quic.send_stream(self.id).write(unsent.chunk()) {
                    Ok(count) => unsent.advance(count),
                    Err(WriteError::Blocked) => return None,
                    Err(WriteError::Stopped(code)) => return Some(Err(terminated(code))),
                    Err(WriteError::ClosedStream) => return Some(Err(unknown("the stream is closed"))),
                }
            }
            Some(Ok(()))
        });
        if sent.is_pending() {
            self.unsent = Some(unsent);
        }
        sent
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.unsent.is_some() {
            return Err(unknown("more was handed over before the last was taken"));
        }
        self.unsent = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        let mut state = self.connection.driver.lock();
        let link = state.engine.link(self.connection.handle);
        Poll::Ready(match link.quic.send_stream(self.id).finish() {
            Ok(()) => Ok(()),
            Err(FinishError::Stopped(code)) => Err(terminated(code)),
            Err(FinishError::ClosedStream) => Err(unknown("the stream is closed")),
        })
    }

    fn reset(&mut self, reset_code: u64) {
        let code = VarInt::from_u64(reset_code).unwrap_or(VarInt::MAX);
        let mut state = self.connection.driver.lock();
        // A stream that is over needs no end.
        let _ = state.engine.link(self.connection.handle).quic.send_stream(self.id).reset(code);
    }

    fn send_id(&self) -> quic::StreamId {
        self.number()
    }
}

fn unknown(words: &str) -> StreamErrorIncoming {
    StreamErrorIncoming::Unknown(words.into())
}

impl<B: Buf> quic::RecvStream for WebStream<B> {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Self::Buf>, StreamErrorIncoming>> {
        self.poll(context, On::Read(self.id), |link| {
            let mut stream = link.quic.recv_stream(self.id);
            let mut chunks = match stream.read(true) {
                Ok(chunks) => chunks,
                Err(ReadableError::ClosedStream) => return Some(Ok(None)),
                Err(error) => return Some(Err(unknown(&error.to_string()))),
            };
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => Some(Ok(Some(chunk.bytes))),
                Ok(None) => Some(Ok(None)),
                Err(ReadError::Blocked) => None,
                Err(ReadError::Reset(code)) => Some(Err(terminated(code))),
            }
        })
    }

    fn stop_sending(&mut self, error_code: u64) {
        let code = VarInt::from_u64(error_code).unwrap_or(VarInt::MAX);
        let mut state = self.connection.driver.lock();
        // A stream that is over needs no end.
        let _ = state.engine.link(self.connection.handle).quic.recv_stream(self.id).stop(code);
    }

    fn recv_id(&self) -> quic::StreamId {
        self.number()
    }
}
