//! What transports of the kernel have in common: their sockets.

pub(crate) mod datagram;
pub(crate) mod fast_open;
pub(crate) mod path_mtu;
pub(crate) mod socket;
pub(crate) mod stream;
pub(crate) mod tcp_info;
pub(crate) mod work;
