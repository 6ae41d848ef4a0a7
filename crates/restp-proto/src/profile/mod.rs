//! A profile names the services of a connection; validated, it becomes a [`Composition`] that an endpoint can run.

mod explain;
pub mod names;
mod presets;
#[cfg(feature = "serde")]
mod read;
mod requirements;
mod tuning;
mod validate;

pub use requirements::{Gain, Link, Losses, Requirements};
pub use tuning::{OutageProbe, Tuning};
pub use validate::{Composition, Conflict};

use std::fmt;

/// How a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Management {
    /// No signalling at all; every packet stands alone.
    Connectionless,
    /// SYN, SYN-ACK, ACK before any data.
    ThreeWay,
    /// Data flows during the handshake; the client shows a cookie that proves its address.
    Opportunistic,
}

/// How the receiver protects itself from a fast sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlowControl {
    /// Not at all: what does not fit is dropped.
    None,
    /// The receiver advertises how many more packets it accepts.
    Window,
}

/// How the network is protected from a fast sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Congestion {
    /// A constant window ([`Tuning::open_window_packets`]).
    None,
    /// NewReno.
    NewReno,
    /// BIC.
    Bic,
    /// CUBIC (beyond the dissertation).
    Cubic,
    /// BBR (beyond the dissertation).
    Bbr,
    /// Linked increases over several paths (beyond the dissertation).
    Lia,
}

/// In which order messages reach the receiving application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ordering {
    /// As they arrive.
    Unordered,
    /// In order, but an application that asks does not wait for a hole longer than [`Tuning::hold`].
    Partial,
    /// Strictly in order.
    Full,
    /// Many streams in one connection, each in order for itself, so that a loss in one does not hold up the others.
    Streams,
}

/// Which packets one encoded packet covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FecKind {
    /// Every packet: one loss per group of at most 16 can be repaired.
    Xor,
    /// Every other packet, at most 8 each: two losses in a row can be repaired.
    Interleaved,
}

/// What is done about lost packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reliability {
    /// Nothing.
    None,
    /// Repair from encoded packets only (quasi reliable).
    Quasi(FecKind),
    /// Retransmission; with [`Ordering::Partial`] this is the partially reliable service.
    Arq,
    /// Repair from encoded packets first, retransmission of the rest.
    Harq(FecKind),
}

impl Reliability {
    /// True if lost packets are retransmitted.
    #[must_use]
    pub fn retransmits(self) -> bool {
        matches!(self, Self::Arq | Self::Harq(_))
    }

    /// The FEC kind, if encoded packets are sent.
    #[must_use]
    pub fn fec(self) -> Option<FecKind> {
        match self {
            Self::Quasi(kind) | Self::Harq(kind) => Some(kind),
            Self::None | Self::Arq => None,
        }
    }
}

/// When acknowledgements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AckTiming {
    /// Never.
    None,
    /// For every other packet, at once while a hole exists.
    Positive,
    /// Once per delay period, for paths with a narrow way back.
    Delayed,
}

/// What an acknowledgement says beyond its cumulative number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AckReport {
    /// Nothing.
    Cumulative,
    /// The first hole. What lies behind it is sent again once it is old, arrived or not: for windows of a few packets.
    Nack,
    /// Blocks that arrived.
    Sack,
    /// The first hole and a bit vector of what follows it.
    Snack,
}

/// Framing of application data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// One message is one packet.
    Fixed,
    /// A byte stream: writes are joined and split to fill packets.
    Coalesce,
}

/// Which path the next packet takes when several are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheduler {
    /// Each in turn.
    RoundRobin,
    /// The one with the lowest RTT that has room.
    FastestRtt,
}

/// How many paths are used, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Paths {
    /// One.
    Single,
    /// One at a time; the others wait, proven, for its failure.
    HotStandby,
    /// One until its window is full, then the next (a local policy of hot standby, answer A11).
    Overflow,
    /// All at once.
    Spreading(Scheduler),
    /// Each message on all of them, or on [`Tuning::copies`], so that the failure of one, or a loss, costs no time.
    Copies,
}

/// What a loss is taken to mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossCause {
    /// A full queue: slow down.
    Congestion,
    /// Bit errors: repeat, do not slow down.
    Corruption,
    /// The link is gone: freeze all state and probe until it is back.
    Outage,
    /// Found out from evidence while the connection runs, and changed when the evidence changes.
    Dynamic,
}

/// Whether packets are protected against reading and forgery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protection {
    /// CLEAR TEXT: anyone on the path can read, forge and end the connection.
    ClearText,
    /// Noise handshake, then an AEAD over payload and header.
    Protected,
}

/// How joining a further path is authenticated (answer H3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JoinHash {
    /// HMAC-SHA-256.
    Sha256,
    /// HMAC-SHA-1, only for conformity with the dissertation.
    Sha1,
}

/// Services that an initiator may declare dispensable (answer D1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Dispensable {
    /// Continue on one path if the responder does not take several.
    pub several_paths: bool,
    /// Continue with plain acknowledgements if the responder sends no SACK or SNACK.
    pub ack_report: bool,
    /// Continue without encoded packets.
    pub fec: bool,
}

/// The services of a connection, chosen one by one.
///
/// Start from a preset such as [`Profile::file_arq`] or from [`Requirements`], change fields, then call
/// [`Profile::validate`].
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Name shown by `explain()`.
    pub name: String,
    /// Why these services were chosen, as [`Requirements::choose`] found; shown by `explain()`.
    pub reasons: Vec<String>,
    /// How the connection begins.
    pub management: Management,
    /// Receiver protection.
    pub flow_control: FlowControl,
    /// Network protection.
    pub congestion: Congestion,
    /// Delivery order.
    pub ordering: Ordering,
    /// What is done about losses.
    pub reliability: Reliability,
    /// When acknowledgements are sent.
    pub ack_timing: AckTiming,
    /// What acknowledgements report.
    pub ack_report: AckReport,
    /// Repeat the last acknowledgement while nothing arrives, for lossy ways back (answer E5).
    pub duplicate_acks: bool,
    /// Message boundaries.
    pub framing: Framing,
    /// Number and use of paths.
    pub paths: Paths,
    /// Meaning of a loss.
    pub loss_cause: LossCause,
    /// Header CRC-16 and payload CRC-32C.
    pub crc: bool,
    /// Encryption and authentication.
    pub protection: Protection,
    /// How joins are authenticated.
    pub join_hash: JoinHash,
    /// What the initiator can do without.
    pub dispensable: Dispensable,
    /// The user states that nobody else's traffic crosses the path; needed to retransmit without congestion control.
    pub i_own_the_path: bool,
    /// Timers, sizes and limits.
    pub tuning: Tuning,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
