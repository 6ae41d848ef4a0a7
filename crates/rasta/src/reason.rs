//! Why a connection ends.

use std::fmt;

/// The reason in a disconnection request (`sraty_sr_api_types.h` of SBB's stack lists the numbers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DisconnectReason {
    /// 0: the application closed it.
    UserRequest,
    /// 1: not in use.
    NotInUse,
    /// 2: a message of a type that the state does not expect.
    UnexpectedMessage,
    /// 3: a sequence number was wrong while the connection opened.
    SequenceNumberError,
    /// 4: no timely message within T_max, or one that was too old.
    Timeout,
    /// 5: the application asked for something that the state does not allow.
    ServiceNotAllowed,
    /// 6: the peer's version is too old.
    ProtocolVersionError,
    /// 7: what was to be retransmitted is no longer there.
    RetransmissionFailed,
    /// 8: a confirmed time stamp was out of its range.
    ProtocolSequenceError,
    /// A number that the public sources do not list.
    Other(u16),
}

impl DisconnectReason {
    /// The reasons with a number of their own.
    pub const ALL: [Self; 9] = [
        Self::UserRequest,
        Self::NotInUse,
        Self::UnexpectedMessage,
        Self::SequenceNumberError,
        Self::Timeout,
        Self::ServiceNotAllowed,
        Self::ProtocolVersionError,
        Self::RetransmissionFailed,
        Self::ProtocolSequenceError,
    ];

    /// Its number on the wire.
    #[must_use]
    pub const fn number(self) -> u16 {
        match self {
            Self::UserRequest => 0,
            Self::NotInUse => 1,
            Self::UnexpectedMessage => 2,
            Self::SequenceNumberError => 3,
            Self::Timeout => 4,
            Self::ServiceNotAllowed => 5,
            Self::ProtocolVersionError => 6,
            Self::RetransmissionFailed => 7,
            Self::ProtocolSequenceError => 8,
            Self::Other(number) => number,
        }
    }

    /// The reason with this number.
    #[must_use]
    pub fn from_number(number: u16) -> Self {
        Self::ALL.into_iter().find(|reason| reason.number() == number).unwrap_or(Self::Other(number))
    }

    /// Whether what the application asked for is the cause, and no message of the peer.
    pub(crate) const fn is_of_the_application(self) -> bool {
        matches!(self, Self::UserRequest | Self::ServiceNotAllowed)
    }

    /// A word for machines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserRequest => "user-request",
            Self::NotInUse => "not-in-use",
            Self::UnexpectedMessage => "unexpected-message",
            Self::SequenceNumberError => "sequence-number-error",
            Self::Timeout => "timeout",
            Self::ServiceNotAllowed => "service-not-allowed",
            Self::ProtocolVersionError => "protocol-version-error",
            Self::RetransmissionFailed => "retransmission-failed",
            Self::ProtocolSequenceError => "protocol-sequence-error",
            Self::Other(_) => "other",
        }
    }
}

impl fmt::Display for DisconnectReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UserRequest => out.write_str("the application closed the connection"),
            Self::NotInUse => out.write_str("the connection is not in use"),
            Self::UnexpectedMessage => out.write_str("a message came that the state does not expect"),
            Self::SequenceNumberError => {
                out.write_str("a sequence number was wrong while the connection opened")
            }
            Self::Timeout => out.write_str("no message came in time"),
            Self::ServiceNotAllowed => {
                out.write_str("the application asked for what the state does not allow")
            }
            Self::ProtocolVersionError => out.write_str("the versions of the two ends do not fit"),
            Self::RetransmissionFailed => out.write_str("what was to be retransmitted is no longer there"),
            Self::ProtocolSequenceError => out.write_str("a confirmed time stamp was out of its range"),
            Self::Other(number) => write!(out, "reason {number}, which is not known"),
        }
    }
}
