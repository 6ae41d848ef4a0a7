//! Initial packets: keys that everyone can know (RFC 9001, section 5.2), and whole datagrams with a ClientHello.

use std::sync::Arc;

use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, Keys, Version};
use rustls::{ClientConfig, Side};

use super::packet::{Form, Outgoing};
use super::transport_parameters::Stated;
use super::{ConnectionId, DATAGRAM_OCTETS, frame};

/// Keys of Initial packets, which follow from the first connection ID that the client sent to.
///
/// # Panics
/// Never: rustls has the suite for QUIC.
#[must_use]
pub fn keys(destination: &ConnectionId, side: Side) -> Keys {
    let suite = TLS13_AES_128_GCM_SHA256.tls13().and_then(|suite| suite.quic_suite());
    suite.expect("AES-128-GCM for QUIC").keys(destination.as_slice(), side, Version::V1)
}

/// A ClientHello and the connection ID that it binds itself to: it can begin any number of connections.
///
/// Its key share and random number are the same in all of them, which spares an attacker their making; a server cannot
/// tell, and has the same work with each.
pub struct Hello {
    source: ConnectionId,
    /// In CRYPTO frames, by packet.
    payloads: Vec<Vec<u8>>,
}

impl Hello {
    /// Makes one.
    ///
    /// # Errors
    /// If rustls refuses it.
    pub fn new(
        config: &Arc<ClientConfig>,
        server_name: &ServerName<'static>,
        source: ConnectionId,
    ) -> Result<Self, rustls::Error> {
        let parameters = Stated::default().encode(&source);
        let mut tls =
            ClientConnection::new(Arc::clone(config), Version::V1, server_name.clone(), parameters)?;
        let mut hello = Vec::new();
        let _ = tls.write_hs(&mut hello);
        // Frames of a thousand octets leave room for every header.
        let payloads = hello.chunks(1000).enumerate().map(|(index, chunk)| {
            let mut payload = Vec::with_capacity(DATAGRAM_OCTETS);
            frame::crypto(&mut payload, index as u64 * 1000, chunk);
            payload
        });
        Ok(Self { source, payloads: payloads.collect() })
    }

    /// How many datagrams the ClientHello takes.
    #[must_use]
    pub fn datagrams(&self) -> u64 {
        self.payloads.len() as u64
    }

    /// Appends the packet of this number, padded with PADDING frames so that it has at least `octets`.
    ///
    /// # Errors
    /// If the cipher refuses it, which is never for a packet of a datagram.
    ///
    /// # Panics
    /// If the ClientHello has not as many packets.
    pub fn seal(
        &self,
        out: &mut Vec<u8>,
        destination: ConnectionId,
        number: u64,
        octets: usize,
    ) -> Result<(), rustls::Error> {
        let keys = keys(&destination, Side::Client);
        let packet =
            Outgoing { form: Form::Initial { token: &[] }, destination, source: self.source, number };
        let mut payload = self.payloads[number as usize].clone();
        payload.resize(payload.len().max(octets.saturating_sub(packet.overhead())), 0);
        packet.seal(out, &payload, &*keys.local.header, &*keys.local.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::{Kind, parse, reveal};
    use super::super::varint::Reader;
    use super::*;
    use crate::tls;

    #[test]
    fn a_server_reads_the_client_hello() {
        let config = tls::client(None, "h3").unwrap();
        let source = ConnectionId::of([1; 8]);
        let hello = Hello::new(&config, &"localhost".try_into().unwrap(), source).unwrap();
        assert_eq!(hello.datagrams(), 1);
        let destination = ConnectionId::of([2; 8]);
        let mut datagram = Vec::new();
        hello.seal(&mut datagram, destination, 0, DATAGRAM_OCTETS).unwrap();
        assert_eq!(datagram.len(), DATAGRAM_OCTETS);

        let header = parse(&datagram, 8).unwrap();
        assert_eq!((header.kind, header.source, header.destination), (Kind::Initial, source, destination));
        let server = keys(&destination, Side::Server);
        let revealed = reveal(&mut datagram, header.number_at, &*server.remote.header, 0).unwrap();
        let (associated, body) = datagram.split_at_mut(revealed.body_at);
        let plain = server.remote.packet.decrypt_in_place(revealed.number, associated, body).unwrap();
        let mut reader = Reader::new(plain);
        let Some(frame::Frame::Crypto { offset: 0, data }) = frame::read(&mut reader) else {
            panic!("no CRYPTO")
        };
        // A handshake message of type ClientHello, as long as it says.
        assert_eq!((data[0], (usize::from(data[2]) << 8) | usize::from(data[3])), (1, data.len() - 4));
        assert!(data.windows(9).any(|window| window == b"localhost"));
        assert!(reader.rest().iter().all(|octet| *octet == 0), "PADDING alone behind it");
    }
}
