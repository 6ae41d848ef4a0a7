//! When messages are ready: at once or at a constant rate, within one or many *on* periods.

/// A stretch of time in which messages become ready; instants count from the start of the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    /// When it begins.
    pub(super) from_ns: i64,
    /// When it ends; nothing becomes ready from here on.
    pub(super) until_ns: i64,
}

impl Period {
    /// One that never ends.
    pub(super) const ENDLESS: Period = Period { from_ns: 0, until_ns: i64::MAX };

    /// Messages of `message_bytes` that become ready in it at `rate_bps`: the first at its very beginning.
    pub(super) fn messages(self, rate_bps: f64, message_bytes: u32) -> u64 {
        let length_ns = (self.until_ns - self.from_ns) as f64;
        (length_ns * rate_bps / (f64::from(message_bytes) * 8e9)).ceil() as u64
    }
}

/// When each message of a flow is ready.
pub(super) struct Timetable {
    message_bytes: u32,
    /// None: within a period there is always one more.
    rate_bps: Option<f64>,
    periods: Vec<Period>,
    /// The number of the first message of each period; without a rate they are not known.
    first_seqs: Vec<u64>,
    messages: u64,
}

impl Timetable {
    /// Messages of `message_bytes` at `rate_bps` (None: as many as are taken) within `periods`, which stand in their
    /// order; at most `most` messages.
    pub(super) fn new(message_bytes: u32, rate_bps: Option<f64>, periods: Vec<Period>, most: u64) -> Self {
        let mut first_seqs = Vec::new();
        let mut messages = u64::MAX;
        if let Some(rate_bps) = rate_bps {
            messages = 0;
            for period in &periods {
                first_seqs.push(messages);
                messages = messages.saturating_add(period.messages(rate_bps, message_bytes));
            }
        }
        Self { message_bytes, rate_bps, periods, first_seqs, messages: messages.min(most) }
    }

    /// Whether there is always one more message within a period.
    pub(super) fn is_greedy(&self) -> bool {
        self.rate_bps.is_none()
    }

    /// Messages that ever become ready; without a rate as many as there may be at most.
    pub(super) fn messages(&self) -> u64 {
        self.messages
    }

    /// The instant at which message `seq` is ready, in nanoseconds from the start of the flow. Without a rate: when
    /// one can be handed over that is asked for at `now_ns`.
    pub(super) fn ready_ns(&self, seq: u64, now_ns: i64) -> i64 {
        match self.rate_bps {
            Some(rate_bps) => {
                let place = self.first_seqs.partition_point(|first| *first <= seq).saturating_sub(1);
                self.paced_ns(place, seq - self.first_seqs[place], rate_bps)
            }
            None => {
                let place = self.periods.partition_point(|period| period.until_ns <= now_ns);
                self.periods.get(place).map_or(i64::MAX, |period| period.from_ns.max(now_ns))
            }
        }
    }

    /// Messages that are ready at `now_ns`. Without a rate: all within a period, none outside.
    pub(super) fn ready_messages(&self, now_ns: i64) -> u64 {
        let Some(place) = self.periods.partition_point(|period| period.from_ns <= now_ns).checked_sub(1)
        else {
            return 0;
        };
        let period = self.periods[place];
        let Some(rate_bps) = self.rate_bps else {
            return if now_ns < period.until_ns { self.messages } else { 0 };
        };
        let passed_ns = (now_ns - period.from_ns) as f64;
        let mut ready = (passed_ns * rate_bps / (f64::from(self.message_bytes) * 8e9)) as u64;
        // Rounding may put the division a message off either way; the instants decide.
        while self.paced_ns(place, ready, rate_bps) <= now_ns {
            ready += 1;
        }
        while ready > 0 && self.paced_ns(place, ready - 1, rate_bps) > now_ns {
            ready -= 1;
        }
        let next = self.first_seqs.get(place + 1).copied().unwrap_or(self.messages);
        (self.first_seqs[place] + ready).min(next).min(self.messages)
    }

    /// When an offer that is made at `now_ns` ends: without a rate at the end of the period; what is ready by its
    /// rate stays ready.
    pub(super) fn offer_ends_ns(&self, now_ns: i64) -> i64 {
        if !self.is_greedy() {
            return i64::MAX;
        }
        let place = self.periods.partition_point(|period| period.until_ns <= now_ns);
        self.periods.get(place).map_or(now_ns, |period| period.until_ns)
    }

    /// Message `k` of a period, from 0.
    fn paced_ns(&self, place: usize, k: u64, rate_bps: f64) -> i64 {
        self.periods[place].from_ns
            + (k as f64 * f64::from(self.message_bytes) * 8e9 / rate_bps).round() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TWO: [Period; 2] = [
        Period { from_ns: 0, until_ns: 100_000_000 },
        Period { from_ns: 250_000_000, until_ns: 251_000_000 },
    ];

    #[test]
    fn a_rate_starts_anew_in_each_period() {
        // 1000 bytes at 200 kbit/s: one each 40 ms.
        let table = Timetable::new(1000, Some(200_000.0), TWO.to_vec(), u64::MAX);
        assert_eq!(table.messages(), 4);
        let instants: Vec<_> = (0..4).map(|seq| table.ready_ns(seq, 0)).collect();
        assert_eq!(instants, [0, 40_000_000, 80_000_000, 250_000_000]);
        let ready = [0, 39_999_999, 40_000_000, 99_000_000, 249_999_999, 250_000_000, i64::MAX / 2]
            .map(|now_ns| table.ready_messages(now_ns));
        assert_eq!(ready, [1, 1, 2, 3, 3, 4, 4]);
        assert_eq!(table.offer_ends_ns(90_000_000), i64::MAX);
    }

    #[test]
    fn a_greedy_period_ends_at_its_end() {
        let table = Timetable::new(1000, None, TWO.to_vec(), 7);
        let ready = [0, 99_999_999, 100_000_000, 249_999_999, 250_000_000, 251_000_000]
            .map(|now_ns| table.ready_messages(now_ns));
        assert_eq!(ready, [7, 7, 0, 0, 7, 0]);
        let next = [5, 100_000_000, 250_500_000, 251_000_000].map(|now_ns| table.ready_ns(3, now_ns));
        assert_eq!(next, [5, 250_000_000, 250_500_000, i64::MAX]);
        assert_eq!(table.offer_ends_ns(5), 100_000_000);
        assert_eq!(table.offer_ends_ns(250_000_000), 251_000_000);
    }

    proptest! {
        #[test]
        fn what_is_ready_is_what_has_its_instant_behind_it(
            lengths_ns in prop::collection::vec(1_i64..3_000_000_000, 2..12),
            rate_bps in 1e3..1e7_f64, message_bytes in 8_u32..3000, at_ns in 0_i64..20_000_000_000,
        ) {
            let mut from_ns = 0;
            let mut periods = Vec::new();
            for pair in lengths_ns.chunks_exact(2) {
                periods.push(Period { from_ns, until_ns: from_ns + pair[0] });
                from_ns += pair[0] + pair[1];
            }
            let table = Timetable::new(message_bytes, Some(rate_bps), periods, u64::MAX);
            let ready = table.ready_messages(at_ns);
            prop_assert!(ready == 0 || table.ready_ns(ready - 1, at_ns) <= at_ns);
            prop_assert!(ready == table.messages() || table.ready_ns(ready, at_ns) > at_ns);
        }
    }
}
