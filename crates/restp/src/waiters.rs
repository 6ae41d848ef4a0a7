//! Tasks that wait.

use std::collections::BTreeMap;
use std::task::Waker;

use restp_proto::{StreamEvent, StreamId};

/// Tasks that wait for the same thing. Waking forgets them; who still waits comes again.
///
/// Nearly always there is one, which needs no memory of its own.
#[derive(Default)]
pub(crate) struct Waiters {
    first: Option<Waker>,
    others: Option<Box<Others>>,
}

/// Those behind the first.
#[derive(Default)]
struct Others(Vec<Waker>);

impl Waiters {
    pub fn add(&mut self, waker: &Waker) {
        match &self.first {
            None => self.first = Some(waker.clone()),
            Some(first) if first.will_wake(waker) => {}
            Some(_) => {
                let Others(others) = &mut **self.others.get_or_insert_default();
                if !others.iter().any(|other| other.will_wake(waker)) {
                    others.push(waker.clone());
                }
            }
        }
    }

    pub fn wake(&mut self) {
        let Self { first, others } = std::mem::take(self);
        let others = others.map_or_else(Vec::new, |others| others.0);
        first.into_iter().chain(others).for_each(Waker::wake);
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
        let mut waiters = Waiters::default();
        let woken = || tasks.each_ref().map(|task| task.0.load(Ordering::Relaxed));
        let wakers = tasks.each_ref().map(|task| Waker::from(Arc::clone(task)));
        for _ in 0..3 {
            wakers.iter().for_each(|waker| waiters.add(&waker.clone()));
        }
        waiters.wake();
        assert_eq!(woken(), [1; 5]);
        waiters.wake();
        assert_eq!(woken(), [1; 5], "and forgotten");
    }
}
