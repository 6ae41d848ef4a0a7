//! s2n-quic's endpoint without the runtime that it brings along.
//!
//! A [`Slot`] is given to the library as its provider of input and output. It starts no thread and no socket: it keeps the
//! endpoint, and whoever takes it drives it, in a thread of his own, with datagrams and a clock of his own. Its timers
//! count microseconds, where the runtime would round them to milliseconds.

#![forbid(unsafe_code)]

mod datagrams;
mod endpoint;
mod queues;

pub use datagrams::{Batch, Datagram, LONGEST_OCTETS, Outlet};
pub use endpoint::{Endpoint, Slot};
