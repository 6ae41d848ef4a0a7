//! Captures: every packet that arrives, as IPv4 or IPv6 with UDP, in the classic pcap format with nanoseconds.

use std::io::{self, Write};
use std::net::IpAddr;

use restp_proto::Instant;

use crate::packet::Packet;

/// Magic number of captures with nanoseconds (pcap savefile format).
const MAGIC_NANOSECONDS: u32 = 0xA1B2_3C4D;
/// Link type "raw IP".
const LINKTYPE_RAW: u32 = 101;
const UDP: u8 = 17;

/// Writes packets to a capture file.
pub struct PcapWriter {
    out: Box<dyn Write + Send>,
}

impl std::fmt::Debug for PcapWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PcapWriter").finish_non_exhaustive()
    }
}

impl PcapWriter {
    /// Begins a capture; `out` should be buffered.
    ///
    /// # Errors
    /// If the file header cannot be written.
    pub fn new(mut out: Box<dyn Write + Send>) -> io::Result<Self> {
        let mut header = Vec::with_capacity(24);
        header.extend_from_slice(&MAGIC_NANOSECONDS.to_le_bytes());
        header.extend_from_slice(&2u16.to_le_bytes());
        header.extend_from_slice(&4u16.to_le_bytes());
        header.extend_from_slice(&[0; 8]);
        header.extend_from_slice(&65_535u32.to_le_bytes());
        header.extend_from_slice(&LINKTYPE_RAW.to_le_bytes());
        out.write_all(&header)?;
        Ok(Self { out })
    }

    /// Adds one packet.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, now: Instant, packet: &Packet) -> io::Result<()> {
        let bytes = encapsulate(packet);
        let mut record = Vec::with_capacity(16 + bytes.len());
        record.extend_from_slice(&((now.as_nanos() / 1_000_000_000) as u32).to_le_bytes());
        record.extend_from_slice(&((now.as_nanos() % 1_000_000_000) as u32).to_le_bytes());
        record.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        record.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        record.extend_from_slice(&bytes);
        self.out.write_all(&record)
    }

    /// Flushes the capture.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The packet with IP and UDP headers; the UDP checksum is left out, as IPv4 allows, and readers ignore it for IPv6.
fn encapsulate(packet: &Packet) -> Vec<u8> {
    let udp_bytes = (packet.data.len() + 8) as u16;
    let mut bytes = Vec::with_capacity(packet.data.len() + 48);
    match (packet.source.ip(), packet.destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let mut ip = [0u8; 20];
            ip[0] = 0x45;
            ip[1] = packet.ecn.bits();
            ip[2..4].copy_from_slice(&(udp_bytes + 20).to_be_bytes());
            ip[8] = 64;
            ip[9] = UDP;
            ip[12..16].copy_from_slice(&source.octets());
            ip[16..20].copy_from_slice(&destination.octets());
            let sum = checksum(&ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            bytes.extend_from_slice(&ip);
        }
        (source, destination) => {
            let octets = |ip: IpAddr| match ip {
                IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
                IpAddr::V6(v6) => v6.octets(),
            };
            bytes.extend_from_slice(&[0x60, packet.ecn.bits() << 4, 0, 0]);
            bytes.extend_from_slice(&udp_bytes.to_be_bytes());
            bytes.extend_from_slice(&[UDP, 64]);
            bytes.extend_from_slice(&octets(source));
            bytes.extend_from_slice(&octets(destination));
        }
    }
    bytes.extend_from_slice(&packet.source.port().to_be_bytes());
    bytes.extend_from_slice(&packet.destination.port().to_be_bytes());
    bytes.extend_from_slice(&udp_bytes.to_be_bytes());
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend_from_slice(&packet.data);
    bytes
}

/// Internet checksum (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let mut sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use restp_proto::Ecn;

    #[test]
    fn headers_have_the_right_lengths_and_checksum() {
        let packet = Packet {
            source: "10.0.0.1:1000".parse().unwrap(),
            destination: "10.0.0.2:2000".parse().unwrap(),
            ecn: Ecn::Ce,
            data: vec![7; 5],
        };
        let bytes = encapsulate(&packet);
        assert_eq!(bytes.len(), 33);
        assert_eq!((bytes[1], &bytes[2..4], &bytes[24..26]), (3, &[0, 33][..], &[0, 13][..]));
        assert_eq!(checksum(&bytes[..20]), 0, "a header with its checksum sums to nothing");
    }
}
