//! What the two halves of a flow tell each other beside the network, where each runs in a process of its own.

use serde::{Deserialize, Serialize};

use crate::error::Failure;

/// What the sender had handed over when it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderEnd {
    /// Messages handed over.
    pub messages: u64,
    /// When the last of them left.
    pub last_ns: i64,
}

/// Something that the other half has to know. Whoever runs the halves carries it from the session of one to that of the
/// other ([`Session::on_news`](crate::Session::on_news), [`Session::hear`](crate::Session::hear)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum News {
    /// The receiver can be connected to.
    Listening,
    /// Everything has been handed over. The receiver must have heard of it before the sender ends its session.
    SenderEnd(SenderEnd),
    /// The sending half has nothing more to do.
    SenderOver,
    /// No further session will be opened.
    LastSessionOver,
    /// The flow has failed.
    Failed(Failure),
}
