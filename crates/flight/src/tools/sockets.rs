//! UDP sockets of which several can be waited for at once.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token};

/// Octets of the longest datagram of UDP.
const LARGEST: usize = 65_535;

/// Sockets, by the order of their addresses.
pub struct Sockets {
    poll: Poll,
    events: Events,
    sockets: Vec<UdpSocket>,
    buffer: Vec<u8>,
}

impl Sockets {
    /// Binds a socket to each address.
    ///
    /// # Errors
    /// If one cannot be bound; the sentence names it.
    pub fn bind(addresses: &[SocketAddr]) -> Result<Self, String> {
        let poll = Poll::new().map_err(|error| format!("sockets cannot be waited for: {error}"))?;
        let mut sockets = Vec::new();
        for (place, address) in addresses.iter().enumerate() {
            let say = |error: io::Error| format!("UDP {address} cannot be bound: {error}");
            let mut socket = UdpSocket::bind(*address).map_err(say)?;
            poll.registry().register(&mut socket, Token(place), Interest::READABLE).map_err(say)?;
            sockets.push(socket);
        }
        Ok(Self { poll, events: Events::with_capacity(8), sockets, buffer: vec![0; LARGEST] })
    }

    /// The address that a socket has.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn local(&self, place: usize) -> Result<SocketAddr, String> {
        self.sockets[place].local_addr().map_err(|error| format!("a socket has no address: {error}"))
    }

    /// Waits until something comes, or for the given time. Whatever came must be received before the next wait: what a
    /// socket still has is not told again.
    ///
    /// # Errors
    /// If the system cannot wait.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<(), String> {
        match self.poll.poll(&mut self.events, timeout) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                Err(format!("sockets cannot be waited for: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// The next datagram that came to a socket, if there is one.
    ///
    /// # Errors
    /// If the socket does not work any more.
    pub fn receive(&mut self, place: usize) -> Result<Option<Vec<u8>>, String> {
        loop {
            match self.sockets[place].recv_from(&mut self.buffer) {
                Ok((octets, _)) => return Ok(Some(self.buffer[..octets].to_vec())),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                // An answer to what was sent before: nobody listened there. The next datagram may come.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(format!("nothing can be received: {error}")),
            }
        }
    }

    /// Sends a datagram.
    ///
    /// # Errors
    /// If it did not leave.
    pub fn send(&self, place: usize, octets: &[u8], to: SocketAddr) -> Result<(), String> {
        match self.sockets[place].send_to(octets, to) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("{} octets did not leave for {to}: {error}", octets.len())),
        }
    }
}
