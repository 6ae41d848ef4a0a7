//! This end: its endpoint, and how peers hear when it ends.

use std::future::Future;
use std::io::Write;
use std::ops::Deref;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use restp::log::JsonLines;
use restp::{Builder, Composition, Connection, Endpoint, Error, Listener};
use tokio::signal::unix::{SignalKind, signal};

use crate::log::LogFile;
use crate::outcome::Outcome;

/// How long a command that failed waits for its peers to hear of it.
const FAREWELL: Duration = Duration::from_secs(1);
/// How often this end hands its log on and looks for peers without the right keys.
const LOOK: Duration = Duration::from_millis(500);
/// Least time between two lines about them.
const QUIET: Duration = Duration::from_secs(10);

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
    ) -> Result<Self, Error> {
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
    /// That of `work`, the signal, or that the log is not whole.
    pub async fn run(self, work: impl Future<Output = Outcome>) -> Outcome {
        let outcome = tokio::select! {
            outcome = self.to_the_end(work) => outcome,
            name = told_to_end() => Err(format!("ended by {name}").into()),
            () = self.look_after() => Ok(()),
        };
        if outcome.is_err() {
            // What `work` held is gone and ends its connections; who does not answer is not waited for.
            let _ = tokio::time::timeout(FAREWELL, self.endpoint.idle()).await;
        }
        let logged = self.log.as_ref().map_or(Ok(()), LogFile::hand_on);
        match (outcome, logged) {
            (Err(error), Err(log)) => Err(format!("{error}; {log}").into()),
            (outcome, logged) => outcome.and(logged.map_err(Into::into)),
        }
    }

    async fn to_the_end(&self, work: impl Future<Output = Outcome>) -> Outcome {
        work.await?;
        Ok(self.endpoint.idle().await?)
    }

    /// Keeps the log up to date, and says now and then that peers without the right keys have tried; never ends.
    async fn look_after(&self) {
        let mut told = 0;
        let mut quiet_until = Instant::now();
        loop {
            tokio::time::sleep(LOOK).await;
            let handshakes = self.endpoint.stats().unauthentic - told;
            if handshakes > 0 && quiet_until <= Instant::now() {
                told += handshakes;
                quiet_until = Instant::now() + QUIET;
                self.report_wrong_keys(handshakes);
            }
            if let Some(log) = &self.log {
                // What fails is told at the end.
                let _ = log.hand_on();
            }
        }
    }

    fn report_wrong_keys(&self, handshakes: u64) {
        eprintln!("restp: refused for their keys: {handshakes} (compare the keys of both ends)");
        if let Some(mut log) = self.log.clone() {
            let time_s = self.since.elapsed().as_secs_f64();
            // What fails is told at the end.
            let _ = writeln!(
                log,
                "{{\"time_s\":{time_s:.9},\"event\":\"keys_refused\",\"handshakes\":{handshakes}}}"
            );
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

/// A listener. Who waits to be accepted when it goes hears of it at once.
pub struct Door(Listener);

impl Door {
    /// Listens on the inner port `port`.
    ///
    /// # Errors
    /// As [`Endpoint::listen`].
    pub fn open(endpoint: &Endpoint, port: u16, composition: &Composition) -> Result<Self, Error> {
        endpoint.listen(port, composition).map(Self)
    }
}

impl Deref for Door {
    type Target = Listener;

    fn deref(&self) -> &Listener {
        &self.0
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // A listener resets them too, but [`Endpoint::idle`] does not wait for that.
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Ok(waiting)) = pin!(self.0.accept()).poll(&mut context) {
            drop(Held::new(waiting));
        }
    }
}
