//! Kinds of packets that are told by fixed bytes of their headers, in the two languages that the kernel knows for
//! them: keys of the u32 classifier (`tc-u32(8)`) and classic BPF.

use std::collections::BTreeMap;

use libc::sock_filter;

use crate::packet_socket::{if_equal, statement};

/// A byte of a transport header: what is there under `mask` equals `value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteMatch {
    /// Place from the beginning of the transport header, in bytes.
    pub offset: u8,
    /// What is expected; no bit outside of `mask` is set.
    pub value: u8,
    /// Bits that count.
    pub mask: u8,
}

impl ByteMatch {
    /// A whole byte.
    pub const fn exactly(offset: u8, value: u8) -> Self {
        Self { offset, value, mask: 0xff }
    }

    const fn moved(self, by: u8) -> Self {
        Self { offset: self.offset + by, ..self }
    }
}

/// Packets of a transport with certain bytes in its header: over IPv4 or IPv6 without options, or over IPv4 inside a GRE
/// tunnel of [`crate::TunnelSpec`]. Guests send no others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketPattern {
    /// The transport's number in the IP header.
    pub protocol: u8,
    /// What its header holds.
    pub bytes: Vec<ByteMatch>,
    /// What it holds besides: one of these; empty for no more.
    pub alternatives: Vec<Vec<ByteMatch>>,
}

/// Version 4 and a header of five words, as the first byte of an IPv4 header says it (RFC 791).
const IPV4_FIRST_BYTE: u8 = 0x45;
const IPV4_PROTOCOL_AT: u8 = 9;
const IPV4_BYTES: u8 = 20;
const GRE_PROTOCOL: u8 = 47;
/// A GRE header without options that carries IPv4 (RFC 2784).
const GRE_HEADER: [u8; 4] = [0, 0, 8, 0];
/// Version 6 (RFC 8200).
const IPV6_FIRST_BYTE: ByteMatch = ByteMatch { offset: 0, value: 0x60, mask: 0xf0 };
const IPV6_PROTOCOL_AT: u8 = 6;
const IPV6_BYTES: u8 = 40;

/// A word of the packet: its place from the beginning of the IP header, the bits that count, and what they are.
pub(crate) type Key = (u8, u32, u32);

impl PacketPattern {
    /// The bytes from the IP header on, for each alternative and each way in which the packet can be carried. Whatever
    /// tells the ways apart comes first.
    fn layouts(&self) -> Vec<Vec<ByteMatch>> {
        let further = if self.alternatives.is_empty() { &[Vec::new()] } else { self.alternatives.as_slice() };
        further
            .iter()
            .flat_map(|further| self.ways(&self.bytes.iter().chain(further).copied().collect::<Vec<_>>()))
            .collect()
    }

    fn ways(&self, bytes: &[ByteMatch]) -> [Vec<ByteMatch>; 3] {
        let ipv4 = |protocol: u8| {
            [ByteMatch::exactly(0, IPV4_FIRST_BYTE), ByteMatch::exactly(IPV4_PROTOCOL_AT, protocol)]
        };
        let transport = |at: u8| bytes.iter().map(move |byte| byte.moved(at));
        let in_gre = IPV4_BYTES + GRE_HEADER.len() as u8;
        let gre_header = (IPV4_BYTES..).zip(GRE_HEADER).map(|(at, value)| ByteMatch::exactly(at, value));
        [
            ipv4(self.protocol).into_iter().chain(transport(IPV4_BYTES)).collect(),
            ipv4(GRE_PROTOCOL)
                .into_iter()
                .chain(gre_header)
                .chain(ipv4(self.protocol).map(|byte| byte.moved(in_gre)))
                .chain(transport(in_gre + IPV4_BYTES))
                .collect(),
            [IPV6_FIRST_BYTE, ByteMatch::exactly(IPV6_PROTOCOL_AT, self.protocol)]
                .into_iter()
                .chain(transport(IPV6_BYTES))
                .collect(),
        ]
    }

    /// Whether a packet, from its IP header on, is one of them.
    pub(crate) fn matches(&self, packet: &[u8]) -> bool {
        self.layouts().iter().any(|bytes| {
            bytes.iter().all(|byte| {
                packet.get(usize::from(byte.offset)).is_some_and(|there| there & byte.mask == byte.value)
            })
        })
    }

    /// Words to compare, for each alternative and each way in which the packet can be carried.
    pub(crate) fn u32_keys(&self) -> impl Iterator<Item = Vec<Key>> {
        self.layouts().into_iter().map(|bytes| {
            let mut words = BTreeMap::new();
            for byte in bytes {
                let (mask, value) = words.entry(byte.offset / 4 * 4).or_insert((0, 0));
                let shift = 8 * (3 - u32::from(byte.offset % 4));
                *mask |= u32::from(byte.mask) << shift;
                *value |= u32::from(byte.value) << shift;
            }
            words.into_iter().map(|(offset, (mask, value))| (offset, mask, value)).collect()
        })
    }

    /// A program that accepts the packets, and one byte of each, and no others.
    pub(crate) fn program(&self) -> Vec<sock_filter> {
        let mut program = Vec::new();
        for bytes in self.layouts() {
            for (number, byte) in bytes.iter().enumerate() {
                let statements_left = 3 * (bytes.len() - 1 - number) + 1;
                program.extend([
                    statement(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, byte.offset.into()),
                    statement(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, byte.mask.into()),
                    if_equal(byte.value.into(), 0, statements_left as u8),
                ]);
            }
            program.push(statement(libc::BPF_RET | libc::BPF_K, 1));
        }
        program.push(statement(libc::BPF_RET | libc::BPF_K, 0));
        program
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The request of a TCP connection to port 5000.
    fn syn() -> PacketPattern {
        let flags = ByteMatch { offset: 13, value: 0x02, mask: 0x12 };
        PacketPattern {
            protocol: 6,
            bytes: vec![ByteMatch::exactly(2, 0x13), ByteMatch::exactly(3, 0x88), flags],
            alternatives: Vec::new(),
        }
    }

    fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, 1, 1, 10, 0, 2, 1];
        packet.extend(payload);
        packet
    }

    fn ipv6(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 20, protocol, 64];
        packet.extend([0; 32]);
        packet.extend(payload);
        packet
    }

    fn tcp(port: u16, flags: u8) -> Vec<u8> {
        let mut header = vec![0x9c, 0x40];
        header.extend(port.to_be_bytes());
        header.extend([0, 0, 0, 1, 0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
        header
    }

    /// What the classifier does: all words of one way match.
    fn keys_match(pattern: &PacketPattern, packet: &[u8]) -> bool {
        pattern.u32_keys().any(|keys| {
            keys.iter().all(|&(offset, mask, value)| {
                let at = usize::from(offset);
                let word = packet.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
                word.is_some_and(|word| u32::from_be_bytes(word) & mask == value)
            })
        })
    }

    /// What the kernel does with the program; a byte beyond the packet's end refuses it.
    fn program_accepts(pattern: &PacketPattern, packet: &[u8]) -> bool {
        let program = pattern.program();
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let step = program[at];
            at += 1;
            match u32::from(step.code) {
                code if code == libc::BPF_LD | libc::BPF_B | libc::BPF_ABS => {
                    match packet.get(step.k as usize) {
                        Some(byte) => accumulator = u32::from(*byte),
                        None => return false,
                    }
                }
                code if code == libc::BPF_ALU | libc::BPF_AND | libc::BPF_K => accumulator &= step.k,
                code if code == libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K => {
                    at += usize::from(if accumulator == step.k { step.jt } else { step.jf });
                }
                _ => return step.k != 0,
            }
        }
    }

    #[test]
    fn both_languages_know_the_packet_however_it_is_carried() {
        let inner = ipv4(6, &tcp(5000, 0x02));
        let tunnelled = ipv4(47, &[&GRE_HEADER[..], &inner].concat());
        for packet in [inner, tunnelled, ipv6(6, &tcp(5000, 0x42))] {
            assert!(keys_match(&syn(), &packet), "{packet:02x?}");
            assert!(program_accepts(&syn(), &packet), "{packet:02x?}");
        }
    }

    #[test]
    fn nothing_else_matches() {
        let others = [
            ipv4(6, &tcp(5001, 0x02)),
            ipv4(6, &tcp(5000, 0x12)),
            ipv4(6, &tcp(5000, 0x10)),
            ipv4(17, &tcp(5000, 0x02)),
            ipv4(47, &[&GRE_HEADER[..], &ipv4(6, &tcp(5000, 0x10))].concat()),
            ipv6(17, &tcp(5000, 0x02)),
            ipv4(6, &[]),
            vec![0x45],
        ];
        for packet in others {
            assert!(!keys_match(&syn(), &packet), "{packet:02x?}");
            assert!(!program_accepts(&syn(), &packet), "{packet:02x?}");
        }
    }

    #[test]
    fn one_of_the_alternatives_must_hold_too() {
        let window = |value: u8| vec![ByteMatch::exactly(15, value)];
        let pattern = PacketPattern { alternatives: vec![window(4), window(8)], ..syn() };
        for (value, matches) in [(4, true), (8, true), (0, false), (12, false)] {
            let mut header = tcp(5000, 0x02);
            header[15] = value;
            for packet in [ipv4(6, &header), ipv6(6, &header)] {
                assert_eq!(keys_match(&pattern, &packet), matches, "{packet:02x?}");
                assert_eq!(program_accepts(&pattern, &packet), matches, "{packet:02x?}");
            }
        }
    }
}
