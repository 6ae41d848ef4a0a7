//! What a receiver of safety messages makes of each, and when it misses one.

use super::message::{Fields, Kind, Messages};
use crate::verdicts::Judged;

/// What the application does with a message that passes all of its checks.
pub(super) const ACCEPTED: &str = "accepted";
/// It is fresh, and others before it are missing: accepted, and told.
pub(super) const GAP: &str = "gap";
/// No message of this protocol: refused, as all that follow.
const MALFORMED: &str = "malformed";
/// Another kind of message than this receiver takes.
const OTHER_KIND: &str = "other-kind";
/// It names a sender or a receiver that this session is not between.
const FOREIGN: &str = "foreign";
/// Its number was here before.
const REPEATED: &str = "repeated";
/// Its number is below one that was here before, and was not here itself.
const OUT_OF_ORDER: &str = "out-of-order";
/// It is older than the bound.
const LATE: &str = "late";
/// It is of the future.
const EARLY: &str = "early";

/// Judges the messages of one session in the order in which they can be read.
///
/// Whether they are well formed and between the right ends is always checked. With freshness, so are their numbers and
/// their age, and the time since the last fresh one is supervised.
pub(super) struct Judge<'a> {
    messages: &'a Messages,
    kind: Kind,
    freshness: bool,
    interval_ns: i64,
    bound_ns: i64,
    /// One above the highest number that was accepted.
    next: u32,
    /// Numbers below `next` that were accepted.
    had: std::collections::BTreeSet<u32>,
    /// When supervision ends unless a fresh message comes; none before the first one and after its end.
    deadline_ns: Option<i64>,
    /// What was judged so far.
    pub(super) judged: Vec<Judged>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        messages: &'a Messages,
        kind: Kind,
        freshness: bool,
        interval_ns: i64,
        bound_ns: i64,
    ) -> Self {
        let (next, had) = (0, std::collections::BTreeSet::new());
        Self {
            messages,
            kind,
            freshness,
            interval_ns,
            bound_ns,
            next,
            had,
            deadline_ns: None,
            judged: Vec::new(),
        }
    }

    /// Judges what could be read at `t_ns`. Returns its number if its content is what the sender sends under it.
    pub(super) fn message(&mut self, bytes: &[u8], t_ns: i64) -> Option<u32> {
        self.until(t_ns);
        let size_bytes = u32::try_from(bytes.len()).ok();
        let Some(fields) = Fields::of(bytes) else {
            self.judged.push(Judged { size_bytes, ..Judged::event("message", t_ns, MALFORMED) });
            return None;
        };
        let verdict = self.verdict(&fields, bytes.len(), t_ns);
        if verdict == ACCEPTED || verdict == GAP {
            self.next = self.next.max(fields.number.saturating_add(1));
            self.had.insert(fields.number);
            if self.freshness {
                self.deadline_ns = Some(t_ns + self.interval_ns + self.bound_ns);
            }
        }
        let sent_so = self.messages.sent_so(bytes, &fields);
        self.judged.push(Judged {
            kind: fields.kind.map(|kind| kind.name().to_owned()),
            number: Some(fields.number),
            from: Some(fields.from),
            to: Some(fields.to),
            stamp_ns: Some(fields.stamp_ns),
            size_bytes,
            genuine: Some(sent_so),
            ..Judged::event("message", t_ns, verdict)
        });
        sent_so.then_some(fields.number)
    }

    fn verdict(&self, fields: &Fields, bytes: usize, t_ns: i64) -> &'static str {
        if !fields.well_formed(bytes) {
            return MALFORMED;
        }
        if fields.kind != Some(self.kind) {
            return OTHER_KIND;
        }
        if [fields.from, fields.to] != self.messages.ends() {
            return FOREIGN;
        }
        if !self.freshness {
            return ACCEPTED;
        }
        if fields.number < self.next {
            return if self.had.contains(&fields.number) { REPEATED } else { OUT_OF_ORDER };
        }
        if fields.stamp_ns > t_ns {
            return EARLY;
        }
        // In 128 bits: a time stamp may be any number.
        if i128::from(t_ns) - i128::from(fields.stamp_ns) > i128::from(self.bound_ns) {
            return LATE;
        }
        if fields.number > self.next { GAP } else { ACCEPTED }
    }

    /// Nothing was there to be read before `t_ns`: what a timer told meanwhile.
    pub(super) fn until(&mut self, t_ns: i64) {
        if let Some(deadline_ns) = self.deadline_ns.take_if(|deadline_ns| *deadline_ns < t_ns) {
            self.judged.push(Judged::event("timeout", deadline_ns, "timeout"));
        }
    }

    /// Whether the last of `count` messages was accepted, after which no other is waited for.
    pub(super) fn last_of(&mut self, count: u64) {
        if u64::from(self.next) >= count {
            self.deadline_ns = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind::MovementAuthority;
    const SECOND: i64 = 1_000_000_000;

    fn messages(train: u32) -> Messages {
        Messages::new(KIND, train, 64, 5)
    }

    /// What is made of messages with these numbers and time stamps in seconds, read at these.
    fn judged(freshness: bool, read: &[(Vec<u8>, i64)]) -> Vec<(String, i64)> {
        let messages = messages(7);
        let mut judge = Judge::new(&messages, KIND, freshness, SECOND, SECOND / 2);
        for (bytes, at_s) in read {
            judge.message(bytes, at_s * SECOND);
        }
        judge.judged.into_iter().map(|row| (row.verdict, row.t_ns / SECOND)).collect()
    }

    fn sent(number: u32, at_s: i64) -> Vec<u8> {
        messages(7).at(number, at_s * SECOND)
    }

    fn verdicts(freshness: bool, read: &[(Vec<u8>, i64)]) -> Vec<String> {
        let all = judged(freshness, read).into_iter();
        all.map(|(verdict, _)| verdict).filter(|verdict| verdict != "timeout").collect()
    }

    #[test]
    fn numbers_tell_repeated_missing_and_reordered_messages() {
        let read = [(sent(0, 1), 1), (sent(0, 1), 1), (sent(2, 2), 2), (sent(1, 2), 2), (sent(3, 3), 3)];
        assert_eq!(verdicts(true, &read), ["accepted", "repeated", "gap", "out-of-order", "accepted"]);
        assert_eq!(verdicts(false, &read), ["accepted"; 5]);
    }

    #[test]
    fn the_time_stamp_tells_a_late_message_and_one_of_the_future() {
        let read = [(sent(0, 1), 1), (sent(1, 2), 4), (sent(1, 9), 5), (sent(1, i64::MIN / SECOND), 5)];
        assert_eq!(verdicts(true, &read), ["accepted", "late", "early", "late"]);
        assert_eq!(verdicts(false, &read), ["accepted"; 4]);
    }

    #[test]
    fn form_and_ends_are_checked_without_freshness_too() {
        let report = Messages::new(Kind::PositionReport, 7, 64, 5).at(0, 0);
        let read = [(messages(8).at(0, 0), 0), (report, 0), (sent(0, 0)[..40].to_vec(), 0), (vec![0; 8], 0)];
        for freshness in [true, false] {
            assert_eq!(verdicts(freshness, &read), ["foreign", "other-kind", "malformed", "malformed"]);
        }
    }

    #[test]
    fn silence_is_told_once_and_when_the_timer_would_have() {
        let read = [(sent(0, 1), 1), (sent(1, 9), 9), (sent(2, 10), 10)];
        let told: Vec<_> =
            judged(true, &read).into_iter().filter(|(verdict, _)| verdict == "timeout").collect();
        assert_eq!(told, [("timeout".to_owned(), 2)]);
        assert!(judged(false, &read).iter().all(|(verdict, _)| verdict == "accepted"));
    }

    #[test]
    fn after_the_last_message_none_is_missed() {
        let messages = messages(7);
        let mut judge = Judge::new(&messages, KIND, true, SECOND, SECOND);
        judge.message(&sent(0, 1), SECOND);
        judge.last_of(1);
        judge.until(i64::MAX);
        assert_eq!(judge.judged.len(), 1);
    }

    #[test]
    fn what_the_sender_did_not_send_is_not_genuine_whatever_the_application_makes_of_it() {
        let messages = messages(7);
        let mut judge = Judge::new(&messages, KIND, true, SECOND, SECOND);
        let mut changed = sent(0, 1);
        changed[26] ^= 1;
        assert_eq!(judge.message(&changed, SECOND), None);
        assert_eq!(judge.message(&sent(1, 2), 2 * SECOND), Some(1));
        let told: Vec<_> = judge.judged.iter().map(|row| (row.verdict.as_str(), row.genuine)).collect();
        assert_eq!(told, [("accepted", Some(false)), ("accepted", Some(true))]);
    }
}
