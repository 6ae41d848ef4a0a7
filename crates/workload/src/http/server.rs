//! What a server has, and what it knows of the objects that it was asked for.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::{Response, StatusCode};

use super::page::{Content, Page};
use crate::context::Clock;
use crate::ledger::Sent;

/// A page and the notes of who serves it. Clones share them.
#[derive(Clone)]
pub(crate) struct Site(Rc<Inner>);

struct Inner {
    page: Page,
    clock: Clock,
    sent: RefCell<Sent>,
}

impl Site {
    /// A server's page.
    pub(crate) fn new(page: Page, clock: Clock) -> Self {
        Self(Rc::new(Inner { page, clock, sent: RefCell::new(Sent::new(0, false)) }))
    }

    /// What was handed over so far.
    pub(crate) fn sent(&self) -> Sent {
        self.0.sent.take()
    }

    /// The answer to a request: the object of this path, or that there is none.
    pub(super) fn answer(&self, path: &str) -> Response<Answer> {
        let index = self.0.page.asked_for(path);
        let content = index.map(|index| self.0.page.body(index));
        let size_bytes = content.as_ref().map_or(0, Content::left_bytes);
        if content.is_some() && size_bytes == 0 {
            // No piece of it will be asked for.
            self.0.sent.borrow_mut().note(1, 0, self.0.clock.now_ns());
        }
        let mut response = Response::new(Answer { site: self.clone(), content });
        if index.is_none() {
            *response.status_mut() = StatusCode::NOT_FOUND;
        }
        let headers = response.headers_mut();
        headers.insert("content-type", hyper::header::HeaderValue::from_static("application/octet-stream"));
        headers.insert("content-length", size_bytes.into());
        response
    }
}

/// The body of an answer, noted as it is handed over.
pub(super) struct Answer {
    site: Site,
    content: Option<Content>,
}

impl Answer {
    /// The next piece; `None` when there is no more.
    pub(super) fn next_piece(&mut self) -> Option<Bytes> {
        let content = self.content.as_mut()?;
        let Inner { page, clock, sent } = &*self.site.0;
        let piece = content.next_piece(page)?;
        let whole = u64::from(content.left_bytes() == 0);
        let mut sent = sent.borrow_mut();
        sent.bytes += piece.len() as u64;
        sent.note(whole, 0, clock.now_ns());
        Some(piece)
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
        self.content.as_ref().is_none_or(|content| content.left_bytes() == 0)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.content.as_ref().map_or(0, Content::left_bytes))
    }
}
