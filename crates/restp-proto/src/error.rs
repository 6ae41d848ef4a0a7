//! Errors of the endpoint's methods, each a sentence that says what would be right.

use bytes::Bytes;
use thiserror::Error;

/// Why a message was not taken.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The send buffer is full; the message comes back.
    #[error("the send buffer is full; send again after the event Writable")]
    Full(Bytes),
    /// With fixed framing one message is one packet.
    #[error(
        "the message has {size_bytes} bytes but one packet carries at most {limit_bytes}; send a shorter one"
    )]
    TooLong {
        /// Length of the message.
        size_bytes: usize,
        /// Longest message.
        limit_bytes: usize,
    },
    /// Nothing to send.
    #[error(
        "the message is empty; an empty packet could not be told from an acknowledgement, so send at least a byte"
    )]
    Empty,
    /// The connection carries streams, not messages.
    #[error("the connection carries streams; open one and write to it")]
    Streams,
    /// `close` was called or the peer is gone.
    #[error("the connection is closed for sending; open a new one")]
    Closed,
    /// No such connection.
    #[error("there is no connection with this id; it has ended")]
    Unknown,
}

/// Why a connection could not be begun.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectError {
    /// The same ports and addresses are in use.
    #[error("a connection with these ports and addresses exists already; choose another local port")]
    InUse,
    /// All slots are taken.
    #[error("the endpoint already has its limit of {limit} connections; close one first")]
    TooMany {
        /// [`crate::EndpointConfig::max_connections`].
        limit: usize,
    },
    /// No key for the protected profile.
    #[error(
        "the profile is protected but the endpoint has no keys; give them to Builder::keys, or without sockets to \
         EndpointConfig::keys"
    )]
    NoKeys,
    /// The keys are those of a server only.
    #[error(
        "the keys do not say which server to expect; make them with Keys::ik_client, Keys::xx or Keys::shared"
    )]
    UnusableKeys,
}

/// Why a port could not be listened on.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListenError {
    /// The port is taken.
    #[error("port {port} is listened on already; choose another one")]
    InUse {
        /// The port.
        port: u16,
    },
    /// No key for the protected profile.
    #[error(
        "the profile is protected but the endpoint has no keys; give them to Builder::keys, or without sockets to \
         EndpointConfig::keys"
    )]
    NoKeys,
    /// The keys are those of a client only.
    #[error(
        "the keys do not say which clients to take; make them with Keys::ik_server, Keys::xx or Keys::shared"
    )]
    UnusableKeys,
}

/// Why a path could not be opened or closed.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// No such connection.
    #[error("there is no connection with this id; it has ended")]
    Unknown,
    /// Only the side that connected opens paths (answer H6).
    #[error("only the side that opened the connection can open a path; let the peer do it")]
    NotInitiator,
    /// The profile or the peer allows one path.
    #[error("the connection has one path; choose a profile with several paths that the peer accepts")]
    SinglePath,
    /// Joins need the keys of the handshake.
    #[error("the connection is not established yet; open paths after the event PathsAllowed")]
    TooEarly,
    /// The path exists.
    #[error("the connection already has a path with these addresses")]
    Exists,
    /// Fifteen paths at most (4 bits of k, answer A10).
    #[error("the connection already has {limit} paths; close one first")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// No such path.
    #[error("the connection has no such path, or it is the last one")]
    NoSuchPath,
}
