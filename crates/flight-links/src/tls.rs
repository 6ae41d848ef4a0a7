//! TLS 1.3 by rustls over a byte stream: what it puts out as datagrams are octets of the stream, to be carried in order
//! and without loss, as TCP does; they may be cut and joined anywhere.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use flight::security::{LinkSecurity, Output, Refusal};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};

use crate::credentials::{Credentials, SPACE_NAME};
use crate::link::{Link, State, over, wait};
use crate::packets::{self, Packets};
use crate::suite::Suite;
use crate::tls_config::{self, SetupError};

/// Settings of ground, with the tickets of earlier sessions.
#[derive(Clone)]
pub struct TlsGround(Arc<ClientConfig>);

impl TlsGround {
    /// Settings of ground.
    ///
    /// # Errors
    /// If a library does not have the suite, or refuses the credentials.
    pub fn new(suite: &Suite, credentials: &Credentials, metered: bool) -> Result<Self, SetupError> {
        Ok(Self(Arc::new(tls_config::ground(suite, credentials, metered)?)))
    }

    /// Begins a session.
    ///
    /// # Errors
    /// If the library refuses it.
    pub fn open(&self) -> Result<Tls, SetupError> {
        let name = ServerName::try_from(SPACE_NAME).map_err(|error| SetupError::Quic(error.to_string()))?;
        let mut client = ClientConnection::new(Arc::clone(&self.0), name)?;
        let early = client.early_data().is_some();
        Ok(Tls::new(Connection::Client(client), early))
    }
}

/// Settings of space, with the sessions that may be taken up.
#[derive(Clone)]
pub struct TlsSpace(Arc<ServerConfig>);

impl TlsSpace {
    /// Settings of space.
    ///
    /// # Errors
    /// If a library does not have the suite, or refuses the credentials.
    pub fn new(suite: &Suite, credentials: &Credentials, metered: bool) -> Result<Self, SetupError> {
        Ok(Self::with_tls(tls_config::space(suite, credentials, metered)?))
    }

    /// With settings of TLS that were made before.
    pub(crate) fn with_tls(mut config: ServerConfig) -> Self {
        // TLS counts what comes early; a record's worth is enough for commands.
        config.max_early_data_size = config.max_early_data_size.min(1 << 14);
        Self(Arc::new(config))
    }

    /// An end that waits for ground.
    ///
    /// # Errors
    /// If the library refuses it.
    pub fn wait(&self) -> Result<Tls, SetupError> {
        Ok(Tls::new(Connection::Server(ServerConnection::new(Arc::clone(&self.0))?), false))
    }
}

/// One end of a link that TLS protects.
pub struct Tls {
    tls: Connection,
    packets: Packets,
    failed: Option<String>,
    /// Ground may send before the handshake is over.
    early: bool,
    /// What it sent so: space may not have taken it.
    sent_early: Vec<u8>,
    waiting: VecDeque<Vec<u8>>,
    outputs: VecDeque<Output>,
}

impl Tls {
    fn new(mut tls: Connection, early: bool) -> Self {
        // What waits is bounded here, in messages.
        tls.set_buffer_limit(None);
        Self {
            tls,
            packets: Packets::default(),
            failed: None,
            early,
            sent_early: Vec::new(),
            waiting: VecDeque::new(),
            outputs: VecDeque::new(),
        }
    }

    /// Octets of what could be sent early, beginning with the first message that does not fit.
    fn send_early(&mut self) -> std::io::Result<()> {
        let Connection::Client(client) = &mut self.tls else { return Ok(()) };
        while let Some(message) = self.waiting.front() {
            let Some(mut early) = client.early_data().filter(|early| early.bytes_left() >= message.len())
            else {
                return Ok(());
            };
            early.write_all(message)?;
            self.sent_early.extend(message);
            self.waiting.pop_front();
        }
        Ok(())
    }

    fn send_waiting(&mut self) -> std::io::Result<()> {
        if self.tls.is_handshaking() {
            return if self.early { self.send_early() } else { Ok(()) };
        }
        if std::mem::take(&mut self.early) && !self.took_early() {
            self.tls.writer().write_all(&self.sent_early)?;
        }
        self.sent_early = Vec::new();
        while let Some(message) = self.waiting.pop_front() {
            self.tls.writer().write_all(&message)?;
        }
        Ok(())
    }

    fn took_early(&self) -> bool {
        matches!(&self.tls, Connection::Client(client) if client.is_early_data_accepted())
    }

    fn take(&mut self, mut octets: &[u8]) -> Result<(), String> {
        let mut text = Vec::new();
        while !octets.is_empty() {
            self.tls.read_tls(&mut octets).map_err(|error| error.to_string())?;
            let io = self.tls.process_new_packets().map_err(|error| error.to_string())?;
            if let Connection::Server(server) = &mut self.tls
                && let Some(mut early) = server.early_data()
            {
                early.read_to_end(&mut text).map_err(|error| error.to_string())?;
            }
            let from = text.len();
            text.resize(from + io.plaintext_bytes_to_read(), 0);
            self.tls.reader().read_exact(&mut text[from..]).map_err(|error| error.to_string())?;
        }
        self.packets.take(&text, |message| self.outputs.push_back(Output::Message(message)));
        self.send_waiting().map_err(|error| error.to_string())
    }
}

impl LinkSecurity for Tls {
    fn name(&self) -> &'static str {
        "tls"
    }

    fn apply(&mut self, message: &[u8], _now: Duration) -> Result<(), Refusal> {
        if let Some(reason) = &self.failed {
            return Err(over(reason));
        }
        packets::check(message)?;
        wait(&mut self.waiting, message)?;
        self.send_waiting().map_err(|error| Refusal { code: "tls", reason: error.to_string() })
    }

    fn process(&mut self, datagram: &[u8], _now: Duration) -> Result<(), Refusal> {
        if let Some(reason) = &self.failed {
            return Err(over(reason));
        }
        self.take(datagram).map_err(|reason| {
            self.failed = Some(reason.clone());
            Refusal { code: "tls", reason }
        })
    }

    fn poll(&mut self) -> Option<Output> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        let mut octets = Vec::new();
        while self.tls.wants_write() && self.tls.write_tls(&mut octets).is_ok_and(|written| written > 0) {}
        (!octets.is_empty()).then_some(Output::Datagram(octets))
    }
}

impl Link for Tls {
    fn state(&self) -> State {
        match &self.failed {
            Some(reason) => State::Failed(reason.clone()),
            None if self.tls.is_handshaking() => State::Handshaking,
            None => State::Established { early: self.took_early() },
        }
    }
}
