//! HTTP/3 streams that end the connection when more comes over them than they may carry.
//!
//! The library reads a frame into memory until it is whole, and believes the length that the client stated: without a
//! bound of ours a head or a SETTINGS frame could be of any size, as flow control gives room for what was read.

use std::task::{Context, Poll, ready};

use bytes::Buf;
use h3::quic::{
    Connection, ConnectionErrorIncoming, OpenStreams, RecvStream, SendStream, StreamErrorIncoming, StreamId,
    WriteBuf,
};

use crate::limits::Limits;

/// What streams may carry from the client to the server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    request_octets: u64,
    control_octets: u64,
}

impl Bounds {
    pub(super) fn of(limits: &Limits) -> Self {
        Self { request_octets: limits.request_octets(), control_octets: limits.control_octets }
    }
}

/// A connection whose streams are bounded, and what opens streams of it.
pub(super) struct Bounded<T> {
    inner: T,
    bounds: Bounds,
}

impl<T> Bounded<T> {
    pub(super) fn new(inner: T, bounds: Bounds) -> Self {
        Self { inner, bounds }
    }
}

impl<B: Buf, T: OpenStreams<B>> OpenStreams<B> for Bounded<T> {
    type BidiStream = Stream<T::BidiStream>;
    type SendStream = T::SendStream;

    fn poll_open_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, StreamErrorIncoming>> {
        let left = self.bounds.request_octets;
        self.inner.poll_open_bidi(context).map_ok(|inner| Stream { inner, left })
    }

    fn poll_open_send(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::SendStream, StreamErrorIncoming>> {
        self.inner.poll_open_send(context)
    }

    fn close(&mut self, code: h3::error::Code, reason: &[u8]) {
        self.inner.close(code, reason);
    }
}

impl<B: Buf, T: Connection<B>> Connection<B> for Bounded<T> {
    type RecvStream = Stream<T::RecvStream>;
    type OpenStreams = Bounded<T::OpenStreams>;

    fn poll_accept_recv(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::RecvStream, ConnectionErrorIncoming>> {
        let left = self.bounds.control_octets;
        self.inner.poll_accept_recv(context).map_ok(|inner| Stream { inner, left })
    }

    fn poll_accept_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, ConnectionErrorIncoming>> {
        let left = self.bounds.request_octets;
        self.inner.poll_accept_bidi(context).map_ok(|inner| Stream { inner, left })
    }

    fn opener(&self) -> Self::OpenStreams {
        Bounded { inner: self.inner.opener(), bounds: self.bounds }
    }
}

/// A stream over which so much may still come.
pub(super) struct Stream<S> {
    inner: S,
    left: u64,
}

impl<S: RecvStream> RecvStream for Stream<S> {
    type Buf = S::Buf;

    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Self::Buf>, StreamErrorIncoming>> {
        let data = ready!(self.inner.poll_data(context))?;
        let octets = data.as_ref().map_or(0, |data| data.remaining() as u64);
        Poll::Ready(match self.left.checked_sub(octets) {
            Some(left) => {
                self.left = left;
                Ok(data)
            }
            None => Err(StreamErrorIncoming::ConnectionErrorIncoming {
                connection_error: ConnectionErrorIncoming::InternalError("a stream carried too much".into()),
            }),
        })
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.inner.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.inner.recv_id()
    }
}

impl<B: Buf, S: SendStream<B>> SendStream<B> for Stream<S> {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.inner.poll_ready(context)
    }

    fn send_data<D: Into<WriteBuf<B>>>(&mut self, data: D) -> Result<(), StreamErrorIncoming> {
        self.inner.send_data(data)
    }

    fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.inner.poll_finish(context)
    }

    fn reset(&mut self, reset_code: u64) {
        self.inner.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.inner.send_id()
    }
}
