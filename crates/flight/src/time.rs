//! Time as telemetry carries it: 32 bits of seconds on the flight clock, and sub-seconds in one of cFE's formats.

use std::time::Duration;

/// How the sub-seconds of a telemetry header are written. cFE has only the first since 6.8 and let missions choose
/// before (`CFE_MISSION_SB_PACKET_TIME_FORMAT`; nasa/cFE d3a073e, `modules/msg/src/cfe_msg_sechdr_time_old.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Subseconds {
    /// 16 bits, in units of 2^-16 s: the default.
    #[default]
    Bits16,
    /// 32 bits, in units of 2^-32 s.
    Bits32,
    /// Microseconds in the upper 20 bits of 32.
    Micros20,
}

impl Subseconds {
    /// Octets of seconds and sub-seconds together.
    #[must_use]
    pub fn time_octets(self) -> usize {
        match self {
            Self::Bits16 => 6,
            Self::Bits32 | Self::Micros20 => 8,
        }
    }
}

/// An instant on the flight clock: seconds and sub-seconds in units of 2^-32 s (`CFE_TIME_SysTime_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlightTime {
    /// Seconds.
    pub seconds: u32,
    /// Units of 2^-32 s.
    pub subseconds: u32,
}

/// Seconds that the flight clock of a cFS that was just started shows: a mission elapsed time of 1,000 s and a
/// correlation factor of 1,000,000 s, cFE's defaults; seen as 1,001,000 s in telemetry of cFS 7.0.0.
pub const START_SECONDS: u32 = 1_001_000;

impl FlightTime {
    /// What the flight clock shows `since_start` after the start. It begins anew after 2^32 s, as the field does.
    #[must_use]
    pub fn after_start(since_start: Duration) -> Self {
        let seconds = since_start.as_secs().wrapping_add(START_SECONDS.into());
        // Exact: a billion nanoseconds times 2^32 fits 64 bits.
        let subseconds = (u64::from(since_start.subsec_nanos()) << 32) / 1_000_000_000;
        Self { seconds: seconds as u32, subseconds: subseconds as u32 }
    }

    /// As time since the flight clock's zero; a 2^-32 s is rounded down to a nanosecond.
    #[must_use]
    pub fn since_zero(self) -> Duration {
        let nanos = (u64::from(self.subseconds) * 1_000_000_000) >> 32;
        Duration::from_secs(self.seconds.into()) + Duration::from_nanos(nanos)
    }

    /// Appends it in a format, big-endian (nasa/cFE 146d8c4, `cfe_msg_sechdr_time.c`).
    pub fn encode(self, format: Subseconds, octets: &mut Vec<u8>) {
        octets.extend(self.seconds.to_be_bytes());
        let subseconds = self.subseconds.to_be_bytes();
        match format {
            Subseconds::Bits16 => octets.extend_from_slice(&subseconds[..2]),
            Subseconds::Bits32 => octets.extend(subseconds),
            Subseconds::Micros20 => {
                let micros = (u64::from(self.subseconds) * 1_000_000) >> 32;
                octets.extend((micros << 12).to_be_bytes().split_at(4).1);
            }
        }
    }

    /// Reads it; octets that are missing count as zero.
    #[must_use]
    pub fn decode(octets: &[u8], format: Subseconds) -> Self {
        let octet = |place: usize| octets.get(place).copied().unwrap_or(0);
        let word = |from: usize| u32::from_be_bytes([0, 1, 2, 3].map(|place| octet(from + place)));
        let subseconds = match format {
            Subseconds::Bits16 => word(4) & 0xFFFF_0000,
            Subseconds::Bits32 => word(4),
            Subseconds::Micros20 => {
                let micros = u64::from(word(4) >> 12).min(999_999);
                // Rounded up, so that the same microsecond comes out again.
                (micros << 32).div_ceil(1_000_000) as u32
            }
        };
        Self { seconds: word(0), subseconds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cfs_that_was_just_started_shows_1_001_000_s() {
        let time = FlightTime::after_start(Duration::from_millis(2_500));
        assert_eq!(time, FlightTime { seconds: 1_001_002, subseconds: 1 << 31 });
        assert_eq!(time.since_zero(), Duration::from_millis(1_001_002_500));
    }

    #[test]
    fn each_format_writes_half_a_second_as_it_must() {
        let time = FlightTime { seconds: 7, subseconds: 1 << 31 };
        let written = |format| {
            let mut octets = Vec::new();
            time.encode(format, &mut octets);
            octets
        };
        assert_eq!(written(Subseconds::Bits16), [0, 0, 0, 7, 0x80, 0]);
        assert_eq!(written(Subseconds::Bits32), [0, 0, 0, 7, 0x80, 0, 0, 0]);
        // 500,000 is 0x7A120.
        assert_eq!(written(Subseconds::Micros20), [0, 0, 0, 7, 0x7A, 0x12, 0, 0]);
    }
}
