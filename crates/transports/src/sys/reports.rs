//! What the kernel reports of datagrams that a socket has sent (ip(7), IP_RECVERR).

use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};

/// Takes the oldest report away and tells its error; `None` where there is none.
pub(crate) fn take(fd: BorrowedFd<'_>) -> io::Result<Option<io::Error>> {
    // The report with the address of who sent it, and the stamp of a socket that stamps.
    let mut room = cmsg_space!(libc::sock_extended_err, libc::sockaddr_in6, libc::timespec);
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let taken = match recvmsg::<SockaddrStorage>(fd.as_raw_fd(), &mut [], Some(&mut room), flags) {
        Ok(taken) => taken,
        Err(Errno::EAGAIN) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let report = taken.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::Ipv4RecvErr(report, _) | ControlMessageOwned::Ipv6RecvErr(report, _) => {
            Some(io::Error::from_raw_os_error(report.ee_errno as i32))
        }
        _ => None,
    });
    Ok(Some(report.unwrap_or_else(|| ErrorKind::Other.into())))
}
