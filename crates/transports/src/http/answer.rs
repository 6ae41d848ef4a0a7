//! What is asked and what is answered, whatever the version.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::{Response, StatusCode};

use super::carrier::{Content, Site};
use crate::error::Failure;
use crate::session::Session;

/// The headers that every request has besides its path.
pub(super) fn request(path: &str) -> hyper::http::request::Builder {
    hyper::Request::get(path)
        .header("accept", "*/*")
        .header("user-agent", concat!("gauntlet/", env!("CARGO_PKG_VERSION")))
}

/// Gives a request its body.
pub(super) fn with_body<B>(
    request: hyper::http::request::Builder,
    body: B,
) -> Result<hyper::Request<B>, Failure> {
    request
        .body(body)
        .map_err(|error| Failure::new(format!("the request could not be put together: {error}")))
}

/// Refuses an answer that there is no such object.
pub(super) fn check_found(status: StatusCode) -> Result<(), Failure> {
    match status {
        StatusCode::OK => Ok(()),
        _ => Err(Failure::new(format!("the server answered {status} instead of 200 OK"))),
    }
}

/// The answer to a request: the object of this path, or that there is none. It is there when a processor of the server
/// has done what it takes.
pub(super) fn answer(site: &dyn Site, session: &Session, path: &str) -> Response<Answer> {
    session.serve_request();
    let content = site.find(path);
    let size_bytes = content.as_ref().map_or(0, |content| content.left_bytes());
    let status = if content.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    let mut response = Response::new(Answer(content));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert("content-type", hyper::header::HeaderValue::from_static("application/octet-stream"));
    headers.insert("content-length", size_bytes.into());
    response
}

/// The body of an answer.
pub(super) struct Answer(Option<Box<dyn Content>>);

impl Answer {
    /// The next piece; `None` when there is no more.
    pub(super) fn next_piece(&mut self) -> Option<Bytes> {
        self.0.as_mut()?.next_piece()
    }

    fn left_bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |content| content.left_bytes())
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.next_piece().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left_bytes() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left_bytes())
    }
}
