//! One connection of s2n-quic: its stream.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use s2n_quic::client::ConnectionAttempt;
use s2n_quic::connection::{Connection, Error, Handle, StreamAcceptor};
use s2n_quic::stream::{BidirectionalStream, Error as StreamError, ReceiveStream, SendStream};
use s2n_quic::{Client, application};

use super::engine::S2nEngine;
use super::metrics::Metrics;
use crate::error::Failure;
use crate::session::Session;
use crate::stacks::quic::DONE;
use crate::stacks::quic::connection::QuicConnection;
use crate::stacks::quic::driver::Driver;
use crate::stacks::quic::library::Library;
use crate::stacks::quic::sentence::{Cause, Loss, lost, unanswered};
use crate::transport::{Arrival, Sampler};

/// Polls are repeated after every event: nobody needs to be woken.
fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// A connection, at either end.
pub(super) struct S2nLink {
    handle: Handle,
    acceptor: StreamAcceptor,
    /// Once it was opened.
    stream: Option<(ReceiveStream, SendStream)>,
    session: Arc<Session>,
    metrics: Metrics,
    /// The sender's: an endpoint closes when nobody holds its client any more.
    _client: Option<Client>,
}

impl S2nLink {
    fn new(connection: Connection, session: &Arc<Session>, metrics: Metrics, client: Option<Client>) -> Self {
        let (handle, acceptor) = connection.split();
        let session = Arc::clone(session);
        Self { handle, acceptor, stream: None, session, metrics, _client: client }
    }

    /// The receiver's end of the oldest connection that arrived.
    pub(super) fn accept(engine: &mut S2nEngine, now_ns: i64) -> Result<Option<(Self, i64)>, Failure> {
        let arrived = engine.next_arrived();
        let link = |connection| Self::new(connection, engine.session(), Metrics::default(), None);
        Ok(arrived.map(|connection| (link(connection), now_ns)))
    }

    /// Waits until the connection that is attempted is there, and opens its stream.
    pub(super) fn open(
        driver: Driver<S2nEngine>,
        client: Client,
        mut attempt: ConnectionAttempt,
        to: SocketAddr,
        metrics: Metrics,
    ) -> Result<QuicConnection<Self>, Failure> {
        let doing = format!("{to} did not answer the connection request");
        let (mut connection, established_ns) =
            driver.work_until(&doing, |_, now_ns| match Pin::new(&mut attempt).poll(&mut context()) {
                Poll::Ready(Ok(connection)) => Ok(Some((connection, now_ns))),
                Poll::Ready(Err(
                    Error::IdleTimerExpired { .. } | Error::MaxHandshakeDurationExceeded { .. },
                )) => Err(unanswered(to)),
                Poll::Ready(Err(error)) => Err(lost("the handshake", loss(&error))),
                Poll::Pending => Ok(None),
            })?;
        let stream = driver.work_until("opening a stream", |_, _| {
            match connection.poll_open_bidirectional_stream(&mut context()) {
                Poll::Ready(Ok(stream)) => Ok(Some(BidirectionalStream::split(stream))),
                Poll::Ready(Err(error)) => Err(lost("opening a stream", loss(&error))),
                Poll::Pending => Ok(None),
            }
        })?;
        let link = Self::new(connection, driver.session(), metrics, Some(client));
        let link = Self { stream: Some(stream), ..link };
        Ok(QuicConnection::opening(driver, link, false).established_at(established_ns))
    }

    /// The failure of a stream that broke while `doing`.
    fn broken(&self, doing: &str, loss: Loss) -> Failure {
        self.session.failure().unwrap_or_else(|| lost(doing, loss))
    }

    /// The stream, if the other side has opened it.
    fn stream(&mut self, doing: &str) -> Result<Option<&mut (ReceiveStream, SendStream)>, Failure> {
        if self.stream.is_none() {
            match self.acceptor.poll_accept_bidirectional_stream(&mut context()) {
                Poll::Ready(Ok(Some(stream))) => self.stream = Some(stream.split()),
                Poll::Ready(Ok(None)) => return Err(lost(doing, Loss::Application(u64::from(DONE)))),
                Poll::Ready(Err(error)) => return Err(self.broken(doing, loss(&error))),
                Poll::Pending => {}
            }
        }
        Ok(self.stream.as_mut())
    }
}

impl Library for S2nLink {
    type Engine = S2nEngine;

    fn loss(&mut self, _: &mut S2nEngine) -> Option<Loss> {
        None
    }

    fn read(
        &mut self,
        _: &mut S2nEngine,
        _most_bytes: u64,
        doing: &str,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<Option<Arrival>, Failure> {
        let Some((receive, _)) = self.stream(doing)? else { return Ok(None) };
        let mut arrival = None;
        loop {
            match receive.poll_receive(&mut context()) {
                Poll::Ready(Ok(Some(bytes))) => {
                    take(&bytes)?;
                    arrival = Some(Arrival::Data);
                }
                Poll::Ready(Ok(None)) => return Ok(arrival.or(Some(Arrival::End))),
                Poll::Ready(Err(error)) if arrival.is_none() => {
                    return Err(self.broken(doing, stream_loss(&error)));
                }
                Poll::Ready(Err(_)) | Poll::Pending => return Ok(arrival),
            }
        }
    }

    fn write(&mut self, _: &mut S2nEngine, block: &[u8]) -> Result<usize, Failure> {
        let doing = "sending";
        let Some((_, send)) = self.stream(doing)? else { return Ok(0) };
        let sent = match send.poll_send_ready(&mut context()) {
            Poll::Ready(Ok(room)) => {
                let count = room.min(block.len());
                send.send_data(Bytes::copy_from_slice(&block[..count])).map(|()| count)
            }
            Poll::Ready(Err(error)) => Err(error),
            Poll::Pending => Ok(0),
        };
        sent.map_err(|error| self.broken(doing, stream_loss(&error)))
    }

    fn end(&mut self, _: &mut S2nEngine) -> Result<(), Loss> {
        match &mut self.stream {
            Some((_, send)) => send.finish().map_err(|error| stream_loss(&error)),
            None => Ok(()),
        }
    }

    fn has_room(&mut self, _: &mut S2nEngine) -> Result<bool, Failure> {
        let doing = "sending";
        let Some((_, send)) = self.stream(doing)? else { return Ok(false) };
        match send.poll_send_ready(&mut context()) {
            Poll::Ready(Ok(_)) => Ok(true),
            Poll::Ready(Err(error)) => Err(self.broken(doing, stream_loss(&error))),
            Poll::Pending => Ok(false),
        }
    }

    fn is_left(&mut self, engine: &mut S2nEngine) -> bool {
        let lost = self.acceptor.poll_accept_bidirectional_stream(&mut context()).is_ready();
        lost || engine.has_arrived()
    }

    fn close(&mut self, _: &mut S2nEngine, code: u32, _now_ns: i64) {
        self.handle.close(application::Error::from(code));
    }

    fn sampler(&self, _: &Driver<S2nEngine>) -> Box<dyn Sampler> {
        Box::new(self.metrics.clone())
    }
}

/// The library's reason in common words.
fn loss(error: &Error) -> Loss {
    match error {
        Error::Transport { code, initiator, .. } => {
            let cause = Cause::of_code(code.as_u64(), error.to_string());
            if initiator.is_local() { Loss::Local(cause) } else { Loss::Remote(cause) }
        }
        Error::Application { error, .. } => Loss::Application((*error).into()),
        Error::Closed { .. } => Loss::Application(u64::from(DONE)),
        Error::StatelessReset { .. } => Loss::Reset,
        Error::IdleTimerExpired { .. } => Loss::TimedOut,
        other => Loss::Other(other.to_string()),
    }
}

fn stream_loss(error: &StreamError) -> Loss {
    match error {
        StreamError::ConnectionError { error, .. } => loss(error),
        StreamError::StreamReset { error, .. } => Loss::Application((*error).into()),
        other => Loss::Other(other.to_string()),
    }
}
