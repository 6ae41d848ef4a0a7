//! Many messages in one system call: `recvmmsg` with what the kernel knows of each, `sendmmsg` with what it is to know.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::sys::socket::MsgFlags;
use socket2::{SockAddr, SockAddrStorage};

use super::clock::timespec_ns;

/// Room for the control messages of one datagram: a release time, or a receive stamp and the traffic class, with space
/// to spare.
const CONTROL_WORDS: usize = 12;

/// Most messages in one call, a quarter of the kernel's own limit (UIO_MAXIOV is 1024): a longer batch saves
/// next to nothing and holds its memory longer.
pub const LONGEST_BATCH: usize = 256;

type Control = [u64; CONTROL_WORDS];

/// One received message.
pub(crate) struct Arrived<'a> {
    /// The bytes, cut at the length of the buffer.
    pub(crate) bytes: &'a [u8],
    /// When the packet reached this host, CLOCK_REALTIME; `None` when the socket does not tell.
    pub(crate) realtime_ns: Option<i64>,
    /// The traffic class of its IP header; 0 when the socket does not tell.
    pub(crate) traffic_class: u8,
    /// Who sent it; `None` for who has no IP address, and on a connected socket.
    pub(crate) from: Option<SocketAddr>,
}

/// Buffers for receiving many messages at once.
pub(crate) struct RecvBatch {
    slot_bytes: usize,
    count: usize,
    buffer: Vec<u8>,
    controls: Vec<Control>,
    names: Vec<libc::sockaddr_storage>,
    lengths: Vec<Lengths>,
}

/// What the kernel filled of one slot.
struct Lengths {
    message: usize,
    control: usize,
    name: libc::socklen_t,
}

impl RecvBatch {
    /// Room for `count` messages of at most `slot_bytes` each.
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

    /// Most messages that one call brings.
    pub(crate) fn capacity(&self) -> usize {
        self.count
    }

    /// Waits in the kernel (unless `flags` say otherwise) until `limit` messages are here, or the socket's receive timeout
    /// passes, or the other side ends (then messages of length 0 follow). Returns how many there are.
    pub(crate) fn receive(
        &mut self,
        fd: BorrowedFd<'_>,
        limit: usize,
        flags: libc::c_int,
    ) -> io::Result<usize> {
        let count = limit.clamp(1, self.count);
        let mut vectors: Vec<libc::iovec> = self
            .buffer
            .chunks_exact_mut(self.slot_bytes)
            .take(count)
            .map(|slot| libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() })
            .collect();
        let mut headers: Vec<libc::mmsghdr> = vectors
            .iter_mut()
            .zip(&mut self.controls)
            .zip(&mut self.names)
            .map(|((vector, control), name)| {
                let mut header = header_of(vector);
                header.msg_hdr.msg_name = (&raw mut *name).cast();
                header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
                header.msg_hdr.msg_control = control.as_mut_ptr().cast();
                header.msg_hdr.msg_controllen = size_of::<Control>();
                header
            })
            .collect();
        // SAFETY: each header points at one vector, slot, control buffer and name, all of which outlive the call.
        let received = unsafe {
            libc::recvmmsg(fd.as_raw_fd(), headers.as_mut_ptr(), count as u32, flags, std::ptr::null_mut())
        };
        self.lengths.clear();
        if received < 0 {
            return Err(io::Error::last_os_error());
        }
        self.lengths.extend(headers[..received as usize].iter().map(|header| Lengths {
            message: header.msg_len as usize,
            control: header.msg_hdr.msg_controllen,
            name: header.msg_hdr.msg_namelen,
        }));
        Ok(received as usize)
    }

    /// Message `index` of the last call.
    pub(crate) fn message(&self, index: usize) -> Arrived<'_> {
        let lengths = &self.lengths[index];
        let mut name = SockAddrStorage::zeroed();
        // SAFETY: the storage is one of this very type, and the kernel wrote an address of this length into it.
        let from = unsafe {
            *name.view_as::<libc::sockaddr_storage>() = self.names[index];
            SockAddr::new(name, lengths.name)
        };
        let start = index * self.slot_bytes;
        let (traffic_class, realtime_ns) = notes(&self.controls[index], lengths.control);
        Arrived {
            bytes: &self.buffer[start..start + lengths.message.min(self.slot_bytes)],
            realtime_ns,
            traffic_class,
            from: if lengths.name == 0 { None } else { from.as_socket() },
        }
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
                    stamp_ns = Some(timespec_ns(&std::ptr::read_unaligned(data.cast::<libc::timespec>())));
                }
                _ => {}
            }
            message = libc::CMSG_NXTHDR(&header, message);
        }
    }
    (class, stamp_ns)
}

/// What is said to the kernel about each message of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PerMessage<'a> {
    /// Nothing.
    Nothing,
    /// The instant (CLOCK_MONOTONIC) at which it may leave; needs SO_TXTIME and an interface with fq.
    Releases(&'a [i64]),
    /// The SCTP stream that it belongs to.
    Streams(&'a [u16]),
}

impl<'a> PerMessage<'a> {
    /// The same without the first `count` messages.
    pub(crate) fn from(self, count: usize) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::Releases(all) => Self::Releases(&all[count..]),
            Self::Streams(all) => Self::Streams(&all[count..]),
        }
    }

    fn controls(self) -> Vec<Control> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Releases(all) => all
                .iter()
                .map(|at| control(libc::SOL_SOCKET, libc::SCM_TXTIME, &(*at as u64).to_ne_bytes()))
                .collect(),
            Self::Streams(all) => all
                .iter()
                .map(|stream| {
                    let mut info = [0; STREAM_INFO_BYTES];
                    info[..2].copy_from_slice(&stream.to_ne_bytes());
                    control(libc::IPPROTO_SCTP, SCTP_SNDINFO, &info)
                })
                .collect(),
        }
    }

    fn data_bytes(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Releases(_) => size_of::<u64>(),
            Self::Streams(_) => STREAM_INFO_BYTES,
        }
    }
}

/// The control message SCTP_SNDINFO: its number, and the size of `struct sctp_sndinfo`, which begins with the
/// stream (linux/sctp.h).
const SCTP_SNDINFO: libc::c_int = 2;
const STREAM_INFO_BYTES: usize = 16;

/// Sends the messages of `block`, each `message_bytes` long (the last may be shorter), in one call of at most
/// [`LONGEST_BATCH`]. Returns how many messages the socket took.
pub(crate) fn send(
    fd: BorrowedFd<'_>,
    block: &[u8],
    message_bytes: usize,
    extra: PerMessage<'_>,
    flags: libc::c_int,
) -> io::Result<usize> {
    send_batch(fd, block, message_bytes, None, extra, flags)
}

/// The same without waiting, to an address.
pub(crate) fn send_to(
    fd: BorrowedFd<'_>,
    to: SocketAddr,
    block: &[u8],
    message_bytes: usize,
) -> io::Result<usize> {
    send_batch(fd, block, message_bytes, Some(to.into()), PerMessage::Nothing, libc::MSG_DONTWAIT)
}

fn send_batch(
    fd: BorrowedFd<'_>,
    block: &[u8],
    message_bytes: usize,
    to: Option<SockAddr>,
    extra: PerMessage<'_>,
    flags: libc::c_int,
) -> io::Result<usize> {
    let mut vectors: Vec<libc::iovec> = block
        .chunks(message_bytes)
        .take(LONGEST_BATCH)
        .map(|message| libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() })
        .collect();
    let mut controls = extra.controls();
    // SAFETY: CMSG_SPACE only computes.
    let control_bytes = unsafe { libc::CMSG_SPACE(extra.data_bytes() as u32) } as usize;
    let mut headers: Vec<libc::mmsghdr> = vectors
        .iter_mut()
        .enumerate()
        .map(|(index, vector)| {
            let mut header = header_of(vector);
            if let Some(to) = &to {
                header.msg_hdr.msg_name = to.as_ptr().cast_mut().cast();
                header.msg_hdr.msg_namelen = to.len();
            }
            if let Some(control) = controls.get_mut(index) {
                header.msg_hdr.msg_control = control.as_mut_ptr().cast();
                header.msg_hdr.msg_controllen = control_bytes;
            }
            header
        })
        .collect();
    // SAFETY: each header points at one vector, message and (maybe) address and control buffer, which outlive the call;
    // the kernel only reads them.
    let sent = unsafe {
        libc::sendmmsg(fd.as_raw_fd(), headers.as_mut_ptr(), headers.len() as u32, flags | libc::MSG_NOSIGNAL)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
}

/// Reads from a stream; `flags` as for recv(2).
pub(crate) fn read(fd: BorrowedFd<'_>, buffer: &mut [u8], flags: libc::c_int) -> io::Result<usize> {
    Ok(nix::sys::socket::recv(fd.as_raw_fd(), buffer, MsgFlags::from_bits_retain(flags))?)
}

/// A control buffer with one control message.
fn control(level: libc::c_int, kind: libc::c_int, data: &[u8]) -> Control {
    let mut control: Control = [0; CONTROL_WORDS];
    let mut header = empty_header().msg_hdr;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of::<Control>();
    // SAFETY: the control buffer is aligned as a header must be, and longer than one header and the data, which is
    // 16 bytes at most.
    unsafe {
        let message = libc::CMSG_FIRSTHDR(&header);
        (*message).cmsg_level = level;
        (*message).cmsg_type = kind;
        (*message).cmsg_len = libc::CMSG_LEN(data.len() as u32) as usize;
        std::ptr::copy_nonoverlapping(data.as_ptr(), libc::CMSG_DATA(message), data.len());
    }
    control
}

/// A header with one vector.
fn header_of(vector: &mut libc::iovec) -> libc::mmsghdr {
    let mut header = empty_header();
    header.msg_hdr.msg_iov = vector;
    header.msg_hdr.msg_iovlen = 1;
    header
}

fn no_name() -> libc::sockaddr_storage {
    // SAFETY: an address of zeros is valid: that of no family.
    unsafe { std::mem::zeroed() }
}

fn empty_header() -> libc::mmsghdr {
    // SAFETY: a message header of zeros is valid: null pointers with lengths of zero.
    unsafe { std::mem::zeroed() }
}
