//! How long a connection may go on, whatever it is made of.
//!
//! Only what HTTP does counts as going on: a request that begins, a piece of its body, a piece of an answer that is
//! taken. Bodies have a time of their own besides. A client that sends PING frames, acknowledgements or one letter of a
//! head after the other does not keep its connection open.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::StatusCode;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::shared::Shared;
use crate::limits::Limit;

/// The watch over a connection.
pub(super) struct Watch {
    shared: Arc<Shared>,
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    /// When something went on the last time.
    since: Instant,
    /// A request came before the end of the handshake.
    early: bool,
    /// There was a request.
    asked: bool,
    cancelled: u64,
    ended: Option<Limit>,
}

impl Watch {
    /// From now on.
    pub(super) fn new(shared: &Arc<Shared>) -> Arc<Self> {
        let state = State { since: Instant::now(), early: false, asked: false, cancelled: 0, ended: None };
        Arc::new(Self { shared: Arc::clone(shared), state: Mutex::new(state), changed: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The handshake is over: the time for a head begins, unless there was one.
    pub(super) fn secured(&self) {
        let mut state = self.state();
        if !state.asked {
            state.since = Instant::now();
        }
    }

    /// A request came before the end of the handshake.
    pub(super) fn note_early(&self) {
        if !std::mem::replace(&mut self.state().early, true) {
            self.shared.counters.early_data.one();
        }
    }

    /// The head of a request is there.
    pub(super) fn begin(self: &Arc<Self>) -> Open {
        self.shared.counters.requests.one();
        let mut state = self.state();
        state.since = Instant::now();
        if !std::mem::replace(&mut state.asked, true) {
            self.changed.notify_one();
        }
        Open { watch: Arc::clone(self), done: false }
    }

    /// The client gave up a request.
    pub(super) fn cancelled(&self) {
        let mut state = self.state();
        state.cancelled += 1;
        if state.cancelled > self.shared.limits.cancelled_requests {
            self.end(state, Limit::CancelledRequests);
        }
    }

    /// The head of one of several requests did not come in time.
    pub(super) fn late_head(&self) {
        self.end(self.state(), Limit::HeaderTimeout);
    }

    fn end(&self, mut state: MutexGuard<'_, State>, limit: Limit) {
        state.ended.get_or_insert(limit);
        self.changed.notify_one();
    }

    /// When the connection is over if nothing goes on until then, and for which limit.
    fn deadline(&self) -> Result<(Option<Instant>, Limit), Limit> {
        let state = self.state();
        let limits = &self.shared.limits;
        match state.ended {
            Some(limit) => Err(limit),
            None if state.asked => {
                Ok((limits.idle_timeout.map(|time| state.since + time), Limit::IdleTimeout))
            }
            None => Ok((limits.header_timeout.map(|time| state.since + time), Limit::HeaderTimeout)),
        }
    }

    /// Waits until the connection has to end, and counts why.
    pub(super) async fn over(&self) -> Limit {
        let limit = loop {
            match self.deadline() {
                Err(limit) => break limit,
                Ok((Some(deadline), limit)) if deadline <= Instant::now() => break limit,
                Ok((Some(deadline), _)) => {
                    tokio::select! {
                        () = sleep_until(deadline) => {}
                        () = self.changed.notified() => {}
                    }
                }
                Ok((None, _)) => self.changed.notified().await,
            }
        };
        self.shared.counters.refuse(limit);
        limit
    }
}

/// A request that is not answered yet. What is dropped before it was done was given up.
pub(super) struct Open {
    watch: Arc<Watch>,
    done: bool,
}

impl Open {
    /// A piece of the body came, or one of the answer was taken.
    pub(super) fn went_on(&self) {
        self.watch.state().since = Instant::now();
    }

    /// The body did not come in time: the connection ends. Returns what would be answered.
    pub(super) fn late_body(&self) -> StatusCode {
        self.watch.end(self.watch.state(), Limit::BodyTimeout);
        StatusCode::REQUEST_TIMEOUT
    }

    /// All of the answer was taken.
    pub(super) fn done(&mut self) {
        if !std::mem::replace(&mut self.done, true) {
            self.watch.shared.counters.answered.one();
            self.went_on();
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.done {
            self.watch.shared.counters.cancelled.one();
            self.watch.cancelled();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::limits::Limits;

    const ANY: Duration = Duration::from_secs(1000);

    fn watch(limits: Limits) -> Arc<Watch> {
        Watch::new(&Arc::new(Shared { limits, ..Shared::default() }))
    }

    fn limits() -> Limits {
        Limits {
            header_timeout: Some(Duration::from_secs(5)),
            idle_timeout: Some(Duration::from_secs(9)),
            cancelled_requests: 2,
            ..Limits::default()
        }
    }

    /// After how many seconds the connection ends, and why.
    async fn end(watch: &Watch) -> (u64, Limit) {
        let begin = Instant::now();
        let limit = timeout(ANY, watch.over()).await.expect("it ends");
        assert_eq!(watch.shared.counters.refused(limit), 1);
        (begin.elapsed().as_secs(), limit)
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_request_the_time_for_its_head_holds() {
        assert_eq!(end(&watch(limits())).await, (5, Limit::HeaderTimeout));
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_request_that_for_idleness_holds_and_each_piece_puts_it_off() {
        let watch = watch(limits());
        let mut open = watch.begin();
        let pieces = tokio::spawn(async move {
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_secs(8)).await;
                open.went_on();
            }
            open.done();
        });
        assert_eq!(end(&watch).await, (3 * 8 + 9, Limit::IdleTimeout));
        pieces.await.expect("it does not panic");
        assert_eq!(watch.shared.counters.answered.get(), 1);
        assert_eq!(watch.shared.counters.cancelled.get(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn too_many_requests_that_are_given_up_end_it_at_once() {
        let watch = watch(limits());
        for _ in 0..2 {
            drop(watch.begin());
        }
        assert!(timeout(Duration::from_secs(1), watch.over()).await.is_err());
        drop(watch.begin());
        assert_eq!(end(&watch).await, (0, Limit::CancelledRequests));
        assert_eq!(watch.shared.counters.cancelled.get(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_is_late_among_others_ends_it_while_it_waits() {
        let watch = watch(limits());
        let _open = watch.begin();
        let late = Arc::clone(&watch);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(2)).await;
            late.late_head();
        });
        assert_eq!(end(&watch).await, (2, Limit::HeaderTimeout));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_late_ends_it_although_pieces_came() {
        let watch = watch(limits());
        let open = watch.begin();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(8)).await;
            open.went_on();
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(open.late_body(), StatusCode::REQUEST_TIMEOUT);
        });
        assert_eq!(end(&watch).await, (10, Limit::BodyTimeout));
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_request_ends_the_wait_for_a_head_even_if_idleness_is_shorter() {
        let watch = watch(Limits { idle_timeout: Some(Duration::from_secs(1)), ..limits() });
        let asking = Arc::clone(&watch);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(2)).await;
            asking.begin().done();
        });
        assert_eq!(end(&watch).await, (3, Limit::IdleTimeout));
    }

    #[tokio::test(start_paused = true)]
    async fn without_timeouts_it_never_ends() {
        let watch = watch(Limits { header_timeout: None, idle_timeout: None, ..limits() });
        assert!(timeout(ANY, watch.over()).await.is_err());
        drop(watch.begin());
        assert!(timeout(ANY, watch.over()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_early_once() {
        let watch = watch(limits());
        watch.note_early();
        watch.note_early();
        assert_eq!(watch.shared.counters.early_data.get(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_for_a_head_begins_with_the_end_of_the_handshake() {
        let watch = watch(limits());
        tokio::time::sleep(Duration::from_secs(4)).await;
        watch.secured();
        assert_eq!(end(&watch).await, (5, Limit::HeaderTimeout));
    }
}
