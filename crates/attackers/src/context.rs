//! What all starts of a run share.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use crate::caps::{Rate, Seconds};
use crate::guard::{Loopback, NotForged};
use crate::pacing::Schedule;
use crate::sources::{Sources, TooMany};
use crate::tally::Tally;
use crate::tls::{self, ConfigError};

/// Of HTTP, and what carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    /// HTTP/1.1 over TLS and TCP.
    H1,
    /// HTTP/2 over TLS and TCP.
    H2,
    /// HTTP/3 over QUIC.
    H3,
}

impl Protocol {
    /// Those over which all of HTTP goes.
    pub const ALL: [Self; 3] = [Self::H1, Self::H2, Self::H3];

    /// Its name in TLS (ALPN).
    #[must_use]
    pub fn alpn(self) -> &'static str {
        match self {
            Self::H1 => "http/1.1",
            Self::H2 => "h2",
            Self::H3 => "h3",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::H1 => "h1",
            Self::H2 => "h2",
            Self::H3 => "h3",
        })
    }
}

fn list(protocols: &[Protocol]) -> String {
    protocols.iter().map(Protocol::to_string).collect::<Vec<_>>().join(" or ")
}

/// What every kind is told.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// The server: an address of loopback (127.0.0.0/8 or ::1) and a port; every other address is refused
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub target: Loopback,
    /// What carries HTTP
    #[arg(long, value_enum, default_value = "h3")]
    pub protocol: Protocol,
    /// Starts a second, at most 20000
    #[arg(long, default_value = "100", value_name = "PER_SECOND")]
    pub rate: Rate,
    /// How long starts are made, at most 600
    #[arg(long, default_value = "10")]
    pub seconds: Seconds,
    /// Addresses of 127.0.0.0/8 that starts come from in turn, at most 65536
    #[arg(long, default_value_t = 1, value_name = "COUNT")]
    pub sources: u32,
    /// After how long a start counts as failed
    #[arg(long, default_value_t = 5000, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub timeout_ms: u64,
    /// Certificate of the authority that the server's is verified with; without, nothing is verified
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Name that the server is asked for in TLS and HTTP
    #[arg(long, default_value = "server.gauntlet.test", value_name = "NAME")]
    pub server_name: String,
    /// Path of requests
    #[arg(long, default_value = "/")]
    pub path: String,
    /// Connection IDs and payloads are drawn from it
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Why a run does not begin.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// There are no such source addresses.
    #[error(transparent)]
    Sources(#[from] TooMany),
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] ConfigError),
    /// The name cannot stand in TLS.
    #[error("{0:?} is not a name that a server can be asked for")]
    Name(String),
    /// There is no such attack over this protocol.
    #[error("there is no such attack over {protocol}: --protocol takes {}", list(.possible))]
    Protocol {
        /// The one asked for.
        protocol: Protocol,
        /// Those that there are.
        possible: Vec<Protocol>,
    },
    /// Addresses cannot be forged here.
    #[error(transparent)]
    NotForged(#[from] NotForged),
    /// Options that do not go together, or are above a cap.
    #[error("{0}")]
    Options(String),
    /// The machine refuses something.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// What all starts of a run share. It belongs to one thread.
pub struct Context {
    /// The server.
    pub target: Loopback,
    /// What carries HTTP.
    pub protocol: Protocol,
    /// Where starts come from.
    pub sources: Sources,
    /// Of every connection.
    pub tls: Arc<ClientConfig>,
    /// As TLS has it.
    pub server_name: ServerName<'static>,
    /// As HTTP has it.
    pub host: String,
    /// Of requests.
    pub path: String,
    /// After how long a start has failed.
    pub timeout: Duration,
    schedule: Cell<Schedule>,
    has_begun: Cell<bool>,
    /// What is counted.
    pub tally: Rc<Tally>,
    random: RefCell<Xoshiro256PlusPlus>,
}

impl Context {
    /// Of a run that begins now, of a kind that there is over these protocols.
    ///
    /// # Errors
    /// If something asked for cannot be had.
    pub fn new(common: &Common, possible: &[Protocol]) -> Result<Rc<Self>, SetupError> {
        let protocol = common.protocol;
        if !possible.contains(&protocol) {
            return Err(SetupError::Protocol { protocol, possible: possible.to_vec() });
        }
        let server_name = ServerName::try_from(common.server_name.clone())
            .map_err(|_| SetupError::Name(common.server_name.clone()))?;
        let sources = Sources::new(common.sources, common.target)?;
        let tls = tls::client(common.ca.as_deref(), protocol.alpn())?;
        let began = Instant::now();
        Ok(Rc::new(Self {
            target: common.target,
            protocol,
            sources,
            tls,
            server_name,
            host: common.server_name.clone(),
            path: common.path.clone(),
            timeout: Duration::from_millis(common.timeout_ms),
            has_begun: Cell::new(false),
            schedule: Cell::new(Schedule::new(began, common.rate, common.seconds)),
            tally: Tally::new(began),
            random: RefCell::new(Xoshiro256PlusPlus::seed_from_u64(common.seed)),
        }))
    }

    /// When starts are due.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        self.schedule.get()
    }

    /// Lets the schedule and the first second begin now: what was set up before does not count.
    pub fn begin(&self) {
        let now = Instant::now();
        self.schedule.set(self.schedule.get().starting(now));
        self.tally.begin(now);
        self.has_begun.set(true);
    }

    /// When the schedule ends; before it begins, and after its end while late starts are made, a moment from now, when it is
    /// to be asked again.
    #[must_use]
    pub fn horizon(&self) -> Instant {
        let soon = Instant::now() + Duration::from_millis(10);
        if self.has_begun.get() { self.schedule().end().max(soon) } else { soon }
    }

    /// Whether all starts are made.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.tally.is_over()
    }

    /// A path whose answer is long: the one asked for, or 10 MB of the laboratory's server.
    #[must_use]
    pub fn long_path(&self) -> &str {
        if self.path == "/" { "/bytes/10000000" } else { &self.path }
    }

    /// The next octets of the run's generator.
    pub fn random<const N: usize>(&self) -> [u8; N] {
        let mut octets = [0; N];
        self.random.borrow_mut().fill_bytes(&mut octets);
        octets
    }
}
