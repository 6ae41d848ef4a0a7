//! One tap: an `AF_PACKET` socket with a ring of packets that the kernel shares with us (Linux
//! `Documentation/networking/packet_mmap.rst`).
//!
//! Version 2 of the ring, although a version 3 exists: a slot of version 2 can be read as soon as it is
//! filled, at any instant and also at the very end; version 3 hands out blocks when they are full or a timer
//! of its own fires, and each such timer costs time in a guest.

use std::io;
use std::mem::{offset_of, size_of};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{sock_filter, tpacket_req, tpacket2_hdr};
use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap, munmap};

use super::Snap;
use crate::packet_socket::{self, Passing, attach_filter, bind_to, if_equal, set, statement};

/// Memory comes in blocks of this size, a small multiple of the page that the kernel finds easily in one
/// piece.
const BLOCK_BYTES: usize = 1 << 16;

/// Memory of a ring: about 5,000 packets' headers. Not more than needed: in a guest, the first write to each
/// page costs some tens of microseconds, also when it was asked for beforehand: the pages are there, and what is missing
/// is that the kernel knows them to be written.
const HEADER_RING_BYTES: usize = 1 << 20;

/// Memory of a ring for whole packets: about 2,500.
const FULL_RING_BYTES: usize = 4 << 20;

/// Memory of a ring whose packets are judged: about 5,000 whole packets, so that no more are missed than where only
/// headers are wanted.
const JUDGED_RING_BYTES: usize = 8 << 20;

/// Where the sender's link-layer address stands in a slot: `TPACKET_ALIGN(sizeof(struct tpacket2_hdr))`.
const ADDRESS_OFFSET: usize = size_of::<tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);

/// What a slot has room for at most: no slot is longer than a block.
const LONGEST_PACKET_BYTES: usize = BLOCK_BYTES - DATA_OFFSET;

/// What a tap is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// So much of each packet is kept.
    Keep(Snap),
    /// The checksums of packets of up to so many bytes are looked at, and so much is kept.
    Judge { snap: Snap, packet_bytes: u32 },
}

impl Purpose {
    fn packet_bytes(self) -> usize {
        match self {
            Purpose::Keep(snap) => snap.bytes(),
            Purpose::Judge { snap, packet_bytes } => {
                (packet_bytes as usize).clamp(snap.bytes(), LONGEST_PACKET_BYTES)
            }
        }
    }

    fn ring_bytes(self) -> usize {
        match self {
            Purpose::Keep(Snap::Headers) => HEADER_RING_BYTES,
            Purpose::Keep(Snap::Full) => FULL_RING_BYTES,
            Purpose::Judge { .. } => JUDGED_RING_BYTES,
        }
    }
}

/// A packet that has arrived.
pub(super) struct Arrived<'a> {
    /// Its stamp: `CLOCK_REALTIME`, in nanoseconds.
    pub realtime_ns: i64,
    /// Its whole length, from its IP header on.
    pub length_bytes: u32,
    /// What the ring has of it.
    pub data: &'a [u8],
    /// Whether its Ethernet address is that of the interface; of a packet that leaves, which is seen before it gets there,
    /// true.
    pub for_this_host: bool,
    /// Whether the kernel takes its checksums for right without looking: nobody has touched it since it was sent, and
    /// its checksum was left to the card.
    pub vouched_for: bool,
}

/// Where the packet begins in its slot on a `SOCK_DGRAM` socket: `TPACKET_ALIGN(TPACKET2_HDRLEN) + 16`.
const DATA_OFFSET: usize = libc::TPACKET2_HDRLEN.next_multiple_of(libc::TPACKET_ALIGNMENT) + 16;

/// A packet for this host, in `linux/if_packet.h`.
const PACKET_HOST: u8 = 0;

/// One that leaves by the interface.
const PACKET_OUTGOING: u8 = 4;

/// The kernel has verified the checksum of the packet, in `linux/if_packet.h`.
const TP_STATUS_CSUM_VALID: u32 = 1 << 7;

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
    /// Captures the IP packets that pass an interface of the calling thread's namespace one way, from now on.
    pub fn open(interface: u32, passing: Passing, purpose: Purpose) -> io::Result<Self> {
        let socket = packet_socket::open()?;
        match passing {
            Passing::In => attach_filter(&socket, &mut ip_packets(purpose.packet_bytes()))?,
            Passing::Out => attach_filter(&socket, &mut leaving_ip_packets(purpose.packet_bytes()))?,
        }
        set(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))?;

        let ring_bytes = purpose.ring_bytes();
        let slot_bytes = (DATA_OFFSET + purpose.packet_bytes()).next_multiple_of(libc::TPACKET_ALIGNMENT);
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
        bind_to(&socket, interface, passing)?;
        Ok(Ring { memory, socket, slot_bytes, slots_per_block, slots, next: 0 })
    }

    /// Readable as long as the packet that came last has not been drained.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Hands all packets that have arrived since the last time to `take`, in order.
    pub fn drain(&mut self, mut take: impl FnMut(&Arrived<'_>)) {
        loop {
            let offset = self.next / self.slots_per_block * BLOCK_BYTES
                + self.next % self.slots_per_block * self.slot_bytes;
            // SAFETY: `next` is below the number of slots, so the slot lies inside the mapping, aligned to 16
            // bytes.
            let slot = unsafe { self.memory.start.add(offset) };
            // SAFETY: the status is an aligned word at this offset; both sides treat it as atomic.
            let status =
                unsafe { AtomicU32::from_ptr(slot.add(offset_of!(tpacket2_hdr, tp_status)).cast().as_ptr()) };
            let said = status.load(Ordering::Acquire);
            if said & libc::TP_STATUS_USER == 0 {
                return;
            }
            // SAFETY: the status says that the kernel has written the header and will not touch the slot now.
            let header = unsafe { slot.cast::<tpacket2_hdr>().read() };
            let start = usize::from(header.tp_net).min(self.slot_bytes);
            let length = (header.tp_snaplen as usize).min(self.slot_bytes - start);
            // SAFETY: start and length were just bounded by the slot, which is ours until the status changes.
            let data = unsafe { std::slice::from_raw_parts(slot.add(start).as_ptr(), length) };
            // SAFETY: the kernel writes the address behind the header of each slot, aligned to 16 bytes.
            let address = unsafe { slot.add(ADDRESS_OFFSET).cast::<libc::sockaddr_ll>().read() };
            take(&Arrived {
                realtime_ns: i64::from(header.tp_sec) * 1_000_000_000 + i64::from(header.tp_nsec),
                length_bytes: header.tp_len,
                data,
                for_this_host: matches!(address.sll_pkttype, PACKET_HOST | PACKET_OUTGOING),
                vouched_for: said & (libc::TP_STATUS_CSUMNOTREADY | TP_STATUS_CSUM_VALID) != 0,
            });
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
    }

    /// Packets that found the ring full since it was opened or last asked.
    pub fn missed_packets(&self) -> io::Result<u64> {
        packet_socket::missed_packets(&self.socket)
    }
}

fn map(socket: &OwnedFd, bytes: usize) -> io::Result<Mapping> {
    let bytes = NonZeroUsize::new(bytes).ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing.
    let start = unsafe {
        mmap(None, bytes, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED, socket, 0)
    }?;
    let mapping = Mapping { start: start.cast(), bytes };
    // A program of one's own is started by a fork where its name is looked up in PATH. It has no use for the ring, and
    // the guest's kernel dies ("Bad page map", Linux 6.12 in user mode) when a child that has it replaces its memory.
    // SAFETY: advice on a whole mapping of our own, which changes nothing in this process.
    unsafe { madvise(start, bytes.get(), MmapAdvise::MADV_DONTFORK) }?;
    Ok(mapping)
}

/// Lets IPv4 and IPv6 packets pass, cut to what is kept. A classic BPF program, loading the protocol by the
/// extension of `linux/filter.h`.
fn ip_packets(most_bytes: usize) -> [sock_filter; 5] {
    let protocol = (libc::SKF_AD_OFF + libc::SKF_AD_PROTOCOL) as u32;
    [
        statement(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, protocol),
        if_equal(libc::ETH_P_IP as u32, 2, 0),
        if_equal(libc::ETH_P_IPV6 as u32, 1, 0),
        statement(libc::BPF_RET | libc::BPF_K, 0),
        statement(libc::BPF_RET | libc::BPF_K, most_bytes as u32),
    ]
}

/// The same of packets that leave by the interface only.
fn leaving_ip_packets(most_bytes: usize) -> [sock_filter; 8] {
    let kind = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;
    let [load, if_ipv4, if_ipv6, nothing, so_much] = ip_packets(most_bytes);
    [
        statement(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, kind),
        if_equal(PACKET_OUTGOING.into(), 1, 0),
        statement(libc::BPF_RET | libc::BPF_K, 0),
        load,
        if_ipv4,
        if_ipv6,
        nothing,
        so_much,
    ]
}
