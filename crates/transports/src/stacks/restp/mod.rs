//! ResTP, with any of its presets and services, over UDP or raw IP (protocol 253).

mod connection;
mod engine;
mod instants;
mod params;
mod paths;
mod socket;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use restp_proto::profile::{Framing, Management, Ordering, Paths, Protection};
use restp_proto::protected::Keys;
use restp_proto::{Composition, Encapsulation, Endpoint, EndpointConfig, PathAddr, Profile};
use serde_json::{Map, Value};

use self::connection::{Options, Peer, RestpConnection};
use self::engine::{Engine, Leased, Pool, take};
pub(crate) use self::params::Params;
use self::params::{FurtherPath, compose, wrong};
use self::paths::{Further, Ways};
use self::socket::{Outer, longest_packet_bytes, outer_address};
use crate::error::{Failure, SpecError};
use crate::opening::Opening;
use crate::session::Session;
use crate::transport::{Connection, Listener, Service, Stack};

/// Packets that wait in the protocol itself. What else was handed over waits in front of it, where its amount is known.
const PROTOCOL_QUEUE_PACKETS: u32 = 16;

struct Restp {
    profile: Profile,
    encapsulation: Encapsulation,
    fixed_packet_size: bool,
    send_buffer_bytes: Option<usize>,
    lifetime: Option<Duration>,
    further_paths: Vec<FurtherPath>,
    paths_at_once: usize,
    /// Whether the sender holds a cookie of the receiver from the beginning.
    visited: bool,
    /// The sender's endpoint between two sessions.
    sender: Pool,
}

pub(crate) fn build(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    let params: Params = crate::params::parse_params("stack_params", "restp", params)?;
    let profile = params.profile()?;
    if params.send_buffer_bytes == Some(0) {
        return Err(wrong("`send_buffer_bytes` must be at least 1"));
    }
    Ok(Box::new(Restp {
        encapsulation: params.encapsulation()?,
        fixed_packet_size: params.names_packet_size(),
        send_buffer_bytes: params.send_buffer_bytes.map(|bytes| bytes as usize),
        lifetime: params.lifetime(&profile)?,
        paths_at_once: params.paths_at_once()?,
        further_paths: params.further_paths()?,
        visited: params.visited,
        sender: Pool::default(),
        profile,
    }))
}

/// The two ends of a connection, whose randomness differs.
#[derive(Clone, Copy)]
enum Side {
    Sender,
    Receiver,
}

impl Restp {
    /// The services with packets as large as the path allows.
    fn composition(&self, from: SocketAddr, to: SocketAddr) -> Result<Composition, Failure> {
        let mut profile = self.profile.clone();
        if !self.fixed_packet_size {
            profile.tuning.max_packet_bytes = longest_packet_bytes(self.encapsulation, from, to)?;
        }
        profile.tuning.send_buffer_packets = PROTOCOL_QUEUE_PACKETS;
        compose(profile).map_err(|error| Failure::new(error.to_string()))
    }

    /// An endpoint at `own` and at the own ends of the further paths.
    fn engine(
        &self,
        session: &Arc<Session>,
        side: Side,
        own: SocketAddr,
        composition: &Composition,
    ) -> Result<Engine, Failure> {
        let further = self.further_ends(session).into_iter().map(|path| match side {
            Side::Sender => path.source,
            Side::Receiver => path.destination,
        });
        let mut addresses = vec![own.ip()];
        addresses.extend(further);
        addresses.dedup();
        let sockets = addresses
            .into_iter()
            .map(|ip| Outer::open(self.encapsulation, SocketAddr::new(ip, own.port())))
            .collect::<Result<Vec<_>, _>>()?;
        let config = EndpointConfig {
            encapsulation: self.encapsulation,
            keys: (self.profile.protection == Protection::Protected)
                .then(|| Keys::shared(random(session, KEY_SALT))),
            ..EndpointConfig::default()
        };
        let further = match side {
            Side::Sender => session.further() as u64,
            Side::Receiver => 0,
        };
        let seed = random(session, side as u64 | further << 8);
        let packet_bytes = composition.profile().tuning.max_packet_bytes;
        Ok(Engine::new(session, config, seed, sockets, packet_bytes))
    }

    /// A new endpoint of the sender, with a cookie if it has been there before.
    fn sender(
        &self,
        session: &Arc<Session>,
        own: SocketAddr,
        peer: SocketAddr,
        composition: &Composition,
    ) -> Result<Engine, Failure> {
        let mut engine = self.engine(session, Side::Sender, own, composition)?;
        if self.visited {
            // Cookies follow from an endpoint's seed: the receiver takes what any endpoint with its seed grants.
            let twin = Endpoint::new(EndpointConfig::default(), random(session, Side::Receiver as u64));
            let server = self.path(own, peer).remote;
            engine.with(|proto, now| {
                if let Some(cookie) = twin.cookie_for(now, own.ip()) {
                    proto.remember_cookie(server, cookie);
                }
            });
        }
        Ok(engine)
    }

    fn options(&self, path: PathAddr, local_port: u16, remote_port: u16) -> Options {
        Options {
            management: self.profile.management,
            framing: self.profile.framing,
            send_buffer_bytes: self.send_buffer_bytes,
            lifetime: self.lifetime,
            peer: Peer { path, local_port, remote_port },
        }
    }

    /// The ends of the paths beside the first: as the plan says, else from each further address of the sender's node to
    /// the one of the receiver's that has the same place.
    fn further_ends(&self, session: &Session) -> Vec<FurtherPath> {
        if !self.further_paths.is_empty() || self.profile.paths == Paths::Single {
            return self.further_paths.clone();
        }
        let ends = session.ctx.source_further.iter().zip(&session.ctx.destination_further);
        ends.map(|(&source, &destination)| FurtherPath::new(source, destination)).collect()
    }

    /// What is to become of the paths beside the first.
    fn ways(&self, session: &Session, own_port: u16, peer_port: u16) -> Ways {
        let named = |further: &FurtherPath| {
            let local = SocketAddr::new(further.source, own_port);
            let remote = SocketAddr::new(further.destination, peer_port);
            Further {
                path: self.path(local, remote),
                backup: further.backup,
                open_after_ns: (further.open_s * 1e9) as i64,
            }
        };
        Ways::new(self.further_ends(session).iter().map(named).collect(), self.paths_at_once)
    }

    fn path(&self, local: SocketAddr, remote: SocketAddr) -> PathAddr {
        PathAddr {
            local: outer_address(self.encapsulation, local),
            remote: outer_address(self.encapsulation, remote),
        }
    }
}

/// Subflows of a connection that the header can count (docs/restp-spec.md, R-HDR-7).
const MOST_PATHS: usize = 15;

/// Tells the shared key apart from the seeds of the two sides.
const KEY_SALT: u64 = 2;

/// Random bytes that follow from the flow's seed: all randomness of both endpoints.
fn random(session: &Session, salt: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    Xoshiro256PlusPlus::seed_from_u64(session.ctx.seed.rotate_left(8) ^ salt).fill_bytes(&mut bytes);
    bytes
}

impl Stack for Restp {
    fn name(&self) -> &'static str {
        "restp"
    }

    fn service(&self) -> Service {
        match (self.profile.framing, self.profile.reliability.retransmits(), self.profile.ordering) {
            (Framing::Coalesce, _, _) => Service::Stream,
            (Framing::Fixed, true, Ordering::Full) => Service::Messages { streams: 1 },
            // Each message is delivered for itself, as if it had a stream of its own.
            (Framing::Fixed, true, Ordering::Unordered) => Service::Messages { streams: u16::MAX },
            (Framing::Fixed, _, _) => Service::Datagrams,
        }
    }

    fn homes(&self) -> usize {
        if self.profile.paths == Paths::Single { 1 } else { MOST_PATHS }
    }

    fn opening(&self) -> Option<Opening> {
        let connects = self.profile.management != Management::Connectionless;
        connects.then_some(match self.encapsulation {
            Encapsulation::RawIp => Opening::RESTP_OVER_IP,
            _ => Opening { request_with_data: !self.profile.tuning.syn_first, ..Opening::RESTP_OVER_UDP },
        })
    }

    fn listen(&self, session: &Arc<Session>, _message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let (own, peer) = (session.ctx.destination, session.expected_source());
        let composition = self.composition(own, peer)?;
        let mut engine = self.engine(session, Side::Receiver, own, &composition)?;
        engine
            .with(|proto, _| proto.listen(own.port(), composition, false))
            .map_err(|error| Failure::new(format!("the receiver could not listen: {error}")))?;
        let options = self.options(self.path(own, peer), own.port(), peer.port());
        Ok(Box::new(RestpListener { engine: Arc::new(Mutex::new(Some(engine))), options }))
    }

    fn connect(&self, session: &Arc<Session>, _message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let (own, peer) = (session.source(), session.ctx.destination);
        let composition = self.composition(own, peer)?;
        // A further session has sockets of its own.
        let engine = match take(&self.sender).filter(|_| session.further() == 0) {
            Some(engine) => engine,
            None => self.sender(session, own, peer, &composition)?,
        };
        let mut engine = Leased::new(engine, &self.sender);
        engine.look_at_clock();
        let (outer, port) = engine.own_ends(own.port());
        engine.ways = self.ways(session, outer.port(), peer.port());
        let first = self.path(outer, peer);
        let options = self.options(first, port, peer.port());
        if self.profile.management == Management::Connectionless {
            engine
                .with(|proto, _| proto.listen(port, composition, false))
                .map_err(|error| Failure::new(format!("the sender could not open its port: {error}")))?;
            return Ok(Box::new(RestpConnection::new(engine, None, &options)));
        }
        let conn = engine
            .with(|proto, now| proto.connect(now, first, port, peer.port(), &composition))
            .map_err(|error| Failure::new(format!("no connection to {peer}: {error}")))?;
        // What is sent during an opportunistic handshake travels with it if it can.
        while !engine.state(Some(conn)).connected && self.profile.management != Management::Opportunistic {
            let doing = format!("{peer} did not answer the connection request");
            engine.turn(i64::MAX, &doing)?;
            if let Some(reason) = engine.state(Some(conn)).closed {
                return Err(engine.broken(reason, "connecting"));
            }
        }
        Ok(Box::new(RestpConnection::new(engine, Some(conn), &options)))
    }
}

struct RestpListener {
    engine: Pool,
    options: Options,
}

impl Listener for RestpListener {
    fn accept(&mut self) -> Result<Box<dyn Connection>, Failure> {
        let engine = take(&self.engine).ok_or_else(|| {
            Failure::new("a ResTP receiver serves one session at a time and was asked for a second")
        })?;
        let mut engine = Leased::new(engine, &self.engine);
        engine.look_at_clock();
        let mut conn = engine.accepted();
        while self.options.management != Management::Connectionless && conn.is_none() {
            engine.turn(i64::MAX, "nobody connected to the receiver")?;
            conn = engine.accepted();
        }
        Ok(Box::new(RestpConnection::new(engine, conn, &self.options)))
    }
}
