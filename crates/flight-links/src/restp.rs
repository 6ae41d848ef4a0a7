//! ResTP's protected profile (a Noise handshake, then an AEAD) with each message in a packet, in order and sent again
//! when lost.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use flight::security::{LinkSecurity, Output, Refusal};
use restp_proto::profile::Protection;
use restp_proto::protected::Keys;
use restp_proto::{
    Composition, ConnId, Ecn, Endpoint, EndpointConfig, EventKind, Instant, PathAddr, Profile, SendOptions,
};

use crate::link::{Link, State, check, wait};
use crate::packets::Packets;
use crate::tls_config::SetupError;

const GROUND: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 1234);
const SPACE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 1234);

/// The port of the command link inside ResTP.
const PORT: u16 = 1234;

/// One end of a link that ResTP protects.
pub struct Restp {
    endpoint: Endpoint,
    path: PathAddr,
    connection: Option<ConnId>,
    state: State,
    now: Duration,
    due: Option<Duration>,
    waiting: VecDeque<Vec<u8>>,
    packets: Packets,
    outputs: VecDeque<Output>,
    scratch: Vec<u8>,
}

/// The services: those of `file_arq`, protected.
fn composition() -> Result<Composition, SetupError> {
    let mut profile = Profile::file_arq();
    profile.protection = Protection::Protected;
    profile.tuning.max_packet_bytes = 1452;
    profile.validate().map_err(|conflicts| {
        let sentences: Vec<_> = conflicts.iter().map(ToString::to_string).collect();
        SetupError::Restp(sentences.join("; "))
    })
}

impl Restp {
    fn new(keys: Keys, seed: [u8; 32], path: PathAddr) -> Self {
        Self {
            endpoint: Endpoint::new(EndpointConfig { keys: Some(keys), ..EndpointConfig::default() }, seed),
            path,
            connection: None,
            state: State::Handshaking,
            now: Duration::ZERO,
            due: None,
            waiting: VecDeque::new(),
            packets: Packets::default(),
            outputs: VecDeque::new(),
            scratch: Vec::new(),
        }
    }

    /// Ground's end, which opens the connection. All randomness follows from `seed`: nobody else may know it, and no two
    /// ends may have the same.
    ///
    /// # Errors
    /// If the keys are not those of a client.
    pub fn ground(keys: Keys, seed: [u8; 32], now: Duration) -> Result<Self, SetupError> {
        let mut restp = Self::new(keys, seed, PathAddr { local: GROUND, remote: SPACE });
        let at = restp.instant(now);
        let opened = restp.endpoint.connect(at, restp.path, PORT, PORT, &composition()?);
        restp.connection = Some(opened.map_err(|error| SetupError::Restp(error.to_string()))?);
        Ok(restp)
    }

    /// Space's end, which waits for ground; of `seed` the same holds.
    ///
    /// # Errors
    /// If the keys are not those of a server.
    pub fn space(keys: Keys, seed: [u8; 32]) -> Result<Self, SetupError> {
        let mut restp = Self::new(keys, seed, PathAddr { local: SPACE, remote: GROUND });
        let listens = restp.endpoint.listen(PORT, composition()?, true);
        listens.map_err(|error| SetupError::Restp(error.to_string()))?;
        Ok(restp)
    }

    fn instant(&mut self, now: Duration) -> Instant {
        self.now = self.now.max(now);
        Instant::from_nanos(u64::try_from(self.now.as_nanos()).unwrap_or(u64::MAX))
    }

    fn settle(&mut self, at: Instant) {
        while let Some(event) = self.endpoint.poll_event() {
            match event.kind {
                EventKind::Connected | EventKind::Accepted { .. } => {
                    self.connection = Some(event.conn);
                    self.state = State::Established { early: false };
                }
                EventKind::Closed(reason) if self.connection.is_none_or(|own| own == event.conn) => {
                    self.state = State::Failed(reason.to_string());
                }
                _ => {}
            }
        }
        let Some(connection) = self.connection else { return };
        while let Some(message) = self.endpoint.recv(at, connection) {
            self.packets.take(&message.payload, |message| self.outputs.push_back(Output::Message(message)));
        }
        if self.state != (State::Established { early: false }) {
            return;
        }
        while let Some(message) = self.waiting.front() {
            let sent = self.endpoint.send(at, connection, message.clone().into(), SendOptions::default());
            if sent.is_err() {
                // Its buffer is full; acknowledgements make room.
                return;
            }
            self.waiting.pop_front();
        }
    }
}

impl LinkSecurity for Restp {
    fn name(&self) -> &'static str {
        "restp"
    }

    fn apply(&mut self, message: &[u8], now: Duration) -> Result<(), Refusal> {
        let at = self.instant(now);
        check(&self.state, message)?;
        wait(&mut self.waiting, message)?;
        self.settle(at);
        Ok(())
    }

    fn process(&mut self, datagram: &[u8], now: Duration) -> Result<(), Refusal> {
        let at = self.instant(now);
        self.endpoint.handle(at, self.path, Ecn::NotEct, datagram);
        self.settle(at);
        Ok(())
    }

    fn poll(&mut self) -> Option<Output> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        let at = self.instant(self.now);
        self.scratch.clear();
        if self.endpoint.poll_transmit(at, 1, &mut self.scratch).is_some() {
            return Some(Output::Datagram(self.scratch.clone()));
        }
        self.due = self.endpoint.poll_timeout().map(|due| Duration::from_nanos(due.as_nanos()));
        None
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.due
    }

    fn handle_timeout(&mut self, now: Duration) {
        let at = self.instant(now);
        self.endpoint.handle_timeout(at);
        self.due = None;
        self.settle(at);
    }
}

impl Link for Restp {
    fn state(&self) -> State {
        self.state.clone()
    }
}
