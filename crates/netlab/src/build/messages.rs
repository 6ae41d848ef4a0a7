//! The netlink messages of which a network is made, one function for each.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, BorrowedFd};

use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{
    InfoBridge, InfoData, InfoGre, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::numbers::ethernet_address;
use crate::netlink::Request;

/// Time to live of outer packets, so that it does not depend on the inner packet (RFC 1700's default).
const TUNNEL_TTL: u8 = 64;

/// A link: its two ends as (number, name), the second in the namespace `far`.
pub(crate) fn veth(ends: [(u32, String); 2], mtu_bytes: u32, far: BorrowedFd<'_>, name: &str) -> Request {
    let [near_end, mut far_end] = ends.map(|(index, name)| {
        let mut end = LinkMessage::default();
        end.header.index = index;
        end.attributes = vec![
            LinkAttribute::IfName(name),
            LinkAttribute::Address(ethernet_address(index)),
            LinkAttribute::Mtu(mtu_bytes),
        ];
        end
    });
    far_end.attributes.push(LinkAttribute::NetNsFd(far.as_raw_fd()));
    let mut message = near_end;
    message.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(far_end))),
    ]));
    create(format!("cannot make link \"{name}\""), RouteNetlinkMessage::NewLink(message))
}

/// A switch: learns nothing (see [`forwarding_entry`]) and runs no protocol of its own.
pub(crate) fn bridge(index: u32) -> Request {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    message.attributes = vec![
        LinkAttribute::IfName("switch".into()),
        LinkAttribute::Address(ethernet_address(index)),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Bridge),
            LinkInfo::Data(InfoData::Bridge(vec![
                InfoBridge::ForwardDelay(0),
                InfoBridge::MulticastSnooping(false),
            ])),
        ]),
    ];
    create("cannot make a switch".into(), RouteNetlinkMessage::NewLink(message))
}

pub(crate) fn enslave(index: u32, bridge: u32) -> Request {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes = vec![LinkAttribute::Controller(bridge)];
    change("cannot join a link to its switch".into(), RouteNetlinkMessage::SetLink(message))
}

pub(crate) fn up(index: u32, name: &str) -> Request {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    change(format!("cannot bring interface {name} up"), RouteNetlinkMessage::SetLink(message))
}

pub(crate) fn address(index: u32, net: IpNet) -> Request {
    let mut message = AddressMessage::default();
    message.header.family = family(net.addr());
    message.header.prefix_len = net.prefix_len();
    message.header.scope = AddressScope::Universe;
    message.header.index = index;
    message.attributes = vec![AddressAttribute::Local(net.addr()), AddressAttribute::Address(net.addr())];
    if net.addr().is_ipv6() {
        message.header.flags = AddressHeaderFlags::Nodad;
    }
    create(format!("cannot add address {net}"), RouteNetlinkMessage::NewAddress(message))
}

/// A permanent entry: `address` has the Ethernet address `ethernet`.
pub(crate) fn neighbour(index: u32, address: IpAddr, ethernet: &[u8]) -> Request {
    let mut message = NeighbourMessage::default();
    message.header.family = family(address);
    message.header.ifindex = index;
    message.header.state = NeighbourState::Permanent;
    message.attributes = vec![
        NeighbourAttribute::Destination(match address {
            IpAddr::V4(v4) => NeighbourAddress::Inet(v4),
            IpAddr::V6(v6) => NeighbourAddress::Inet6(v6),
        }),
        NeighbourAttribute::LinkLayerAddress(ethernet.to_vec()),
    ];
    create(format!("cannot add neighbour {address}"), RouteNetlinkMessage::NewNeighbour(message))
}

/// A static entry of a switch's table: `ethernet` is behind the port `index`. Nothing is ever flooded.
pub(crate) fn forwarding_entry(index: u32, ethernet: &[u8]) -> Request {
    let mut message = NeighbourMessage::default();
    message.header.family = AddressFamily::Bridge;
    message.header.ifindex = index;
    message.header.state = NeighbourState::Noarp;
    message.header.flags = NeighbourFlags::Controller;
    message.attributes = vec![NeighbourAttribute::LinkLayerAddress(ethernet.to_vec())];
    create("cannot add an entry to a switch's table".into(), RouteNetlinkMessage::NewNeighbour(message))
}

/// A GRE tunnel whose outer packets are never fragmented.
pub(crate) fn gre(index: u32, name: &str, local: Ipv4Addr, remote: Ipv4Addr, mtu_bytes: u32) -> Request {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    message.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::Mtu(mtu_bytes),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::GreTun),
            LinkInfo::Data(InfoData::GreTun(vec![
                InfoGre::Local(local),
                InfoGre::Remote(remote),
                InfoGre::Ttl(TUNNEL_TTL),
                InfoGre::PathMTUDiscovery(true),
            ])),
        ]),
    ];
    create(format!("cannot make tunnel \"{name}\""), RouteNetlinkMessage::NewLink(message))
}

pub(crate) fn route_via(to: IpNet, via: IpAddr) -> Request {
    let mut message = route(to);
    message.attributes.push(RouteAttribute::Gateway(RouteAddress::from(via)));
    create(format!("cannot add the route to {to} via {via}"), RouteNetlinkMessage::NewRoute(message))
}

pub(crate) fn route_into(to: IpNet, tunnel: u32) -> Request {
    let mut message = route(to);
    message.header.scope = RouteScope::Link;
    message.attributes.push(RouteAttribute::Oif(tunnel));
    create(format!("cannot add the route to {to} into a tunnel"), RouteNetlinkMessage::NewRoute(message))
}

/// A route in place of the one that is there, if any: by a next hop, or none (who sends there is told so).
pub(crate) fn changed_route(to: IpNet, via: Option<IpAddr>) -> Request {
    let mut message = route(to);
    match via {
        Some(via) => message.attributes.push(RouteAttribute::Gateway(RouteAddress::from(via))),
        None => message.header.kind = RouteType::Unreachable,
    }
    Request {
        what: format!("cannot change the route to {to}"),
        flags: NLM_F_CREATE | NLM_F_REPLACE,
        message: RouteNetlinkMessage::NewRoute(message),
    }
}

/// The route to one address by a next hop, with an initial window of TCP; it stands before the one that leads there
/// anyway, being longer, and replaces its like.
pub(crate) fn windowed_via(to: IpAddr, via: IpAddr, segments: u32) -> Request {
    let mut message = route(to.into());
    message.attributes.push(RouteAttribute::Gateway(RouteAddress::from(via)));
    windowed(to, message, segments)
}

/// The same by an interface behind which the address is.
pub(crate) fn windowed_by(to: IpAddr, interface: u32, segments: u32) -> Request {
    let mut message = route(to.into());
    message.header.scope = RouteScope::Link;
    message.attributes.push(RouteAttribute::Oif(interface));
    windowed(to, message, segments)
}

fn windowed(to: IpAddr, mut message: RouteMessage, segments: u32) -> Request {
    message.attributes.push(RouteAttribute::Metrics(vec![RouteMetric::InitCwnd(segments)]));
    Request {
        what: format!("cannot set the initial window towards {to}"),
        flags: NLM_F_CREATE | NLM_F_REPLACE,
        message: RouteNetlinkMessage::NewRoute(message),
    }
}

fn route(to: IpNet) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: family(to.addr()),
        destination_prefix_length: to.prefix_len(),
        table: RouteHeader::RT_TABLE_MAIN,
        protocol: RouteProtocol::Static,
        scope: RouteScope::Universe,
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    if to.prefix_len() > 0 {
        message.attributes.push(RouteAttribute::Destination(RouteAddress::from(to.addr())));
    }
    message
}

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

fn create(what: String, message: RouteNetlinkMessage) -> Request {
    Request { what, flags: NLM_F_CREATE | NLM_F_EXCL, message }
}

fn change(what: String, message: RouteNetlinkMessage) -> Request {
    Request { what, flags: 0, message }
}
