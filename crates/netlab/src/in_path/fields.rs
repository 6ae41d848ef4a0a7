//! Fields of a packet by name, and packets made of nothing but them.

use std::net::IpAddr;

use serde::Deserialize;

use super::hex;
use super::messages::Part;
use super::packet::{Headers, ICMP, ICMPV6, IPV4_BYTES, IPV6_BYTES, TCP, UDP, u32_at};
use super::place::Within;

/// Fields that get other values; those of the innermost IP header and of its transport. None stays as it is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Fields {
    source: Option<IpAddr>,
    destination: Option<IpAddr>,
    /// Time to live, or hop limit.
    ttl: Option<u8>,
    /// DSCP and ECN together (RFC 2474, RFC 3168).
    traffic_class: Option<u8>,
    source_port: Option<u16>,
    destination_port: Option<u16>,
    tcp_sequence: Option<u32>,
    tcp_acknowledgment: Option<u32>,
    /// By how much more, modulo 2^32.
    tcp_sequence_plus: Option<i64>,
    tcp_acknowledgment_plus: Option<i64>,
    /// FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32 (RFC 9293), added up.
    tcp_flags: Option<u8>,
    tcp_window: Option<u16>,
    /// What the transport carries, of any length; empty for nothing.
    payload: Option<String>,
    bytes: Vec<Bytes>,
    #[serde(skip)]
    payload_bytes: Option<Vec<u8>>,
}

/// Bytes at a place; what lies outside of this packet (of a message in several) stays as it is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bytes {
    within: Within,
    offset: u32,
    hex: String,
    #[serde(skip)]
    value: Vec<u8>,
}

impl Fields {
    /// Reads digits; refuses what says nothing.
    pub fn checked(mut self) -> Result<Fields, String> {
        for bytes in &mut self.bytes {
            bytes.value = hex::decode(&bytes.hex)?;
        }
        self.payload_bytes = match self.payload.as_deref() {
            None => None,
            Some("") => Some(Vec::new()),
            Some(digits) => Some(hex::decode(digits)?),
        };
        Ok(self)
    }

    /// Whether some of them have their places in a message.
    pub fn in_message(&self) -> bool {
        self.bytes.iter().any(|bytes| bytes.within == Within::Message)
    }

    /// Source and destination, if both are given and of one version.
    pub fn addresses(&self) -> Option<(IpAddr, IpAddr)> {
        let both = (self.source?, self.destination?);
        (both.0.is_ipv4() == both.1.is_ipv4()).then_some(both)
    }

    /// Writes them into a packet; says whether it had a place for each. Checksums are not looked at, lengths are.
    pub fn write(&self, packet: &mut Vec<u8>, part: Option<&Part>) -> bool {
        let Some(headers) = Headers::of(packet) else { return false };
        let mut fits = self.write_ip(packet, &headers) & self.write_transport(packet, &headers);
        for bytes in &self.bytes {
            fits &= bytes.write(packet, &headers, part);
        }
        if let Some(payload) = &self.payload_bytes {
            fits &= replace_payload(packet, &headers, payload);
        }
        fits
    }

    fn write_ip(&self, packet: &mut [u8], headers: &Headers) -> bool {
        let at = headers.innermost_at();
        let four = headers.version == 4;
        let mut fits = true;
        let places = if four { [12, 16] } else { [8, 24] };
        for (address, place) in [self.source, self.destination].into_iter().zip(places) {
            match address {
                None => {}
                Some(IpAddr::V4(address)) if four => put(packet, at + place, &address.octets()),
                Some(IpAddr::V6(address)) if !four => put(packet, at + place, &address.octets()),
                Some(_) => fits = false,
            }
        }
        if let Some(ttl) = self.ttl {
            packet[at + if four { 8 } else { 7 }] = ttl;
        }
        if let Some(class) = self.traffic_class {
            if four {
                packet[at + 1] = class;
            } else {
                packet[at] = 0x60 | class >> 4;
                packet[at + 1] = packet[at + 1] & 0x0f | class << 4;
            }
        }
        fits
    }

    fn write_transport(&self, packet: &mut [u8], headers: &Headers) -> bool {
        let mut fits = true;
        let has_ports = headers.ports(packet).is_some();
        let tcp = headers.protocol == TCP && headers.payload_at.is_some();
        let at = headers.transport_at.unwrap_or(headers.end);
        let plus = |by: Option<i64>, from: usize| {
            Some(u32_at(packet, from)?.wrapping_add(by?.rem_euclid(1 << 32) as u32).to_be_bytes().to_vec())
        };
        let given = |value: Option<u32>| value.map(|value| value.to_be_bytes().to_vec());
        let short = |value: Option<u16>| value.map(|value| value.to_be_bytes().to_vec());
        let mut writes =
            vec![(short(self.source_port), 0, has_ports), (short(self.destination_port), 2, has_ports)];
        writes.extend([
            (given(self.tcp_sequence), 4, tcp),
            (given(self.tcp_acknowledgment), 8, tcp),
            (self.tcp_flags.map(|flags| vec![flags]), 13, tcp),
            (short(self.tcp_window), 14, tcp),
        ]);
        fits &= tcp || (self.tcp_sequence_plus.is_none() && self.tcp_acknowledgment_plus.is_none());
        if tcp {
            writes.extend([
                (plus(self.tcp_sequence_plus, at + 4), 4, true),
                (plus(self.tcp_acknowledgment_plus, at + 8), 8, true),
            ]);
        }
        for (value, offset, has) in writes {
            match value {
                Some(value) if has => put(packet, at + offset, &value),
                Some(_) => fits = false,
                None => {}
            }
        }
        fits
    }
}

impl Bytes {
    fn write(&self, packet: &mut [u8], headers: &Headers, part: Option<&Part>) -> bool {
        let Some(range) = self.within.range(packet.len(), Some(headers), part) else { return false };
        let Some(start) = self.within.begins_at(Some(headers), part) else { return false };
        let first = start + i64::from(self.offset);
        let mut written = 0;
        for (at, byte) in (first..).zip(&self.value) {
            if let Ok(at) = usize::try_from(at)
                && range.contains(&at)
                && let Some(place) = packet.get_mut(at)
            {
                *place = *byte;
                written += 1;
            }
        }
        // Of a message in several packets, each gets its own part.
        written == self.value.len() || self.within == Within::Message
    }
}

fn put(packet: &mut [u8], at: usize, value: &[u8]) {
    packet[at..at + value.len()].copy_from_slice(value);
}

/// Puts another payload behind the transport's header, and the right lengths into all headers in front of it.
pub(crate) fn replace_payload(packet: &mut Vec<u8>, headers: &Headers, payload: &[u8]) -> bool {
    let (Some(at), Some(transport_at)) = (headers.payload_at, headers.transport_at) else { return false };
    let end = at + payload.len();
    if headers.fragment || end > usize::from(u16::MAX) {
        return false;
    }
    packet.truncate(at);
    packet.extend(payload);
    for &ip_at in &headers.ip_at {
        let (place, length) =
            if packet[ip_at] >> 4 == 4 { (2, end - ip_at) } else { (4, end - ip_at - IPV6_BYTES) };
        put(packet, ip_at + place, &(length as u16).to_be_bytes());
    }
    if headers.protocol == UDP {
        put(packet, transport_at + 4, &((end - transport_at) as u16).to_be_bytes());
    }
    true
}

/// Source and destination change places.
pub(crate) fn swap_addresses(packet: &mut [u8]) -> bool {
    let Some(headers) = Headers::of(packet) else { return false };
    let (at, bytes) = if headers.version == 4 { (12, 4) } else { (8, 16) };
    swap(packet, headers.innermost_at() + at, bytes);
    true
}

/// Source port and destination port change places.
pub(crate) fn swap_ports(packet: &mut [u8]) -> bool {
    let Some(headers) = Headers::of(packet) else { return false };
    let Some(at) = headers.transport_at.filter(|_| headers.ports(packet).is_some()) else { return false };
    swap(packet, at, 2);
    true
}

fn swap(packet: &mut [u8], at: usize, bytes: usize) {
    let (one, other) = packet[at..at + 2 * bytes].split_at_mut(bytes);
    one.swap_with_slice(other);
}

/// The first time to live of what is made here: Linux's own.
const TTL: u8 = 64;

/// A packet of a protocol with nothing in it but addresses, and with right lengths; none of an unknown protocol.
pub(crate) fn made(protocol: &str, source: IpAddr, destination: IpAddr) -> Option<Vec<u8>> {
    let four = source.is_ipv4();
    let (number, transport_bytes): (u8, usize) = match protocol {
        "udp" => (UDP, 8),
        "tcp" => (TCP, 20),
        "icmp" => (if four { ICMP } else { ICMPV6 }, 8),
        _ => return None,
    };
    let header_bytes = if four { IPV4_BYTES } else { IPV6_BYTES };
    let mut packet = vec![0; header_bytes + transport_bytes];
    let length = packet.len() as u16;
    if four {
        packet[0] = 0x45;
        put(&mut packet, 2, &length.to_be_bytes());
        (packet[8], packet[9]) = (TTL, number);
    } else {
        packet[0] = 0x60;
        put(&mut packet, 4, &(transport_bytes as u16).to_be_bytes());
        (packet[6], packet[7]) = (number, TTL);
    }
    match number {
        UDP => {
            put(&mut packet, header_bytes + 4, &(transport_bytes as u16).to_be_bytes());
            // Any checksum but zero asks for one.
            put(&mut packet, header_bytes + 6, &[0xff, 0xff]);
        }
        TCP => packet[header_bytes + 12] = 0x50,
        _ => {}
    }
    let addresses = Fields { source: Some(source), destination: Some(destination), ..Fields::default() };
    addresses.write(&mut packet, None).then_some(packet)
}
