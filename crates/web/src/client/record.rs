//! The line of a request.

use serde::Serialize;

use super::outcome::{Failed, Outcome};
use crate::clock;

/// A request, with its instants in nanoseconds of CLOCK_MONOTONIC; `None` where it did not come that far.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    /// Its number, from 1.
    pub(super) n: u64,
    /// The number of its connection, from 1.
    pub(super) visit: u64,
    /// When it was to start.
    pub(super) due_ns: u64,
    pub(super) start_ns: u64,
    /// The handshake was over. `None` also for the second request of a connection, and for one that was sent before
    /// that.
    pub(super) connected_ns: Option<u64>,
    /// The head of the answer was there.
    pub(super) first_byte_ns: Option<u64>,
    pub(super) end_ns: Option<u64>,
    pub(super) outcome: Option<Outcome>,
    /// Of the answer, without its head.
    pub(super) bytes: u64,
    pub(super) status: Option<u16>,
    /// A ticket of an earlier connection was offered.
    pub(super) ticket: bool,
    /// The request went before the end of the handshake, and the server took it.
    pub(super) early_data: bool,
    pub(super) error: Option<String>,
}

impl Record {
    /// A request that starts now.
    pub(super) fn new(n: u64, visit: u64, due_ns: u64) -> Self {
        Self {
            n,
            visit,
            due_ns,
            start_ns: clock::now_ns(),
            connected_ns: None,
            first_byte_ns: None,
            end_ns: None,
            outcome: None,
            bytes: 0,
            status: None,
            ticket: false,
            early_data: false,
            error: None,
        }
    }

    /// The handshake is over.
    pub(super) fn connected(&mut self) {
        self.connected_ns = Some(clock::now_ns());
    }

    /// The head of the answer is there.
    ///
    /// # Errors
    /// It says that there is nothing.
    pub(super) fn answered(&mut self, status: hyper::StatusCode) -> Result<(), Failed> {
        self.first_byte_ns = Some(clock::now_ns());
        self.status = Some(status.as_u16());
        if status.is_success() {
            return Ok(());
        }
        Err(Failed::new(Outcome::Status, format!("the answer is {status}")))
    }

    /// It is over; how, returned as well. `None` is that its time was.
    pub(super) fn end(&mut self, result: Option<Result<(), Failed>>) -> Outcome {
        self.end_ns = Some(clock::now_ns());
        let outcome = match result {
            Some(Ok(())) => Outcome::Ok,
            Some(Err(failed)) => {
                self.error = Some(failed.sentence);
                failed.outcome
            }
            None => Outcome::Timeout,
        };
        self.outcome = Some(outcome);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_a_request_came() {
        let mut record = Record::new(3, 2, 1);
        record.connected();
        assert!(
            record
                .answered(hyper::StatusCode::NOT_FOUND)
                .is_err_and(|failed| failed.outcome == Outcome::Status)
        );
        assert_eq!(record.end(None), Outcome::Timeout);
        let line = serde_json::to_value(&record).expect("numbers and words");
        assert_eq!((&line["n"], &line["visit"], &line["due_ns"]), (&3.into(), &2.into(), &1.into()));
        assert_eq!((&line["outcome"], &line["status"]), (&"timeout".into(), &404.into()));
        let instant = |name: &str| line[name].as_u64().expect(name);
        assert!(instant("start_ns") <= instant("connected_ns"));
        assert!(instant("first_byte_ns") <= instant("end_ns"));
        assert!(line["error"].is_null());
    }
}
