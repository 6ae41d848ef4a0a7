//! UDP encapsulation (specification chapter 4): segmentation offload, coalesced reception, ECN.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, UdpSockRef, UdpSocketState};
use restp_proto::{Ecn, PathAddr, Transmit};
use socket2::{Domain, Protocol, Type};
use tokio::io::Interest;

use super::parts::{MAX_DATAGRAM_BYTES, ReceiveBuffer, SocketOptions, Train, enlarge_buffers, family_of};
use super::reports;
use crate::error::Error;

/// Bytes that make a buffer worth lending: half of it.
const LENT_BYTES: usize = MAX_DATAGRAM_BYTES / 2;

/// A UDP socket that knows on which of its addresses a packet arrived.
pub(crate) struct UdpSocket {
    io: tokio::net::UdpSocket,
    state: UdpSocketState,
    bound: SocketAddr,
    offload: bool,
    /// The network has reported something that was not taken yet.
    reported: AtomicBool,
}

impl UdpSocket {
    pub fn bind(address: SocketAddr, options: SocketOptions) -> Result<Self, Error> {
        let open = || -> io::Result<Self> {
            let socket =
                socket2::Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
            if address.is_ipv6() {
                socket.set_only_v6(false)?;
            }
            socket.set_nonblocking(true)?;
            socket.bind(&address.into())?;
            enlarge_buffers(&socket);
            let io = tokio::net::UdpSocket::from_std(socket.into())?;
            let state = UdpSocketState::new(UdpSockRef::from(&io))?;
            let bound = io.local_addr()?;
            state.enable_transport_errors(UdpSockRef::from(&io))?;
            Ok(Self { io, state, bound, offload: options.offload, reported: AtomicBool::new(false) })
        };
        open().map_err(Error::io(format!(
            "cannot bind UDP {address}; choose an address of this host and a free port"
        )))
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.bound
    }

    pub fn max_segments(&self) -> usize {
        if self.offload { self.state.max_gso_segments() } else { 1 }
    }

    pub fn poll_send(&self, cx: &mut Context<'_>, transmit: &Transmit, bytes: &[u8]) -> Poll<io::Result<()>> {
        let mut again = true;
        loop {
            ready!(self.io.poll_send_ready(cx))?;
            match self.io.try_io(Interest::WRITABLE, || self.send(transmit, bytes)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The system tells of an earlier packet instead of sending this one.
                Err(error) if again && is_from_network(&error) => {
                    self.reported.store(true, Ordering::Relaxed);
                    again = false;
                }
                // A refused packet is a lost packet: too long for the link, no route at the moment, a full queue.
                Ok(()) | Err(_) => return Poll::Ready(Ok(())),
            }
        }
    }

    fn send(&self, transmit: &Transmit, bytes: &[u8]) -> io::Result<()> {
        let whole = quinn_udp::Transmit {
            destination: transmit.path.remote,
            ecn: EcnCodepoint::from_bits(transmit.ecn.bits()),
            contents: bytes,
            segment_size: (transmit.segment_size < bytes.len()).then_some(transmit.segment_size),
            src_ip: Some(transmit.path.local.ip()).filter(|ip| *ip != self.bound.ip()),
        };
        let Some(segment_size) = whole.segment_size else {
            return self.state.try_send(UdpSockRef::from(&self.io), &whole);
        };
        match self.state.try_send(UdpSockRef::from(&self.io), &whole) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            // Not every device can cut segments (EIO, EINVAL). The state remembers it; this train goes one by one.
            Err(_) => {}
        }
        for segment in bytes.chunks(segment_size) {
            let single = quinn_udp::Transmit { contents: segment, segment_size: None, ..whole.clone() };
            // What does not fit now is lost rather than sent twice.
            let _ = self.state.try_send(UdpSockRef::from(&self.io), &single);
        }
        Ok(())
    }

    pub fn receive_buffer(&self) -> ReceiveBuffer {
        // With coalescing one read may bring 64 kB.
        ReceiveBuffer::new(BATCH_SIZE, MAX_DATAGRAM_BYTES + 28)
    }

    pub fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut ReceiveBuffer,
        mut take: impl FnMut(Train<'_>),
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.io.poll_recv_ready(cx))?;
            let mut metas = [RecvMeta::default(); BATCH_SIZE];
            let mut slots = buffer.slots.iter_mut();
            let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
                std::array::from_fn(|_| IoSliceMut::new(slots.next().map_or(&mut [], |slot| slot)));
            let received = self.io.try_io(Interest::READABLE, || {
                self.state.recv(UdpSockRef::from(&self.io), &mut slices, &mut metas)
            });
            match received {
                Ok(count) => {
                    for (slot, meta) in buffer.slots.iter_mut().zip(&metas).take(count) {
                        let lent =
                            if meta.len < LENT_BYTES { None } else { buffer.pool.lend(slot, meta.len) };
                        take(Train {
                            path: self.path(meta),
                            ecn: meta.ecn.map_or(Ecn::NotEct, |ecn| Ecn::from_bits(ecn as u8)),
                            bytes: lent.as_deref().unwrap_or(&slot[..meta.len]),
                            stride: meta.stride.max(1),
                            lent: lent.clone(),
                        });
                    }
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // An ICMP message about an earlier packet; it proves nothing, so the protocol decides.
                Err(error) if is_from_network(&error) => {
                    self.reported.store(true, Ordering::Relaxed);
                    return Poll::Ready(Ok(()));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    pub fn take_reports(&self, look: bool, take: impl FnMut(SocketAddr, &[u8])) {
        if self.reported.swap(false, Ordering::Relaxed) || look {
            reports::drain(&self.io, take);
        }
    }

    fn path(&self, meta: &RecvMeta) -> PathAddr {
        let local = match meta.dst_ip.map(|ip| family_of(self.bound, ip)) {
            Some(Ok(ip)) if self.bound.ip().is_unspecified() => SocketAddr::new(ip, self.bound.port()),
            _ => self.bound,
        };
        PathAddr { local, remote: meta.addr }
    }
}

/// Errors that the network, not this host, caused.
fn is_from_network(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(error.kind(), Kind::ConnectionRefused | Kind::ConnectionReset | Kind::HostUnreachable)
        || matches!(error.kind(), Kind::NetworkUnreachable)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::os::fd::AsRawFd;

    use nix::libc;
    use restp_proto::Instant;

    use super::*;

    /// Makes the socket send without UDP checksums: then the kernel refuses to segment.
    #[expect(unsafe_code, reason = "no library offers this option")]
    fn without_checksums(socket: &UdpSocket) {
        let on: libc::c_int = 1;
        let length = size_of_val(&on) as libc::socklen_t;
        // SAFETY: the descriptor is open, and the kernel reads `length` bytes of `on`, which lives until the call returns.
        let result = unsafe {
            libc::setsockopt(
                socket.io.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_NO_CHECK,
                (&raw const on).cast(),
                length,
            )
        };
        assert_eq!(result, 0);
    }

    fn bind() -> UdpSocket {
        UdpSocket::bind("127.0.0.1:0".parse().unwrap(), SocketOptions { offload: true }).unwrap()
    }

    async fn send(from: &UdpSocket, to: &UdpSocket, ecn: Ecn, bytes: &[u8], segment_size: usize) {
        let path = PathAddr { local: from.local_addr(), remote: to.local_addr() };
        let release_at = Instant::ZERO;
        let transmit = Transmit { path, ecn, size_bytes: bytes.len(), segment_size, release_at };
        poll_fn(|cx| from.poll_send(cx, &transmit, bytes)).await.unwrap();
    }

    /// Receives `count` datagrams: their contents, and the mark of the last.
    async fn receive(socket: &UdpSocket, count: usize) -> (Vec<Vec<u8>>, Ecn) {
        let (mut datagrams, mut mark) = (Vec::new(), Ecn::NotEct);
        let mut buffer = socket.receive_buffer();
        while datagrams.len() < count {
            let take = |cx: &mut Context<'_>| {
                socket.poll_recv(cx, &mut buffer, |train| {
                    datagrams.extend(train.bytes.chunks(train.stride).map(<[u8]>::to_vec));
                    mark = train.ecn;
                    assert_eq!(train.path.local, socket.local_addr());
                })
            };
            poll_fn(take).await.unwrap();
        }
        (datagrams, mark)
    }

    // R-ENCAP-4
    #[tokio::test]
    async fn congestion_marks_pass_in_both_directions() {
        let (one, other) = (bind(), bind());
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::NotEct] {
            send(&one, &other, ecn, b"marked", 6).await;
            assert_eq!(receive(&other, 1).await, (vec![b"marked".to_vec()], ecn));
        }
    }

    #[tokio::test]
    async fn a_train_arrives_as_packets_with_and_without_segmentation() {
        let content: Vec<u8> = (0..2500_u32).map(|index| index as u8).collect();
        let packets: Vec<Vec<u8>> = content.chunks(1000).map(<[u8]>::to_vec).collect();
        let (one, other) = (bind(), bind());
        send(&one, &other, Ecn::NotEct, &content, 1000).await;
        assert_eq!(receive(&other, 3).await.0, packets);

        without_checksums(&one);
        send(&one, &other, Ecn::NotEct, &content, 1000).await;
        assert_eq!(receive(&other, 3).await.0, packets);
        assert_eq!(one.max_segments(), 1, "the refusal must be remembered");
    }
}
