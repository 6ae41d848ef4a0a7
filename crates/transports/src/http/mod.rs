//! HTTP between the two halves of a flow.
//!
//! ```text
//!   hyper (HTTP/1.1, HTTP/2)       h3 (HTTP/3)
//!   rustls, by tokio-rustls        |
//!   sockets: TCP, SCTP             quinn-proto
//! ```
//!
//! The libraries are the ones that programs use; none of them brings its runtime. What they wait for is waited for in the
//! thread of the half, in one place ([`tasks`]): so a wake-up costs a few system calls, and instants are exact.

mod answer;
pub(crate) mod carrier;
mod graph;
mod h3;
mod sentence;
mod sockets;
pub(crate) mod stream;
mod tasks;
