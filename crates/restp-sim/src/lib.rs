//! Deterministic network simulator: links with every fault that a transport must survive, replayable from one seed.
//!
//! Put your endpoint behind the [`Host`] trait (or use [`RestpHost`]), connect hosts by links, run:
//!
//! ```
//! use std::time::Duration;
//! use restp_sim::{LinkConfig, Loss, Pair};
//! use restp_proto::Profile;
//!
//! let link = LinkConfig { loss: Loss::Bernoulli(0.05), ..LinkConfig::new(10_000_000, Duration::from_millis(20)) };
//! let mut pair = Pair::new(7, &Profile::file_arq(), &link);
//! let transferred = pair.transfer(200_000, Duration::from_secs(60))?;
//! assert!(transferred.took < Duration::from_secs(2));
//! # Ok::<(), restp_sim::Incomplete>(())
//! ```
//!
//! ```text
//! host --> [ scripted drops, outage, loss | MTU | queue, rate | delay, jitter, reordering | bit errors, copies ] --> host
//!            decided on entry                              waits here              decided on entry
//! ```
//!
//! The same seed and the same calls give the same packets at the same nanoseconds, on every machine.
//!
//! | feature | what it adds |
//! |---|---|
//! | `protected` (default) | connections with keys: the feature of the same name of [`restp_proto`] |
#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod link;
mod loss;
mod nat;
mod network;
mod packet;
pub mod pair;
mod pcap;
mod rng;

pub use restp_proto;
pub use restp_proto::Instant;

pub use link::{DropRule, LinkConfig, LinkId, LinkStats, Outage};
pub use loss::Loss;
pub use network::{Host, HostId, Network};
pub use packet::{Outgoing, Packet};
pub use pair::{Incomplete, Pair, RestpHost, Transferred};
pub use pcap::PcapWriter;
pub use rng::SimRng;

/// The examples of the read-me, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[derive(Debug)]
pub struct ReadMe;
