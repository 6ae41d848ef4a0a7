//! Packets of a transport that runs in the program: many in one system call, each with its address and ECN field.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use socket2::{SockAddr, SockAddrStorage};

/// Room for the control messages that tell the traffic class and the stamp of a packet, with space to spare.
const CONTROL_WORDS: usize = 12;

type Control = [u64; CONTROL_WORDS];

/// A received packet.
pub(crate) struct Arrived<'a> {
    /// Who sent it.
    pub(crate) from: SocketAddr,
    /// The traffic class of its IP header (0 when the socket does not tell).
    pub(crate) traffic_class: u8,
    /// When it arrived (CLOCK_REALTIME), when the socket tells.
    pub(crate) stamp_ns: Option<i64>,
    /// Its bytes, cut at the length of the buffer.
    pub(crate) bytes: &'a [u8],
}

/// Buffers for receiving many packets at once.
pub(crate) struct PacketBatch {
    slot_bytes: usize,
    count: usize,
    buffer: Vec<u8>,
    controls: Vec<Control>,
    names: Vec<libc::sockaddr_storage>,
    lengths: Vec<Lengths>,
}

/// What the kernel filled of one slot.
struct Lengths {
    packet: usize,
    control: usize,
    name: libc::socklen_t,
}

impl PacketBatch {
    /// Room for `count` packets of at most `slot_bytes` each.
    pub(crate) fn new(count: usize, slot_bytes: usize) -> Self {
        Self {
            slot_bytes,
            count,
            buffer: vec![0; count * slot_bytes],
            controls: vec![[0; CONTROL_WORDS]; count],
            names: vec![no_name(); count],
            lengths: Vec::with_capacity(count),
        }
    }

    /// Takes the packets that are here, without waiting. Returns how many.
    pub(crate) fn receive(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        let mut vectors: Vec<libc::iovec> = self
            .buffer
            .chunks_exact_mut(self.slot_bytes)
            .map(|slot| libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() })
            .collect();
        let mut headers: Vec<libc::mmsghdr> = vectors
            .iter_mut()
            .zip(&mut self.controls)
            .zip(&mut self.names)
            .map(|((vector, control), name)| {
                let mut header = empty_header();
                header.msg_hdr.msg_name = (&raw mut *name).cast();
                header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
                header.msg_hdr.msg_iov = vector;
                header.msg_hdr.msg_iovlen = 1;
                header.msg_hdr.msg_control = control.as_mut_ptr().cast();
                header.msg_hdr.msg_controllen = size_of::<Control>();
                header
            })
            .collect();
        self.lengths.clear();
        // SAFETY: each header points at one vector, slot, control buffer and name, all of which outlive the call.
        let received = unsafe {
            libc::recvmmsg(
                fd.as_raw_fd(),
                headers.as_mut_ptr(),
                headers.len() as u32,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        if received < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock { Ok(0) } else { Err(error) };
        }
        self.lengths.extend(headers[..received as usize].iter().map(|header| Lengths {
            packet: header.msg_len as usize,
            control: header.msg_hdr.msg_controllen,
            name: header.msg_hdr.msg_namelen,
        }));
        Ok(received as usize)
    }

    /// Most packets that one call brings.
    pub(crate) fn capacity(&self) -> usize {
        self.count
    }

    /// Packet `index` of the last call; `None` for one without an IP address as sender.
    pub(crate) fn packet(&self, index: usize) -> Option<Arrived<'_>> {
        let lengths = &self.lengths[index];
        let mut name = SockAddrStorage::zeroed();
        // SAFETY: the storage is one of this very type, and the kernel wrote an address of this length into it.
        let from = unsafe {
            *name.view_as::<libc::sockaddr_storage>() = self.names[index];
            SockAddr::new(name, lengths.name)
        }
        .as_socket()?;
        let start = index * self.slot_bytes;
        let (traffic_class, stamp_ns) = notes(&self.controls[index], lengths.control);
        Some(Arrived {
            from,
            traffic_class,
            stamp_ns,
            bytes: &self.buffer[start..start + lengths.packet.min(self.slot_bytes)],
        })
    }
}

/// What the control messages say: the traffic class, one byte over IPv4 and an integer over IPv6 (ip(7), ipv6(7)), and the
/// kernel's stamp (socket(7)).
fn notes(control: &Control, control_bytes: usize) -> (u8, Option<i64>) {
    let mut header = empty_header().msg_hdr;
    header.msg_control = control.as_ptr().cast_mut().cast();
    header.msg_controllen = control_bytes.min(size_of::<Control>());
    let (mut class, mut stamp_ns) = (0, None);
    // SAFETY: the header describes `control`, of which the kernel filled `control_bytes`; the CMSG functions stay inside
    // of it, and values are copied out without assuming their alignment.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(&header);
        while !message.is_null() {
            let data = libc::CMSG_DATA(message);
            match ((*message).cmsg_level, (*message).cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) => class = *data,
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    class = std::ptr::read_unaligned(data.cast::<libc::c_int>()) as u8;
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let stamp = std::ptr::read_unaligned(data.cast::<libc::timespec>());
                    stamp_ns = Some(stamp.tv_sec * 1_000_000_000 + stamp.tv_nsec);
                }
                _ => {}
            }
            message = libc::CMSG_NXTHDR(&header, message);
        }
    }
    (class, stamp_ns)
}

/// Sends the packets of `block`, whose lengths are `lengths`, to `to` in one call, without waiting. Returns how many the
/// socket took.
pub(crate) fn send_to(
    fd: BorrowedFd<'_>,
    to: SocketAddr,
    block: &[u8],
    lengths: impl Iterator<Item = usize>,
) -> io::Result<usize> {
    let to = SockAddr::from(to);
    let mut rest = block;
    let mut vectors: Vec<libc::iovec> = lengths
        .map(|length| {
            let (packet, later) = rest.split_at(length);
            rest = later;
            libc::iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() }
        })
        .collect();
    let mut headers: Vec<libc::mmsghdr> = vectors
        .iter_mut()
        .map(|vector| {
            let mut header = empty_header();
            header.msg_hdr.msg_name = to.as_ptr().cast_mut().cast();
            header.msg_hdr.msg_namelen = to.len();
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header
        })
        .collect();
    // SAFETY: each header points at one vector, packet and the address, which outlive the call; the kernel only reads
    // them.
    let sent = unsafe {
        libc::sendmmsg(
            fd.as_raw_fd(),
            headers.as_mut_ptr(),
            headers.len() as u32,
            libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
        )
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
}

fn no_name() -> libc::sockaddr_storage {
    // SAFETY: an address of zeros is valid: that of no family.
    unsafe { std::mem::zeroed() }
}

fn empty_header() -> libc::mmsghdr {
    // SAFETY: a message header of zeros is valid: null pointers with lengths of zero.
    unsafe { std::mem::zeroed() }
}
