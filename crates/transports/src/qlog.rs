//! Files of events that QUIC libraries write about a flow's connections (qlog): `qlog/` of a record.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Failure;

/// What a file gathers before it is written: a call to the host costs a guest many events.
const GATHERED_BYTES: usize = 1 << 16;

/// The end of a connection that a file is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The one that opens it.
    Client,
    /// The one that waits for it.
    Server,
}

impl Side {
    /// What qlog calls it (its vantage point).
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Makes the qlog files of one flow: `<stem>-<n>-<side>.sqlog`, where n counts the connections of that side from 0.
#[derive(Debug)]
pub struct Qlogs {
    stem: PathBuf,
    opened: [AtomicU32; 2],
    failure: Mutex<Option<Failure>>,
}

impl Qlogs {
    /// Files whose names begin with `stem`; its folder is made when it is needed.
    pub fn new(stem: PathBuf) -> Self {
        Self { stem, opened: Default::default(), failure: Mutex::new(None) }
    }

    /// The file of the next connection of a side; nothing when it cannot be made, which [`Qlogs::failure`] then says.
    pub(crate) fn open(self: &Arc<Self>, side: Side) -> Option<Box<dyn Write + Send + Sync>> {
        let number = self.opened[side as usize].fetch_add(1, Ordering::Relaxed);
        let mut name = self.stem.clone().into_os_string();
        name.push(format!("-{number}-{}.sqlog", side.name()));
        let folder = self.stem.parent().map_or(Ok(()), std::fs::create_dir_all);
        let file = self.noted(folder.and_then(|()| File::create(name))).ok()?;
        Some(Box::new(Log { file: BufWriter::with_capacity(GATHERED_BYTES, file), of: Arc::clone(self) }))
    }

    /// Why a file is not whole, if one is not.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Libraries pass over what goes wrong with their logs: the first error is kept here.
    fn noted<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert_with(|| Failure::system("a qlog file could not be written", error));
        })
    }
}

/// One file.
struct Log {
    file: BufWriter<File>,
    of: Arc<Qlogs>,
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.of.noted(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.of.noted(flushed)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // Noted if it fails.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_has_a_file_and_one_that_cannot_be_written_is_told() {
        let folder = std::env::temp_dir().join(format!("gauntlet-qlogs-{}", std::process::id()));
        let logs = Arc::new(Qlogs::new(folder.join("f0")));
        for (side, text) in [(Side::Client, "a"), (Side::Client, "b"), (Side::Server, "c")] {
            let mut file = logs.open(side).expect("a file can be made");
            file.write_all(text.as_bytes()).expect("it can be written");
        }
        let text = |name| std::fs::read_to_string(folder.join(name)).expect("the file is there");
        assert_eq!(
            ["f0-0-client.sqlog", "f0-1-client.sqlog", "f0-0-server.sqlog"].map(text),
            ["a", "b", "c"]
        );
        assert!(logs.failure().is_none());
        let below_a_file = Arc::new(Qlogs::new(folder.join("f0-0-client.sqlog").join("f0")));
        assert!(below_a_file.open(Side::Client).is_none());
        let failure = below_a_file.failure().expect("a file holds no files").to_string();
        assert!(failure.starts_with("a qlog file could not be written"), "{failure}");
        std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    }
}
