//! Where the programs write their lines: a JSON object each, which says by its only key what it is.

use std::fs::File;
use std::io::{self, Write};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::Refusal;

/// Where lines go.
pub struct Lines(Mutex<Box<dyn Write + Send>>);

impl Lines {
    /// To `place`.
    pub fn to(place: impl Write + Send + 'static) -> Self {
        Self(Mutex::new(Box::new(place)))
    }

    /// Writes `{"KIND": CONTENT}`. Nobody has to read it: a reader who went away ends nothing.
    pub fn write(&self, kind: &str, content: &impl Serialize) {
        let line = serde_json::json!({ kind: content }).to_string() + "\n";
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = place.write_all(line.as_bytes()).and_then(|()| place.flush());
    }
}

/// Standard output (`-`), or a descriptor that the program was started with: a pipe or a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Standard output.
    Output,
    /// This descriptor.
    Descriptor(u32),
}

impl Control {
    /// What lines can be written to.
    ///
    /// # Errors
    /// A sentence: no such descriptor is open for writing.
    pub fn open(self) -> Result<Lines, Refusal> {
        match self {
            Self::Output => Ok(Lines::to(io::stdout())),
            Self::Descriptor(number) => {
                let file = File::options().append(true).open(format!("/dev/fd/{number}"));
                let refused = |error| Refusal::of(format!("descriptor {number} cannot be written to"), error);
                Ok(Lines::to(file.map_err(refused)?))
            }
        }
    }
}

impl FromStr for Control {
    type Err = Refusal;

    fn from_str(word: &str) -> Result<Self, Refusal> {
        match word.parse() {
            _ if word == "-" => Ok(Self::Output),
            Ok(number) => Ok(Self::Descriptor(number)),
            Err(_) => Err(Refusal::new(format!(
                "`{word}` is no descriptor: give its number, or - for standard output"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_line_goes_to_the_descriptor_that_was_named() {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let number = writer.as_raw_fd().to_string();
        let lines = number.parse::<Control>().expect("a number").open().expect("it is open");
        drop(writer);
        lines.write("now", &[1, 2]);
        drop(lines);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("text");
        assert_eq!(text, "{\"now\":[1,2]}\n");
    }

    #[test]
    fn what_is_no_descriptor_is_refused() {
        assert_eq!("-".parse::<Control>().expect("standard output"), Control::Output);
        assert!("out".parse::<Control>().expect_err("no number").to_string().contains("`out`"));
        assert!(Control::Descriptor(9999).open().is_err());
    }
}
