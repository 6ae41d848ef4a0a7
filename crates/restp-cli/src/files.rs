//! Files and pipes that a connection is fed from and written to; every error says which.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufWriter};

/// Bytes written at once.
const WRITE_BYTES: usize = 64 << 10;

/// Where what is sent comes from.
pub struct Input {
    from: Box<dyn AsyncRead + Unpin + Send>,
    name: String,
}

impl Input {
    /// The file at `path`, or standard input.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub fn open(path: Option<&Path>) -> Result<Self, String> {
        let Some(path) = path else {
            return Ok(Self { from: Box::new(tokio::io::stdin()), name: "standard input".into() });
        };
        let name = path.display().to_string();
        let open = || {
            let file = File::open(path)?;
            if file.metadata()?.is_dir() { Err(ErrorKind::IsADirectory.into()) } else { Ok(file) }
        };
        let file = open().map_err(|error: io::Error| format!("cannot read {name}: {error}"))?;
        Ok(Self { from: Box::new(tokio::fs::File::from_std(file)), name })
    }

    /// At most `limit` bytes; empty at the end.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub async fn read(&mut self, limit: usize) -> Result<bytes::BytesMut, String> {
        let mut piece = bytes::BytesMut::with_capacity(limit);
        let from = &mut self.from;
        from.take(limit as u64)
            .read_buf(&mut piece)
            .await
            .map_err(|error| format!("cannot read {}: {error}", self.name))?;
        Ok(piece)
    }
}

/// Where what comes goes: standard output, or a file that stays as it is until there is something to write.
pub struct Output {
    /// `None` for standard output.
    path: Option<PathBuf>,
    to: Option<BufWriter<Box<dyn AsyncWrite + Unpin + Send>>>,
}

impl Output {
    /// The file at `path`, or standard output.
    ///
    /// # Errors
    /// A sentence that names the file if it could not be written.
    pub fn check(path: Option<&Path>) -> Result<Self, String> {
        if let Some(path) = path {
            check(path).map_err(|error| cannot_create(path, &error))?;
        }
        Ok(Self { path: path.map(Path::to_owned), to: None })
    }

    /// Writes all of `bytes`, behind what was written before.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        let written = self.opened().await?.write_all(bytes).await;
        written.map_err(|error| self.cannot_write(&error))
    }

    /// Hands on what was gathered; a file that nothing came for is empty then.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub async fn flush(&mut self) -> Result<(), String> {
        let flushed = self.opened().await?.flush().await;
        flushed.map_err(|error| self.cannot_write(&error))
    }

    async fn opened(&mut self) -> Result<&mut BufWriter<Box<dyn AsyncWrite + Unpin + Send>>, String> {
        if self.to.is_none() {
            let to: Box<dyn AsyncWrite + Unpin + Send> = match &self.path {
                None => Box::new(tokio::io::stdout()),
                Some(path) => {
                    let file = tokio::fs::File::create(path).await;
                    Box::new(file.map_err(|error| cannot_create(path, &error))?)
                }
            };
            self.to = Some(BufWriter::with_capacity(WRITE_BYTES, to));
        }
        self.to.as_mut().ok_or_else(|| "the output is closed".into())
    }

    fn cannot_write(&self, error: &io::Error) -> String {
        match &self.path {
            Some(path) => format!("cannot write {}: {error}", path.display()),
            None => format!("cannot write standard output: {error}"),
        }
    }
}

/// What is said of a file that could not be created.
pub fn cannot_create(path: &Path, error: &io::Error) -> String {
    format!("cannot create {}: {error}; check folder and rights", path.display())
}

/// Finds out whether the file can be written, and leaves everything as it was.
fn check(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(found) if found.is_file() => OpenOptions::new().append(true).open(path).map(drop),
        // To open a pipe may wait for its reader.
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            OpenOptions::new().write(true).create_new(true).open(path)?;
            std::fs::remove_file(path)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_is_as_it_was_until_something_comes() {
        let folder = std::env::temp_dir().join(format!("restp-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (old, new) = (folder.join("old"), folder.join("new"));
        std::fs::write(&old, "as it was").unwrap();
        let mut output = Output::check(Some(&old)).unwrap();
        let _ = Output::check(Some(&new)).unwrap();
        assert_eq!(std::fs::read(&old).unwrap(), b"as it was");
        assert!(!new.exists());
        output.write(b"anew").await.unwrap();
        output.flush().await.unwrap();
        assert_eq!(std::fs::read(&old).unwrap(), b"anew");
        let wrong = Output::check(Some(&folder)).err().unwrap();
        assert!(wrong.contains(&folder.display().to_string()), "{wrong}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
