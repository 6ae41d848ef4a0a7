//! The server: one listener, one thread.
//!
//! ```text
//!   tcp   accepted connection ── TLS ── early ── hyper ─┐
//!                                                        ├─ answer (the site)      watch: how long it may go on
//!   quic  Incoming ── (Retry) ── quinn ── bounded ── h3 ─┘                         metered: octets and datagrams
//! ```

mod answer;
mod bounded;
mod early;
mod metered;
mod quic;
mod tcp;
mod watch;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::Serialize;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_rustls::TlsAcceptor;

use crate::counters::{Counters, Gauge, Inside};
use crate::limits::{Limit, Limits};
use crate::lines::Lines;
use crate::protocol::Protocol;
use crate::site::Site;
use crate::tls::ServerTls;
use crate::versions::versions;
use crate::{Refusal, only_loopback};

/// What a server is started with.
pub struct Options {
    /// What HTTP goes over.
    pub protocol: Protocol,
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
    /// Tickets that a client is given in a handshake.
    pub tickets: usize,
    /// Whether a client that resumes may ask before the end of the handshake.
    pub early_data: bool,
    /// What can be asked for.
    pub site: Site,
}

/// What all connections share.
#[derive(Default)]
struct Shared {
    limits: Limits,
    counters: Arc<Counters>,
    site: Site,
    early_data: bool,
    quic: quic::Connections,
}

impl Shared {
    /// Lets a connection in, unless there are as many as may be.
    fn admit(&self) -> Result<Admitted, Limit> {
        let at = |gauge: &Gauge, bound: usize| usize::try_from(gauge.now()).is_ok_and(|now| now >= bound);
        let counters = &self.counters;
        let full = if at(&counters.connections, self.limits.connections) {
            Some(Limit::Connections)
        } else if at(&counters.handshakes, self.limits.handshakes_in_flight) {
            Some(Limit::HandshakesInFlight)
        } else {
            None
        };
        if let Some(limit) = full {
            counters.refuse(limit);
            return Err(limit);
        }
        counters.handshakes_begun.one();
        Ok(Admitted {
            counters: Arc::clone(counters),
            open: Gauge::enter(&counters.connections),
            handshake: Gauge::enter(&counters.handshakes),
        })
    }
}

/// A connection in its handshake.
struct Admitted {
    counters: Arc<Counters>,
    open: Inside,
    handshake: Inside,
}

impl Admitted {
    /// The handshake is over; the connection is open as long as what is returned.
    fn completed(self) -> Inside {
        self.counters.handshakes_completed.one();
        drop(self.handshake);
        self.open
    }

    /// The handshake failed, perhaps because a limit ended it.
    fn failed(self, limit: Option<Limit>) {
        self.counters.handshakes_failed.one();
        if let Some(limit) = limit {
            self.counters.refuse(limit);
        }
    }
}

/// What comes of `future` in time; whenever it comes, without a limit.
async fn within<T>(limit: Option<Duration>, future: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, future).await.ok(),
        None => Some(future.await),
    }
}

/// The first line.
#[derive(Serialize)]
struct Ready {
    address: String,
    protocol: Protocol,
    versions: BTreeMap<&'static str, String>,
    weaknesses: Vec<String>,
    /// Of TCP; quinn's is CUBIC.
    congestion_control: Option<String>,
    /// What may wait in the UDP socket, as the kernel granted it.
    udp_receive_buffer_bytes: Option<usize>,
}

/// Serves until SIGTERM or SIGINT, and writes its lines: `ready` when it listens, `now` at each SIGUSR1, `done` at the
/// end.
///
/// # Errors
/// A sentence: it is not to listen on loopback, the address is taken, a file is not what it should be.
pub fn run(options: Options, lines: &Lines) -> Result<(), Refusal> {
    only_loopback(options.listen)?;
    allow_descriptors()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Refusal::of("the runtime could not be started", error))?;
    runtime.block_on(serve(options, lines))
}

/// As many connections as the system lets this process have.
fn allow_descriptors() -> Result<(), Refusal> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).map_err(|error| Refusal::of("RLIMIT_NOFILE", error))?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most).map_err(|error| Refusal::of("RLIMIT_NOFILE", error))
}

async fn serve(options: Options, lines: &Lines) -> Result<(), Refusal> {
    // Before anything listens: whoever reads the first line may send a signal at once.
    let mut ask = on(SignalKind::user_defined1())?;
    let mut terminate = on(SignalKind::terminate())?;
    let mut interrupt = on(SignalKind::interrupt())?;
    let Options { protocol, listen, certificate, key, limits, weaknesses, tickets, early_data, site } = options;
    let shared = Arc::new(Shared { limits, site, early_data, ..Shared::default() });
    let tls = ServerTls { certificate: &certificate, key: &key, tickets, early_data };
    let tls = tls.config(protocol, &shared.limits, &shared.counters)?;
    let mut ready = Ready {
        address: String::new(),
        protocol,
        versions: versions(),
        weaknesses,
        congestion_control: None,
        udp_receive_buffer_bytes: None,
    };
    let address = if protocol.is_quic() {
        let (endpoint, granted) = quic::listen(listen, tls, &shared)?;
        ready.udp_receive_buffer_bytes = Some(granted);
        let address = endpoint.local_addr();
        tokio::spawn(quic::serve(endpoint, Arc::clone(&shared)));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(connections: usize, handshakes_in_flight: usize) -> Shared {
        Shared { limits: Limits { connections, handshakes_in_flight, ..Limits::default() }, ..Shared::default() }
    }

    #[test]
    fn as_many_handshakes_are_let_in_as_may_be_in_flight() {
        let shared = shared(10, 2);
        let first = shared.admit().expect("there is room");
        let _second = shared.admit().expect("there is room");
        assert_eq!(shared.admit().err(), Some(Limit::HandshakesInFlight));
        let _open = first.completed();
        let third = shared.admit().expect("one is over");
        third.failed(Some(Limit::HandshakeTimeout));
        let counters = &shared.counters;
        assert_eq!((counters.handshakes_begun.get(), counters.handshakes_completed.get()), (3, 1));
        assert_eq!((counters.handshakes_failed.get(), counters.handshakes.now()), (1, 1));
        assert_eq!(counters.connections.now(), 2);
        assert_eq!(Limit::ALL.map(|limit| counters.refused(limit)), [0, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn as_many_connections_are_let_in_as_may_be_open() {
        let shared = shared(2, 10);
        let open = shared.admit().expect("there is room").completed();
        let _in_its_handshake = shared.admit().expect("there is room");
        assert_eq!(shared.admit().err(), Some(Limit::Connections));
        drop(open);
        assert!(shared.admit().is_ok());
    }
}
