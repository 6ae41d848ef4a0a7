//! What application, driver and channels tell each other.

use tokio::sync::oneshot;

use super::refused::Refused;
use super::types::Report;
use crate::endpoint::SendError;

/// What the application wants.
#[derive(Debug)]
pub(super) enum Command {
    Open,
    Send { message: Vec<u8>, answer: oneshot::Sender<Result<(), SendError>> },
    Close { detail: u16, answer: oneshot::Sender<()> },
    Report { answer: oneshot::Sender<Report> },
}

/// What a channel tells.
#[derive(Debug)]
pub(super) enum Input {
    Frame {
        channel: usize,
        octets: Vec<u8>,
    },
    /// A frame of a stranger, and why it is no frame of the peer.
    Refused {
        channel: usize,
        why: Refused,
    },
    Up {
        channel: usize,
    },
    Down {
        channel: usize,
        why: String,
    },
}

/// What a channel is to do.
#[derive(Debug)]
pub(super) enum Output {
    Frame(Vec<u8>),
    /// Answered when everything before it is with the system.
    Flushed(oneshot::Sender<()>),
}
