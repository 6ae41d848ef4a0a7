//! ResTP on real sockets.
#![deny(unsafe_code)]

mod clock;
mod connection;
mod datagram;
mod driver;
mod endpoint;
mod error;
mod fd;
mod listener;
mod services;
mod socket;
mod state;
mod stream;

pub use connection::Connection;
pub use datagram::{DatagramPort, Peer};
pub use endpoint::{Builder, Endpoint};
pub use error::Error;
pub use listener::Listener;
pub use services::Services;
pub use stream::Stream;

pub use restp_proto::profile;
pub use restp_proto::wire::UDP_PORT;
pub use restp_proto::{
    CloseReason, Composition, ConnStats, Dial, EndpointConfig, EndpointStats, EventKind, Knob, Message,
    PathId, PathStats, Profile, SendOptions, log,
};
