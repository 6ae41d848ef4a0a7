//! HTTP between the two halves of a flow: a browser that loads a page, and a server that has it.
//!
//! ```text
//!   hyper (HTTP/1.1, HTTP/2)       h3 (HTTP/3)
//!   rustls, by tokio-rustls        |
//!   sockets: TCP, SCTP             quinn-proto
//! ```
//!
//! The libraries are the ones that programs use; none of them brings its runtime. What they wait for is waited for in the
//! thread of the half, in one place ([`tasks`]): so a wake-up costs a few system calls, and instants are exact.

mod browser;
mod page;
mod quic;
mod sentence;
mod server;
mod sockets;
mod stream;
mod tasks;

pub(crate) use browser::{Browser, Loaded};
pub(crate) use page::{Object, Page};
pub(crate) use server::Site;
pub(crate) use stream::{StreamCarrier, TlsEnds};

use std::sync::Arc;

use serde::Deserialize;

use crate::error::{Failure, SpecError};
use crate::session::Session;
use crate::stacks::{Quinn, Stack};

/// Over which connections a page is loaded (`http` of `app_params`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Version {
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
    fn name(self) -> &'static str {
        match self {
            Self::OneFresh => "1.1-fresh",
            Self::One => "1.1",
            Self::Two => "2",
            Self::Three => "3",
            Self::ThreeFresh => "3-fresh",
        }
    }

    fn needs_quic(self) -> bool {
        matches!(self, Self::Three | Self::ThreeFresh)
    }

    /// Whether each object has a connection of its own.
    fn is_fresh(self) -> bool {
        matches!(self, Self::OneFresh | Self::ThreeFresh)
    }
}

/// What HTTP goes over.
pub enum Carrier<'a> {
    /// A byte stream of the kernel's, perhaps with TLS.
    Stream(&'a dyn StreamCarrier),
    /// QUIC.
    Quic(&'a Quinn),
}

/// Refuses a version of HTTP that does not go over a transport.
///
/// # Errors
/// A sentence that names both and what would be right.
pub(crate) fn check(version: Version, stack: &dyn Stack) -> Result<(), SpecError> {
    let name = version.name();
    match (stack.carries_http()?, version.needs_quic()) {
        (Carrier::Stream(_), false) | (Carrier::Quic(_), true) => Ok(()),
        (Carrier::Stream(_), true) => Err(SpecError::new(format!(
            "`app_params` of `page`: `http` is \"{name}\", which needs QUIC, which `{}` is not; choose the stack \
             `quic-quinn`, or `http` \"1.1-fresh\", \"1.1\" or \"2\"",
            stack.name()
        ))),
        (Carrier::Quic(_), false) => Err(SpecError::new(format!(
            "`app_params` of `page`: `http` is \"{name}\", which needs TCP, SCTP or TLS, and `{}` is QUIC; choose \
             another stack, or `http` \"3\" or \"3-fresh\"",
            stack.name()
        ))),
    }
}

/// Loads the page of `browser` from the destination of `session` over at most `connections` connections at a time. What
/// became of each object is in the browser.
///
/// # Errors
/// The failure that ended the flow; that of an object is its own outcome.
pub(crate) fn load(
    stack: &dyn Stack,
    session: &Arc<Session>,
    browser: &Browser,
    version: Version,
    connections: usize,
) -> Result<(), Failure> {
    match stack.carries_http().map_err(|error| Failure::new(error.to_string()))? {
        Carrier::Stream(carrier) => sockets::load(carrier, session, browser, version, connections),
        Carrier::Quic(quinn) => quic::load(quinn, session, browser, version),
    }
}

/// Serves `site` at the destination of `session` until the browser has all it wants.
///
/// # Errors
/// The failure that ended the flow.
pub(crate) fn serve(
    stack: &dyn Stack,
    session: &Arc<Session>,
    site: &Site,
    version: Version,
) -> Result<(), Failure> {
    let served = match stack.carries_http().map_err(|error| Failure::new(error.to_string()))? {
        Carrier::Stream(carrier) => sockets::serve(carrier, session, site, version),
        Carrier::Quic(quinn) => quic::serve(quinn, session, site),
    };
    match session.failure() {
        Some(failure) => Err(failure),
        None if session.last_session_is_over() => Ok(()),
        None => served,
    }
}
