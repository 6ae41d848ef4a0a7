//! HTTP as the rest of the program sees it: who asks, who has what is asked for, and a transport that carries both.

use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;

use crate::error::Failure;
use crate::session::Session;

/// Over which connections objects are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Version {
    /// HTTP/1.1, a connection for each object, one after the other.
    #[serde(rename = "1.1-fresh")]
    OneFresh,
    /// HTTP/1.1 over connections that are kept.
    #[serde(rename = "1.1")]
    One,
    /// HTTP/2 over one connection.
    #[serde(rename = "2")]
    Two,
    /// HTTP/3 over one connection.
    #[serde(rename = "3")]
    Three,
    /// HTTP/3, a connection for each object, one after the other.
    #[serde(rename = "3-fresh")]
    ThreeFresh,
}

impl Version {
    /// The word in a plan.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneFresh => "1.1-fresh",
            Self::One => "1.1",
            Self::Two => "2",
            Self::Three => "3",
            Self::ThreeFresh => "3-fresh",
        }
    }

    /// Whether it goes over QUIC, and over nothing else.
    pub fn needs_quic(self) -> bool {
        matches!(self, Self::Three | Self::ThreeFresh)
    }

    /// Whether each object has a connection of its own.
    pub(super) fn is_fresh(self) -> bool {
        matches!(self, Self::OneFresh | Self::ThreeFresh)
    }
}

/// The instants of a connection that was opened for an object.
#[derive(Debug, Clone, Copy, Default)]
pub struct Opened {
    /// The connection was there.
    pub connected_ns: Option<i64>,
    /// And secure, where that takes a handshake more.
    pub secured_ns: Option<i64>,
}

/// Who asks for objects, each once the one that names it is there. What it is told is noted by the object's number.
pub trait Browser {
    /// How many objects can be asked for now: they are known, and were not asked for yet.
    fn known(&self) -> usize;

    /// Asks for the next of them at `now_ns`; returns its number, `None` when none is known.
    fn ask(&self, now_ns: i64) -> Option<usize>;

    /// The number of the origin that an object comes from.
    fn origin(&self, object: usize) -> usize;

    /// The path to ask for.
    fn path(&self, object: usize) -> String;

    /// A connection was opened for it.
    fn opened(&self, object: usize, opened: Opened);

    /// The head of the answer is there.
    fn answered(&self, object: usize, now_ns: i64);

    /// Bytes of it came.
    ///
    /// # Errors
    /// A sentence: they are not the object's.
    fn take(&self, object: usize, bytes: &[u8], now_ns: i64) -> Result<(), Failure>;

    /// It is over, for good or ill.
    fn over(&self, object: usize, outcome: Result<(), Failure>, now_ns: i64);
}

/// Who has what is asked for.
pub trait Site {
    /// The object of this path, if there is one.
    fn find(&self, path: &str) -> Option<Box<dyn Content>>;
}

/// The bytes of one object, a piece at a time.
pub trait Content {
    /// Bytes that are still to come.
    fn left_bytes(&self) -> u64;

    /// The next piece, which is handed over now; `None` when there is no more.
    fn next_piece(&mut self) -> Option<Bytes>;
}

/// A transport that carries HTTP.
pub trait HttpCarrier {
    /// Whether it is QUIC.
    fn is_quic(&self) -> bool;

    /// Loads what `browser` wants from the destination of `session` over at most `connections` connections at a time.
    /// What became of each object is in the browser.
    ///
    /// # Errors
    /// The failure that ended the flow; that of an object is its own outcome.
    fn load(
        &self,
        session: &Arc<Session>,
        browser: &dyn Browser,
        version: Version,
        connections: usize,
    ) -> Result<(), Failure>;

    /// Serves `site` at the destination of `session` until the browser has all it wants.
    ///
    /// # Errors
    /// The failure that ended the flow, or that the browser has all it wants.
    fn serve(&self, session: &Arc<Session>, site: &Rc<dyn Site>, version: Version) -> Result<(), Failure>;
}
