//! Deterministic network simulator: links with every fault a transport must survive, replayable from one seed.
#![forbid(unsafe_code)]
