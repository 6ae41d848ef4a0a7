//! Why octets are no frame, or a frame cannot be written.

use super::FrameKind;

/// Why octets are no frame, or a frame cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Fewer octets than header, OCF and FECF take.
    #[error("the {} frame has {octets} octets, but header and check fields alone take {needed}", .kind.name())]
    TooShort {
        /// Protocol.
        kind: FrameKind,
        /// Octets there are.
        octets: usize,
        /// Octets that are needed at least.
        needed: usize,
    },
    /// More octets than a frame of the channel may have.
    #[error("the {} frame has {octets} octets, but frames of this channel have at most {largest}", .kind.name())]
    TooLong {
        /// Protocol.
        kind: FrameKind,
        /// Octets there are.
        octets: usize,
        /// Octets that are allowed.
        largest: usize,
    },
    /// A channel of frames of one length has one of another.
    #[error("the {} frame has {octets} octets, but every frame of this channel has {expected}", .kind.name())]
    NotFixedLength {
        /// Protocol.
        kind: FrameKind,
        /// Octets there are.
        octets: usize,
        /// Octets of each frame.
        expected: usize,
    },
    /// The length field disagrees with the octets there are.
    #[error("the {} frame's length field says {says} octets, but there are {octets}", .kind.name())]
    LengthField {
        /// Protocol.
        kind: FrameKind,
        /// Octets by the length field.
        says: usize,
        /// Octets there are.
        octets: usize,
    },
    /// Another protocol's version number.
    #[error("the transfer frame version is {version}, which is not that of {}", .kind.name())]
    Version {
        /// Protocol expected.
        kind: FrameKind,
        /// Version found.
        version: u8,
    },
    /// The frame error control field does not hold: the frame was damaged on its way.
    #[error("the {} frame's FECF is {found:#06x}, but its octets give {computed:#06x}", .kind.name())]
    BadFecf {
        /// Protocol.
        kind: FrameKind,
        /// Value in the frame.
        found: u16,
        /// Value of its octets.
        computed: u16,
    },
    /// The header error control of AOS does not hold.
    #[error("the AOS header's error control field is {found:#06x}, but the header gives {computed:#06x}")]
    BadFhec {
        /// Value in the frame.
        found: u16,
        /// Value of its header.
        computed: u16,
    },
    /// A field's value is too large.
    #[error("{field} is {value}, but this field of a {} frame holds at most {largest}", .kind.name())]
    OutOfRange {
        /// Protocol.
        kind: FrameKind,
        /// Which field.
        field: &'static str,
        /// The value.
        value: u64,
        /// The largest that fits.
        largest: u64,
    },
    /// A combination that the protocol does not have.
    #[error("a {} frame cannot have {what}", .kind.name())]
    Invalid {
        /// Protocol.
        kind: FrameKind,
        /// What it cannot have.
        what: &'static str,
    },
    /// OCF, insert zone or segment header is there although the channel has none, or the other way round.
    #[error("the {} frame's {what} does not agree with its channel's managed parameters", .kind.name())]
    NotAsManaged {
        /// Protocol.
        kind: FrameKind,
        /// Which part.
        what: &'static str,
    },
}

impl FrameError {
    /// A short name that does not change, for logs and test vectors.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooShort { .. } => "frame-too-short",
            Self::TooLong { .. } => "frame-too-long",
            Self::NotFixedLength { .. } => "frame-not-fixed-length",
            Self::LengthField { .. } => "frame-length-field",
            Self::Version { .. } => "frame-version",
            Self::BadFecf { .. } => "frame-fecf",
            Self::BadFhec { .. } => "frame-fhec",
            Self::OutOfRange { .. } => "frame-out-of-range",
            Self::Invalid { .. } => "frame-invalid",
            Self::NotAsManaged { .. } => "frame-not-as-managed",
        }
    }
}
