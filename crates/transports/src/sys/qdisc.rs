//! Which queueing discipline stands behind an address: release times work with fq only.

use std::io;
use std::net::{IpAddr, SocketAddr};

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::if_nametoindex;

/// Whether the interface that owns the address `local` has fq as its root queueing discipline.
pub(crate) fn is_fq(local: SocketAddr) -> io::Result<bool> {
    let Some(owner) = getifaddrs()?.find(|interface| ip(interface) == Some(local.ip())) else {
        return Ok(false);
    };
    let index = if_nametoindex(owner.interface_name.as_str())? as i32;
    Ok(root_discipline(index)?.as_deref() == Some("fq"))
}

fn ip(interface: &InterfaceAddress) -> Option<IpAddr> {
    let address = interface.address.as_ref()?;
    let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}

/// The name of an interface's root queueing discipline, by a dump over rtnetlink.
fn root_discipline(interface: i32) -> io::Result<Option<String>> {
    let mut question = TcMessage::default();
    question.header.index = interface;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let mut question = NetlinkMessage::new(header, RouteNetlinkMessage::GetQueueDiscipline(question).into());
    question.finalize();
    let mut bytes = vec![0; question.buffer_len()];
    question.serialize(&mut bytes);
    let socket = Socket::new(NETLINK_ROUTE)?;
    socket.send(&bytes, 0)?;
    let mut found = None;
    loop {
        let (answers, _) = socket.recv_from_full()?;
        let mut rest = &answers[..];
        while !rest.is_empty() {
            let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            rest = rest.get((answer.header.length as usize).next_multiple_of(4)..).unwrap_or_default();
            match answer.payload {
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewQueueDiscipline(discipline)) => {
                    found = root_kind(&discipline, interface).or(found);
                }
                NetlinkPayload::Done(_) | NetlinkPayload::Error(_) => return Ok(found),
                _ => {}
            }
        }
    }
}

/// The kind in one answer, when it is about the root of this interface.
fn root_kind(discipline: &TcMessage, interface: i32) -> Option<String> {
    if discipline.header.index != interface || discipline.header.parent != TcHandle::ROOT {
        return None;
    }
    discipline.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Kind(kind) => Some(kind.clone()),
        _ => None,
    })
}
