//! The event log of a command: a file that the protocol and the tool write to.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::files::cannot_create;

/// The log, and whether all of it could be written.
#[derive(Clone)]
pub struct LogFile(Arc<Mutex<Log>>);

struct Log {
    file: BufWriter<File>,
    path: PathBuf,
    /// The first error; what comes after it may be written, but something is missing.
    failed: Option<String>,
}

impl LogFile {
    /// Creates it.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub fn create(path: &Path) -> Result<Self, String> {
        let file = File::create(path).map_err(|error| cannot_create(path, &error))?;
        let log = Log { file: BufWriter::new(file), path: path.to_owned(), failed: None };
        Ok(Self(Arc::new(Mutex::new(log))))
    }

    /// Hands on to the file what was gathered.
    ///
    /// # Errors
    /// A sentence about what went wrong first since the beginning.
    pub fn hand_on(&self) -> Result<(), String> {
        let mut log = self.lock();
        let _ = log.step(BufWriter::flush);
        log.failed.clone().map_or(Ok(()), Err)
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    fn step(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
        let written = write(&mut self.file);
        if let (Err(error), None) = (&written, &self.failed) {
            self.failed = Some(format!(
                "the log {} is not whole: {error}; choose a place with room",
                self.path.display()
            ));
        }
        written
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().step(|file| file.write_all(bytes)).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lock().step(BufWriter::flush)
    }
}
