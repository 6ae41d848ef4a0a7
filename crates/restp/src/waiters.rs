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
    others: Option<Box<Waiters>>,
}

impl Waiters {
    pub fn add(&mut self, waker: &Waker) {
        match &self.first {
            None => self.first = Some(waker.clone()),
            Some(first) if first.will_wake(waker) => {}
            Some(_) => self.others.get_or_insert_default().add(waker),
        }
    }

    pub fn wake(&mut self) {
        let mut next = Some(std::mem::take(self));
        while let Some(Waiters { first, others }) = next {
            first.into_iter().for_each(Waker::wake);
            next = others.map(|others| *others);
        }
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
