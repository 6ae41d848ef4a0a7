//! The kernel's path manager for MPTCP (generic netlink, linux/mptcp_pm.h and linux/genetlink.h): which further
//! addresses of a node it announces, and how many subflows it opens.

use std::io::{self, Read};
use std::net::IpAddr;

use socket2::{Domain, Protocol, Socket, Type};

const GENERIC: libc::c_int = 16;
const CONTROL_FAMILY: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const CONTROL_FAMILY_ID: u16 = 1;
const CONTROL_FAMILY_NAME: u16 = 2;

const ADD_ADDRESS: u8 = 1;
const SET_LIMITS: u8 = 5;
const ATTRIBUTE_ADDRESS: u16 = 1;
const ATTRIBUTE_ACCEPTED_ADDRESSES: u16 = 2;
const ATTRIBUTE_SUBFLOWS: u16 = 3;
const ADDRESS_FAMILY: u16 = 1;
const ADDRESS_V4: u16 = 3;
const ADDRESS_V6: u16 = 4;
const ADDRESS_FLAGS: u16 = 6;
const FLAG_SIGNAL: u32 = 1;
const FLAG_BACKUP: u32 = 1 << 2;
const NESTED: u16 = 1 << 15;

/// Most addresses and subflows that the kernel allows (MPTCP_PM_ADDR_MAX, net/mptcp/protocol.h).
pub(crate) const MOST: usize = 8;

/// Has the node of the calling thread tell whoever connects to it that it can be reached at these addresses too. The
/// first `active` of them are for use, the others are backups: the kernel says so when a subflow to one is opened, and
/// either end then sends over it only where no other subflow works (Linux 6.11 and newer, net/mptcp/subflow.c).
pub(crate) fn announce(addresses: &[IpAddr], active: usize) -> io::Result<()> {
    let mut manager = Manager::open()?;
    for (place, address) in addresses.iter().enumerate() {
        let flags = if place < active { FLAG_SIGNAL } else { FLAG_SIGNAL | FLAG_BACKUP };
        let (family, kind, octets) = match address {
            IpAddr::V4(ip) => (libc::AF_INET as u16, ADDRESS_V4, ip.octets().to_vec()),
            IpAddr::V6(ip) => (libc::AF_INET6 as u16, ADDRESS_V6, ip.octets().to_vec()),
        };
        let description = [
            attribute(ADDRESS_FAMILY, &family.to_ne_bytes()),
            attribute(ADDRESS_FLAGS, &flags.to_ne_bytes()),
            attribute(kind, &octets),
        ]
        .concat();
        match manager.call(ADD_ADDRESS, &attribute(ATTRIBUTE_ADDRESS | NESTED, &description)) {
            // Another flow to this node has said it already.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => other?,
        }
    }
    Ok(())
}

/// Lets connections of the node of the calling thread have this many subflows beside their first, and use as many
/// addresses that their other ends announce.
pub(crate) fn allow(subflows: usize) -> io::Result<()> {
    let most = (subflows.min(MOST) as u32).to_ne_bytes();
    let limits =
        [attribute(ATTRIBUTE_ACCEPTED_ADDRESSES, &most), attribute(ATTRIBUTE_SUBFLOWS, &most)].concat();
    Manager::open()?.call(SET_LIMITS, &limits)
}

struct Manager {
    socket: Socket,
    family: u16,
}

impl Manager {
    fn open() -> io::Result<Self> {
        let socket = Socket::new(
            Domain::from(libc::AF_NETLINK),
            Type::from(libc::SOCK_RAW),
            Some(Protocol::from(GENERIC)),
        )?;
        let mut manager = Self { socket, family: CONTROL_FAMILY };
        let name = attribute(CONTROL_FAMILY_NAME, b"mptcp_pm\0");
        manager.send(GET_FAMILY, &name)?;
        let missing = || io::Error::other("the kernel does not tell the number of its path manager");
        manager.family = manager.answer()?.and_then(|answer| family_id(&answer)).ok_or_else(missing)?;
        Ok(manager)
    }

    fn call(&mut self, command: u8, attributes: &[u8]) -> io::Result<()> {
        self.send(command, attributes)?;
        self.answer().map(drop)
    }

    /// Sends one request that asks for an acknowledgement.
    fn send(&self, command: u8, attributes: &[u8]) -> io::Result<()> {
        let length = (HEADER_BYTES + GENERIC_HEADER_BYTES + attributes.len()) as u32;
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut request = Vec::with_capacity(length as usize);
        request.extend(length.to_ne_bytes());
        request.extend(self.family.to_ne_bytes());
        request.extend(flags.to_ne_bytes());
        // Sequence number and sender: there is one request at a time, and the kernel knows the socket.
        request.extend([0; 8]);
        request.extend([command, 1, 0, 0]);
        request.extend(attributes);
        self.socket.send(&request).map(drop)
    }

    /// Reads up to the acknowledgement; returns the attributes of an answer before it.
    fn answer(&self) -> io::Result<Option<Vec<u8>>> {
        let cut_short = || io::Error::other("an answer of the kernel's path manager is cut short");
        let mut buffer = [0; 8192];
        let mut found = None;
        loop {
            let length = (&self.socket).read(&mut buffer)?;
            let mut rest = &buffer[..length];
            while rest.len() >= HEADER_BYTES {
                let size = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
                let kind = u16::from_ne_bytes([rest[4], rest[5]]);
                let body = rest.get(HEADER_BYTES..size).ok_or_else(cut_short)?;
                if i32::from(kind) == libc::NLMSG_ERROR {
                    let code =
                        body.first_chunk().map(|code| i32::from_ne_bytes(*code)).ok_or_else(cut_short)?;
                    return if code == 0 { Ok(found) } else { Err(io::Error::from_raw_os_error(-code)) };
                }
                found = Some(body.get(GENERIC_HEADER_BYTES..).ok_or_else(cut_short)?.to_vec());
                rest = &rest[size.next_multiple_of(4).min(rest.len())..];
            }
        }
    }
}

/// Bytes of `struct nlmsghdr`, of `struct genlmsghdr` behind it, and of an attribute's header.
const HEADER_BYTES: usize = 16;
const GENERIC_HEADER_BYTES: usize = 4;
const ATTRIBUTE_BYTES: usize = 4;

/// An attribute, padded to four bytes.
fn attribute(kind: u16, data: &[u8]) -> Vec<u8> {
    let length = ATTRIBUTE_BYTES + data.len();
    let mut bytes = Vec::with_capacity(length.next_multiple_of(4));
    bytes.extend((length as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(data);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

/// The number of the family among the attributes of an answer.
fn family_id(mut attributes: &[u8]) -> Option<u16> {
    while attributes.len() >= ATTRIBUTE_BYTES {
        let length = usize::from(u16::from_ne_bytes([attributes[0], attributes[1]]));
        let kind = u16::from_ne_bytes([attributes[2], attributes[3]]);
        let data = attributes.get(ATTRIBUTE_BYTES..length)?;
        if kind == CONTROL_FAMILY_ID {
            return data.first_chunk().map(|id| u16::from_ne_bytes(*id));
        }
        attributes = &attributes[length.next_multiple_of(4).min(attributes.len())..];
    }
    None
}
