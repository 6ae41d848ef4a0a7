//! ResTP protocol core: a composable, resilient transport that owns no socket, no clock and no global randomness.
#![forbid(unsafe_code)]

pub mod wire;
