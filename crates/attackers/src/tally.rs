//! What is counted by the second, and whether the attacker itself was the bottleneck.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::clock::Clock;
use crate::outcome::Outcome;

/// A start later than this makes the run invalid.
pub const LATEST: Duration = Duration::from_millis(100);
/// So much of what was offered has to be sent in each second but the first.
pub const LEAST_SENT: f64 = 0.99;
/// The share of one core from which on the attacker counts as saturated.
pub const MOST_CPU: f64 = 0.9;

/// Counts of one second, or of a whole run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counts {
    /// Starts that were due.
    pub offered: u64,
    /// Starts that were made.
    pub sent: u64,
    /// Starts that came to what they were for.
    pub completed: u64,
    /// Starts that did not.
    pub failed: u64,
    /// How late the latest start was.
    pub late_max_ns: u64,
    /// Processor time of this process.
    pub cpu_ns: u64,
    /// Octets of UDP or TCP payload to the server.
    pub bytes_out: u64,
    /// Octets of UDP or TCP payload from it.
    pub bytes_in: u64,
    /// Ends of starts by [`Outcome::key`].
    pub by_outcome: BTreeMap<Cow<'static, str>, u64>,
    /// Ends of connections that many starts are made on, by [`Outcome::key`].
    pub connections_ended: BTreeMap<Cow<'static, str>, u64>,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.offered += other.offered;
        self.sent += other.sent;
        self.completed += other.completed;
        self.failed += other.failed;
        self.late_max_ns = self.late_max_ns.max(other.late_max_ns);
        self.cpu_ns += other.cpu_ns;
        self.bytes_out += other.bytes_out;
        self.bytes_in += other.bytes_in;
        let maps = [
            (&mut self.by_outcome, &other.by_outcome),
            (&mut self.connections_ended, &other.connections_ended),
        ];
        for (sum, counts) in maps {
            for (key, count) in counts {
                *sum.entry(key.clone()).or_default() += count;
            }
        }
    }

    fn of(&self, outcome: Outcome) -> u64 {
        self.by_outcome.get(outcome.key().as_ref()).copied().unwrap_or_default()
    }
}

/// Why the attacker was the bottleneck in a second; none if it was not.
///
/// `first` is the second in which connections and buffers are made for the first time: of it only lateness and lacks of
/// this machine count.
#[must_use]
pub fn saturation(counts: &Counts, first: bool, wall: Duration) -> Option<String> {
    let local = counts.of(Outcome::Local);
    if local > 0 {
        return Some(format!("{local} starts found no port, descriptor or memory on this machine"));
    }
    if counts.late_max_ns > LATEST.as_nanos() as u64 {
        let late_ms = counts.late_max_ns / 1_000_000;
        return Some(format!("a start was {late_ms} ms late (at most {} ms)", LATEST.as_millis()));
    }
    if first {
        return None;
    }
    // What the server left no room for is its answer, not a lack of the attacker. One start may fall into the next second.
    let made = counts.sent + counts.of(Outcome::Blocked);
    let missing = counts.offered.saturating_sub(made);
    if missing > 1 && (made as f64) < counts.offered as f64 * LEAST_SENT {
        return Some(format!("{made} of {} starts were made in time", counts.offered));
    }
    let share = counts.cpu_ns as f64 / wall.as_nanos().max(1) as f64;
    if share > MOST_CPU {
        return Some(format!("it used {:.0} % of a core", share * 100.0));
    }
    None
}

/// The counters of a run. They belong to one thread.
pub struct Tally {
    now: RefCell<Counts>,
    all: RefCell<Counts>,
    held: Cell<u64>,
    held_most: Cell<u64>,
    alive: Cell<u64>,
    is_over: Cell<bool>,
    seconds: Cell<u64>,
    second_began: Cell<Instant>,
    clock: Clock,
    cpu_at_second: Cell<Duration>,
    saturated: RefCell<Option<String>>,
    facts: RefCell<Map<String, Value>>,
}

impl Tally {
    /// Counters at zero; the first second begins at `now`.
    #[must_use]
    pub fn new(now: Instant) -> Rc<Self> {
        Rc::new(Self {
            now: RefCell::default(),
            all: RefCell::default(),
            held: Cell::new(0),
            held_most: Cell::new(0),
            alive: Cell::new(0),
            is_over: Cell::new(false),
            seconds: Cell::new(0),
            second_began: Cell::new(now),
            clock: Clock::new(),
            cpu_at_second: Cell::new(cpu_time()),
            saturated: RefCell::new(None),
            facts: RefCell::default(),
        })
    }

    /// Lets the first second begin at `now`, with processor time from then on.
    pub fn begin(&self, now: Instant) {
        self.second_began.set(now);
        self.cpu_at_second.set(cpu_time());
    }

    /// A start is due.
    pub fn offered(&self) {
        self.now.borrow_mut().offered += 1;
    }

    /// The last start is made.
    pub fn over(&self) {
        self.is_over.set(true);
    }

    /// Whether the last start is made: late ones are made after the schedule's end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// A start that was due at `due` is made now.
    pub fn sent(&self, due: Instant) {
        let late = due.elapsed().as_nanos() as u64;
        let mut now = self.now.borrow_mut();
        now.sent += 1;
        now.late_max_ns = now.late_max_ns.max(late);
    }

    /// A start has come to its end.
    pub fn ended(&self, outcome: Outcome) {
        let mut now = self.now.borrow_mut();
        if outcome == Outcome::Ok {
            now.completed += 1
        } else {
            now.failed += 1
        }
        *now.by_outcome.entry(outcome.key()).or_default() += 1;
    }

    /// A connection that starts were made on has ended.
    pub fn connection_ended(&self, outcome: Outcome) {
        let mut now = self.now.borrow_mut();
        *now.connections_ended.entry(outcome.key()).or_default() += 1;
    }

    /// Octets went to the server.
    pub fn bytes_out(&self, octets: usize) {
        self.now.borrow_mut().bytes_out += octets as u64;
    }

    /// Octets came from the server.
    pub fn bytes_in(&self, octets: usize) {
        self.now.borrow_mut().bytes_in += octets as u64;
    }

    /// A connection is held until what is returned is dropped.
    #[must_use]
    pub fn hold(self: &Rc<Self>) -> Gauge {
        self.held_most.set(self.held_most.get().max(self.held.get() + 1));
        Gauge::new(self, |tally| &tally.held)
    }

    /// Something is under way until what is returned is dropped.
    #[must_use]
    pub fn alive(self: &Rc<Self>) -> Gauge {
        Gauge::new(self, |tally| &tally.alive)
    }

    /// What is under way now.
    #[must_use]
    pub fn alive_now(&self) -> u64 {
        self.alive.get()
    }

    /// Something that this kind of attack measures besides; it stands in the last line.
    pub fn fact(&self, name: &str, value: Value) {
        self.facts.borrow_mut().insert(name.to_owned(), value);
    }

    /// Ends a second and gives its line.
    pub fn second(&self, now: Instant) -> Value {
        let mut counts = self.now.take();
        let cpu = cpu_time();
        counts.cpu_ns = cpu.saturating_sub(self.cpu_at_second.replace(cpu)).as_nanos() as u64;
        let began = self.second_began.replace(now);
        let wall = now.saturating_duration_since(began);
        let number = self.seconds.get() + 1;
        self.seconds.set(number);
        // After the last start only what is under way is waited for.
        if counts.offered > 0
            && let Some(why) = saturation(&counts, number == 1, wall)
        {
            self.saturated.borrow_mut().get_or_insert_with(|| format!("in second {number}, {why}"));
        }
        self.all.borrow_mut().add(&counts);
        let mut line = json!(counts);
        line["t"] = number.into();
        // The last line comes when the last start has ended, and may be of less than a second.
        line["began_ns"] = self.clock.ns(began).into();
        line["ended_ns"] = self.clock.ns(now).into();
        line["held"] = self.held.get().into();
        json!({ "second": line })
    }

    /// The last line: totals and the verdict on the attacker.
    #[must_use]
    pub fn done(&self) -> Value {
        let mut line = json!(*self.all.borrow());
        line["held_max"] = self.held_most.get().into();
        // What is still under way at the end: started, and neither completed nor failed.
        line["unfinished"] = self.alive.get().into();
        let saturated = self.saturated.borrow();
        line["saturated"] = saturated.is_some().into();
        line["why"] = saturated.as_deref().unwrap_or("").into();
        for (name, value) in self.facts.borrow().iter() {
            line[name] = value.clone();
        }
        json!({ "done": line })
    }
}

/// One more of something, as long as it lives.
pub struct Gauge {
    tally: Rc<Tally>,
    of: fn(&Tally) -> &Cell<u64>,
}

impl Gauge {
    fn new(tally: &Rc<Tally>, of: fn(&Tally) -> &Cell<u64>) -> Self {
        of(tally).set(of(tally).get() + 1);
        Self { tally: Rc::clone(tally), of }
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        let cell = (self.of)(&self.tally);
        cell.set(cell.get() - 1);
    }
}

/// User and system time of this process so far.
fn cpu_time() -> Duration {
    getrusage(UsageWho::RUSAGE_SELF).map_or(Duration::ZERO, |usage| {
        let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        Duration::from_micros(microseconds.unsigned_abs())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn counts(offered: u64, sent: u64) -> Counts {
        Counts { offered, sent, ..Counts::default() }
    }

    #[test]
    fn one_in_a_hundred_may_be_missing() {
        assert_eq!(saturation(&counts(1000, 990), false, SECOND), None);
        let why = saturation(&counts(1000, 989), false, SECOND).unwrap();
        assert_eq!(why, "989 of 1000 starts were made in time");
        assert_eq!(saturation(&counts(1000, 0), true, SECOND), None, "the first second");
        assert_eq!(saturation(&counts(1, 0), false, SECOND), None, "one may fall into the next second");
    }

    #[test]
    fn what_the_server_left_no_room_for_is_its_answer() {
        let mut blocked = counts(1000, 10);
        blocked.by_outcome.insert("blocked".into(), 990);
        assert_eq!(saturation(&blocked, false, SECOND), None);
    }

    #[test]
    fn late_starts_and_lacks_of_this_machine_count_in_every_second() {
        let late = Counts { late_max_ns: 100_000_001, ..counts(1, 1) };
        assert!(saturation(&late, true, SECOND).unwrap().contains("100 ms late"));
        assert_eq!(saturation(&Counts { late_max_ns: 100_000_000, ..counts(1, 1) }, true, SECOND), None);
        let mut local = counts(10, 10);
        local.by_outcome.insert("local".into(), 1);
        assert!(saturation(&local, true, SECOND).unwrap().contains("1 starts found no port"));
    }

    #[test]
    fn nine_tenths_of_a_core_are_the_most() {
        let busy = |cpu_ns| Counts { cpu_ns, ..counts(10, 10) };
        assert_eq!(saturation(&busy(900_000_000), false, SECOND), None);
        assert_eq!(saturation(&busy(910_000_000), false, SECOND).unwrap(), "it used 91 % of a core");
    }

    #[test]
    fn seconds_add_up_to_the_whole() {
        let start = Instant::now();
        let tally = Tally::new(start);
        for second in 1..=2 {
            tally.offered();
            tally.sent(Instant::now());
            tally.bytes_out(1200);
            tally.ended(if second == 1 { Outcome::Ok } else { Outcome::Timeout });
            let line = tally.second(start + SECOND * second);
            assert_eq!(line["second"]["t"], second);
            assert_eq!(line["second"]["offered"], 1);
            assert_eq!(line["second"]["held"], 0);
        }
        let held = (tally.hold(), tally.hold());
        drop(held);
        tally.fact("factor", json!(2.5));
        let done = &tally.done()["done"];
        assert_eq!(
            (&done["offered"], &done["completed"], &done["failed"], &done["bytes_out"], &done["held_max"]),
            (&json!(2), &json!(1), &json!(1), &json!(2400), &json!(2))
        );
        assert_eq!((&done["saturated"], &done["factor"]), (&json!(false), &json!(2.5)));
        assert_eq!(done["by_outcome"], json!({"ok": 1, "timeout": 1}));
    }

    #[test]
    fn lines_say_from_when_to_when_they_are() {
        let start = Instant::now();
        let tally = Tally::new(start);
        tally.begin(start + SECOND);
        let ends = [start + SECOND * 2, start + SECOND * 3, start + SECOND * 3 + Duration::from_millis(7)];
        let lines = ends.map(|end| tally.second(end)["second"].take());
        let ns = |line: &Value, name: &str| line[name].as_u64().unwrap();
        let lasted = lines.each_ref().map(|line| ns(line, "ended_ns") - ns(line, "began_ns"));
        assert_eq!(lasted, [1_000_000_000, 1_000_000_000, 7_000_000]);
        assert!(lines.windows(2).all(|two| ns(&two[0], "ended_ns") == ns(&two[1], "began_ns")));
    }

    #[test]
    fn processor_time_is_that_of_getrusage() {
        let before = cpu_time();
        let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
        let between = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        assert!((before..=cpu_time()).contains(&Duration::from_micros(between.unsigned_abs())));
    }
}
