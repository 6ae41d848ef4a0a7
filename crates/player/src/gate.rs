//! A run begins when all of it could be started: until then its threads wait, and if something could not be started
//! they end without having done anything.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Lets the threads of a run begin. Dropped unopened, it calls them off.
pub struct Gate(Pass);

/// What a thread of a run has to wait for it.
#[derive(Clone)]
pub struct Pass(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Open,
    CalledOff,
}

impl Gate {
    /// A gate that is closed.
    pub fn closed() -> Self {
        Gate(Pass(Arc::new(Shared { state: Mutex::new(State::Closed), changed: Condvar::new() })))
    }

    /// For a thread of the run.
    pub fn pass(&self) -> Pass {
        self.0.clone()
    }

    /// Everything has been started: lets all threads begin.
    pub fn open(self) {
        self.0.turn(State::Open);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if *self.0.state() == State::Closed {
            self.0.turn(State::CalledOff);
        }
    }
}

impl Pass {
    /// Waits until the run begins; `false` if it never will.
    pub fn wait(&self) -> bool {
        let mut state = self.state();
        while *state == State::Closed {
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        *state == State::Open
    }

    fn turn(&self, to: State) {
        *self.state() = to;
        self.0.changed.notify_all();
    }

    /// A state is whole at any time, so a panic elsewhere does not spoil it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::thread;

    #[test]
    fn threads_begin_when_it_opens() {
        let gate = Gate::closed();
        let (says, heard) = channel();
        for pass in [gate.pass(), gate.pass()] {
            let says = says.clone();
            thread::spawn(move || says.send(pass.wait()));
        }
        drop(says);
        assert!(heard.try_recv().is_err(), "a thread did not wait");
        gate.open();
        assert_eq!(heard.iter().collect::<Vec<_>>(), [true, true]);
    }

    #[test]
    fn threads_end_when_it_never_will() {
        let gate = Gate::closed();
        let (early, late) = (gate.pass(), gate.pass());
        let waiting = thread::spawn(move || early.wait());
        drop(gate);
        assert!(!waiting.join().expect("it does not panic"));
        assert!(!late.wait());
    }
}
