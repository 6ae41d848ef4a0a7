//! A connection of s2n-quic as h3 wants one.

use std::task::{Context, Poll, ready};

use bytes::Buf;
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, OpenStreams, StreamErrorIncoming};
use s2n_quic::connection::{Handle, StreamAcceptor};

use super::errors::{ended, lost, lost_with_it};
use super::streams::{BidiStream, RecvStream, SendStream, code};

/// What opens streams and closes the connection.
pub(super) struct Opener(Handle);

impl<B: Buf> OpenStreams<B> for Opener {
    type BidiStream = BidiStream<B>;
    type SendStream = SendStream<B>;

    fn poll_open_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<BidiStream<B>, StreamErrorIncoming>> {
        self.0.poll_open_bidirectional_stream(context).map_ok(BidiStream::new).map_err(lost_with_it)
    }

    fn poll_open_send(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<SendStream<B>, StreamErrorIncoming>> {
        self.0.poll_open_send_stream(context).map_ok(SendStream::new).map_err(lost_with_it)
    }

    fn close(&mut self, error: Code, _reason: &[u8]) {
        self.0.close(code(error.value()));
    }
}

/// A connection whose handshake is over.
pub(super) struct Connection {
    opener: Opener,
    acceptor: StreamAcceptor,
}

impl Connection {
    pub(super) fn new(handle: Handle, acceptor: StreamAcceptor) -> Self {
        Self { opener: Opener(handle), acceptor }
    }
}

impl<B: Buf> OpenStreams<B> for Connection {
    type BidiStream = BidiStream<B>;
    type SendStream = SendStream<B>;

    fn poll_open_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<BidiStream<B>, StreamErrorIncoming>> {
        self.opener.poll_open_bidi(context)
    }

    fn poll_open_send(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<SendStream<B>, StreamErrorIncoming>> {
        self.opener.poll_open_send(context)
    }

    fn close(&mut self, error: Code, reason: &[u8]) {
        OpenStreams::<B>::close(&mut self.opener, error, reason);
    }
}

impl<B: Buf> quic::Connection<B> for Connection {
    type RecvStream = RecvStream;
    type OpenStreams = Opener;

    fn poll_accept_recv(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<RecvStream, ConnectionErrorIncoming>> {
        let accepted = ready!(self.acceptor.poll_accept_receive_stream(context)).map_err(lost)?;
        Poll::Ready(accepted.map(RecvStream::new).ok_or_else(ended))
    }

    fn poll_accept_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<BidiStream<B>, ConnectionErrorIncoming>> {
        let accepted = ready!(self.acceptor.poll_accept_bidirectional_stream(context)).map_err(lost)?;
        Poll::Ready(accepted.map(BidiStream::new).ok_or_else(ended))
    }

    fn opener(&self) -> Opener {
        Opener(self.opener.0.clone())
    }
}
