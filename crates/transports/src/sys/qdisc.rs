//! Which queueing discipline stands behind an address: release times work with fq only.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::options::Plain;

/// Whether the interface that owns the address `local` has fq as its root queueing discipline.
pub(crate) fn is_fq(local: SocketAddr) -> io::Result<bool> {
    match interface_index(local)? {
        Some(index) => Ok(root_discipline(index)?.as_deref() == Some(b"fq")),
        None => Ok(false),
    }
}

/// The index of the interface that owns an address.
fn interface_index(local: SocketAddr) -> io::Result<Option<i32>> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `list` is a valid place for the head of a list that is freed below.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = None;
    let mut entry = list;
    while !entry.is_null() && found.is_none() {
        // SAFETY: `entry` is a live node of the list; its address, when there is one, has the size that its
        // family implies; its name is a C string.
        unsafe {
            if address_of((*entry).ifa_addr).is_some_and(|address| address == local.ip()) {
                found = Some(libc::if_nametoindex((*entry).ifa_name) as i32);
            }
            entry = (*entry).ifa_next;
        }
    }
    // SAFETY: the list came from getifaddrs and is not used any more.
    unsafe { libc::freeifaddrs(list) };
    Ok(found)
}

/// # Safety
/// `address` is null or points at a socket address as long as its family implies.
unsafe fn address_of(address: *const libc::sockaddr) -> Option<std::net::IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: not null; the caller vouches for the length.
    unsafe {
        match i32::from((*address).sa_family) {
            libc::AF_INET => {
                let raw = (*address.cast::<libc::sockaddr_in>()).sin_addr.s_addr;
                Some(std::net::Ipv4Addr::from(raw.to_ne_bytes()).into())
            }
            libc::AF_INET6 => {
                let raw = (*address.cast::<libc::sockaddr_in6>()).sin6_addr.s6_addr;
                Some(std::net::Ipv6Addr::from(raw).into())
            }
            _ => None,
        }
    }
}

/// `struct tcmsg` of linux/rtnetlink.h behind its message header, as a request.
#[repr(C)]
struct Request {
    header: libc::nlmsghdr,
    family: u8,
    padding: [u8; 3],
    interface: i32,
    handle: u32,
    parent: u32,
    info: u32,
}

// SAFETY: `repr(C)` and integers only.
unsafe impl Plain for Request {}

/// Parent of a root queueing discipline (linux/pkt_sched.h).
const TC_H_ROOT: u32 = 0xffff_ffff;
/// Bytes of a netlink header, of a tcmsg behind it, and of an attribute's header.
const HEADER_BYTES: usize = 16;
const TCMSG_BYTES: usize = 20;
const ATTRIBUTE_BYTES: usize = 4;
/// The attribute with the discipline's name (linux/rtnetlink.h).
const TCA_KIND: u16 = 1;

/// The name of an interface's root queueing discipline, by a dump over rtnetlink.
fn root_discipline(interface: i32) -> io::Result<Option<Vec<u8>>> {
    // SAFETY: socket takes three integers and returns a new descriptor or -1.
    let fd =
        unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and owned by nothing else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut request = Request::zeroed();
    request.header.nlmsg_len = size_of::<Request>() as u32;
    request.header.nlmsg_type = libc::RTM_GETQDISC;
    request.header.nlmsg_flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    request.interface = interface;
    // SAFETY: the request is readable for its size.
    let sent =
        unsafe { libc::send(socket.as_raw_fd(), (&raw const request).cast(), size_of::<Request>(), 0) };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut buffer = vec![0_u8; 65_536];
    let mut kind = None;
    loop {
        // SAFETY: the buffer is writable for its length.
        let length = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        if length < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut rest = &buffer[..length as usize];
        while rest.len() >= HEADER_BYTES {
            let size = word(rest, 0) as usize;
            let message_type = u16::from_ne_bytes([rest[4], rest[5]]);
            if size < HEADER_BYTES || size > rest.len() {
                return Err(io::Error::other("the kernel's list of queueing disciplines is cut short"));
            }
            if i32::from(message_type) == libc::NLMSG_DONE || i32::from(message_type) == libc::NLMSG_ERROR {
                return Ok(kind);
            }
            if let Some(name) = root_kind(&rest[HEADER_BYTES..size], interface) {
                kind = Some(name.to_vec());
            }
            rest = &rest[size.next_multiple_of(4).min(rest.len())..];
        }
    }
}

/// The kind in one answer, when it is about the root of this interface.
fn root_kind(answer: &[u8], interface: i32) -> Option<&[u8]> {
    if answer.len() < TCMSG_BYTES || word(answer, 4) != interface as u32 || word(answer, 12) != TC_H_ROOT {
        return None;
    }
    let mut attributes = &answer[TCMSG_BYTES..];
    while attributes.len() >= ATTRIBUTE_BYTES {
        let length = usize::from(u16::from_ne_bytes([attributes[0], attributes[1]]));
        if length < ATTRIBUTE_BYTES || length > attributes.len() {
            return None;
        }
        if u16::from_ne_bytes([attributes[2], attributes[3]]) == TCA_KIND {
            return attributes[ATTRIBUTE_BYTES..length].split(|byte| *byte == 0).next();
        }
        attributes = &attributes[length.next_multiple_of(4).min(attributes.len())..];
    }
    None
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
