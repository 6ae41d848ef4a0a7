//! `AF_PACKET` sockets (`packet(7)`): what arrives on an interface, seen before anything is done with it.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{sock_filter, sock_fprog, tpacket_stats};
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, LinkAddr, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;

/// Opens a socket of the calling thread's namespace that hands over packets from the IP header on.
pub(crate) fn open() -> io::Result<OwnedFd> {
    open_of(libc::SOCK_DGRAM)
}

/// Opens one that hands over and sends whole Ethernet frames.
pub(crate) fn open_raw() -> io::Result<OwnedFd> {
    open_of(libc::SOCK_RAW)
}

fn open_of(kind: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: a plain system call without pointers.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: fd was just opened and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Which way packets pass an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    /// They arrive on it.
    In,
    /// They leave by it.
    Out,
}

/// Begins to receive what arrives on an interface (not what leaves by it).
pub(crate) fn bind(socket: &OwnedFd, interface: u32) -> io::Result<()> {
    bind_to(socket, interface, Passing::In)
}

/// Begins to receive what arrives on an interface and not what leaves by it, or the latter too: then a filter has to leave
/// out what arrives.
///
/// All protocols: a socket for one of them would not see what a switch takes from its port.
pub(crate) fn bind_to(socket: &OwnedFd, interface: u32, passing: Passing) -> io::Result<()> {
    set(socket, libc::PACKET_IGNORE_OUTGOING, &i32::from(passing == Passing::In))?;
    // SAFETY: an all-zero sockaddr_ll is a valid value of this plain C structure.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface as i32;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: address and length describe one sockaddr_ll that lives through the call.
    let result = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// For [`bind`]: whatever arrives on any interface of the namespace, in order.
pub(crate) const ANY_INTERFACE: u32 = 0;

/// Has the kernel stamp what arrives, and keep so much of it until it is taken; and so much of what is sent, until it has
/// left the queues on its way.
pub(crate) fn stamp(socket: &OwnedFd, buffer_bytes: usize) -> io::Result<()> {
    setsockopt(socket, sockopt::ReceiveTimestampns, &true)?;
    // Beyond the system's limit, which root may exceed; who may not has the limit.
    setsockopt(socket, sockopt::RcvBufForce, &buffer_bytes)
        .or_else(|_| setsockopt(socket, sockopt::RcvBuf, &buffer_bytes))?;
    if set_at(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &(buffer_bytes as libc::c_int)).is_err() {
        setsockopt(socket, sockopt::SndBuf, &buffer_bytes)?;
    }
    Ok(())
}

/// A frame that has arrived.
pub(crate) struct Received {
    /// Number of the interface.
    pub interface: u32,
    /// Its length; a longer one than there was room for was cut.
    pub length_bytes: usize,
    /// When, by `CLOCK_REALTIME`.
    pub realtime_ns: i64,
}

/// Takes the next frame that has arrived, if there is one.
pub(crate) fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<Option<Received>> {
    let mut control = nix::cmsg_space!(TimeSpec);
    let mut room = [IoSliceMut::new(buffer)];
    let arrived =
        recvmsg::<LinkAddr>(socket.as_raw_fd(), &mut room, Some(&mut control), MsgFlags::MSG_DONTWAIT);
    let arrived = match arrived {
        Err(Errno::EAGAIN) => return Ok(None),
        other => other?,
    };
    let stamps = arrived.cmsgs()?.filter_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(t) => Some(t.tv_sec() * 1_000_000_000 + t.tv_nsec()),
        _ => None,
    });
    Ok(Some(Received {
        interface: arrived.address.map_or(0, |address| address.ifindex() as u32),
        length_bytes: arrived.bytes,
        realtime_ns: stamps.last().ok_or(io::ErrorKind::InvalidData)?,
    }))
}

/// Sends a frame by an interface; one for which there is no room at once is an error.
pub(crate) fn send(socket: &OwnedFd, interface: u32, frame: &[u8]) -> io::Result<()> {
    // SAFETY: an all-zero sockaddr_ll is a valid value of this plain C structure.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_ifindex = interface as i32;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    let (socket, start, bytes) = (socket.as_raw_fd(), frame.as_ptr().cast(), frame.len());
    // SAFETY: frame and address live through the call, with the lengths that are given.
    let sent = unsafe {
        libc::sendto(socket, start, bytes, libc::MSG_DONTWAIT, (&raw const address).cast(), length)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Packets that found no room since the socket was opened or last asked.
pub(crate) fn missed_packets(socket: &OwnedFd) -> io::Result<u64> {
    let mut statistics = tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = size_of::<tpacket_stats>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into the structure meant for this option.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut statistics).cast(),
            &mut length,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(statistics.tp_drops.into()) }
}

/// Lets pass what a classic BPF program accepts, cut to what it returns.
pub(crate) fn attach_filter(socket: &OwnedFd, program: &mut [sock_filter]) -> io::Result<()> {
    let program = sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    set_at(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// A statement of a classic BPF program.
pub(crate) fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

/// A jump of a classic BPF program: so many statements on if the accumulator equals `k`, else so many.
pub(crate) fn if_equal(k: u32, then: u8, otherwise: u8) -> sock_filter {
    let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    sock_filter { code, jt: then, jf: otherwise, k }
}

/// Sets an option of packet sockets.
pub(crate) fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    set_at(socket, libc::SOL_PACKET, option, value)
}

fn set_at<T>(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: value and length describe one value of the structure that the option asks for; what it points
    // to (a filter's program) lives through the call too.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const *value).cast(), length) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
