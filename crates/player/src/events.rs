//! What the guest tells the host while it plays: one JSON object a line on its console.

use std::io::Write;

use serde::Serialize;

/// One event; the host reads the `event` key first.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// A run begins.
    Started {
        /// Id of the run.
        run: &'a str,
    },
    /// A run has come this far.
    Progress {
        /// Id of the run.
        run: &'a str,
        /// Virtual seconds since the start of the run.
        virtual_s: f64,
        /// Virtual seconds that it will last if nothing ends it earlier.
        expected_s: f64,
    },
    /// A program of the user printed something.
    Output {
        /// Id of the run.
        run: &'a str,
        /// Id of the program.
        program: &'a str,
        /// `stdout` or `stderr`.
        stream: &'static str,
        /// The bytes, with anything that is not UTF-8 replaced.
        text: &'a str,
    },
    /// A run is over and its record is written.
    Finished {
        /// Id of the run.
        run: &'a str,
        /// `ok` or `failed`.
        outcome: &'a str,
        /// Why it failed.
        reason: Option<&'a str>,
    },
    /// The plan as a whole cannot be played.
    Refused {
        /// The sentence.
        reason: &'a str,
    },
}

/// Writes one event; a host that no longer listens is not an error of the run.
pub fn tell(event: &Event<'_>) {
    if let Ok(mut line) = serde_json::to_vec(event) {
        line.push(b'\n');
        let _ = std::io::stdout().lock().write_all(&line);
    }
}
