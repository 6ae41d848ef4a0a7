//! What is counted: errors, distributions of times, and how transport channels compare.

use std::time::Duration;

use crate::time::millis;

/// Parts into which 0 to T_max is cut (SBB's stack: `RADEF_DIAGNOSTIC_TIMING_DISTRIBUTION_INTERVALS`).
pub const INTERVALS: usize = 5;

/// Messages that were not taken, by the first check that they failed, and those that came out of sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorCounters {
    /// The length is wrong, or the body does not fit the type.
    pub malformed: u64,
    /// The safety code is wrong.
    pub safety_code: u64,
    /// The type is unknown.
    pub kind: u64,
    /// It is not for this end, or not from its peer.
    pub address: u64,
    /// The sequence number is not the next one.
    pub sequence_number: u64,
    /// The confirmed sequence number was never sent, or confirmed before.
    pub confirmed_sequence_number: u64,
    /// The time stamp lies before the last one, or T_max or more after it.
    pub time_stamp: u64,
    /// The confirmed time stamp lies before the last one, or T_max or more after it.
    pub confirmed_time_stamp: u64,
    /// The round trip took longer than T_max.
    pub late: u64,
    /// The state has no use for it.
    pub ignored: u64,
}

impl ErrorCounters {
    /// Each counter with its name, in a fixed order.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, u64); 10] {
        [
            ("malformed", self.malformed),
            ("safety_code", self.safety_code),
            ("kind", self.kind),
            ("address", self.address),
            ("sequence_number", self.sequence_number),
            ("confirmed_sequence_number", self.confirmed_sequence_number),
            ("time_stamp", self.time_stamp),
            ("confirmed_time_stamp", self.confirmed_time_stamp),
            ("late", self.late),
            ("ignored", self.ignored),
        ]
    }
}

/// Frames that the redundancy layer did not hand on at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameCounters {
    /// The length is wrong.
    pub malformed: u64,
    /// The check code is wrong.
    pub check_code: u64,
    /// The sequence number is too far ahead, or not 0 when a channel opens.
    pub out_of_range: u64,
    /// They came before, over this channel or another.
    pub repeated: u64,
    /// They waited for one before them.
    pub deferred: u64,
    /// They would have waited, but no place was free.
    pub no_place: u64,
    /// Never came: given up after T_seq.
    pub given_up: u64,
    /// They came while the redundancy channel was closed.
    pub closed: u64,
}

impl FrameCounters {
    /// Each counter with its name, in a fixed order.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("malformed", self.malformed),
            ("check_code", self.check_code),
            ("out_of_range", self.out_of_range),
            ("repeated", self.repeated),
            ("deferred", self.deferred),
            ("no_place", self.no_place),
            ("given_up", self.given_up),
            ("closed", self.closed),
        ]
    }
}

/// Distributions of times over a window of timely messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionReport {
    /// Messages in the window so far.
    pub messages: u32,
    /// Upper ends of the intervals in milliseconds, fifths of T_max; an interval does not hold its lower end.
    pub upper_ends_ms: [u32; INTERVALS],
    /// How many round trips (T_rtd) lay in each interval.
    pub round_trips: [u32; INTERVALS],
    /// How many times between confirmations (T_alive) lay in each interval.
    pub alive: [u32; INTERVALS],
    /// Errors since the connection opened.
    pub errors: ErrorCounters,
}

/// Counts into a [`ConnectionReport`].
#[derive(Clone, Debug)]
pub(crate) struct Windowed {
    window: u32,
    report: ConnectionReport,
}

impl Windowed {
    pub(crate) fn new(window: u32, t_max: Duration) -> Self {
        let t_max_ms = u64::from(millis(t_max));
        let upper_ends_ms = std::array::from_fn(|place| {
            u32::try_from(t_max_ms * (place as u64 + 1) / INTERVALS as u64).unwrap_or(u32::MAX)
        });
        Self { window, report: ConnectionReport { upper_ends_ms, ..ConnectionReport::default() } }
    }

    pub(crate) fn report(&self) -> ConnectionReport {
        self.report
    }

    pub(crate) fn errors(&mut self) -> &mut ErrorCounters {
        &mut self.report.errors
    }

    /// Counts a timely message; a full window is given back and begun anew.
    pub(crate) fn timely(&mut self, round_trip_ms: u32, alive_ms: u32) -> Option<ConnectionReport> {
        let ends = self.report.upper_ends_ms;
        let place = |value| ends.iter().position(|end| value <= *end).unwrap_or(INTERVALS - 1);
        self.report.round_trips[place(round_trip_ms)] += 1;
        self.report.alive[place(alive_ms)] += 1;
        self.report.messages += 1;
        (self.report.messages == self.window).then(|| {
            let full = self.report;
            self.report =
                ConnectionReport { upper_ends_ms: ends, errors: full.errors, ..ConnectionReport::default() };
            full
        })
    }
}

/// How a transport channel compares with the fastest one over a window of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelReport {
    /// Frames in the window (N_diagnosis).
    pub frames: u32,
    /// Frames that did not come over this channel within T_seq of their first reception (N_missed).
    pub missed: u32,
    /// Sum of the delays behind the fastest channel, in milliseconds (T_drift).
    pub drift_ms: u64,
    /// Sum of their squares, in square milliseconds (T_drift2).
    pub drift2_ms2: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fall_into_fifths_of_t_max_and_a_full_window_begins_anew() {
        let mut windowed = Windowed::new(3, Duration::from_millis(1000));
        assert_eq!(windowed.report().upper_ends_ms, [200, 400, 600, 800, 1000]);
        assert_eq!(windowed.timely(200, 201), None);
        windowed.errors().safety_code += 1;
        assert_eq!(windowed.timely(0, 1000), None);
        let full = windowed.timely(801, 5000).expect("the window has three messages");
        assert_eq!(full.round_trips, [2, 0, 0, 0, 1]);
        assert_eq!(full.alive, [0, 1, 0, 0, 2]);
        assert_eq!(windowed.report().messages, 0);
        assert_eq!(windowed.report().errors.safety_code, 1, "errors count on");
    }
}
