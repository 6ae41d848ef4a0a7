//! The answer to a request, the same for all protocols.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Response, StatusCode, Uri};

use super::body::{Taken, is_taken};
use super::watch::Open;
use crate::site::{Pieces, Site};

/// The body of an answer.
pub(super) struct Answer {
    pieces: Pieces,
    open: Open,
}

impl Answer {
    fn new(octets: u64, open: Open) -> Self {
        let mut answer = Self { pieces: Pieces::new(octets), open };
        answer.note();
        answer
    }

    /// The next piece, which is taken now.
    pub(super) fn next_piece(&mut self) -> Option<Bytes> {
        let piece = self.pieces.next()?;
        self.open.went_on();
        self.note();
        Some(piece)
    }

    fn note(&mut self) {
        if self.pieces.left() == 0 {
            self.open.done();
        }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next_piece().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.pieces.left())
    }
}

/// Answers a request that is `open`, by what came of its body.
pub(super) fn answer(site: &Site, method: &Method, uri: &Uri, taken: Taken, open: Open) -> Response<Answer> {
    let (status, found) = match (taken, site.find(uri.path())) {
        (Err(status), _) => (status, None),
        _ if method != Method::GET && !is_taken(method) => (StatusCode::METHOD_NOT_ALLOWED, None),
        (Ok(()), Some(found)) => (StatusCode::OK, Some(found)),
        (Ok(()), None) => (StatusCode::NOT_FOUND, None),
    };
    let octets = found.as_ref().map_or(0, |found| found.octets);
    let mut response = Response::new(Answer::new(octets, open));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, octets.into());
    if let Some(media_type) = found.and_then(|found| HeaderValue::from_str(&found.media_type).ok()) {
        headers.insert(CONTENT_TYPE, media_type);
    }
    response
}
