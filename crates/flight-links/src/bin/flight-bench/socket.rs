//! A socket of the loopback of one end, whose other end is in another process.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

/// How long what was sent may take to come: far more than it takes on a machine that works.
const PATIENCE: Duration = Duration::from_secs(60);

/// One end's.
pub enum Socket {
    /// A datagram for each; where it goes is known once something has come.
    Datagrams(UdpSocket),
    /// A byte stream to come.
    Listens(TcpListener),
    /// A byte stream.
    Stream(TcpStream),
}

impl Socket {
    /// On a free port: to an address, or waiting for whoever comes.
    pub fn new(stream: bool, to: Option<SocketAddr>) -> io::Result<Self> {
        let any = (Ipv4Addr::LOCALHOST, 0);
        match (stream, to) {
            (false, to) => {
                let socket = UdpSocket::bind(any)?;
                socket.set_read_timeout(Some(PATIENCE))?;
                if let Some(to) = to {
                    socket.connect(to)?;
                }
                Ok(Self::Datagrams(socket))
            }
            (true, None) => Ok(Self::Listens(TcpListener::bind(any)?)),
            (true, Some(to)) => Ok(Self::Stream(ready(TcpStream::connect(to)?)?)),
        }
    }

    /// Its own address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Datagrams(socket) => socket.local_addr(),
            Self::Listens(listener) => listener.local_addr(),
            Self::Stream(stream) => stream.local_addr(),
        }
    }

    /// The other end's; none before something has come from there.
    pub fn peer(&self) -> Option<SocketAddr> {
        match self {
            Self::Datagrams(socket) => socket.peer_addr().ok(),
            Self::Listens(_) => None,
            Self::Stream(stream) => stream.peer_addr().ok(),
        }
    }

    /// Sends a datagram.
    pub fn send(&mut self, octets: &[u8]) -> Result<(), String> {
        let sent = match self {
            Self::Datagrams(socket) => socket.send(octets).map(drop),
            Self::Listens(_) => Err(io::ErrorKind::NotConnected.into()),
            Self::Stream(stream) => stream.write_all(octets),
        };
        sent.map_err(|error| format!("nothing can be sent: {error}"))
    }

    /// Receives datagrams of these lengths, which were sent.
    pub fn receive(&mut self, lengths: &[usize]) -> Result<Vec<Vec<u8>>, String> {
        lengths.iter().map(|&length| self.receive_one(length)).collect()
    }

    fn receive_one(&mut self, length: usize) -> Result<Vec<u8>, String> {
        let failed = |error: io::Error| format!("{length} octets that were sent cannot be received: {error}");
        if let Self::Listens(listener) = self {
            let (stream, _) = listener.accept().map_err(failed)?;
            *self = Self::Stream(ready(stream).map_err(failed)?);
        }
        let mut octets = vec![0; length];
        match self {
            Self::Datagrams(socket) => {
                octets.push(0);
                let (came, from) = socket.recv_from(&mut octets).map_err(failed)?;
                if came != length {
                    return Err(format!("a datagram of {length} octets was sent and one of {came} came"));
                }
                socket.connect(from).map_err(failed)?;
                octets.truncate(length);
            }
            Self::Listens(_) => return Err(failed(io::ErrorKind::NotConnected.into())),
            Self::Stream(stream) => stream.read_exact(&mut octets).map_err(failed)?,
        }
        Ok(octets)
    }
}

fn ready(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}
