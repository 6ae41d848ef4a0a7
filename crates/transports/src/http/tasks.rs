//! Futures in the thread of a half: polled while one of them can go on, else what they wait for is waited for.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use hyper::rt::Executor;

use crate::error::Failure;

/// What the futures of a half wait for.
pub(super) trait Waits {
    /// Waits until at least one of them can go on, and wakes it.
    ///
    /// # Errors
    /// The failure that ended the flow, or that its limit was reached while `doing`.
    fn turn(&self, doing: &str) -> Result<(), Failure>;
}

/// Tasks that were set going and not polled yet. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Tasks<'a>(Rc<RefCell<Vec<LocalBoxFuture<'a, ()>>>>);

impl<'a> Tasks<'a> {
    /// Sets a task going. It ends when it is done, or with [`run`].
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + 'a) {
        self.0.borrow_mut().push(Box::pin(task));
    }
}

/// For HTTP/2, which sets tasks of its own going.
impl<'a, F: Future<Output = ()> + 'a> Executor<F> for Tasks<'a> {
    fn execute(&self, task: F) {
        self.spawn(task);
    }
}

/// Notes that a task can go on.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `main` and all tasks until `main` is done; the others end with it.
///
/// # Errors
/// As for [`Waits::turn`].
pub(super) fn run<'a, T: 'a>(
    tasks: &Tasks<'a>,
    waits: &dyn Waits,
    doing: &str,
    main: impl Future<Output = T> + 'a,
) -> Result<T, Failure> {
    let answer = Rc::new(RefCell::new(None));
    let slot = Rc::clone(&answer);
    tasks.spawn(async move {
        let done = main.await;
        *slot.borrow_mut() = Some(done);
    });
    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut running = FuturesUnordered::new();
    loop {
        while woken.0.swap(false, Ordering::Relaxed) || !tasks.0.borrow().is_empty() {
            running.extend(tasks.0.borrow_mut().drain(..));
            while let Poll::Ready(Some(())) = running.poll_next_unpin(&mut context) {}
        }
        if let Some(done) = answer.borrow_mut().take() {
            return Ok(done);
        }
        waits.turn(doing)?;
    }
}
