//! ResTP protocol core: a composable, resilient transport that owns no socket, no clock and no global randomness.
//!
//! An [`Endpoint`] is driven from outside: packets and the time go in, packets, events and a wake-up time come out.
//! Here two of them talk over a network that is one variable long:
//!
//! ```
//! use restp_proto::{Ecn, Endpoint, EndpointConfig, Instant, PathAddr, Profile, SendOptions};
//!
//! // The services of the connection are data: pick a preset, change fields, validate.
//! let composition = Profile::file_arq().validate().map_err(|conflicts| format!("{conflicts:?}"))?;
//! let mut client = Endpoint::new(EndpointConfig::default(), [1; 32]);
//! let mut server = Endpoint::new(EndpointConfig::default(), [2; 32]);
//! server.listen(80, composition.clone(), false)?;
//!
//! let (here, there) = ("192.0.2.1:61253".parse()?, "192.0.2.2:61253".parse()?);
//! let path = PathAddr { local: here, remote: there };
//! let conn = client.connect(Instant::ZERO, path, 4000, 80, &composition)?;
//! client.send(Instant::ZERO, conn, "hello".into(), SendOptions::default())?;
//!
//! let mut received = None;
//! for millisecond in 0..100 {
//!     let now = Instant::from_nanos(millisecond * 1_000_000);
//!     let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
//!     if client.poll_transmit(now, 1, &mut to_server).is_some() {
//!         server.handle(now, PathAddr { local: there, remote: here }, Ecn::NotEct, &to_server);
//!     }
//!     if server.poll_transmit(now, 1, &mut to_client).is_some() {
//!         client.handle(now, path, Ecn::NotEct, &to_client);
//!     }
//!     while let Some(event) = server.poll_event() {
//!         received = received.or(server.recv(now, event.conn));
//!     }
//!     client.handle_timeout(now);
//!     server.handle_timeout(now);
//! }
//! assert_eq!(received.map(|message| message.payload), Some("hello".into()));
//! assert!(client.explain(conn).is_some_and(|text| text.contains("CLEAR TEXT")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Clear text by default**: unless a profile says [`profile::Protection::Protected`], everybody on the path can read,
//! forge and end connections.
//!
//! | module | subject |
//! |---|---|
//! | [`profile`] | services, presets, validation, `explain()` |
//! | [`wire`] | the packet format |
//! | [`cc`] | congestion control |
//! | [`protected`] | Noise handshake and AEAD |
//! | [`log`] | the event log |
//!
//! | feature | what it adds |
//! |---|---|
//! | `protected` (default) | a Noise handshake and an AEAD; without it `snow` and `ring` are not built, and no keys can be made |
//! | `serde` | the services of a profile implement `Deserialize`, from the names in [`profile::names`] |
//!
//! Rules for a driver: after each call poll for packets until `None`, then for events; hand packets to the network not
//! before [`Transmit::release_at`]; call [`Endpoint::handle_timeout`] when [`Endpoint::poll_timeout`] says so. Time must
//! not run backwards.
//!
//! Nothing here depends on an operating system. Its tests are run on Linux on x86-64; other systems are unchecked.
#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]
#![cfg_attr(docsrs, feature(doc_cfg))]

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
mod stream;
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
pub use stream::{Priority, StreamError, StreamEvent, StreamId, StreamKind};
pub use time::Instant;

/// The examples of the read-me, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[derive(Debug)]
pub struct ReadMe;
