//! A thread that waits for a future, for as long as it likes or up to a limit.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use crate::error::Error;

/// Wakes the thread that waits for a future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future that only the endpoint's own thread wakes; `None` if `limit` passes first.
fn wait<T>(future: impl Future<Output = T>, limit: Option<Duration>) -> Option<T> {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    let until = limit.and_then(|limit| std::time::Instant::now().checked_add(limit));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return Some(output);
        }
        match until {
            None => std::thread::park(),
            Some(until) => {
                let left = until.saturating_duration_since(std::time::Instant::now());
                if left.is_zero() {
                    return None;
                }
                std::thread::park_timeout(left);
            }
        }
    }
}

/// Waits for `future`, for at most `limit`.
pub(super) fn wait_within<T>(
    limit: Option<Duration>,
    future: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    wait(future, limit).unwrap_or_else(|| Err(Error::TimedOut(limit.unwrap_or_default())))
}

/// Waits for one step of a byte stream, for at most `limit`.
pub(super) fn step_within<S: Unpin, T>(
    limit: Option<Duration>,
    stream: &mut S,
    mut step: impl FnMut(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
) -> io::Result<T> {
    let future = std::future::poll_fn(|cx| step(Pin::new(&mut *stream), cx));
    wait(future, limit).unwrap_or_else(|| Err(Error::TimedOut(limit.unwrap_or_default()).into()))
}
