//! The burst-loss benchmark: who brings a file home over a link that loses packets in bursts, and who first?
//!
//! The grid is in `grid.toml` and was registered before anything was played.

pub mod grid;
