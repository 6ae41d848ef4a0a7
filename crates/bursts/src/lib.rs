//! The burst-loss benchmark: who brings a file home over a link that loses packets in bursts, and who first?
//!
//! The grid is in `grid.toml` and was registered before anything was played. All stacks are the real ones, without
//! their sockets, in the same simulated network (`restp-sim`): the same links, queues and loss models.
//!
//! ```text
//! play ──> CSV, a line a try ──> page (docs/bursts.md)
//! ```

pub mod attempt;
pub mod grid;
mod kcp_host;
pub mod modes;
pub mod page;
mod quic;
mod restp;
pub mod stack;
pub mod table;
pub mod verdict;
pub mod whole;
