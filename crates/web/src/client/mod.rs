//! The client: it opens connections at fixed instants, asks over them, and writes a line for each request.
//!
//! It closes a connection when it has its answers, as a command-line client does. A request that did not end in time has
//! a line, too: its delay is at least the time-out.

mod outcome;
mod quic;
mod record;
mod schedule;
mod tcp;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::lines::Lines;
use crate::protocol::Protocol;
use crate::tls::{ClientTls, Tickets};
use crate::{Refusal, clock, only_loopback};
use outcome::Failed;
pub use outcome::Outcome;
use record::Record;
pub use schedule::Schedule;

/// How long the end of a connection may take; nobody waits for it but the client's own end.
const CLOSING: Duration = Duration::from_secs(1);

/// What a client is started with.
pub struct Options {
    /// What HTTP goes over.
    pub protocol: Protocol,
    /// The server.
    pub connect: SocketAddr,
    /// The authority that must have signed its certificate (PEM).
    pub authority: PathBuf,
    /// The name in that certificate.
    pub server_name: String,
    /// What is asked for.
    pub path: String,
    /// How often, over each connection, one after the other.
    pub requests_per_connection: u64,
    /// When connections are opened.
    pub schedule: Schedule,
    /// How long a request may take.
    pub timeout: Duration,
    /// Whether to ask before the end of the handshake, where a ticket allows it.
    pub early_data: bool,
    /// Whether to resume sessions.
    pub resume: bool,
}

/// Asks as `options` say, and writes its lines: `request` for each request when it is over, `done` at the end.
///
/// # Errors
/// A sentence: the server is not on loopback, the authority cannot be read, a name or a path is none.
pub fn run(options: Options, lines: Lines) -> Result<(), Refusal> {
    only_loopback(options.connect)?;
    if !options.path.starts_with('/') || options.path.parse::<hyper::Uri>().is_err() {
        return Err(Refusal::new(format!("`{}` is no path: it should begin with /", options.path)));
    }
    let tls =
        ClientTls { authority: &options.authority, early_data: options.early_data, resume: options.resume };
    let tls = tls.config(options.protocol)?;
    let tickets = Arc::clone(&tls.1);
    let opener = if options.protocol.is_quic() {
        Opener::Quic(quic::Opener::new(tls, options.timeout, options.connect, &options.server_name)?)
    } else {
        Opener::Tcp(tcp::Opener::new(tls, options.protocol, options.connect, &options.server_name)?)
    };
    let client = Client { opener, options, lines, tickets, totals: Mutex::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Refusal::of("the runtime could not be started", error))?;
    runtime.block_on(Arc::new(client).ask());
    Ok(())
}

struct Client {
    opener: Opener,
    options: Options,
    lines: Lines,
    tickets: Arc<Tickets>,
    totals: Mutex<Totals>,
}

#[derive(Default)]
struct Totals {
    outcomes: BTreeMap<Outcome, u64>,
    late_most_ns: u64,
}

/// The last line.
#[derive(Serialize)]
struct Done<'a> {
    protocol: Protocol,
    requests: u64,
    outcomes: &'a BTreeMap<Outcome, u64>,
    /// How much later than it was to a connection began at most.
    late_max_ns: u64,
    tickets_offered: u64,
    cpu_ns: u64,
}

impl Client {
    async fn ask(self: Arc<Self>) {
        let (begin, begin_ns) = (Instant::now(), clock::now_ns());
        let mut visits = JoinSet::new();
        for (visit, instant) in self.options.schedule.instants().enumerate() {
            sleep_until(begin + instant).await;
            let due_ns = begin_ns + u64::try_from(instant.as_nanos()).unwrap_or(u64::MAX);
            visits.spawn(Arc::clone(&self).visit(visit as u64, begin + instant, due_ns));
        }
        while visits.join_next().await.is_some() {}
        let totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let done = Done {
            protocol: self.options.protocol,
            requests: totals.outcomes.values().sum(),
            outcomes: &totals.outcomes,
            late_max_ns: totals.late_most_ns,
            tickets_offered: self.tickets.used(),
            cpu_ns: clock::cpu_ns(),
        };
        self.lines.write("done", &done);
    }

    /// Opens a connection that is due, and asks over it as often as it should. Where a request fails, the next one
    /// opens another connection.
    async fn visit(self: Arc<Self>, visit: u64, due: Instant, due_ns: u64) {
        let mut connection = None;
        for index in 0..self.options.requests_per_connection {
            let n = visit * self.options.requests_per_connection + index + 1;
            let (due, due_ns) = if index == 0 { (due, due_ns) } else { (Instant::now(), clock::now_ns()) };
            let mut record = Record::new(n, visit + 1, due_ns);
            let asked = self.opener.ask(&mut connection, &self.options.path, &mut record);
            let ended = timeout_at(due + self.options.timeout, asked).await.ok();
            let outcome = record.end(ended);
            self.note(&record, outcome);
            if outcome != Outcome::Ok {
                connection = None;
            }
        }
        if let Some(connection) = connection {
            let _ = timeout(CLOSING, connection.close()).await;
        }
    }

    fn note(&self, record: &Record, outcome: Outcome) {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        *totals.outcomes.entry(outcome).or_default() += 1;
        totals.late_most_ns = totals.late_most_ns.max(record.start_ns.saturating_sub(record.due_ns));
        self.lines.write("request", record);
    }
}

enum Opener {
    Tcp(tcp::Opener),
    Quic(quic::Opener),
}

enum Connection {
    Tcp(tcp::Connection),
    Quic(quic::Connection),
}

impl Opener {
    /// Asks over `connection`, which is opened if there is none.
    async fn ask(
        &self,
        connection: &mut Option<Connection>,
        path: &str,
        record: &mut Record,
    ) -> Result<(), Failed> {
        if connection.is_none() {
            *connection = Some(match self {
                Self::Tcp(opener) => Connection::Tcp(opener.open(record).await?),
                Self::Quic(opener) => Connection::Quic(opener.open(record).await?),
            });
        }
        match (self, connection) {
            (Self::Tcp(opener), Some(Connection::Tcp(connection))) => {
                opener.fetch(connection, path, record).await
            }
            (Self::Quic(opener), Some(Connection::Quic(connection))) => {
                opener.fetch(connection, path, record).await
            }
            _ => unreachable!("a connection is of the kind that its opener opens"),
        }
    }
}

impl Connection {
    async fn close(self) {
        match self {
            Self::Tcp(connection) => connection.close().await,
            Self::Quic(connection) => connection.close().await,
        }
    }
}
