//! What a port is made of, and what it tells.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::pki_types::ServerName;

use super::refused::Refused;
use crate::config::ConfigError;
use crate::diagnostics::{ChannelReport, ConnectionReport, FrameCounters};
use crate::endpoint::SendError;
use crate::event::{Ending, Event, State};

/// A transport channel.
#[derive(Clone, Debug)]
pub enum Channel {
    /// Datagrams, a frame in each.
    Udp {
        /// Where to bind; port 0 is any.
        local: SocketAddr,
        /// The peer, or `None`: whoever last sent a message that passes address and codes.
        remote: Option<SocketAddr>,
    },
    /// A TCP connection that this side makes, and makes again when it breaks.
    TcpConnect {
        /// The peer.
        remote: SocketAddr,
    },
    /// TCP connections that the peer makes; the newest counts.
    TcpListen {
        /// Where to listen; port 0 is any.
        local: SocketAddr,
    },
    /// As [`TcpConnect`](Self::TcpConnect), in TLS.
    TlsConnect {
        /// The peer.
        remote: SocketAddr,
        /// The name that its certificate must have.
        name: ServerName<'static>,
        /// Whom to trust, and who one is.
        config: Arc<rustls::ClientConfig>,
    },
    /// As [`TcpListen`](Self::TcpListen), in TLS.
    TlsListen {
        /// Where to listen; port 0 is any.
        local: SocketAddr,
        /// Who one is, and whom to trust.
        config: Arc<rustls::ServerConfig>,
    },
}

impl Channel {
    /// UDP to a server at `remote`, from any port of the same family.
    #[must_use]
    pub fn udp_client(remote: SocketAddr) -> Self {
        let any: SocketAddr = match remote {
            SocketAddr::V4(_) => (std::net::Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (std::net::Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        Self::Udp { local: any, remote: Some(remote) }
    }

    /// UDP at `local`, whoever comes.
    #[must_use]
    pub const fn udp_server(local: SocketAddr) -> Self {
        Self::Udp { local, remote: None }
    }
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// The configuration cannot run.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There are not as many channels as the configuration says.
    #[error("the configuration has {configured} channels, {given} were given")]
    Channels {
        /// As configured.
        configured: usize,
        /// As given.
        given: usize,
    },
    /// A socket cannot be bound.
    #[error("channel {channel}: cannot bind {address}: {error}")]
    Bind {
        /// Counted from 0.
        channel: usize,
        /// Where.
        address: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// A message was not taken.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The connection is closed.
    #[error("{}", ended(.0))]
    Ended(Ending),
    /// The runtime on which the port lived is gone.
    #[error("the runtime of this port has ended")]
    Gone,
}

fn ended(ending: &Ending) -> String {
    match ending {
        Ending::Here(disconnection) => format!("closed by this end: {}", disconnection.reason),
        Ending::There(disconnection) => format!("closed by the peer: {}", disconnection.reason),
        Ending::Unused => "closed before anybody connected".into(),
    }
}

/// What a port tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PortEvent {
    /// Something of the connection.
    Rasta(Event),
    /// A transport channel works; UDP channels do from the beginning.
    ChannelUp {
        /// Counted from 0.
        channel: usize,
    },
    /// A transport channel does not work any more, or could not be made; it is tried again.
    ChannelDown {
        /// Counted from 0.
        channel: usize,
        /// Why, for people.
        why: String,
    },
    /// Frames came and were not taken: told of the first one, and whenever they are twice as many. Where the two ends
    /// have different codes or identifications, all of the peer's are among them, and nothing else tells of it.
    Refused(Refused),
}

/// All that is counted at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The state of the connection.
    pub state: State,
    /// Its diagnosis; the counts of errors are those since it last opened.
    pub connection: ConnectionReport,
    /// The diagnosis of each channel: the window so far, which is empty once the connection has ended.
    pub channels: Vec<ChannelReport>,
    /// What the redundancy layer counted.
    pub frames: FrameCounters,
    /// Frames that came since the port was bound, by channel, refused ones too.
    pub received: Vec<u64>,
    /// Frames that were not taken since the port was bound.
    pub refused: Refused,
    /// Frames that went to each channel since the port was bound.
    pub sent: Vec<u64>,
    /// Frames that did not go out, by channel: it was down, or its queue was full.
    pub not_sent: Vec<u64>,
    /// Application messages that the peer has not confirmed.
    pub unconfirmed: usize,
}
