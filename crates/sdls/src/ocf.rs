//! The operational control field: the command link control word (CLCW) of COP-1, and the frame security report (FSR) of
//! SDLS's extended procedures.

use crate::frame::FrameError;
use crate::frame::FrameKind;

/// Either kind of operational control field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ocf {
    /// Type 1: what the receiver of telecommands reports of COP-1.
    Clcw(Clcw),
    /// Type 2 with the version of SDLS: what it reports of link security.
    Fsr(Fsr),
    /// Type 2 of another version.
    Other([u8; 4]),
}

impl Ocf {
    /// Reads a field.
    ///
    /// # Errors
    /// If it is a CLCW of an unknown version.
    pub fn decode(octets: [u8; 4]) -> Result<Self, FrameError> {
        Ok(match octets[0] >> 4 {
            0..8 => Self::Clcw(Clcw::decode(octets)?),
            0b1100 => Self::Fsr(Fsr::decode(octets)),
            _ => Self::Other(octets),
        })
    }
}

/// The command link control word (CCSDS 232.0-B): four octets of telemetry in which the receiver of telecommands says
/// what it expects next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clcw {
    /// Status field, three bits that each mission defines.
    pub status: u8,
    /// COP in effect, two bits; 1 is COP-1.
    pub cop: u8,
    /// Virtual channel of the telecommands, six bits.
    pub channel: u8,
    /// No radio frequency available.
    pub no_rf: bool,
    /// No bit lock.
    pub no_bit_lock: bool,
    /// FARM-1 is in lockout.
    pub lockout: bool,
    /// FARM-1 has no room.
    pub wait: bool,
    /// A frame was missed and is to be sent again.
    pub retransmit: bool,
    /// The lower two bits of the count of accepted frames of the types BD and BC.
    pub farm_b: u8,
    /// V(R), the sequence number expected next.
    pub report: u8,
}

impl Clcw {
    /// Writes the word; values are cut to their fields.
    #[must_use]
    pub fn encode(&self) -> [u8; 4] {
        [
            (self.status & 7) << 2 | self.cop & 3,
            (self.channel & 0x3F) << 2,
            u8::from(self.no_rf) << 7
                | u8::from(self.no_bit_lock) << 6
                | u8::from(self.lockout) << 5
                | u8::from(self.wait) << 4
                | u8::from(self.retransmit) << 3
                | (self.farm_b & 3) << 1,
            self.report,
        ]
    }

    /// Reads the word; reserved bits are passed over.
    ///
    /// # Errors
    /// If the control word type or the version is not that of a CLCW.
    pub fn decode(octets: [u8; 4]) -> Result<Self, FrameError> {
        let [first, second, third, report] = octets;
        if first >> 5 != 0 {
            return Err(FrameError::Version { kind: FrameKind::Tc, version: first >> 5 });
        }
        Ok(Self {
            status: first >> 2 & 7,
            cop: first & 3,
            channel: second >> 2,
            no_rf: third >> 7 & 1 != 0,
            no_bit_lock: third >> 6 & 1 != 0,
            lockout: third >> 5 & 1 != 0,
            wait: third >> 4 & 1 != 0,
            retransmit: third >> 3 & 1 != 0,
            farm_b: third >> 1 & 3,
            report,
        })
    }
}

/// The frame security report (CCSDS 355.1-B): what became of the last protected frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fsr {
    /// At least one frame was refused since the alarm was reset.
    pub alarm: bool,
    /// The last frame's sequence number was outside of the window.
    pub bad_sequence: bool,
    /// The last frame's message authentication code did not hold.
    pub bad_mac: bool,
    /// The last frame's security association was unknown, not operational or not that of its channel.
    pub bad_association: bool,
    /// Security parameter index of the last frame.
    pub spi: u16,
    /// Lowest octet of the sequence number (or IV) of the last frame.
    pub sequence: u8,
}

impl Fsr {
    /// Writes the report.
    #[must_use]
    pub fn encode(&self) -> [u8; 4] {
        let [high, low] = self.spi.to_be_bytes();
        let flags = 0b1100_0000
            | u8::from(self.alarm) << 3
            | u8::from(self.bad_sequence) << 2
            | u8::from(self.bad_mac) << 1
            | u8::from(self.bad_association);
        [flags, high, low, self.sequence]
    }

    /// Reads the report; its type and version are those that [`Ocf::decode`] looked at.
    #[must_use]
    pub fn decode(octets: [u8; 4]) -> Self {
        let [flags, high, low, sequence] = octets;
        Self {
            alarm: flags >> 3 & 1 != 0,
            bad_sequence: flags >> 2 & 1 != 0,
            bad_mac: flags >> 1 & 1 != 0,
            bad_association: flags & 1 != 0,
            spi: u16::from_be_bytes([high, low]),
            sequence,
        }
    }
}
