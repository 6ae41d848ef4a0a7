//! A thread in the background that sleeps on an alarm and can be ended at any time.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::Error;
use crate::clock::Alarm;
use crate::error::Attempt;

/// The thread; dropping it ends it too.
pub(crate) struct Background<T> {
    alarm: Arc<Alarm>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Background<T> {
    /// Starts `f`, which has to come to its end soon after its alarm says that it was called.
    pub fn start(name: &str, f: impl FnOnce(&Alarm) -> T + Send + 'static) -> Result<Self, Error> {
        let alarm = Arc::new(Alarm::new()?);
        let its_alarm = Arc::clone(&alarm);
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || f(&its_alarm))
            .attempt(|| format!("cannot start the thread \"{name}\""))?;
        Ok(Background { alarm, thread: Some(thread) })
    }

    /// Ends it and returns what it made; `None` only if it was ended before.
    pub fn stop(&mut self) -> Result<Option<T>, Error> {
        let Some(thread) = self.thread.take() else { return Ok(None) };
        self.alarm.call()?;
        Ok(Some(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))))
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take()
            && self.alarm.call().is_ok()
        {
            // Whoever drops it unstopped is failing already and has no use for what it made.
            let _ = thread.join();
        }
    }
}
