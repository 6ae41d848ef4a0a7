//! Time spent inside ciphers, counted for each thread. Only links that were made with a meter count.

use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    static SPENT: Cell<(u64, Duration)> = const { Cell::new((0, Duration::ZERO)) };
}

/// What ciphers did since it was asked last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// How often one was called.
    pub calls: u64,
    /// How long they took.
    pub time: Duration,
}

/// What the ciphers of this thread's metered links did since the last call.
pub fn take() -> Spent {
    let (calls, time) = SPENT.replace((0, Duration::ZERO));
    Spent { calls, time }
}

/// Runs a cipher and counts it.
pub(crate) fn count<T>(cipher: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let result = cipher();
    let time = begin.elapsed();
    SPENT.with(|spent| {
        let (calls, before) = spent.get();
        spent.set((calls + 1, before + time));
    });
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_until_they_are_asked_for() {
        take();
        assert_eq!(count(|| count(|| 7)), 7);
        assert_eq!(take().calls, 2);
        assert_eq!(take(), Spent::default());
    }
}
