//! Applications on board: each has a pipe of the bus, takes its commands from there and counts them.

pub(crate) mod benchmark;
pub(crate) mod ingest;
pub(crate) mod output;
