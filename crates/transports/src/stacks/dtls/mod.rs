//! DTLS 1.3 or 1.2 over UDP, by dimpl: a message a record, a record a datagram, nothing sent again but the handshake.
//!
//! The receiver's certificate, and on request the sender's, is of an authority made for the flow ([`crate::secure`]),
//! whose signatures rustls' verifiers check. Cryptography is that of RustCrypto, whose only source of randomness is
//! getrandom(2), as is `ring`'s.
//!
//! Nothing ends a session: that its sender is done is told beside the network, as for UDP. A close_notify would have the
//! receiver ignore what comes after it (RFC 8446, section 6.1), and a message that is late could not be told from a lost one.

mod connection;
mod engine;
mod trust;
mod wire;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dimpl::crypto::rust_crypto;
use dimpl::{Config, Dtls, DtlsCertificate};
use serde::Deserialize;
use serde_json::{Map, Value};

use self::connection::DtlsConnection;
use self::engine::Engine;
use self::trust::Trust;
use self::wire::{NAME, Wire};
use crate::error::{Failure, SpecError};
use crate::kernel::path_mtu::{UDP_HEADER_BYTES, longest_payload_bytes};
use crate::opening::Opening;
use crate::params::{Buffers, nanoseconds, parse_params};
use crate::secure::{Fault, Pki, TlsCredentials};
use crate::session::Session;
use crate::transport::{Connection, Listener, Service, Stack};

/// Of a flight's first retransmission (RFC 9147, section 5.8.2; RFC 6347, section 4.2.4.1).
const INITIAL_TIMER_S: f64 = 1.0;
/// The shortest one.
const SHORTEST_TIMER_S: f64 = 1e-3;
/// How long a handshake may take, in initial timers: 40, as the library has it by itself, of a second each. It sends a
/// flight four times more at most, which takes 31 of them.
const HANDSHAKE_TIMERS: u32 = 40;

/// Datagrams that an end keeps which come before it can decrypt them (a choice: a receiver that lacks the last message of
/// the handshake gets them until it is sent again).
const EARLY_DATAGRAMS: usize = 1024;

/// What a record has beside its message: of 1.3 two octets of sequence number and of length each behind the first octet,
/// the type and the tag (RFC 9147, section 4), of 1.2 a header of 13, an explicit nonce of 8 and the tag (RFC 6347, section
/// 4.1; RFC 5288, section 3).
const RECORD_BYTES_13: usize = 5 + 1 + 16;
const RECORD_BYTES_12: usize = 13 + 8 + 16;

#[derive(Debug, Clone, Copy, Default, Deserialize)]
enum Version {
    #[serde(rename = "1.2")]
    Dtls12,
    #[default]
    #[serde(rename = "1.3")]
    Dtls13,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    #[serde(default)]
    version: Version,
    #[serde(default)]
    client_auth: bool,
    /// Whether the receiver has the sender repeat a cookie before it keeps anything of it.
    #[serde(default = "yes")]
    cookie: bool,
    #[serde(default = "initial_timer_s")]
    initial_timer_s: f64,
    fault: Option<Fault>,
    send_buffer_bytes: Option<u32>,
    receive_buffer_bytes: Option<u32>,
}

fn yes() -> bool {
    true
}

fn initial_timer_s() -> f64 {
    INITIAL_TIMER_S
}

struct OverUdp {
    version: Version,
    client_auth: bool,
    cookie: bool,
    initial_timer: Duration,
    fault: Option<Fault>,
    buffers: Buffers,
    /// The certificates of the flow, made when the first of its ends needs them.
    pki: OnceLock<Result<Pki, Failure>>,
}

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    let params: Params = parse_params("stack_params", NAME, params)?;
    let wrong = |why: String| SpecError::new(format!("`stack_params` of `{NAME}`: {why}"));
    let timer_ns = nanoseconds("initial_timer_s", params.initial_timer_s, SHORTEST_TIMER_S)
        .map_err(|error| wrong(error.to_string()))?;
    if params.fault == Some(Fault::NoClientCertificate) {
        return Err(wrong(
            "the library shows a certificate whenever it is asked for one, so the `fault` `no_client_certificate` \
             cannot be had; choose `wrong_ca` or `expired_certificate`"
                .to_owned(),
        ));
    }
    if params.fault == Some(Fault::TicketsKept) {
        return Err(wrong("there are no tickets to keep; leave the `fault` `tickets_kept` out".to_owned()));
    }
    Ok(Box::new(OverUdp {
        version: params.version,
        client_auth: params.client_auth,
        cookie: params.cookie,
        initial_timer: Duration::from_nanos(timer_ns as u64),
        fault: params.fault,
        buffers: Buffers::new(params.send_buffer_bytes, params.receive_buffer_bytes)?,
        pki: OnceLock::new(),
    }))
}

impl OverUdp {
    fn pki(&self, session: &Session) -> Result<&Pki, Failure> {
        let pki = self.pki.get_or_init(|| Pki::new(session.ctx.destination.ip(), self.fault));
        pki.as_ref().map_err(Clone::clone)
    }

    /// Most bytes of a datagram from one address to the other.
    ///
    /// # Errors
    /// A sentence: messages of this size do not fit, or there is no way.
    fn longest_datagram_bytes(
        &self,
        from: SocketAddr,
        to: SocketAddr,
        message_bytes: u32,
    ) -> Result<usize, Failure> {
        let longest = longest_payload_bytes(NAME, from, to)?.saturating_sub(UDP_HEADER_BYTES);
        let record_bytes = match self.version {
            Version::Dtls12 => RECORD_BYTES_12,
            Version::Dtls13 => RECORD_BYTES_13,
        };
        let room = longest.saturating_sub(record_bytes);
        if message_bytes as usize > room {
            return Err(Failure::new(format!(
                "a message of {message_bytes} bytes is too long for DTLS on this path, where a datagram has room for \
                 {room}; choose a smaller `message_size_bytes`"
            )));
        }
        Ok(longest)
    }

    /// An end that has said nothing yet, in the receiver's role.
    fn end(
        &self,
        credentials: &TlsCredentials<'_>,
        datagram_bytes: usize,
        now: std::time::Instant,
    ) -> Result<Dtls, Failure> {
        let config = Config::builder()
            .with_crypto_provider(rust_crypto::default_provider())
            .mtu(datagram_bytes)
            .max_queue_rx(EARLY_DATAGRAMS)
            .require_client_certificate(credentials.demands)
            .use_server_cookie(self.cookie)
            .flight_start_rto(self.initial_timer)
            .handshake_timeout(self.initial_timer.saturating_mul(HANDSHAKE_TIMERS))
            .build()
            .map_err(|error| Failure::new(format!("the DTLS configuration was refused: {error}")))?;
        let (certificate, key) =
            credentials.own.ok_or_else(|| Failure::new("an end of DTLS has no certificate"))?;
        let own = DtlsCertificate { certificate: certificate.to_vec(), private_key: key.to_vec() };
        Ok(match self.version {
            Version::Dtls12 => Dtls::new_12(Arc::new(config), own, now),
            Version::Dtls13 => Dtls::new_13(Arc::new(config), own, now),
        })
    }
}

impl Stack for OverUdp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn service(&self) -> Service {
        Service::Datagrams
    }

    fn opening(&self) -> Option<Opening> {
        Some(Opening::DTLS)
    }

    fn prepare(&self, session: &Session) -> Result<(), Failure> {
        self.pki(session).map(drop)
    }

    fn listen(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let (own, peer) = (session.ctx.destination, session.ctx.source);
        let pki = self.pki(session)?;
        let datagram_bytes = self.longest_datagram_bytes(own, peer, message_bytes)?;
        let wire = Wire::bound(session, own, peer, self.buffers)?;
        let engine = Engine::new(session, wire, Trust::OfReceiver(pki.client_verifier()?), |now| {
            self.end(&pki.server_credentials(self.client_auth), datagram_bytes, now)
        })?;
        Ok(Box::new(DtlsListener { engine: Some(engine) }))
    }

    fn connect(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let (own, peer) = (session.ctx.source, session.ctx.destination);
        let pki = self.pki(session)?;
        let datagram_bytes = self.longest_datagram_bytes(own, peer, message_bytes)?;
        let wire = Wire::connected(session, own, self.buffers)?;
        let mut engine = Engine::new(session, wire, Trust::OfSender(pki.server_verifier()?), |now| {
            // It is shown to a receiver that asks for it.
            let mut end = self.end(&pki.client_credentials(true), datagram_bytes, now)?;
            end.set_active(true);
            Ok(end)
        })?;
        engine.shake_hands(&format!("{peer} did not complete the DTLS handshake"))?;
        Ok(Box::new(DtlsConnection::new(engine)))
    }
}

struct DtlsListener {
    engine: Option<Engine>,
}

impl Listener for DtlsListener {
    fn accept(&mut self) -> Result<Box<dyn Connection>, Failure> {
        let mut engine = self
            .engine
            .take()
            .ok_or_else(|| Failure::new("a receiver of DTLS serves one flow and was asked for a second"))?;
        engine.shake_hands("nobody completed a DTLS handshake with the receiver")?;
        Ok(Box::new(DtlsConnection::new(engine)))
    }
}

#[cfg(test)]
mod tests;
