//! The server: one listener, one thread.
//!
//! ```text
//!   tcp   accepted connection ── TLS ── early ── hyper ─┐
//!                                                        ├─ answer (the site)      watch: how long it may go on
//!   quic  quinn or s2n-quic ── (Retry) ── bounded ── h3 ─┘                         metered: octets and datagrams
//! ```

mod answer;
mod body;
mod early;
mod metered;
mod quic;
mod quic_connections;
mod shared;
mod tcp;
mod watch;
mod within;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::Serialize;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_rustls::TlsAcceptor;

use crate::limits::Limits;
use crate::lines::Lines;
use crate::protocol::Protocol;
use crate::quic_library::QuicLibrary;
use crate::site::Site;
use crate::tls::ServerTls;
use crate::versions::versions;
use crate::{Refusal, only_loopback};
use shared::Shared;

/// What a server is started with.
pub struct Options {
    /// What HTTP goes over.
    pub protocol: Protocol,
    /// What carries HTTP/3.
    pub quic_library: QuicLibrary,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Its certificate, with those that lead to the authority (PEM).
    pub certificate: PathBuf,
    /// The key of that (PEM).
    pub key: PathBuf,
    /// Its bounds.
    pub limits: Limits,
    /// Bounds that were taken away, by the names of the weaknesses.
    pub weaknesses: Vec<String>,
    /// Tickets that a client is given in a handshake, unless the library's number of them is to hold.
    pub tickets: Option<usize>,
    /// Whether a client that resumes may ask before the end of the handshake.
    pub early_data: bool,
    /// What can be asked for.
    pub site: Site,
}

impl Options {
    /// Tickets that a client is given in a handshake.
    fn tickets(&self) -> usize {
        let unless_said = match self.quic_library {
            QuicLibrary::Quinn => 2,
            QuicLibrary::S2nQuic => 0,
        };
        self.tickets.unwrap_or(unless_said)
    }

    /// That the library can keep what is asked for.
    ///
    /// # Errors
    /// A sentence: what s2n-quic does not have.
    fn check_library(&self) -> Result<(), Refusal> {
        if self.quic_library == QuicLibrary::Quinn {
            return Ok(());
        }
        let wrong = if !self.protocol.is_quic() {
            "s2n-quic carries HTTP/3 alone: give --protocol h3 with it"
        } else if self.early_data {
            "s2n-quic takes no early data: leave --early-data out, or take --quic-library quinn"
        } else if self.tickets() > 0 {
            "s2n-quic sends no tickets: leave --tickets out, or take --quic-library quinn"
        } else if !self.weaknesses.is_empty() {
            "over s2n-quic no bound can be taken away: leave --weakness out, or take --quic-library quinn"
        } else {
            return Ok(());
        };
        Err(Refusal::new(wrong))
    }
}

/// The first line.
#[derive(Serialize)]
struct Ready {
    address: String,
    protocol: Protocol,
    /// Of HTTP/3.
    quic_library: Option<QuicLibrary>,
    versions: BTreeMap<&'static str, String>,
    weaknesses: Vec<String>,
    /// Of TCP; that of both QUIC libraries is CUBIC.
    congestion_control: Option<String>,
    /// What may wait in the UDP socket, as the kernel granted it.
    udp_receive_buffer_bytes: Option<usize>,
}

/// Serves until SIGTERM or SIGINT, and writes its lines: `ready` when it listens, `now` at each SIGUSR1, `done` at the
/// end.
///
/// # Errors
/// A sentence: it is not to listen on loopback, the address is taken, a file is not what it should be, the QUIC library
/// does not have what is asked for.
pub fn run(options: Options, lines: &Lines) -> Result<(), Refusal> {
    only_loopback(options.listen)?;
    options.check_library()?;
    allow_descriptors()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Refusal::of("the runtime could not be started", error))?;
    runtime.block_on(serve(options, lines))
}

/// As many connections as the system lets this process have.
fn allow_descriptors() -> Result<(), Refusal> {
    let (_, most) =
        getrlimit(Resource::RLIMIT_NOFILE).map_err(|error| Refusal::of("RLIMIT_NOFILE", error))?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most).map_err(|error| Refusal::of("RLIMIT_NOFILE", error))
}

async fn serve(options: Options, lines: &Lines) -> Result<(), Refusal> {
    // Before anything listens: whoever reads the first line may send a signal at once.
    let mut ask = on(SignalKind::user_defined1())?;
    let mut terminate = on(SignalKind::terminate())?;
    let mut interrupt = on(SignalKind::interrupt())?;
    let tickets = options.tickets();
    let Options {
        protocol,
        quic_library,
        listen,
        certificate,
        key,
        limits,
        weaknesses,
        early_data,
        site,
        ..
    } = options;
    let shared = Arc::new(Shared { limits, site, early_data, ..Shared::default() });
    let tls = ServerTls { certificate: &certificate, key: &key, tickets, early_data };
    let tls = tls.config(protocol, &shared.limits, &shared.counters)?;
    let mut ready = Ready {
        address: String::new(),
        protocol,
        quic_library: protocol.is_quic().then_some(quic_library),
        versions: versions(),
        weaknesses,
        congestion_control: None,
        udp_receive_buffer_bytes: None,
    };
    let address = if protocol.is_quic() {
        let (address, granted) = quic::start(quic_library, listen, tls, &shared)?;
        ready.udp_receive_buffer_bytes = Some(granted);
        address
    } else {
        let (listener, congestion_control) = tcp::listen(listen, &shared.limits)?;
        ready.congestion_control = Some(congestion_control);
        let address = listener.local_addr();
        tokio::spawn(tcp::serve(listener, TlsAcceptor::from(Arc::new(tls)), protocol, Arc::clone(&shared)));
        address
    };
    ready.address = address.map_err(|error| Refusal::of("the address of the listener", error))?.to_string();
    lines.write("ready", &ready);
    let snapshot = || shared.counters.snapshot(shared.quic.datagrams_taken());
    loop {
        tokio::select! {
            _ = ask.recv() => lines.write("now", &snapshot()),
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    lines.write("done", &snapshot());
    Ok(())
}

fn on(kind: SignalKind) -> Result<Signal, Refusal> {
    signal(kind).map_err(|error| Refusal::of("a signal cannot be waited for", error))
}
