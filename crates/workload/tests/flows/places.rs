//! Addresses and ports of the loopback interface that nobody else uses.
//!
//! A port that was found free may be another program's by the time it is bound: the kernel hands out ephemeral ports all
//! the time. So each test program has loopback addresses of its own (127.0.0.0/8 has millions), claimed for as long as it
//! lives, and counts through ports that the kernel hands to nobody by itself. That needs no rights and no namespaces.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixDatagram};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{LazyLock, OnceLock};

/// Consecutive addresses that belong to one test program.
const ADDRESSES: u32 = 4;
/// Test programs that can be told apart: they share the addresses from 127.192.0.0 on.
const BLOCKS: u32 = (1 << 20) - 1;
const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 192, 0, 0);

/// Addresses that no other test program has, until this is dropped.
struct Claim {
    first: u32,
    /// Its name is the claim: like an address, a name may be bound once in a network namespace.
    _socket: UnixDatagram,
}

impl Claim {
    fn new() -> Self {
        let process = std::process::id();
        for block in (0..BLOCKS).map(|step| process.wrapping_add(step) % BLOCKS) {
            let first = u32::from(FIRST_ADDRESS) + block * ADDRESSES;
            let name = format!("gauntlet-test-{}", Ipv4Addr::from(first));
            let name = UnixAddr::from_abstract_name(name).expect("the name is short");
            match UnixDatagram::bind_addr(&name) {
                Ok(socket) => return Self { first, _socket: socket },
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => panic!("no address can be claimed for this test program: {error}"),
            }
        }
        panic!("all {BLOCKS} blocks of loopback addresses for tests are claimed");
    }
}

/// One of the addresses of this test program: 0 is the one at which flows begin and end.
pub fn own_address(number: u32) -> Ipv4Addr {
    static OWN: LazyLock<Claim> = LazyLock::new(Claim::new);
    assert!(number < ADDRESSES, "a test program has {ADDRESSES} addresses");
    Ipv4Addr::from(OWN.first + number)
}

/// The first of the ports that are counted through: below those that the kernel hands out.
fn first_port() -> u16 {
    // Where nothing worth mentioning lies below them, only a datagram socket at all addresses could be in the way.
    const OTHERWISE: u16 = 20_000;
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let lowest = range.ok().and_then(|text| text.split_whitespace().next()?.parse::<u16>().ok());
    lowest.filter(|lowest| *lowest >= 8192).map_or(OTHERWISE, |lowest| lowest / 2)
}

/// A place that no other flow of this program is given, with a port at which no service of this host listens.
pub fn free_place() -> SocketAddr {
    static NEXT: OnceLock<AtomicU16> = OnceLock::new();
    let next = NEXT.get_or_init(|| AtomicU16::new(first_port()));
    loop {
        let place = SocketAddr::from((own_address(0), next.fetch_add(1, Ordering::Relaxed)));
        // A service at all addresses is at this one too.
        if TcpListener::bind(place).is_ok() && UdpSocket::bind(place).is_ok() {
            return place;
        }
    }
}

#[test]
fn test_programs_share_no_address() {
    let (one, other) = (Claim::new(), Claim::new());
    for claim in [&one, &other] {
        assert!(claim.first.abs_diff(u32::from(own_address(0))) >= ADDRESSES);
    }
    assert!(one.first.abs_diff(other.first) >= ADDRESSES);
}

#[test]
fn a_place_stays_free_while_the_kernel_hands_out_ports() {
    // Under the usual limit of 1,024 descriptors, and enough of the 28,232 ports to meet one of the places if they were
    // among them.
    const OTHERS: usize = 250;
    let places: Vec<_> = (0..2 * OTHERS).map(|_| free_place()).collect();
    let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let taken: Vec<_> = (0..OTHERS)
        .map(|_| (TcpListener::bind(everywhere), UdpSocket::bind(everywhere)))
        .map(|(stream, datagrams)| (stream.expect("a port is left"), datagrams.expect("a port is left")))
        .collect();
    for place in places {
        TcpListener::bind(place)
            .and(UdpSocket::bind(place))
            .unwrap_or_else(|error| panic!("{place}: {error}"));
    }
    drop(taken);
}
