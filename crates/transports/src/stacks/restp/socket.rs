//! The sockets below a ResTP endpoint, one for each address of this side: UDP, or raw IP protocol 253.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use restp_proto::wire::IP_PROTOCOL;
use restp_proto::{Ecn, Encapsulation, PathAddr, Transmit};
use socket2::{Protocol, Socket, Type};

use crate::error::{Failure, OrFailure};
use crate::kernel::path_mtu::{IP_HEADER_BYTES, UDP_HEADER_BYTES, longest_payload_bytes};
use crate::kernel::socket;
use crate::sys::batch::{self, RecvBatch};
use crate::sys::options;

/// Largest payload of UDP over IPv4.
const LONGEST_PACKET_BYTES: usize = 65_507;

/// One socket.
pub(super) struct Outer {
    socket: Socket,
    local: SocketAddr,
    encapsulation: Encapsulation,
    /// The inner port of this side (0: several): a raw socket sees the packets of every flow of its node.
    inner_port: u16,
    /// The ECN field that the socket writes at present.
    mark: Ecn,
}

impl Outer {
    /// Opens a socket at `at`, whose port is also the inner port.
    pub(super) fn open(encapsulation: Encapsulation, at: SocketAddr) -> Result<Self, Failure> {
        let (kind, protocol) = match encapsulation {
            Encapsulation::Udp => (Type::DGRAM, Protocol::UDP),
            Encapsulation::RawIp => (Type::RAW, Protocol::from(i32::from(IP_PROTOCOL))),
            other => return Err(Failure::new(format!("there is no socket for ResTP over {other:?}"))),
        };
        let local = outer_address(encapsulation, at);
        let socket = socket::open("restp", kind, Some(protocol), local)?;
        let told = if at.is_ipv4() { socket.set_recv_tos_v4(true) } else { socket.set_recv_tclass_v6(true) };
        told.or_failure("the ECN field of arriving packets could not be asked for")?;
        options::enable(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS)
            .or_failure("stamps of arriving packets could not be asked for")?;
        Ok(Self { socket, local, encapsulation, inner_port: at.port(), mark: Ecn::NotEct })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Its address as the protocol knows it.
    pub(super) fn local(&self) -> SocketAddr {
        self.local
    }

    /// Takes what has arrived and passes each packet on, with the kernel's stamp.
    pub(super) fn receive(
        &self,
        batch: &mut RecvBatch,
        mut take: impl FnMut(PathAddr, Ecn, &[u8], Option<i64>),
    ) -> Result<(), Failure> {
        loop {
            let count = match batch.receive(self.fd(), batch.capacity(), libc::MSG_DONTWAIT) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                Err(error) => return Err(Failure::system("receiving ResTP packets failed", &error)),
            };
            for index in 0..count {
                let packet = batch.message(index);
                let Some(from) = packet.from else { continue };
                let payload = match (self.encapsulation, self.local) {
                    // Raw IPv4 sockets show the IP header.
                    (Encapsulation::RawIp, SocketAddr::V4(_)) => {
                        let words = usize::from(packet.bytes.first().copied().unwrap_or(0) & 15);
                        packet.bytes.get(words * 4..).unwrap_or_default()
                    }
                    _ => packet.bytes,
                };
                if !self.is_mine(payload) {
                    continue;
                }
                let path = PathAddr { local: self.local, remote: outer_address(self.encapsulation, from) };
                take(path, Ecn::from_bits(packet.traffic_class), payload, packet.realtime_ns);
            }
            if count < batch.capacity() {
                return Ok(());
            }
        }
    }

    /// Whether a packet belongs to this endpoint.
    fn is_mine(&self, payload: &[u8]) -> bool {
        self.encapsulation == Encapsulation::Udp
            || self.inner_port == 0
            || inner_port(payload) == Some(self.inner_port)
    }

    /// Sends the packets of `transmit`, which stand in `bytes`.
    pub(super) fn send(&mut self, transmit: &Transmit, bytes: &[u8]) -> Result<(), Failure> {
        if transmit.ecn != self.mark {
            let class = u32::from(transmit.ecn.bits());
            let set = if self.local.is_ipv4() {
                self.socket.set_tos_v4(class)
            } else {
                self.socket.set_tclass_v6(class)
            };
            set.or_failure("the ECN field of packets could not be set")?;
            self.mark = transmit.ecn;
        }
        // A packet that the kernel refuses (no route at the moment, a full queue) is a lost packet.
        let _ = batch::send_to(self.fd(), transmit.path.remote, bytes, transmit.segment_size.max(1));
        Ok(())
    }
}

/// An address as the protocol writes it: over raw IP there is no port outside.
pub(super) fn outer_address(encapsulation: Encapsulation, address: SocketAddr) -> SocketAddr {
    if encapsulation == Encapsulation::RawIp { SocketAddr::new(address.ip(), 0) } else { address }
}

/// The destination port in the base header of a ResTP packet: bytes 10 and 11.
fn inner_port(packet: &[u8]) -> Option<u16> {
    packet.get(10..12).map(|port| u16::from_be_bytes([port[0], port[1]]))
}

/// Largest ResTP packet that the kernel sends from one address to the other without cutting it.
pub(super) fn longest_packet_bytes(
    encapsulation: Encapsulation,
    from: SocketAddr,
    to: SocketAddr,
) -> Result<usize, Failure> {
    let udp_bytes = if encapsulation == Encapsulation::Udp { UDP_HEADER_BYTES } else { 0 };
    Ok(longest_payload_bytes("restp", from, to)?.saturating_sub(udp_bytes))
}

/// Room for the packets of one call.
pub(super) fn receive_batch(packet_bytes: usize) -> RecvBatch {
    RecvBatch::new(RECEIVE_PACKETS, (packet_bytes + IP_HEADER_BYTES.1).min(LONGEST_PACKET_BYTES))
}

/// Packets taken with one call. At the rates of a railway or satellite line one or two are there at a time; a stretch
/// that the receiver missed brings more.
const RECEIVE_PACKETS: usize = 32;
