//! Sessions of s2n-quic: one stream, and how they end.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use s2n_quic::connection::{Error, Handle, StreamAcceptor};
use s2n_quic::stream::{BidirectionalStream, Error as StreamError, ReceiveStream, SendStream};
use s2n_quic::{Client, application};

use super::engine::S2nEngine;
use super::metrics::Metrics;
use crate::clock::Clock;
use crate::error::Failure;
use crate::peers::same_end;
use crate::quic::host::Host;
use crate::quic::sentence::{Cause, Loss, lost, unanswered};
use crate::quic::{BROKEN_OFF, DONE, LOOK_UP_NS, Over};
use crate::transport::DeliveryInstants;
use crate::transport::{Arrival, Connection, Listener, Sampler, Take};

/// Polls are repeated after every event: nobody needs to be woken.
fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// An endpoint that waits for connections.
pub(super) struct S2nListener {
    pub(super) host: Host<S2nEngine>,
    /// Whose connections are taken.
    pub(super) peer: SocketAddr,
}

impl Listener for S2nListener {
    fn accept(&mut self) -> Result<Box<dyn Connection>, Failure> {
        let peer = self.peer;
        let (connection, established_ns) =
            self.host.work_until("nobody connected to the receiver", |engine, now_ns| {
                while let Some(connection) = engine.arrived.pop_front() {
                    if connection.remote_addr().is_ok_and(|address| same_end(&address.into(), peer)) {
                        return Ok(Some((connection, now_ns)));
                    }
                }
                Ok(None)
            })?;
        let (handle, acceptor) = connection.split();
        Ok(Box::new(S2nConnection {
            host: self.host.clone(),
            handle,
            acceptor,
            stream: None,
            established_ns,
            over: Over::No,
            sender: None,
        }))
    }
}

/// What only the sender has. An endpoint closes when nobody holds its client any more.
struct Sender {
    metrics: Metrics,
    _client: Client,
}

/// A session, at either end.
pub(super) struct S2nConnection {
    host: Host<S2nEngine>,
    handle: Handle,
    acceptor: StreamAcceptor,
    /// Once it was opened.
    stream: Option<(ReceiveStream, SendStream)>,
    established_ns: i64,
    over: Over,
    sender: Option<Sender>,
}

impl S2nConnection {
    /// Waits until the connection that is attempted is there, and opens its stream.
    pub(super) fn open(
        host: Host<S2nEngine>,
        client: Client,
        mut attempt: s2n_quic::client::ConnectionAttempt,
        to: SocketAddr,
        metrics: Metrics,
    ) -> Result<Self, Failure> {
        let doing = format!("{to} did not answer the connection request");
        let (mut connection, established_ns) =
            host.work_until(&doing, |_, now_ns| match Pin::new(&mut attempt).poll(&mut context()) {
                Poll::Ready(Ok(connection)) => Ok(Some((connection, now_ns))),
                Poll::Ready(Err(
                    Error::IdleTimerExpired { .. } | Error::MaxHandshakeDurationExceeded { .. },
                )) => Err(unanswered(to)),
                Poll::Ready(Err(error)) => Err(lost("the handshake", loss(&error))),
                Poll::Pending => Ok(None),
            })?;
        let stream = host.work_until("opening a stream", |_, _| {
            match connection.poll_open_bidirectional_stream(&mut context()) {
                Poll::Ready(Ok(stream)) => Ok(Some(BidirectionalStream::split(stream))),
                Poll::Ready(Err(error)) => Err(lost("opening a stream", loss(&error))),
                Poll::Pending => Ok(None),
            }
        })?;
        let (handle, acceptor) = connection.split();
        Ok(Self {
            host,
            handle,
            acceptor,
            stream: Some(stream),
            established_ns,
            over: Over::No,
            sender: Some(Sender { metrics, _client: client }),
        })
    }

    /// The failure of a stream that broke while `doing`.
    fn broken(&self, doing: &str, error: &StreamError) -> Failure {
        self.host.session().failure().unwrap_or_else(|| lost(doing, stream_loss(error)))
    }

    /// The stream, if the other side has opened it.
    fn stream(&mut self, doing: &str) -> Result<Option<&mut (ReceiveStream, SendStream)>, Failure> {
        if self.stream.is_none() {
            match self.acceptor.poll_accept_bidirectional_stream(&mut context()) {
                Poll::Ready(Ok(Some(stream))) => self.stream = Some(stream.split()),
                Poll::Ready(Ok(None)) => return Err(lost(doing, Loss::Application(u64::from(DONE)))),
                Poll::Ready(Err(error)) => {
                    let failure = self.host.session().failure();
                    return Err(failure.unwrap_or_else(|| lost(doing, loss(&error))));
                }
                Poll::Pending => {}
            }
        }
        Ok(self.stream.as_mut())
    }

    /// Reads what is there of the stream; `None` when nothing is.
    fn read(&mut self, now_ns: i64, doing: &str, take: &mut Take<'_>) -> Result<Option<Arrival>, Failure> {
        let Some((receive, _)) = self.stream(doing)? else { return Ok(None) };
        let mut arrival = None;
        loop {
            match receive.poll_receive(&mut context()) {
                Poll::Ready(Ok(Some(bytes))) => {
                    take(&bytes, Some(now_ns))?;
                    arrival = Some(Arrival::Data);
                }
                Poll::Ready(Ok(None)) => return Ok(arrival.or(Some(Arrival::End))),
                Poll::Ready(Err(error)) if arrival.is_none() => return Err(self.broken(doing, &error)),
                Poll::Ready(Err(_)) | Poll::Pending => return Ok(arrival),
            }
        }
    }

    /// The receiver of everything ends its half of the stream too, and stays until the sender knows.
    fn linger(&mut self) -> Result<(), Failure> {
        if let Some((_, send)) = &mut self.stream {
            // A stream that was stopped needs no end.
            let _ = send.finish();
        }
        loop {
            let until_ns = self.host.now_ns() + LOOK_UP_NS;
            let gone = self.host.work(until_ns, "waiting for the sender to close", |engine, _| {
                let lost = self.acceptor.poll_accept_bidirectional_stream(&mut context()).is_ready();
                Ok((lost || !engine.arrived.is_empty()).then_some(()))
            })?;
            // A sender that is over, or failed, hears nothing any more.
            if gone.is_some() || !self.host.session().sender_runs_until(0) {
                return Ok(());
            }
        }
    }
}

impl Connection for S2nConnection {
    fn established_ns(&self) -> Option<i64> {
        Some(self.established_ns)
    }

    fn offer(&mut self, block: &[u8], _message_bytes: usize, _seq: u64) -> Result<usize, Failure> {
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
        sent.map_err(|error| self.broken(doing, &error))
    }

    fn wait_until_writable(&mut self, now_ns: i64, until_ns: i64) -> Result<(), Failure> {
        self.host.lock().note_time(now_ns);
        let host = self.host.clone();
        let doing = "the sender was still sending";
        host.work(until_ns, doing, |_, _| {
            let Some((_, send)) = self.stream("sending")? else { return Ok(None) };
            match send.poll_send_ready(&mut context()) {
                Poll::Ready(Ok(_)) => Ok(Some(())),
                Poll::Ready(Err(error)) => Err(self.broken("sending", &error)),
                Poll::Pending => Ok(None),
            }
        })?;
        Ok(())
    }

    fn pause(&mut self, _clock: &Clock, instant_ns: i64) -> Result<i64, Failure> {
        self.host.pause(instant_ns, |_| Ok(()))
    }

    fn finish(&mut self) -> Result<Option<i64>, Failure> {
        let doing = "waiting for the receiver to get everything and close";
        if let Some((_, send)) = &mut self.stream {
            send.finish().map_err(|error| lost(doing, stream_loss(&error)))?;
        }
        let host = self.host.clone();
        let ended_ns = host.work_until(doing, |_, now_ns| {
            let arrival = self.read(now_ns, doing, &mut |_, _| Ok(()))?;
            Ok((arrival == Some(Arrival::End)).then_some(now_ns))
        })?;
        self.over = Over::Done;
        Ok(Some(ended_ns))
    }

    fn instants(&self) -> DeliveryInstants {
        DeliveryInstants::Application
    }

    fn receive(&mut self, _: u64, _: u64, take: &mut Take<'_>) -> Result<Arrival, Failure> {
        let host = self.host.clone();
        let arrival = host.work_until("the receiver was still receiving", |_, now_ns| {
            self.read(now_ns, "receiving", take)
        })?;
        if arrival == Arrival::End {
            self.over = Over::Received;
        }
        Ok(arrival)
    }

    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure> {
        Ok(self.sender.as_ref().map(|sender| -> Box<dyn Sampler> { Box::new(sender.metrics.clone()) }))
    }
}

impl Drop for S2nConnection {
    fn drop(&mut self) {
        if self.over == Over::Received && self.linger().is_ok() {
            self.over = Over::Done;
        }
        let code = if self.over == Over::Done { DONE } else { BROKEN_OFF };
        self.handle.close(application::Error::from(code));
        self.host.lock().settle();
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
