//! Transports of the kernel: sockets.

mod fast_open;
pub(crate) mod mptcp;
pub(crate) mod sctp;
pub(crate) mod socket;
mod stream;
pub(crate) mod tcp;
pub(crate) mod tcp_info;
pub(crate) mod udp;
