//! Which end of a connection one is.

/// The two ends, by their identifications: the lower one opens (`srcor_IsConnRoleServer` of SBB's stack).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Sender = 96,
    Receiver = 97,
}

impl End {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}
