//! Tasks that wait.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

use restp_proto::{StreamEvent, StreamId};

/// What a future holds while it waits. With the future its waker is gone, too, however many others were dropped before.
#[derive(Debug, Default)]
pub(crate) struct Seat(Option<Arc<Waker>>);

impl Seat {
    fn with(&mut self, waker: &Waker) -> &Arc<Waker> {
        match &mut self.0 {
            Some(present) => {
                if !present.will_wake(waker) {
                    *present = Arc::new(waker.clone());
                }
                present
            }
            empty => empty.insert(Arc::new(waker.clone())),
        }
    }
}

/// As [`poll_fn`], with a seat for as long as the future lives.
pub(crate) fn seated<T>(
    mut poll: impl FnMut(&mut Context<'_>, &mut Seat) -> Poll<T>,
) -> impl Future<Output = T> {
    let mut seat = Seat::default();
    poll_fn(move |cx| poll(cx, &mut seat))
}

/// Tasks that wait for the same thing. Waking forgets them; who still waits comes again.
///
/// Nearly always there is one, which needs no memory of its own.
#[derive(Default)]
pub(crate) struct Waiters {
    first: Option<Weak<Waker>>,
    others: Option<Box<Others>>,
}

/// Those behind the first.
#[derive(Default)]
struct Others(Vec<Weak<Waker>>);

impl Waiters {
    pub fn add(&mut self, seat: &mut Seat, waker: &Waker) {
        let own = seat.with(waker);
        let Some(first) = &mut self.first else {
            self.first = Some(Arc::downgrade(own));
            return;
        };
        let others = self.others.iter_mut().flat_map(|others| &mut others.0);
        let mut left = None;
        for other in std::iter::once(first).chain(others) {
            if std::ptr::eq(other.as_ptr(), Arc::as_ptr(own)) {
                return;
            }
            if other.strong_count() == 0 {
                left = Some(other);
            }
        }
        match left {
            Some(left) => *left = Arc::downgrade(own),
            None => self.others.get_or_insert_default().0.push(Arc::downgrade(own)),
        }
    }

    pub fn wake(&mut self) {
        let Self { first, others } = std::mem::take(self);
        let others = others.map_or_else(Vec::new, |others| others.0);
        let all = first.into_iter().chain(others);
        all.filter_map(|waker| waker.upgrade()).for_each(|waker| waker.wake_by_ref());
    }
}

/// Who waits for streams of one connection.
#[derive(Default)]
pub(crate) struct StreamWaiters {
    pub acceptors: Waiters,
    pub openers: Waiters,
    pub readers: BTreeMap<StreamId, Waiters>,
    pub writers: BTreeMap<StreamId, Waiters>,
}

impl StreamWaiters {
    pub fn on_event(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Acceptable => self.acceptors.wake(),
            StreamEvent::MayOpen(_) => self.openers.wake(),
            StreamEvent::Readable(id) => wake(&mut self.readers, id),
            StreamEvent::Writable(id) | StreamEvent::Stopped(id, _) => wake(&mut self.writers, id),
            _ => {}
        }
    }

    /// The connection has ended: nobody waits any more.
    pub fn wake_all(&mut self) {
        self.acceptors.wake();
        self.openers.wake();
        let all = std::mem::take(&mut self.readers).into_values();
        all.chain(std::mem::take(&mut self.writers).into_values()).for_each(|mut waiters| waiters.wake());
    }
}

fn wake(waiters: &mut BTreeMap<StreamId, Waiters>, id: StreamId) {
    if let Some(mut waiters) = waiters.remove(&id) {
        waiters.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn everybody_who_waits_is_woken_once_however_often_they_came() {
        let tasks: [Arc<Woken>; 5] = Default::default();
        let mut seats: [Seat; 5] = Default::default();
        let mut waiters = Waiters::default();
        let woken = || tasks.each_ref().map(|task| task.0.load(Ordering::Relaxed));
        let wakers = tasks.each_ref().map(|task| Waker::from(Arc::clone(task)));
        for _ in 0..3 {
            seats.iter_mut().zip(&wakers).for_each(|(seat, waker)| waiters.add(seat, &waker.clone()));
        }
        waiters.wake();
        assert_eq!(woken(), [1; 5]);
        waiters.wake();
        assert_eq!(woken(), [1; 5], "and forgotten");
        // A future goes to another task.
        waiters.add(&mut seats[0], &wakers[0]);
        waiters.add(&mut seats[0], &wakers[1]);
        waiters.wake();
        assert_eq!(woken(), [1, 2, 1, 1, 1]);
    }

    #[test]
    fn who_was_dropped_takes_no_room_and_holds_no_waker() {
        let task = Arc::new(Woken::default());
        let mut waiters = Waiters::default();
        let mut stays = Seat::default();
        waiters.add(&mut stays, &Waker::from(Arc::clone(&task)));
        for _ in 0..1000 {
            let mut seats: [Seat; 3] = Default::default();
            seats.iter_mut().for_each(|seat| waiters.add(seat, &Waker::from(Arc::clone(&task))));
        }
        assert_eq!(Arc::strong_count(&task), 2, "ours, and that of the one who stays");
        assert_eq!(waiters.others.as_ref().map(|others| others.0.len()), Some(3));
        waiters.wake();
        assert_eq!(task.0.load(Ordering::Relaxed), 1);
    }
}
