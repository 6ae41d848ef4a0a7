//! QUIC in the program: libraries, each a transport of its own.
//!
//! They run in the thread of their application. What arrives is handled when that thread waits: in
//! [`Connection::receive`](crate::Connection::receive), [`Connection::pause`](crate::Connection::pause), and so on.

mod arrivals;
mod connection;
mod credentials;
mod driver;
mod family;
mod library;
pub(crate) mod noq;
#[cfg(feature = "quiche")]
pub(crate) mod quiche;
pub(crate) mod quinn;
mod retry;
pub(crate) mod s2n;
mod sentence;
mod socket;

use std::time::Duration;

pub use retry::retry_tag;

use crate::error::{Failure, SpecError};
use crate::params::nanoseconds;

/// The libraries of these transports, of HTTP over them and of their cryptography, with the versions that are built in. A
/// test holds the versions against `Cargo.lock`.
pub const LIBRARIES: &[(&str, &str)] = &[
    ("aws-lc-rs", "1.19.0"),
    #[cfg(feature = "quiche")]
    ("boring-sys", "5.4.0"),
    ("h2", "0.4.20"),
    ("h3", "0.0.8"),
    ("hyper", "1.12.0"),
    #[cfg(feature = "quiche")]
    ("quiche", "0.30.0"),
    ("noq-proto", "1.4.0"),
    ("quinn-proto", "0.11.19"),
    ("ring", "0.17.14"),
    ("rustls", "0.23.46"),
    ("s2n-quic", "1.83.0"),
];

/// The code with which a session is closed that went well, and one that did not. What codes mean is the
/// application's business (RFC 9000, section 20.2).
const DONE: u32 = 0;
const BROKEN_OFF: u32 = 1;

/// The shortest idle time-out: a millisecond, the unit of its transport parameter (RFC 9000, section 18.2).
const SHORTEST_IDLE_S: f64 = 1e-3;

/// Reads `idle_timeout_s`, the silence after which a connection counts as dead.
fn idle_timeout(stack: &str, value_s: f64) -> Result<Duration, SpecError> {
    let timeout_ns = nanoseconds("idle_timeout_s", value_s, SHORTEST_IDLE_S)
        .map_err(|error| SpecError::new(format!("`stack_params` of `{stack}`: {error}")))?;
    Ok(Duration::from_nanos(timeout_ns as u64))
}

/// The failure of TLS settings that a library does not take.
fn no_initial_suite(error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("the TLS configuration does not suit QUIC: {error}"))
}
