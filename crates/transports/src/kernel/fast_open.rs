//! TCP Fast Open (RFC 7413): the first data travel with the request that opens the connection.
//!
//! Clients that come back present a cookie of the server. Here both ends do without one (TCP_FASTOPEN_NO_COOKIE,
//! include/uapi/linux/tcp.h), so that the first connection of a run behaves as one that comes back; its SYN is the
//! 10 bytes of the cookie's option (and 2 of padding) shorter.

use std::fs;
use std::io;
use std::os::fd::AsFd;

use libc::{TCP_FASTOPEN, TCP_FASTOPEN_CONNECT, TCP_FASTOPEN_NO_COOKIE};
use socket2::Socket;

use crate::error::Failure;
use crate::sys::options;

/// The kernel's setting, one a network namespace, and its bit for servers (ip-sysctl.rst).
const SETTING: &str = "/proc/sys/net/ipv4/tcp_fastopen";
const SERVERS: u32 = 2;

/// Connections that may have brought data before their handshake was over. The senders of a run open one at a time.
const WAITING: i32 = 16;

/// Has a bound socket, of the calling thread's namespace, take data from the requests of clients.
pub(crate) fn accept(socket: &Socket) -> Result<(), Failure> {
    allow_servers()
        .and_then(|()| set(socket, TCP_FASTOPEN, WAITING))
        .and_then(|()| set(socket, TCP_FASTOPEN_NO_COOKIE, 1))
        .map_err(|error| refused(&error))
}

/// Has a socket put off its request until there are data to go with it.
pub(crate) fn request(socket: &Socket) -> Result<(), Failure> {
    set(socket, TCP_FASTOPEN_NO_COOKIE, 1)
        .and_then(|()| set(socket, TCP_FASTOPEN_CONNECT, 1))
        .map_err(|error| refused(&error))
}

fn set(socket: &Socket, name: i32, value: i32) -> io::Result<()> {
    options::set(socket.as_fd(), libc::IPPROTO_TCP, name, &value)
}

fn allow_servers() -> io::Result<()> {
    let now = fs::read_to_string(SETTING)?;
    let now: u32 = now.trim().parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    fs::write(SETTING, (now | SERVERS).to_string())
}

fn refused(error: &io::Error) -> Failure {
    Failure::system("TCP Fast Open was refused", error)
}
