//! Flag sets and code points of the base header.

use bitflags::bitflags;

bitflags! {
    /// The Flags octet, most significant bit first as in TCP (A4).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Flags: u8 {
        /// Congestion window reduced (RFC 3168).
        const CWR = 0x80;
        /// ECN echo (RFC 3168).
        const ECE = 0x40;
        /// On data a part of a packet (R-SIZE-4), on the SYN of a connection the wish for streams (R-STR-1); ignored elsewhere
        /// (A13).
        const URG = 0x20;
        /// The acknowledgement number is valid (E2).
        const ACK = 0x10;
        /// Push: a hint to deliver at once (A13).
        const PSH = 0x08;
        /// Reset.
        const RST = 0x04;
        /// Synchronise sequence numbers.
        const SYN = 0x02;
        /// The sender has no more data.
        const FIN = 0x01;
    }
}

impl Flags {
    /// The flags that make a packet a control packet of a connection.
    pub const CONTROL: Self = Self::ACK.union(Self::RST).union(Self::SYN).union(Self::FIN);
}

bitflags! {
    /// The Flow field: connection management, 4 of 6 bits in use (A4).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Flow: u8 {
        /// On a SYN a cookie is asked for, granted or, in version 1, presented; on other packets a challenge or the answer to
        /// one (R-COOKIE-1, R-COOKIE-4).
        const CKI = 0x20;
        /// Three-way handshake.
        const CON = 0x10;
        /// Opportunistic handshake.
        const OPT = 0x08;
        /// Custody transfer: sent as 0, ignored on receipt (A14).
        const CXF = 0x04;
    }
}

bitflags! {
    /// The Error octet: error control and the acknowledgement format, 7 of 8 bits in use (A3).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ErrorBits: u8 {
        /// The payload is FEC-encoded.
        const ENC = 0x80;
        /// Automatic repeat request.
        const ARQ = 0x40;
        /// Header CRC-16 and payload CRC-32C.
        const CRC = 0x20;
        /// Forward error correction.
        const FEC = 0x10;
        /// Negative acknowledgement (NACK, or SNACK together with SAK).
        const NAK = 0x08;
        /// Selective acknowledgement (SACK, or SNACK together with NAK).
        const SAK = 0x04;
        /// Delayed acknowledgements.
        const DEL = 0x02;
    }
}

/// The Version nibble.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Version {
    /// 0: the dissertation's protocol, in clear text.
    #[default]
    Clear,
    /// 1: the protected profile; a Protection extension follows the base header.
    Protected,
}

/// The Ord field: ordering service in operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// Unordered delivery.
    #[default]
    None,
    /// PAR: partially ordered delivery, holes may be skipped.
    Partial,
    /// FUL: ordered delivery.
    Full,
    /// PAR and FUL: the payload consists of frames, and each stream is ordered for itself (R-STR-1).
    Streams,
}

/// The P field: path mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PathMode {
    /// One path.
    #[default]
    Single,
    /// MP? alone: several paths, the others on hot standby (overflow is a local policy of this mode, A11).
    HotStandby,
    /// MP? and MPM: data is spread over all paths.
    Spreading,
}

impl PathMode {
    /// Whether MP? is set.
    #[must_use]
    pub const fn is_multipath(self) -> bool {
        !matches!(self, Self::Single)
    }
}

/// The Sched field; it has a meaning only while spreading (A2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scheduler {
    /// No bit set.
    #[default]
    Unset,
    /// RRS: round robin.
    RoundRobin,
    /// FRS: lowest round-trip time first.
    LowestRtt,
    /// Both bits set: copies, each datum on several subflows at once (R-MP-14).
    Both,
}

/// The Cong field: code point of the sender's congestion control (A8, A9).
///
/// Informative for the receiver; unknown values are legal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cong(u8);

impl Cong {
    /// No congestion control.
    pub const NONE: Self = Self(0);
    /// NewReno; with MP? set, an uncoupled NewReno in every subflow.
    pub const NEW_RENO: Self = Self(1);
    /// BIC.
    pub const BIC: Self = Self(2);
    /// CUBIC (RFC 9438), beyond the dissertation.
    pub const CUBIC: Self = Self(3);
    /// LIA, coupled control for several paths (RFC 6356).
    pub const LIA: Self = Self(4);
    /// BBR, beyond the dissertation.
    pub const BBR: Self = Self(5);

    /// The code point `value`, or `None` if it does not fit into 4 bits.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value < 16 { Some(Self(value)) } else { None }
    }

    /// The code point, 0 to 15.
    #[must_use]
    pub const fn value(self) -> u8 {
        self.0
    }
}

/// The MPT field: which multipath extension follows (B2; 3 is ours, for H6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MptCode {
    /// 0: none.
    None,
    /// 1: MP_CAPABLE.
    Capable,
    /// 2: MP_JOIN.
    Join,
    /// 3: a change of a subflow's backup priority.
    Priority,
}
