//! Streams, datagrams and errors of quinn's connections.

crate::stacks::quic::family::calls!(quinn_proto);
