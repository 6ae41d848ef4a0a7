//! The gate to the network: addresses of the loopback interface, and sockets that lead nowhere else. Addresses are forged
//! only where no other interface is up.
//!
//! No other file of this crate makes a socket.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::str::FromStr;

use nix::ifaddrs::getifaddrs;
use nix::libc;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, SockFilter, SockRef, Socket, Type};
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

/// The first of the addresses that are forged: 198.18.0.0/15, kept for tests of network devices and nobody's on the
/// Internet (RFC 2544, section C.2.2; RFC 6890).
pub const NOBODY: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
/// How many there are.
pub const NOBODYS: u32 = 1 << 17;

/// Why no address is forged.
#[derive(Debug, thiserror::Error)]
pub enum NotForged {
    /// Something may lead out of here.
    #[error(
        "addresses are forged only in a network namespace in which no interface but loopback is up, and here {0} is: \
         `unshare --user --map-root-user --net` makes one"
    )]
    Interface(String),
    /// The server's address is of IPv6.
    #[error("addresses of IPv4 are forged, and {0} is none")]
    Ipv6(IpAddr),
    /// The server's answers would not leave it.
    #[error(
        "no route leads to the forged addresses, so the server could not answer them: `ip route add 198.18.0.0/15 dev lo`"
    )]
    NoRoute,
    /// The machine refuses a raw socket.
    #[error("there is no raw socket for forged addresses, which root of the namespace may have: {0}")]
    Io(#[from] io::Error),
}

/// A socket for packets of IPv4 that say themselves where they come from. It leads to the loopback interface and nowhere
/// else, and hears nothing.
pub struct Forger {
    socket: Socket,
    to: SocketAddrV4,
}

impl Forger {
    /// To this server, where no interface but loopback is up.
    ///
    /// # Errors
    /// If another one is, if the answers would have no way, or if the machine refuses it.
    pub fn new(to: Loopback) -> Result<Self, NotForged> {
        let SocketAddr::V4(to) = to.0 else { return Err(NotForged::Ipv6(to.0.ip())) };
        let interfaces = getifaddrs().map_err(io::Error::from)?;
        if let Some(name) = way_out(interfaces.map(|it| (it.interface_name, it.flags))) {
            return Err(NotForged::Interface(name));
        }
        // Connecting asks for the route and sends nothing.
        let asking = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
        asking.connect(&SocketAddrV4::new(NOBODY, to.port()).into()).map_err(|_| NotForged::NoRoute)?;
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(libc::IPPROTO_RAW)))?;
        // An interface that comes up later is no way out either.
        socket.bind_device(Some(b"lo"))?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, to })
    }

    /// The server.
    #[must_use]
    pub fn to(&self) -> SocketAddrV4 {
        self.to
    }

    /// Sends a packet with its header; the kernel puts in length and checksum of the header.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn send(&self, packet: &[u8]) -> io::Result<usize> {
        self.socket.send_to(packet, &self.to.into())
    }
}

/// The first interface that is up and not loopback. Those that are down, as tunnels in a new namespace are, lead nowhere.
fn way_out(interfaces: impl IntoIterator<Item = (String, InterfaceFlags)>) -> Option<String> {
    let leads = |flags: &InterfaceFlags| {
        flags.contains(InterfaceFlags::IFF_UP) && !flags.contains(InterfaceFlags::IFF_LOOPBACK)
    };
    interfaces.into_iter().find(|(_, flags)| leads(flags)).map(|(name, _)| name)
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

    #[test]
    fn an_interface_that_is_up_is_a_way_out() {
        let loopback = ("lo".to_owned(), InterfaceFlags::IFF_UP | InterfaceFlags::IFF_LOOPBACK);
        let down = ("sit0".to_owned(), InterfaceFlags::IFF_NOARP);
        // A name says nothing.
        let up = ("lo0".to_owned(), InterfaceFlags::IFF_UP | InterfaceFlags::IFF_BROADCAST);
        assert_eq!(way_out([]), None);
        assert_eq!(way_out([loopback.clone(), down.clone()]), None);
        assert_eq!(way_out([loopback, down, up]).as_deref(), Some("lo0"));
    }

    #[test]
    fn nobody_is_forged_over_ipv6() {
        assert!(matches!(Forger::new("[::1]:9".parse().unwrap()), Err(NotForged::Ipv6(_))));
    }
}
