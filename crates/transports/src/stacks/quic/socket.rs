//! The UDP socket under a QUIC endpoint: many datagrams in a system call, ECN, segmentation in the kernel.

use std::io::{ErrorKind, IoSliceMut};
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::{Protocol, Type};

use crate::error::{Failure, OrFailure};
use crate::kernel::socket;
use crate::session::{Guarded, Session};

/// Most datagrams in one call of a sender: what quinn's own loop hands over at once (its MAX_TRANSMIT_SEGMENTS).
const SEGMENTS: usize = 10;

/// Segmented datagrams that one call takes from the kernel. In a guest the buffer is there as a whole from the beginning
/// (the player locks its memory), so that it counts for each of a flow's sessions: 0.4 MB and not the 3 MB of quinn's 32.
const SLOTS: usize = 4;

/// A datagram that arrived.
pub(super) struct Datagram {
    pub(super) from: SocketAddr,
    /// The ECN field of its IP header (RFC 3168).
    pub(super) ecn: u8,
    pub(super) bytes: BytesMut,
}

/// Datagrams that leave together: all as long as the first, but perhaps the last.
pub(super) struct Batch<'a> {
    pub(super) to: SocketAddr,
    pub(super) ecn: u8,
    pub(super) segment_bytes: usize,
    pub(super) bytes: &'a [u8],
}

/// A bound socket that does not block.
pub(super) struct UdpSocket {
    socket: Arc<Guarded>,
    state: UdpSocketState,
    /// One slot after the other, each as long as the kernel may fill at once.
    buffer: Vec<u8>,
    /// What the kernel had no room for.
    unsent: Option<Unsent>,
    sent_datagrams: u64,
}

struct Unsent {
    to: SocketAddr,
    ecn: u8,
    segment_bytes: usize,
    bytes: Vec<u8>,
}

impl UdpSocket {
    /// Binds `at`; no datagram that comes is longer than `longest_bytes`.
    pub(super) fn open(
        name: &str,
        session: &Arc<Session>,
        at: SocketAddr,
        longest_bytes: usize,
    ) -> Result<Self, Failure> {
        let socket = socket::open(name, Type::DGRAM, Some(Protocol::UDP), at)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))
            .or_failure("a UDP socket could not be set up for QUIC")?;
        let slot_bytes = longest_bytes * state.gro_segments();
        let socket = Arc::new(Guarded::new(socket, session)?);
        Ok(Self { socket, state, buffer: vec![0; slot_bytes * SLOTS], unsent: None, sent_datagrams: 0 })
    }

    /// The socket, to wait for.
    pub(super) fn guarded(&self) -> Arc<Guarded> {
        Arc::clone(&self.socket)
    }

    /// Datagrams that one batch may hold.
    pub(super) fn segments(&self) -> usize {
        self.state.max_gso_segments().min(SEGMENTS)
    }

    /// Whether the kernel takes more: tries what it had no room for again.
    pub(super) fn has_room(&mut self) -> bool {
        if let Some(Unsent { to, ecn, segment_bytes, bytes }) = self.unsent.take() {
            self.send(&Batch { to, ecn, segment_bytes, bytes: &bytes });
        }
        self.unsent.is_none()
    }

    /// Datagrams that were handed to the kernel so far.
    pub(super) fn sent_datagrams(&self) -> u64 {
        self.sent_datagrams
    }

    /// Whether something waits for room in the kernel.
    pub(super) fn is_full(&self) -> bool {
        self.unsent.is_some()
    }

    /// Hands a batch to the kernel, or keeps it until there is room. What the kernel refuses for another reason counts as
    /// lost on the way, as QUIC does.
    pub(super) fn send(&mut self, batch: &Batch<'_>) {
        let Batch { to, ecn, segment_bytes, bytes } = *batch;
        let transmit = Transmit {
            destination: to,
            ecn: EcnCodepoint::from_bits(ecn),
            contents: bytes,
            segment_size: (bytes.len() > segment_bytes).then_some(segment_bytes),
            src_ip: None,
        };
        match self.state.try_send(UdpSockRef::from(&**self.socket), &transmit) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.unsent = Some(Unsent { to, ecn, segment_bytes, bytes: bytes.to_vec() });
            }
            _ => self.sent_datagrams += bytes.len().div_ceil(segment_bytes.max(1)) as u64,
        }
    }

    /// Adds everything that waits to `inbox`, and returns when the last of it reached this host (CLOCK_REALTIME), if
    /// anything waited and the kernel told.
    pub(super) fn receive(&mut self, inbox: &mut Vec<Datagram>) -> Option<i64> {
        let slot_bytes = self.buffer.len() / SLOTS;
        let mut last_ns = None;
        loop {
            let mut meta = [RecvMeta::default(); SLOTS];
            let mut slots = self.buffer.chunks_exact_mut(slot_bytes).map(IoSliceMut::new);
            let mut slots: [IoSliceMut<'_>; SLOTS] =
                std::array::from_fn(|_| slots.next().unwrap_or_else(|| IoSliceMut::new(&mut [])));
            // An error is a report about an earlier datagram, or that nothing waits.
            let count = self.state.recv(UdpSockRef::from(&**self.socket), &mut slots, &mut meta).unwrap_or(0);
            for (meta, slot) in meta.iter().zip(&slots).take(count) {
                last_ns = meta.timestamp.map(|stamp| stamp.as_nanos() as i64).or(last_ns);
                let ecn = meta.ecn.map_or(0, |ecn| ecn as u8);
                inbox.extend(slot[..meta.len].chunks(meta.stride.max(1)).map(|bytes| Datagram {
                    from: meta.addr,
                    ecn,
                    bytes: bytes.into(),
                }));
            }
            if count < SLOTS {
                return last_ns;
            }
        }
    }
}
