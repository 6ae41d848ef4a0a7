//! Whole Ethernet frames through an `AF_PACKET` socket (`packet(7)`): taken in with the kernel's stamp, and sent on.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{bind, open_as, set_at};

/// Longest IP packet and Ethernet header.
pub(crate) const LONGEST_FRAME_BYTES: usize = (1 << 16) + 14;

/// What may wait in a socket while its thread sleeps: thousands of packets, and more than the kernel's usual limit,
/// where the process has the right to that.
const BUFFER_BYTES: libc::c_int = 16 << 20;

/// A frame in the caller's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    pub length: usize,
    /// When the kernel took it in, by `CLOCK_REALTIME`.
    pub realtime_ns: i64,
}

/// Opens a socket for the frames that arrive on an interface of the calling thread's namespace, and to send by it.
pub(crate) fn open(interface: u32) -> io::Result<OwnedFd> {
    let socket = open_as(libc::SOCK_RAW | libc::SOCK_NONBLOCK)?;
    set_at(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1i32)?;
    for (forced, usual) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
    {
        if set_at(&socket, libc::SOL_SOCKET, forced, &BUFFER_BYTES).is_err() {
            set_at(&socket, libc::SOL_SOCKET, usual, &BUFFER_BYTES)?;
        }
    }
    bind(&socket, interface)?;
    Ok(socket)
}

/// The next frame, if one is there.
pub(crate) fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<Option<Received>> {
    #[repr(C, align(8))]
    struct Control([u8; 64]);
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: an all-zero msghdr is a valid value of this plain C structure.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: the message names a buffer and room for control data that both live through the call.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, 0) };
    if length < 0 {
        let error = io::Error::last_os_error();
        // An interface that goes down says so once, when the network is taken away.
        let over = error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::ENETDOWN);
        return if over { Ok(None) } else { Err(error) };
    }
    let realtime_ns =
        stamp_ns(&message).ok_or_else(|| io::Error::other("the kernel gave a frame no stamp"))?;
    Ok(Some(Received { length: length as usize, realtime_ns }))
}

fn stamp_ns(message: &libc::msghdr) -> Option<i64> {
    // SAFETY: the kernel has filled in the message's control data; the macros stay inside of it.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_TIMESTAMPNS {
                let stamp = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                return Some(stamp.tv_sec * 1_000_000_000 + stamp.tv_nsec);
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}

/// Sends a frame as it is by the socket's interface.
pub(crate) fn send(socket: &OwnedFd, frame: &[u8]) -> io::Result<()> {
    // SAFETY: pointer and length are those of the frame.
    let sent = unsafe { libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
