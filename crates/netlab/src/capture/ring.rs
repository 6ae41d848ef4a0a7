//! One tap: an `AF_PACKET` socket with a ring of packets that the kernel shares with us (Linux
//! `Documentation/networking/packet_mmap.rst`).
//!
//! Version 2 of the ring, although a version 3 exists: a slot of version 2 can be read as soon as it is
//! filled, at any instant and also at the very end; version 3 hands out blocks when they are full or a timer
//! of its own fires, and each such timer costs time in a guest.

use std::io;
use std::mem::{offset_of, size_of};
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{sock_filter, tpacket_req, tpacket_stats, tpacket2_hdr};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

use super::Snap;
use crate::packet_socket::{self, attach_filter, bind, if_equal, set, statement};

/// Memory comes in blocks of this size, a small multiple of the page that the kernel finds easily in one
/// piece.
const BLOCK_BYTES: usize = 1 << 16;

/// Memory of a ring: about 5,000 packets' headers. Not more than needed: in a guest, the first write to each
/// page costs some tens of microseconds.
const HEADER_RING_BYTES: usize = 1 << 20;

/// Memory of a ring for whole packets: about 2,500.
const FULL_RING_BYTES: usize = 4 << 20;

/// Where the packet begins in its slot on a `SOCK_DGRAM` socket: `TPACKET_ALIGN(TPACKET2_HDRLEN) + 16`.
const DATA_OFFSET: usize = libc::TPACKET2_HDRLEN.next_multiple_of(libc::TPACKET_ALIGNMENT) + 16;

pub(super) struct Ring {
    // Field order: the memory is unmapped before the socket closes.
    memory: Mapping,
    socket: OwnedFd,
    slot_bytes: usize,
    slots_per_block: usize,
    slots: usize,
    next: usize,
}

struct Mapping {
    start: NonNull<u8>,
    bytes: NonZeroUsize,
}

// SAFETY: the mapping belongs to this value alone on our side; what the kernel writes is read only after a
// slot's status says so.
unsafe impl Send for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: start and length are those of a mapping that nobody else refers to any more.
        let unmapped = unsafe { munmap(self.start.cast(), self.bytes.get()) };
        debug_assert!(unmapped.is_ok(), "a mapping can be unmapped");
    }
}

impl Ring {
    /// Captures the IP packets that arrive on an interface of the calling thread's namespace, from now on.
    pub fn open(interface: u32, snap: Snap) -> io::Result<Self> {
        let socket = packet_socket::open()?;
        attach_filter(&socket, &mut ip_packets(snap))?;
        set(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))?;

        let ring_bytes = match snap {
            Snap::Headers => HEADER_RING_BYTES,
            Snap::Full => FULL_RING_BYTES,
        };
        let slot_bytes = (DATA_OFFSET + snap.bytes()).next_multiple_of(libc::TPACKET_ALIGNMENT);
        let slots_per_block = BLOCK_BYTES / slot_bytes;
        let blocks = ring_bytes / BLOCK_BYTES;
        let slots = slots_per_block * blocks;
        let request = tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: slots as u32,
        };
        set(&socket, libc::PACKET_RX_RING, &request)?;
        let memory = map(&socket, ring_bytes)?;
        bind(&socket, interface)?;
        Ok(Ring { memory, socket, slot_bytes, slots_per_block, slots, next: 0 })
    }

    /// Hands all packets that have arrived since the last time to `take`, in order: its stamp
    /// (`CLOCK_REALTIME`, in nanoseconds), its whole length, and what was kept of it.
    pub fn drain(&mut self, mut take: impl FnMut(i64, u32, &[u8])) {
        loop {
            let offset = self.next / self.slots_per_block * BLOCK_BYTES
                + self.next % self.slots_per_block * self.slot_bytes;
            // SAFETY: `next` is below the number of slots, so the slot lies inside the mapping, aligned to 16
            // bytes.
            let slot = unsafe { self.memory.start.add(offset) };
            // SAFETY: the status is an aligned word at this offset; both sides treat it as atomic.
            let status =
                unsafe { AtomicU32::from_ptr(slot.add(offset_of!(tpacket2_hdr, tp_status)).cast().as_ptr()) };
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return;
            }
            // SAFETY: the status says that the kernel has written the header and will not touch the slot now.
            let header = unsafe { slot.cast::<tpacket2_hdr>().read() };
            let start = usize::from(header.tp_net).min(self.slot_bytes);
            let length = (header.tp_snaplen as usize).min(self.slot_bytes - start);
            // SAFETY: start and length were just bounded by the slot, which is ours until the status changes.
            let data = unsafe { std::slice::from_raw_parts(slot.add(start).as_ptr(), length) };
            let stamp_ns = i64::from(header.tp_sec) * 1_000_000_000 + i64::from(header.tp_nsec);
            take(stamp_ns, header.tp_len, data);
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
    }

    /// Packets that found the ring full since it was opened or last asked.
    pub fn missed_packets(&self) -> io::Result<u64> {
        let mut statistics = tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of::<tpacket_stats>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes into the structure meant for this option.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &mut length,
            )
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(statistics.tp_drops.into()) }
    }
}

fn map(socket: &OwnedFd, bytes: usize) -> io::Result<Mapping> {
    let bytes = NonZeroUsize::new(bytes).ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing.
    let start = unsafe {
        mmap(None, bytes, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED, socket, 0)
    }?;
    Ok(Mapping { start: start.cast(), bytes })
}

/// Lets IPv4 and IPv6 packets pass, cut to what is kept. A classic BPF program, loading the protocol by the
/// extension of `linux/filter.h`.
fn ip_packets(snap: Snap) -> [sock_filter; 5] {
    let protocol = (libc::SKF_AD_OFF + libc::SKF_AD_PROTOCOL) as u32;
    [
        statement(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, protocol),
        if_equal(libc::ETH_P_IP as u32, 2, 0),
        if_equal(libc::ETH_P_IPV6 as u32, 1, 0),
        statement(libc::BPF_RET | libc::BPF_K, 0),
        statement(libc::BPF_RET | libc::BPF_K, snap.bytes() as u32),
    ]
}
