//! When starts happen: at equal distances from the first on, whatever became of earlier ones.

use std::io::{self, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::caps::{Rate, Seconds};
use crate::tally::Tally;

/// A log line is written once in this time.
const SECOND: Duration = Duration::from_secs(1);

/// The times of all starts of a run.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    began: Instant,
    rate: f64,
    lasts: Duration,
}

impl Schedule {
    /// `rate` starts a second from `began` on, for so long.
    #[must_use]
    pub fn new(began: Instant, rate: Rate, lasts: Seconds) -> Self {
        Self { began, rate: rate.per_second(), lasts: lasts.duration() }
    }

    /// The same, from another time on.
    #[must_use]
    pub fn starting(self, began: Instant) -> Self {
        Self { began, ..self }
    }

    /// When the start of this number (from 0) is due; none if the run is over by then.
    #[must_use]
    pub fn due(&self, number: u64) -> Option<Instant> {
        let after = Duration::from_secs_f64(number as f64 / self.rate);
        (after < self.lasts).then(|| self.began + after)
    }

    /// When the first start is due.
    #[must_use]
    pub fn began(&self) -> Instant {
        self.began
    }

    /// When no more starts are made.
    #[must_use]
    pub fn end(&self) -> Instant {
        self.began + self.lasts
    }
}

/// Whether a start was wanted at its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// It is under way.
    Offered,
    /// As many connections as asked for are there.
    NotNeeded,
}

/// Calls `start` at each due time and writes a line a second, then the last line.
///
/// `start` gets the time that it was due at; it must not wait. Starts that fell behind are all made at once: none is
/// left out. When the schedule is over, what is under way gets `drain` to come to its end.
///
/// # Errors
/// If a line cannot be written.
pub async fn run(
    schedule: Schedule,
    tally: &Rc<Tally>,
    drain: Duration,
    out: &mut dyn Write,
    mut start: impl FnMut(Instant) -> Start,
) -> io::Result<()> {
    let mut number = 0;
    let mut next_line = schedule.began() + SECOND;
    let last = schedule.end() + drain;
    loop {
        let now = Instant::now();
        while let Some(due) = schedule.due(number)
            && due <= now
        {
            number += 1;
            if start(due) == Start::Offered {
                tally.offered();
            }
        }
        if now >= schedule.end() {
            tally.over();
        }
        let over = now >= schedule.end() && (tally.alive_now() == 0 || now >= last);
        if now >= next_line || over {
            writeln!(out, "{}", tally.second(now))?;
            out.flush()?;
            next_line += SECOND;
        }
        if over {
            break;
        }
        let next = schedule.due(number).unwrap_or(if now < schedule.end() {
            schedule.end()
        } else {
            // What is under way is looked after so often.
            now + Duration::from_millis(10)
        });
        tokio::time::sleep_until(next.min(next_line).into()).await;
    }
    writeln!(out, "{}", tally.done())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::Value;

    use super::*;

    fn schedule(rate: &str, seconds: &str) -> Schedule {
        Schedule::new(Instant::now(), rate.parse().unwrap(), seconds.parse().unwrap())
    }

    #[test]
    fn starts_have_equal_distances_and_an_end() {
        let schedule = schedule("4", "1.5");
        let after = |number| schedule.due(number).map(|due| (due - schedule.began()).as_millis());
        assert_eq!([0, 1, 5, 6].map(after), [Some(0), Some(250), Some(1250), None]);
    }

    #[tokio::test]
    async fn all_starts_are_made_although_none_ends() {
        let schedule = schedule("2000", "0.2");
        let tally = Tally::new(schedule.began());
        let under_way = RefCell::new(Vec::new());
        let mut out = Vec::new();
        run(schedule, &tally, Duration::from_millis(50), &mut out, |due| {
            tally.sent(due);
            under_way.borrow_mut().push(tally.alive());
            Start::Offered
        })
        .await
        .unwrap();
        assert_eq!(under_way.borrow().len(), 400);
        let lines: Vec<Value> =
            out.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        assert_eq!(lines.first().unwrap()["second"]["offered"], 400);
        let done = &lines.last().unwrap()["done"];
        assert_eq!((&done["sent"], &done["unfinished"]), (&400.into(), &400.into()));
    }

    /// A start that blocks the thread makes others late; they are made all the same, and the verdict says so.
    #[tokio::test]
    async fn late_starts_are_made_and_make_the_run_invalid() {
        let schedule = schedule("100", "0.3");
        let tally = Tally::new(schedule.began());
        let mut out = Vec::new();
        let mut starts = 0;
        run(schedule, &tally, Duration::ZERO, &mut out, |due| {
            tally.sent(due);
            starts += 1;
            if starts == 1 {
                std::thread::sleep(Duration::from_millis(150));
            }
            Start::Offered
        })
        .await
        .unwrap();
        assert_eq!(starts, 30);
        let done = tally.done();
        assert_eq!(done["done"]["saturated"], true);
        assert!(done["done"]["why"].as_str().unwrap().contains("late"), "{done}");
    }

    #[tokio::test]
    async fn what_is_not_needed_is_not_offered() {
        let schedule = schedule("100", "0.1");
        let tally = Tally::new(schedule.began());
        run(schedule, &tally, Duration::ZERO, &mut Vec::new(), |_| Start::NotNeeded).await.unwrap();
        assert_eq!(tally.done()["done"]["offered"], 0);
    }
}
