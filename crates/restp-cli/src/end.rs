//! This end: its endpoint and its log, and how peers hear when it ends.

use std::fs::File;
use std::future::Future;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use restp::log::JsonLines;
use restp::{Builder, Connection, Endpoint};
use tokio::signal::unix::{SignalKind, signal};

use crate::files::cannot_create;
use crate::outcome::Outcome;

/// How long a command that failed waits for its peers to hear of it.
const FAREWELL: Duration = Duration::from_secs(1);
/// How often this end looks for peers without the right keys.
const LOOK: Duration = Duration::from_millis(500);
/// Least time between two lines about them.
const QUIET: Duration = Duration::from_secs(10);

/// The event log, which the protocol and the tool write to; what was written is in the file when both are gone.
#[derive(Clone)]
pub struct LogFile(Arc<Mutex<BufWriter<File>>>);

impl LogFile {
    /// Creates it.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub fn create(path: &Path) -> Result<Self, String> {
        let file = File::create(path).map_err(|error| cannot_create(path, &error))?;
        Ok(Self(Arc::new(Mutex::new(BufWriter::new(file)))))
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}

/// The endpoint of a command.
pub struct End {
    /// Its endpoint.
    pub endpoint: Endpoint,
    log: Option<LogFile>,
    since: Instant,
}

impl End {
    /// Binds the endpoint.
    ///
    /// # Errors
    /// As [`Builder::bind`].
    pub async fn bind(
        builder: Builder,
        log: Option<LogFile>,
        address: std::net::SocketAddr,
    ) -> Result<Self, restp::Error> {
        let since = Instant::now();
        let builder = match &log {
            Some(log) => builder.observer(Box::new(JsonLines::new(log.clone()))),
            None => builder,
        };
        Ok(Self { endpoint: builder.bind(address).await?, log, since })
    }

    /// Does `work` to its end, to its first error or to a signal that ends the program, and tells the peers.
    ///
    /// # Errors
    /// That of `work`, or the signal.
    pub async fn run(self, work: impl Future<Output = Outcome>) -> Outcome {
        let outcome = tokio::select! {
            outcome = work => outcome,
            name = told_to_end() => Err(format!("ended by {name}").into()),
            () = self.report_wrong_keys() => Ok(()),
        };
        if outcome.is_ok() {
            self.endpoint.idle().await?;
        } else {
            // What `work` held is gone and ends its connections; who does not answer is not waited for.
            let _ = tokio::time::timeout(FAREWELL, self.endpoint.idle()).await;
        }
        outcome
    }

    /// Says now and then that peers without the right keys have tried; never ends.
    async fn report_wrong_keys(&self) {
        let mut told = 0;
        loop {
            tokio::time::sleep(LOOK).await;
            let handshakes = self.endpoint.stats().unauthentic - told;
            if handshakes == 0 {
                continue;
            }
            told += handshakes;
            eprintln!("restp: refused for their keys: {handshakes} (compare the keys of both ends)");
            if let Some(mut log) = self.log.clone() {
                let time_s = self.since.elapsed().as_secs_f64();
                // A full disk is no reason to end; the protocol's own lines end there, too.
                let _ = writeln!(
                    log,
                    "{{\"time_s\":{time_s:.9},\"event\":\"keys_refused\",\"handshakes\":{handshakes}}}"
                );
            }
            tokio::time::sleep(QUIET).await;
        }
    }
}

/// Waits for Ctrl-C or a request to end.
async fn told_to_end() -> &'static str {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        // Without handlers the signals end the program by themselves.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => "SIGINT (Ctrl-C)",
        _ = terminate.recv() => "SIGTERM",
    }
}

/// A connection that is aborted, so that the peer hears of it at once, unless it came to its end.
pub struct Held(Option<Connection>);

impl Held {
    /// Holds it.
    pub fn new(connection: Connection) -> Self {
        Self(Some(connection))
    }

    /// It came to its end.
    pub fn let_go(mut self) {
        self.0 = None;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.abort();
        }
    }
}
