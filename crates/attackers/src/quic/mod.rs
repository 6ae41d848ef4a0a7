//! A QUIC client of our own: as much of RFC 9000 as an honest handshake and a request need, and free to leave out or add
//! what an honest client would not.

mod client;
mod keys;
mod recovery;
mod session;

pub use client::{Acks, Client, Receive};
pub use session::QuicSession;
