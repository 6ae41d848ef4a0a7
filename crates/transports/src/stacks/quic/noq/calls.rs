//! Streams, datagrams and errors of noq's connections.

crate::stacks::quic::family::calls!(noq_proto);
