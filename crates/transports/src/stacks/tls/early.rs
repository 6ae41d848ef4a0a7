//! Early data of TLS 1.3 (0-RTT; RFC 8446, section 2.3): a sender that holds a ticket sends with its first flight.

use std::io::{Read, Write};

use rustls::Connection as Tls;

use crate::error::{Failure, OrFailure};

/// The early data of one end.
#[derive(Default)]
pub(super) struct EarlyData {
    /// What the sender sent early: it is sent once more when the receiver refuses it.
    sent: Vec<u8>,
    /// What the receiver got early, with the instants of its arrival.
    arrived: Vec<(Vec<u8>, i64)>,
}

impl EarlyData {
    /// Whether this end may send before the handshake is over.
    pub(super) fn possible(tls: &mut Tls) -> bool {
        match tls {
            Tls::Client(client) => client.early_data().is_some(),
            Tls::Server(_) => false,
        }
    }

    /// Puts as much of `block` into records as may still go early; returns how much.
    pub(super) fn offer(&mut self, tls: &mut Tls, block: &[u8]) -> Result<usize, Failure> {
        let Tls::Client(client) = tls else { return Ok(0) };
        let Some(mut writer) = client.early_data() else { return Ok(0) };
        let most = block.len().min(writer.bytes_left());
        writer.write_all(&block[..most]).or_failure("TLS did not take what was to be sent early")?;
        self.sent.extend_from_slice(&block[..most]);
        Ok(most)
    }

    /// Once the handshake is over: what was sent early and has to be sent again, because the receiver refused it.
    pub(super) fn refused(&mut self, tls: &Tls) -> Vec<u8> {
        let sent = std::mem::take(&mut self.sent);
        match tls {
            Tls::Client(client) if !client.is_early_data_accepted() => sent,
            _ => Vec::new(),
        }
    }

    /// Keeps what arrived early, at `t_ns`, until the application asks for it.
    pub(super) fn collect(&mut self, tls: &mut Tls, t_ns: i64) -> Result<(), Failure> {
        let Tls::Server(server) = tls else { return Ok(()) };
        let Some(mut reader) = server.early_data() else { return Ok(()) };
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).or_failure("early data could not be read")?;
        if !bytes.is_empty() {
            self.arrived.push((bytes, t_ns));
        }
        Ok(())
    }

    /// What arrived early, in order.
    pub(super) fn take_arrived(&mut self) -> Vec<(Vec<u8>, i64)> {
        std::mem::take(&mut self.arrived)
    }
}
