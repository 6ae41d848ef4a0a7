//! ResTP protocol core: a composable, resilient transport that owns no socket, no clock and no global randomness.
#![forbid(unsafe_code)]

mod arena;
pub mod cc;
mod config;
mod conn;
mod crypto;
mod endpoint;
mod error;
mod event;
pub mod log;
mod path;
pub mod profile;
#[cfg(feature = "protected")]
pub mod protected;
#[cfg(not(feature = "protected"))]
#[path = "unprotected.rs"]
pub mod protected;
mod rtt;
pub mod seq;
mod stats;
mod time;
pub mod wire;

pub use config::{Encapsulation, EndpointConfig};
pub use conn::Message;
pub use endpoint::Endpoint;
pub use error::{ConnectError, ListenError, PathError, SendError};
pub use event::{CloseReason, ConnId, Datagram, Dial, Event, EventKind, Knob, SendOptions};
pub use path::{Ecn, PathAddr, PathId, Transmit};
pub use profile::{Composition, Conflict, Profile};
pub use rtt::RttEstimator;
pub use stats::{ConnStats, EndpointStats, PathStats};
pub use time::Instant;
