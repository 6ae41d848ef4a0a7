//! Rows of a table as comma-separated values on standard output. No value has a comma.

use std::io::{self, BufWriter, ErrorKind, Stdout, Write};

/// What a program ends with: an error is a sentence for the user.
pub type Outcome = Result<(), String>;

/// What a shell says that a program ended with whose reader had gone: 128 and the signal's number, SIGPIPE.
const READER_GONE: i32 = 128 + 13;

/// Why something could not be written. If nobody reads any more, as behind `| head`, the program ends here without a word.
pub fn unwritten(what: &str, error: &io::Error) -> String {
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(READER_GONE);
    }
    format!("the {what} could not be written: {error}")
}

/// A table whose heading is written.
pub struct Rows<W: Write = Stdout>(BufWriter<W>);

impl Rows {
    /// A table with these columns.
    pub fn new(heading: &str) -> Result<Self, String> {
        Self::to(io::stdout(), heading)
    }
}

impl<W: Write> Rows<W> {
    /// A table with these columns that is written elsewhere.
    pub fn to(out: W, heading: &str) -> Result<Self, String> {
        let mut rows = Self(BufWriter::new(out));
        rows.write(heading)?;
        Ok(rows)
    }

    /// Writes a row.
    pub fn write(&mut self, row: &str) -> Outcome {
        writeln!(self.0, "{row}").map_err(|error| unwritten("table", &error))
    }

    /// Writes what is still held back.
    pub fn finish(mut self) -> Outcome {
        self.0.flush().map_err(|error| unwritten("table", &error))
    }
}
