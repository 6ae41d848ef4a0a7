//! What loads the network: *applications* over any of the transports, and what they record message by message.
//!
//! A flow is described by a [`FlowSpec`], checked by [`FlowSpec::check`], and run in two halves, one thread each, that
//! the caller has put into the right network namespaces:
//!
//! ```
//! use std::net::SocketAddr;
//!
//! use transports::{Clock, Context};
//! use workload::{FlowSpec, join, prepare};
//!
//! # // An address of the loopback interface that is this process's own, whatever else runs here.
//! # let [_, a, b, c] = std::process::id().to_be_bytes();
//! # let host = [127, a, b, c];
//! let spec: FlowSpec = serde_json::from_str(
//!     r#"{"id": "f0", "stack": "tcp", "stack_params": {"congestion_control": "cubic"},
//!         "app": "bulk", "app_params": {"size_bytes": 100000}, "from": "a", "to": "b", "start_s": 0.0}"#,
//! )?;
//! let ctx = Context {
//!     clock: Clock::starting_now(false),
//!     limit_ns: 20_000_000_000,
//!     seed: 1,
//!     // Port 0: the kernel chooses.
//!     source: SocketAddr::from((host, 0)),
//!     destination: SocketAddr::from((host, 7000)),
//!     further_ports: Vec::new(),
//!     source_further: Vec::new(),
//!     destination_further: Vec::new(),
//!     quiet_ns: Context::DEFAULT_QUIET_NS,
//!     socket_interval_ns: None,
//!     messages: true,
//!     wire: false,
//!     wake: false,
//!     keys: false,
//!     qlog: None,
//!     processor: None,
//!     progress: None,
//! };
//! let (server, client) = prepare(spec.check()?, ctx)?;
//! let (received, sent) = std::thread::scope(|scope| {
//!     let receiving = scope.spawn(|| server.run());
//!     let sent = client.run();
//!     (receiving.join().expect("the receiver does not panic"), sent)
//! });
//! let report = join((server, received), (client, sent));
//! assert_eq!(report.result.received_bytes, 100_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nothing here waits for ever: every wait ends at [`transports::Context::limit_ns`], and a half that fails ends the other one.
#![forbid(unsafe_code)]

#[macro_use]
pub mod columns;

mod application;
pub mod apps;
mod exchange;
mod framing;
mod halves;
mod ledger;
mod log;
mod one_session;
mod outcome;
mod payload;
mod reopening;
mod report;
mod spec;
mod verdicts;
mod warm_up;
mod wire;

pub use exchange::{Exchange, ExchangeLog, OK};
pub use framing::{Beginning, Framing, Messages};
pub use halves::{ClientHalf, ServerHalf, join, join_alone, join_asking_alone, prepare, prepare_apart};
pub use ledger::{ClientResult, Received, Sent, ServerResult, WarmUp};
pub use log::{Message, MessageLog, SocketLog};
pub use outcome::{Ending, FlowResult, Summary};
pub use payload::HEADER_BYTES;
pub use report::FlowReport;
pub use spec::{Flow, FlowSpec};
pub use verdicts::{Judged, SafetyLog};
pub use wire::{StreamInstants, WireTap};
