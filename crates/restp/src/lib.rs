//! ResTP on real sockets: a transport whose services are chosen one by one, over UDP or raw IP, async and blocking.
//!
//! ```
//! use restp::{Endpoint, Profile};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), restp::Error> {
//! let server = Endpoint::bind("127.0.0.1:0").await?;
//! let listener = server.listen(7, Profile::voice())?;
//! let address = server.local_addr();
//!
//! let client = Endpoint::bind("127.0.0.1:0").await?;
//! let (outgoing, incoming) =
//!     tokio::try_join!(client.connect(address, 7, Profile::voice()), listener.accept())?;
//! outgoing.send("one frame of speech").await?;
//! let frame = incoming.recv().await?.expect("the peer has not closed");
//! assert_eq!(frame.payload, "one frame of speech");
//! println!("{}", outgoing.explain());
//! # Ok(())
//! # }
//! ```
//!
//! `cargo run --example file_transfer -p restp` moves a file and checks its hash.
//!
//! Whole programs (a file, requests with identities, blocking calls, the simulator) are in [`programs`].
//!
//! # Choosing services
//! Start from a preset of [`Profile`] (`datagram`, `file_arq`, `file_harq`, `web_opt`, `voice`, `satellite_outage`,
//! `multipath`, `copies`), change fields, and pass it to [`Endpoint::listen`] and [`Endpoint::connect`]. A profile whose services
//! contradict each other is refused with reasons; [`Connection::explain`] tells what is in force.
//!
//! **A connection in clear text is neither secret nor authentic: anybody on the path can read, change and end it.** Where
//! an opponent may be on the path set `protection` of the [`Profile`] to `Protected` and give both endpoints keys
//! ([`Builder::keys`]), for instance a server that knows its clients and clients that know their server:
//! ```
//! # #[cfg(not(feature = "protected"))]
//! # fn main() {}
//! # #[cfg(feature = "protected")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use restp::Endpoint;
//! use restp::profile::{Profile, Protection};
//! use restp::protected::{Keys, Peers};
//!
//! let (own, hers) = (restp::generate_private_key()?, restp::generate_private_key()?);
//! let (own_public, her_public) = (own.public(), hers.public());
//! let keys = Keys::ik_server(own, Peers::only([her_public]));
//! let server = Endpoint::builder().keys(keys).bind("127.0.0.1:0").await?;
//! let client = Endpoint::builder().keys(Keys::ik_client(hers, own_public)).bind("127.0.0.1:0").await?;
//!
//! let profile = Profile { protection: Protection::Protected, ..Profile::file_arq() };
//! let listener = server.listen(7, &profile)?;
//! let (outgoing, incoming) =
//!     tokio::try_join!(client.connect(server.local_addr(), 7, &profile), listener.accept())?;
//! assert_eq!(outgoing.peer_public_key(), Some(own_public));
//! assert_eq!(incoming.peer_public_key(), Some(her_public));
//! # Ok(())
//! # }
//! ```
//!
//! # Streams
//! A profile with streams ([`Profile::with_streams`]) gives a connection many streams in the place of messages, each in order
//! for itself, with flow control and a priority of its own: a loss in one holds up no other.
//! ```
//! use restp::{Endpoint, Profile};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let profile = Profile::file_arq().with_streams();
//! let server = Endpoint::bind("127.0.0.1:0").await?;
//! let listener = server.listen(7, &profile)?;
//! let client = Endpoint::bind("127.0.0.1:0").await?;
//! let (outgoing, incoming) =
//!     tokio::try_join!(client.connect(server.local_addr(), 7, &profile), listener.accept())?;
//!
//! let (mut question, mut answer) = outgoing.open_stream().await?;
//! question.write_all(b"how much?").await?;
//! question.shutdown().await?;
//!
//! let mut stream = incoming.accept_stream().await?.expect("a stream was opened");
//! let mut text = String::new();
//! stream.recv.read_to_string(&mut text).await?;
//! assert_eq!(text, "how much?");
//! stream.send.take().expect("both ends send on it").send("42").await?;
//!
//! text.clear();
//! answer.read_to_string(&mut text).await?;
//! assert_eq!(text, "42");
//! # Ok(())
//! # }
//! ```
//!
//! # Addresses and ports
//! An endpoint has one outer address (UDP, 61253 unless chosen otherwise, or raw IP without port). Inside it many services
//! and connections are told apart by *inner* ports, which is what [`Endpoint::listen`] and the second argument of
//! [`Endpoint::connect`] name.
//!
//! # What runs where
//! One task per endpoint owns socket, timers and protocol; handles talk to it through one short lock. On UDP it sends trains
//! of packets that the kernel cuts (GSO), receives them coalesced (GRO, `recvmmsg`), and passes ECN both ways. Packets are
//! paced by a timer finer than a millisecond. Raw IP has no such offload: there `sendmmsg` batches. The protocol itself is
//! [`restp_proto`], which knows neither clock nor sockets and runs in a simulator just as well.
//!
//! # Dropped futures
//! Every call that waits says what happens if its future is dropped, for instance by `select!` or a time-out: `accept`,
//! `accept_stream`, `open_stream`, `open_path`, `established`, `recv`, `recv_many`, `recv_from`, `closed`, `next_event` and
//! `idle` lose nothing; `send` of a connection and `send_to` have either handed the whole message over or not sent it; `send`
//! of a stream may have taken a part; `connect` gives the attempt up. Where a limit is all that is wanted there are
//! [`Endpoint::connect_timeout`] and [`Listener::accept_timeout`], and the time-outs of [`blocking`].
//!
//! # Early data and protection
//! Opportunistic profiles (`web_opt`) cannot be protected, and validation says so: what travels with the first packet could
//! be sealed only with keys that any copy of the packet opens too, so that a server that was started anew, or a second one
//! with the same key, would serve a replay. Take a three-way profile such as `file_arq`, whose request follows the answer to
//! the first packet.
//!
//! # Systems
//! Linux only: sockets go through `quinn-udp`, which is portable, but timers (`timerfd`), raw IP and reports of the network
//! are Linux's; elsewhere this crate refuses to compile. For other systems drive [`restp_proto`] with sockets of your own.
//!
//! # Features
//! | feature | what it adds |
//! |---|---|
//! | `protected` (default) | keys, encryption and authentication: the module `protected` and what takes keys; without it `snow` and `ring` are not built |
#![deny(unsafe_code)]
#![warn(missing_debug_implementations)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(not(target_os = "linux"))]
compile_error!("restp runs on Linux only; on other systems drive restp-proto with sockets of your own");

pub mod blocking;
mod clock;
mod connection;
mod datagram;
mod driver;
mod endpoint;
mod error;
mod fd;
mod listener;
mod records;
mod services;
mod socket;
mod state;
mod stream;
mod streams;
mod waiters;

pub use connection::Connection;
pub use datagram::{DatagramPort, Peer};
#[cfg(feature = "protected")]
pub use endpoint::generate_private_key;
pub use endpoint::{Builder, Endpoint};
pub use error::Error;
pub use listener::Listener;
pub use records::{MAX_RECORD_BYTES, Records};
pub use services::Services;
pub use stream::Stream;
pub use streams::{IncomingStream, RecvStream, SendStream};

pub use bytes::Bytes;
pub use restp_proto::profile;
#[cfg(feature = "protected")]
#[cfg_attr(docsrs, doc(cfg(feature = "protected")))]
pub use restp_proto::protected;
pub use restp_proto::wire::UDP_PORT;
pub use restp_proto::{
    CloseReason, Composition, Conflict, ConnId, ConnStats, ConnectError, Dial, Ecn, Encapsulation,
    EndpointConfig, EndpointStats, EventKind, Instant, Knob, ListenError, Message, PathAddr, PathError,
    PathId, PathStats, Priority, Profile, SendError, SendOptions, StreamError, StreamId, StreamKind, log,
};

#[doc = include_str!("../PROGRAMS.md")]
pub mod programs {}

/// The examples of the read-me, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[derive(Debug)]
pub struct ReadMe;
