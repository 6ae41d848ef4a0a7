//! Streams of s2n-quic as h3 wants them.

use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use s2n_quic::application;
use s2n_quic::stream::{self, BidirectionalStream, ReceiveStream};

use super::errors::broken;

/// A code of HTTP/3 in the library's type; one that QUIC cannot say is unknown.
pub(super) fn code(value: u64) -> application::Error {
    application::Error::new(value).unwrap_or(application::Error::UNKNOWN)
}

fn stream_id(id: u64) -> StreamId {
    StreamId::try_from(id).expect("the library's ids are QUIC's")
}

/// A stream to the client. A piece at a time waits until the library has room for it.
pub(super) struct SendStream<B> {
    stream: stream::SendStream,
    writing: Option<WriteBuf<B>>,
}

impl<B> SendStream<B> {
    pub(super) fn new(stream: stream::SendStream) -> Self {
        Self { stream, writing: None }
    }
}

impl<B: Buf> quic::SendStream<B> for SendStream<B> {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(data) = self.writing.as_mut().filter(|data| data.has_remaining()) {
            let room = ready!(self.stream.poll_send_ready(context)).map_err(broken)?;
            let piece = data.copy_to_bytes(room.min(data.chunk().len()));
            self.stream.send_data(piece).map_err(broken)?;
        }
        self.writing = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<D: Into<WriteBuf<B>>>(&mut self, data: D) -> Result<(), StreamErrorIncoming> {
        if self.writing.is_some() {
            return Err(StreamErrorIncoming::ConnectionErrorIncoming {
                connection_error: ConnectionErrorIncoming::InternalError(
                    "a piece was sent before the stream was ready for it".into(),
                ),
            });
        }
        self.writing = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        Poll::Ready(self.stream.finish().map_err(broken))
    }

    fn reset(&mut self, reset_code: u64) {
        // A stream that is over needs none.
        let _ = self.stream.reset(code(reset_code));
    }

    fn send_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

/// A stream from the client.
pub(super) struct RecvStream(ReceiveStream);

impl RecvStream {
    pub(super) fn new(stream: ReceiveStream) -> Self {
        Self(stream)
    }
}

impl quic::RecvStream for RecvStream {
    type Buf = Bytes;

    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.0.poll_receive(context).map_err(broken)
    }

    fn stop_sending(&mut self, error_code: u64) {
        // A stream that is over needs none.
        let _ = self.0.stop_sending(code(error_code));
    }

    fn recv_id(&self) -> StreamId {
        stream_id(self.0.id())
    }
}

/// A stream both ways.
pub(super) struct BidiStream<B> {
    send: SendStream<B>,
    receive: RecvStream,
}

impl<B> BidiStream<B> {
    pub(super) fn new(stream: BidirectionalStream) -> Self {
        let (receive, send) = stream.split();
        Self { send: SendStream::new(send), receive: RecvStream::new(receive) }
    }
}

impl<B: Buf> quic::SendStream<B> for BidiStream<B> {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(context)
    }

    fn send_data<D: Into<WriteBuf<B>>>(&mut self, data: D) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(context)
    }

    fn reset(&mut self, reset_code: u64) {
        self.send.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

impl<B: Buf> quic::RecvStream for BidiStream<B> {
    type Buf = Bytes;

    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receive.poll_data(context)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.receive.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.receive.recv_id()
    }
}
