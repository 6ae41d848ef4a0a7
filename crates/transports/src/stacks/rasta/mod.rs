//! RaSTA (DIN VDE V 0831-200 as publicly documented): its safety and retransmission layer over a redundancy layer, whose
//! channels are UDP (`rasta`, a channel a pair of addresses) or one TLS session over TCP (`rasta-tls`).
//!
//! RaSTA supervises in time and ends a connection that it cannot trust any more; what it tells its user meanwhile goes
//! into the record ([`Connection::signals`]). Nothing is opened anew then: that is a matter for whoever uses it.

mod channel;
mod connection;
mod end;
mod engine;
mod params;
mod udp;
mod within_tls;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rasta::{Endpoint, Seeds};
use serde_json::{Map, Value};
use socket2::Socket;

use self::channel::{Channels, Pool};
use self::connection::RastaConnection;
use self::end::End;
use self::engine::Engine;
pub(super) use self::params::{Params, parameters_over_tls};
use self::params::{config, over_tls, wrong};
use self::udp::{Datagrams, OVER_UDP};
use self::within_tls::Frames;
use crate::error::{Failure, SpecError};
use crate::http::stream::{StreamCarrier, TlsEnds};
use crate::kernel::socket;
use crate::opening::Opening;
use crate::params::parse_params;
use crate::session::Session;
use crate::stacks::tls::Tls;
use crate::transport::{Carriage, Connection, InitialWindow, Listener, Service, Stack};

const OVER_TLS: &str = "rasta-tls";

/// What both have in common: parameters, and how many connections each end has had.
struct Common {
    params: Params,
    connections: [AtomicU64; 2],
}

impl Common {
    fn new(stack: &str, params: Params) -> Result<Self, SpecError> {
        // What is wrong with values is found here; lengths of messages come later.
        let config = config(&params, End::Sender, 1, &[0; 32]);
        config.validate().map_err(|error| wrong(stack, error))?;
        Ok(Self { params, connections: [AtomicU64::new(0), AtomicU64::new(0)] })
    }

    /// A closed end of the next connection of a flow.
    fn endpoint(&self, session: &Session, end: End, message_bytes: u32) -> Result<Endpoint, Failure> {
        let mut key = [0; 32];
        random(session, KEY_SALT).fill_bytes(&mut key);
        let config = config(&self.params, end, message_bytes as usize, &key);
        let place = usize::from(end == End::Receiver);
        let number = self.connections[place].fetch_add(1, Ordering::Relaxed);
        let mut numbers = random(session, end as u64);
        let seed = (0..=number).fold(0, |_, _| numbers.next_u64());
        Endpoint::new(config, Seeds::from_u64(seed))
            .map_err(|error| Failure::new(format!("RaSTA cannot carry this flow: {error}")))
    }
}

/// Tells the keys of safety codes apart from the seeds of the two ends.
const KEY_SALT: u64 = 1;

/// Numbers that follow from the flow's seed: all randomness of both ends.
fn random(session: &Session, salt: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(session.ctx.seed.rotate_left(8) ^ salt)
}

/// RaSTA over UDP.
struct OverUdp(Arc<Common>);

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    let params = parse_params("stack_params", OVER_UDP, params)?;
    Ok(Box::new(OverUdp(Arc::new(Common::new(OVER_UDP, params)?))))
}

impl Stack for OverUdp {
    fn name(&self) -> &'static str {
        OVER_UDP
    }

    fn service(&self) -> Service {
        Service::Messages { streams: 1 }
    }

    fn carriage(&self) -> Option<Carriage> {
        Some(Carriage::Rasta)
    }

    fn opening(&self) -> Option<Opening> {
        Some(Opening::RASTA_OVER_UDP)
    }

    fn homes(&self) -> usize {
        self.0.params.channels()
    }

    fn listen(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let endpoint = self.0.endpoint(session, End::Receiver, message_bytes)?;
        let max_frame_bytes = endpoint.config().max_frame_bytes();
        let channels = Datagrams::open(session, End::Receiver, self.homes(), max_frame_bytes)?;
        let opens = Opens::Again(Pool::of(Box::new(channels)));
        Ok(RastaListener::boxed(&self.0, session, message_bytes, opens, endpoint))
    }

    fn connect(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let endpoint = self.0.endpoint(session, End::Sender, message_bytes)?;
        let max_frame_bytes = endpoint.config().max_frame_bytes();
        let channels = Datagrams::open(session, End::Sender, self.homes(), max_frame_bytes)?;
        connect(Engine::new(session, endpoint, Box::new(channels), Pool::none()))
    }
}

/// RaSTA over one channel within TLS.
struct OverTls {
    common: Arc<Common>,
    tls: Tls,
}

pub(super) fn build_over_tls(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    let (own, below) = over_tls(OVER_TLS, params)?;
    let params = parse_params("stack_params", OVER_TLS, &own)?;
    let common = Arc::new(Common::new(OVER_TLS, params)?);
    Ok(Box::new(OverTls { common, tls: Tls::parse(OVER_TLS, &below)? }))
}

impl OverTls {
    fn ends(&self, session: &Session) -> Result<TlsEnds, Failure> {
        self.tls.tls(session)?.ok_or_else(|| Failure::new("TLS has no configuration"))
    }
}

impl Stack for OverTls {
    fn name(&self) -> &'static str {
        OVER_TLS
    }

    fn service(&self) -> Service {
        Service::Messages { streams: 1 }
    }

    fn opening(&self) -> Option<Opening> {
        self.tls.opening()
    }

    fn initial_window(&self) -> InitialWindow {
        self.tls.initial_window()
    }

    fn prepare(&self, session: &Session) -> Result<(), Failure> {
        self.tls.prepare(session)
    }

    fn listen(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let ends = self.ends(session)?;
        let socket = self.tls.at_destination(session)?;
        socket::listen(&socket)?;
        let endpoint = self.common.endpoint(session, End::Receiver, message_bytes)?;
        let opens = Opens::Each(socket, ends);
        Ok(RastaListener::boxed(&self.common, session, message_bytes, opens, endpoint))
    }

    fn connect(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let ends = self.ends(session)?;
        let endpoint = self.common.endpoint(session, End::Sender, message_bytes)?;
        let socket = socket::connect(self.tls.at_source(session)?, session)?;
        let frames = Frames::to_server(socket, &ends, endpoint.config().max_frame_bytes())?;
        connect(Engine::new(session, endpoint, Box::new(frames), Pool::none()))
    }
}

fn connect(mut engine: Engine) -> Result<Box<dyn Connection>, Failure> {
    engine.connect()?;
    Ok(Box::new(RastaConnection::new(engine)))
}

/// Where the receiver's channels come from.
enum Opens {
    /// They serve one connection after the other.
    Again(Pool),
    /// Each connection has its own.
    Each(Socket, TlsEnds),
}

struct RastaListener {
    common: Arc<Common>,
    session: Arc<Session>,
    message_bytes: u32,
    opens: Opens,
    /// The end of the first connection.
    first: Option<Endpoint>,
}

impl RastaListener {
    fn boxed(
        common: &Arc<Common>,
        session: &Arc<Session>,
        message_bytes: u32,
        opens: Opens,
        first: Endpoint,
    ) -> Box<dyn Listener> {
        let (common, session) = (Arc::clone(common), Arc::clone(session));
        Box::new(Self { common, session, message_bytes, opens, first: Some(first) })
    }
}

impl Listener for RastaListener {
    fn accept(&mut self) -> Result<Box<dyn Connection>, Failure> {
        let endpoint = match self.first.take() {
            Some(first) => first,
            None => self.common.endpoint(&self.session, End::Receiver, self.message_bytes)?,
        };
        let (channels, home): (Box<dyn Channels>, Pool) = match &self.opens {
            Opens::Again(home) => (home.take()?, home.clone()),
            Opens::Each(socket, ends) => {
                let socket = socket::accept(socket, &self.session)?;
                let frames = Frames::to_client(socket, ends, endpoint.config().max_frame_bytes())?;
                (Box::new(frames), Pool::none())
            }
        };
        let mut engine = Engine::new(&self.session, endpoint, channels, home);
        engine.accept()?;
        Ok(Box::new(RastaConnection::new(engine)))
    }
}

#[cfg(test)]
mod tests;
