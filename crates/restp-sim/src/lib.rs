//! Deterministic network simulator: links with every fault that a transport must survive, replayable from one seed.
//!
//! Put your endpoint behind the [`Host`] trait (or use [`restp::RestpHost`]), connect hosts by links, run:
//!
//! ```
//! use std::time::Duration;
//! use restp_sim::{LinkConfig, Loss, Network, restp};
//! use restp_proto::Profile;
//!
//! let link = LinkConfig { loss: Loss::Bernoulli(0.05), ..LinkConfig::new(10_000_000, Duration::from_millis(20)) };
//! let mut pair = restp::Pair::new(7, &Profile::file_arq(), &link);
//! let (sent, received) = pair.transfer(200_000, Duration::from_secs(60));
//! assert_eq!(sent, received);
//! ```
//!
//! ```text
//! host --> [ scripted drops, outage, loss | MTU | queue, rate | delay, jitter, reordering | bit errors, copies ] --> host
//!            decided on entry                              waits here              decided on entry
//! ```
//!
//! The same seed and the same calls give the same packets at the same nanoseconds, on every machine.
#![forbid(unsafe_code)]

mod link;
mod loss;
mod nat;
mod network;
mod packet;
mod pcap;
pub mod restp;
mod rng;

pub use link::{DropRule, LinkConfig, LinkId, LinkStats, Outage};
pub use loss::Loss;
pub use network::{Host, HostId, Network};
pub use packet::{Outgoing, Packet};
pub use pcap::PcapWriter;
pub use rng::SimRng;
