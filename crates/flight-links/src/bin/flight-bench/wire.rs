//! Sockets on the loopback between both ends, for what the system calls cost.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::time::Instant;

/// What a measurement has of the system.
pub trait System {
    /// The time.
    fn now(&self) -> Instant;
    /// Sends a datagram to space.
    fn send(&mut self, octets: &[u8]) -> io::Result<()>;
    /// Receives what was sent.
    fn receive(&mut self, octets: &mut [u8]) -> io::Result<()>;
}

/// From ground to space.
pub enum Wire {
    /// A datagram for each.
    Datagrams(UdpSocket, UdpSocket),
    /// A byte stream.
    Stream(TcpStream, TcpStream),
}

impl Wire {
    /// Sockets on free ports.
    pub fn new(stream: bool) -> io::Result<Self> {
        let any = (Ipv4Addr::LOCALHOST, 0);
        if stream {
            let listener = TcpListener::bind(any)?;
            let ground = TcpStream::connect(listener.local_addr()?)?;
            ground.set_nodelay(true)?;
            return Ok(Self::Stream(ground, listener.accept()?.0));
        }
        let (ground, space) = (UdpSocket::bind(any)?, UdpSocket::bind(any)?);
        ground.connect(space.local_addr()?)?;
        space.connect(ground.local_addr()?)?;
        Ok(Self::Datagrams(ground, space))
    }
}

impl System for Wire {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn send(&mut self, octets: &[u8]) -> io::Result<()> {
        match self {
            Self::Datagrams(ground, _) => ground.send(octets).map(drop),
            Self::Stream(ground, _) => ground.write_all(octets),
        }
    }

    fn receive(&mut self, octets: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Datagrams(_, space) => space.recv(octets).map(drop),
            Self::Stream(_, space) => space.read_exact(octets),
        }
    }
}
