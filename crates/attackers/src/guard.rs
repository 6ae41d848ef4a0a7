//! The gate to the network: addresses of the loopback interface, and sockets that lead nowhere else.
//!
//! No other file of this crate makes a socket.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use nix::libc;
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, SockFilter, SockRef, Socket, Type};
use tokio::net::{TcpSocket, TcpStream, UdpSocket};

/// An address and port of this machine's loopback interface: of 127.0.0.0/8, or `::1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Loopback(SocketAddr);

/// Why an address is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is not of loopback.
    #[error(
        "{0} is not an address of loopback (127.0.0.0/8 or ::1): this program loads servers on its own machine, and \
         nothing else"
    )]
    Elsewhere(IpAddr),
    /// It is no address with a port. Names are not looked up: what a name leads to is for others to say.
    #[error(
        "{0:?} is not an address with a port, such as 127.0.0.1:4433 or [::1]:4433 (names are not looked up)"
    )]
    NotAnAddress(String),
    /// Port 0 is nobody's.
    #[error("port 0 is no server's")]
    NoPort,
}

impl Loopback {
    /// Takes an address if it is of loopback.
    ///
    /// # Errors
    /// If it is another's, or has port 0.
    pub fn new(address: SocketAddr) -> Result<Self, Refused> {
        if !is_loopback(address.ip()) {
            return Err(Refused::Elsewhere(address.ip()));
        }
        if address.port() == 0 {
            return Err(Refused::NoPort);
        }
        Ok(Self(address))
    }

    /// The address and port.
    #[must_use]
    pub fn address(self) -> SocketAddr {
        self.0
    }
}

impl FromStr for Loopback {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        Self::new(text.parse().map_err(|_| Refused::NotAnAddress(text.to_owned()))?)
    }
}

/// Of 127.0.0.0/8, or `::1`; an IPv4 address inside an IPv6 one (`::ffff:127.0.0.1`) is not.
#[must_use]
pub fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[0] == 127,
        IpAddr::V6(address) => address.octets() == std::net::Ipv6Addr::LOCALHOST.octets(),
    }
}

fn source(address: IpAddr) -> io::Result<SocketAddr> {
    if is_loopback(address) {
        return Ok(SocketAddr::new(address, 0));
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, Refused::Elsewhere(address)))
}

/// A TCP connection from an address of loopback.
///
/// `receive_octets` bounds the receive buffer, and with it the window; the kernel's default without.
///
/// # Errors
/// What the kernel says, such as that nobody listens.
pub async fn connect(from: IpAddr, to: Loopback, receive_octets: Option<u32>) -> io::Result<TcpStream> {
    let from = source(from)?;
    let socket = if from.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if from.is_ipv4() {
        // Else bind() takes a port for itself, and 28,000 connections are the most that an address has.
        setsockopt(&socket, sockopt::IpBindAddressNoPort, &true)?;
    }
    if let Some(octets) = receive_octets {
        socket.set_recv_buffer_size(octets)?;
    }
    socket.bind(from)?;
    let stream = socket.connect(to.0).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A UDP socket from an address of loopback that sends to one server and hears only that.
///
/// `receive_octets` bounds what waits to be read; the kernel's default without.
///
/// # Errors
/// What the kernel says.
pub fn udp(from: IpAddr, to: Loopback, receive_octets: Option<usize>) -> io::Result<UdpSocket> {
    let from = source(from)?;
    let socket = Socket::new(Domain::for_address(from), Type::DGRAM, None)?;
    socket.set_nonblocking(true)?;
    if let Some(octets) = receive_octets {
        socket.set_recv_buffer_size(octets)?;
    }
    socket.bind(&from.into())?;
    socket.connect(&to.0.into())?;
    UdpSocket::from_std(socket.into())
}

/// Sends a datagram at once, without asking whether the socket is ready, which a new one is.
///
/// # Errors
/// What the kernel says; of the datagram before this one, if that found nobody.
pub fn send(socket: &UdpSocket, datagram: &[u8]) -> io::Result<usize> {
    SockRef::from(socket).send(datagram)
}

/// Lets a TCP connection hear nothing more: the kernel drops every segment of the server unread, so that it acknowledges
/// none either.
///
/// # Errors
/// What the kernel says.
pub fn deafen(stream: &TcpStream) -> io::Result<()> {
    // The shortest program of the classic packet filter: keep 0 octets.
    const KEEP_NOTHING: SockFilter = SockFilter::new((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, 0);
    SockRef::from(stream).attach_filter(&[KEEP_NOTHING])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_alone_is_taken() {
        for address in ["127.0.0.1:1", "127.255.255.254:65535", "127.9.8.7:4433", "[::1]:443"] {
            assert_eq!(address.parse::<Loopback>().unwrap().address().to_string(), address);
        }
    }

    #[test]
    fn every_other_address_is_refused() {
        let others = [
            "0.0.0.0:443",
            "126.255.255.255:443",
            "128.0.0.1:443",
            "10.0.0.1:443",
            "192.0.2.1:443",
            "255.255.255.255:443",
            "[::]:443",
            "[::2]:443",
            "[fe80::1]:443",
            "[2001:db8::1]:443",
            "[::ffff:127.0.0.1]:443",
            "[::ffff:192.0.2.1]:443",
        ];
        for address in others {
            let refused = address.parse::<Loopback>().unwrap_err();
            assert!(matches!(refused, Refused::Elsewhere(_)), "{address}: {refused}");
        }
    }

    /// What a name leads to is for others to say, so that none is looked up.
    #[test]
    fn names_are_refused() {
        for name in ["localhost:443", "example.org:443", "127.0.0.1", ""] {
            assert_eq!(name.parse::<Loopback>(), Err(Refused::NotAnAddress(name.to_owned())));
        }
        assert_eq!("127.0.0.1:0".parse::<Loopback>(), Err(Refused::NoPort));
    }

    #[tokio::test]
    async fn no_socket_is_bound_elsewhere() {
        let to = "127.0.0.1:9".parse().unwrap();
        let elsewhere = "192.0.2.1".parse().unwrap();
        assert_eq!(udp(elsewhere, to, None).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(connect(elsewhere, to, None).await.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[tokio::test]
    async fn sockets_are_bound_to_the_address_asked_for() {
        let to = "127.0.0.1:9".parse().unwrap();
        let socket = udp("127.3.2.1".parse().unwrap(), to, None).unwrap();
        assert_eq!(socket.local_addr().unwrap().ip(), "127.3.2.1".parse::<IpAddr>().unwrap());
    }
}
