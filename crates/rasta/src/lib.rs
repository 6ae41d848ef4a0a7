//! RaSTA, the Rail Safe Transport Application protocol of DIN VDE V 0831-200, as it is publicly documented.
//!
//! ```
//! use rasta::{Config, Endpoint, Event, Instant, Seeds, State};
//!
//! // An interlocking (96) and a point machine (97), over two transport channels.
//! let config = |local, remote| Config { channels: 2, ..Config::new(local, remote) };
//! let mut client = Endpoint::new(config(96, 97), Seeds::from_u64(1))?;
//! let mut server = Endpoint::new(config(97, 96), Seeds::from_u64(2))?;
//! let now = Instant::ZERO;
//! server.open(now)?;
//! client.open(now)?;
//!
//! // A network that loses everything on the second channel.
//! let carry = |from: &mut Endpoint, to: &mut Endpoint| {
//!     while let Some(transmit) = from.poll_transmit() {
//!         if transmit.channel == 0 {
//!             to.handle(now, transmit.channel, &transmit.frame);
//!         }
//!     }
//! };
//! carry(&mut client, &mut server); // connection request
//! carry(&mut server, &mut client); // connection response
//! carry(&mut client, &mut server); // heartbeat
//! assert_eq!((client.state(), server.state()), (State::Up, State::Up));
//!
//! client.send(now, "set route 12")?;
//! carry(&mut client, &mut server);
//! let mut events = std::iter::from_fn(|| server.poll_event());
//! assert!(events.any(|event| event == Event::Message(b"set route 12".to_vec())));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it is, and what it is not
//!
//! * The **safety and retransmission layer**: connection set-up with versions, heartbeats, adaptive supervision in time
//!   (T_max, T_h, T_i), sequence and confirmed sequence numbers that wrap around, retransmission, flow control (N_sendMax,
//!   MWA), safety codes, diagnosis, reasons of disconnection.
//! * The **redundancy layer** over several transport channels: deferral (T_seq), check codes, diagnosis of each channel.
//! * **No clock, no socket, no randomness of its own.** Time comes with each call, numbers from [`Seeds`]. With the
//!   feature `net`, the module `net` puts it on UDP, TCP and TLS.
//! * **No conformance is claimed, and no safety integrity level.** The standard itself was not a source; public
//!   implementations were (named where a fact is used): SBB's stack
//!   (<https://github.com/SchweizerischeBundesbahnen/sbb-rasta-stack>), librasta and its ancestor
//!   (<https://github.com/Railway-CCS/rasta-protocol>), the dissectors of Railway-CCS. Where they differ, the
//!   configuration lets one choose ([`Supervision`]) or the place says which way was taken and why.
//! * **RaSTA authenticates nobody.** With MD4, whoever can write on the network can forge messages; in an open network
//!   RaSTA belongs inside TLS.
//!
//! | feature | what it adds |
//! |---|---|
//! | `net` | transport channels over UDP, TCP and TLS on tokio |
//! | `sim` | two ends over a network that loses, delays, doubles and damages, and a model of throughput and delay |

#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod check_code;
mod config;
mod connection;
mod diagnostics;
mod endpoint;
mod event;
mod frame;
mod message;
#[cfg(feature = "net")]
pub mod net;
mod reason;
mod redundancy;
mod safety_code;
mod seeds;
mod serial;
#[cfg(feature = "sim")]
pub mod sim;
mod time;

pub use check_code::CheckCode;
pub use config::{Config, ConfigError, Role, Supervision};
pub use diagnostics::{ChannelReport, ConnectionReport, ErrorCounters, FrameCounters, INTERVALS};
pub use endpoint::{Endpoint, OpenError, SendError, Transmit};
pub use event::{Ending, Event, State};
pub use frame::{FRAME_HEADER_BYTES, Frame, FrameError};
pub use message::{
    Body, Disconnection, Header, Kind, MESSAGE_HEADER_BYTES, Message, MessageError, Parameters, Version,
};
pub use reason::DisconnectReason;
pub use safety_code::{CodeLength, MD4_INITIAL_VALUE, SafetyCode};
pub use seeds::Seeds;
pub use time::Instant;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
