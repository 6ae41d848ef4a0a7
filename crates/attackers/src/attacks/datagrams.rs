//! Datagrams whose answers are not read, from each source address by a socket of its own.

use std::io;

use tokio::net::UdpSocket;

use crate::context::{Context, SetupError};
use crate::guard;
use crate::outcome::Outcome;
use crate::quic_wire::ConnectionId;
use crate::quic_wire::initial::Hello;

/// ClientHellos that are made before the first start and used in turn.
const HELLOS: u64 = 64;

/// As little as the kernel lets a receive buffer be: answers that nobody reads.
pub const UNREAD: usize = 1;

/// A socket for each source address.
pub struct Senders {
    sockets: Vec<UdpSocket>,
}

impl Senders {
    /// Of all sources of the run. What the kernel keeps of answers is as little as it lets, or `receive_octets`.
    ///
    /// # Errors
    /// If the machine has not as many sockets.
    pub fn new(context: &Context, receive_octets: usize) -> Result<Self, SetupError> {
        let sockets = (0..context.sources.count())
            .map(|index| guard::udp(context.sources.at(index), context.target, Some(receive_octets)))
            .collect::<io::Result<_>>()?;
        Ok(Self { sockets })
    }

    /// The socket of this source.
    pub fn socket(&self, source: u32) -> &UdpSocket {
        &self.sockets[source as usize]
    }

    /// Sends a datagram from this source.
    ///
    /// # Errors
    /// If nobody listens there, or the machine does not take it.
    pub fn send(&self, context: &Context, source: u32, datagram: &[u8]) -> Result<(), Outcome> {
        let octets = match guard::send(self.socket(source), datagram) {
            // Its buffer is full, which is a lack of this machine.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(Outcome::Local),
            other => other?,
        };
        context.tally.bytes_out(octets);
        Ok(())
    }
}

/// ClientHellos in turn, so that starts cost their maker little.
pub struct Hellos {
    hellos: Vec<Hello>,
}

impl Hellos {
    /// As many as are used in turn.
    ///
    /// # Errors
    /// If rustls refuses them.
    pub fn new(context: &Context) -> Result<Self, SetupError> {
        let hellos = (0..HELLOS)
            .map(|_| Hello::new(&context.tls, &context.server_name, ConnectionId::of(context.random())))
            .collect::<Result<_, _>>()
            .map_err(|error| SetupError::Tls(error.into()))?;
        Ok(Self { hellos })
    }

    /// The one for the start of this number.
    pub fn at(&self, number: u64) -> &Hello {
        &self.hellos[(number % HELLOS) as usize]
    }
}
