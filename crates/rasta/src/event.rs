//! What an end tells its application.

use crate::diagnostics::{ChannelReport, ConnectionReport};
use crate::message::Disconnection;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Nothing is open.
    Closed,
    /// A server waits for a connection request.
    Down,
    /// Request or response was sent, the connection is not confirmed yet.
    Start,
    /// Data flow.
    Up,
    /// A message is missing and was asked for.
    RetransmissionRequested,
    /// What was asked for is coming.
    RetransmissionRunning,
}

impl State {
    /// All states.
    pub const ALL: [Self; 6] = [
        Self::Closed,
        Self::Down,
        Self::Start,
        Self::Up,
        Self::RetransmissionRequested,
        Self::RetransmissionRunning,
    ];

    /// Whether the application may send.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Up | Self::RetransmissionRequested | Self::RetransmissionRunning)
    }

    /// A word for machines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Down => "down",
            Self::Start => "start",
            Self::Up => "up",
            Self::RetransmissionRequested => "retransmission-requested",
            Self::RetransmissionRunning => "retransmission-running",
        }
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// This end closed it and said why.
    Here(Disconnection),
    /// The other end closed it and said why.
    There(Disconnection),
    /// This end gave up waiting before anybody had asked for a connection.
    Unused,
}

/// Something that happened at an end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The state changed; an [`Ended`](Self::Ended) follows if it is closed now.
    State(State),
    /// An application message of the peer; each comes once and in order.
    Message(Vec<u8>),
    /// The connection is closed.
    Ended(Ending),
    /// A window of the connection's diagnosis is full.
    ConnectionDiagnosis(ConnectionReport),
    /// A window of the diagnosis of a transport channel is full.
    ChannelDiagnosis {
        /// The channel, counted from 0.
        channel: usize,
        /// What it says.
        report: ChannelReport,
    },
}
