//! Many messages in one system call: `recvmmsg` with the kernel's receive stamps, `sendmmsg` with release times.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::clock::timespec_ns;

/// Room for the control messages of one datagram: a receive stamp or a release time, with space to spare.
const CONTROL_WORDS: usize = 8;

/// Most messages in one call, a quarter of the kernel's own limit (UIO_MAXIOV is 1024): a longer batch saves
/// next to nothing and holds its memory longer.
pub const LONGEST_BATCH: usize = 256;

type Control = [u64; CONTROL_WORDS];

/// One received message.
pub(crate) struct Stamped<'a> {
    /// The bytes, cut at the length of the buffer.
    pub(crate) bytes: &'a [u8],
    /// When the packet reached this host, CLOCK_REALTIME; `None` when the kernel gave no stamp.
    pub(crate) realtime_ns: Option<i64>,
}

/// Buffers for receiving many messages at once.
pub(crate) struct RecvBatch {
    slot_bytes: usize,
    count: usize,
    buffer: Vec<u8>,
    controls: Vec<Control>,
    lengths: Vec<(usize, usize)>,
}

impl RecvBatch {
    /// Room for `count` messages of at most `slot_bytes` each.
    pub(crate) fn new(count: usize, slot_bytes: usize) -> Self {
        Self {
            slot_bytes,
            count,
            buffer: vec![0; count * slot_bytes],
            controls: vec![[0; CONTROL_WORDS]; count],
            lengths: Vec::with_capacity(count),
        }
    }

    /// Waits in the kernel until `limit` messages are here, or the socket's receive timeout passes, or the
    /// other side ends (then messages of length 0 follow). Returns how many there are.
    pub(crate) fn receive(&mut self, fd: BorrowedFd<'_>, limit: usize) -> io::Result<usize> {
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
            .map(|(vector, control)| {
                let mut header = empty_header();
                header.msg_hdr.msg_iov = vector;
                header.msg_hdr.msg_iovlen = 1;
                header.msg_hdr.msg_control = control.as_mut_ptr().cast();
                header.msg_hdr.msg_controllen = size_of::<Control>();
                header
            })
            .collect();
        // SAFETY: each header points at one vector, slot and control buffer, all of which outlive the call.
        let received = unsafe {
            libc::recvmmsg(fd.as_raw_fd(), headers.as_mut_ptr(), count as u32, 0, std::ptr::null_mut())
        };
        self.lengths.clear();
        if received < 0 {
            return Err(io::Error::last_os_error());
        }
        let received = received as usize;
        self.lengths.extend(
            headers[..received].iter().map(|header| (header.msg_len as usize, header.msg_hdr.msg_controllen)),
        );
        Ok(received)
    }

    /// Message `index` of the last call.
    pub(crate) fn message(&self, index: usize) -> Stamped<'_> {
        let (length, control_bytes) = self.lengths[index];
        let start = index * self.slot_bytes;
        Stamped {
            bytes: &self.buffer[start..start + length.min(self.slot_bytes)],
            realtime_ns: receive_stamp(&self.controls[index], control_bytes),
        }
    }
}

/// Finds the kernel's stamp (SCM_TIMESTAMPNS) among the control messages.
fn receive_stamp(control: &Control, control_bytes: usize) -> Option<i64> {
    let mut header = empty_header().msg_hdr;
    header.msg_control = control.as_ptr().cast_mut().cast();
    header.msg_controllen = control_bytes.min(size_of::<Control>());
    // SAFETY: the header describes `control`, of which the kernel filled `control_bytes`; the CMSG functions
    // stay inside of it, and the stamp is copied out without assuming its alignment.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(&header);
        while !message.is_null() {
            if (*message).cmsg_level == libc::SOL_SOCKET && (*message).cmsg_type == libc::SCM_TIMESTAMPNS {
                let stamp: libc::timespec = std::ptr::read_unaligned(libc::CMSG_DATA(message).cast());
                return Some(timespec_ns(&stamp));
            }
            message = libc::CMSG_NXTHDR(&header, message);
        }
    }
    None
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
            let mut header = empty_header();
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            if let Some(control) = controls.get_mut(index) {
                header.msg_hdr.msg_control = control.as_mut_ptr().cast();
                header.msg_hdr.msg_controllen = control_bytes;
            }
            header
        })
        .collect();
    // SAFETY: each header points at one vector, message and (maybe) control buffer, which outlive the call; the
    // kernel only reads the messages.
    let sent = unsafe {
        libc::sendmmsg(fd.as_raw_fd(), headers.as_mut_ptr(), headers.len() as u32, flags | libc::MSG_NOSIGNAL)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
}

/// Reads from a stream; `flags` as for recv(2).
pub(crate) fn read(fd: BorrowedFd<'_>, buffer: &mut [u8], flags: libc::c_int) -> io::Result<usize> {
    // SAFETY: the buffer is writable for its length.
    let count = unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), flags) };
    if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
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

fn empty_header() -> libc::mmsghdr {
    // SAFETY: a message header of zeros is valid: null pointers with lengths of zero.
    unsafe { std::mem::zeroed() }
}
