//! Packets (RFC 9000, section 17) and their protection (RFC 9001, section 5).

use std::ops::Range;

use rustls::quic::{HeaderProtectionKey, PacketKey};

use super::varint::{self, Reader};
use super::{ConnectionId, VERSION_1};

const LONG: u8 = 0x80;
const FIXED: u8 = 0x40;
const KIND: u8 = 0x30;
const INITIAL: u8 = 0x00;
const ZERO_RTT: u8 = 0x10;
const HANDSHAKE: u8 = 0x20;
const KEY_PHASE: u8 = 0x04;
/// The two bits that say how long the packet number is, less one.
const NUMBER_LENGTH: u8 = 0x03;
/// Packet numbers are sent whole, in four octets: an attacker sends fewer than that leaves room for.
const NUMBER_OCTETS: usize = 4;
/// Of all ciphers that TLS 1.3 has for QUIC.
pub const TAG_OCTETS: usize = 16;
/// Octets of what is encrypted that header protection is made of.
const SAMPLE_OCTETS: usize = 16;
/// Of a Retry, at its end.
const INTEGRITY_TAG_OCTETS: usize = 16;

/// What kind of packet is sent.
#[derive(Clone, Copy, Debug)]
pub enum Form<'a> {
    /// The first words, with the token of a Retry if there was one.
    Initial {
        /// Empty without a Retry.
        token: &'a [u8],
    },
    /// The rest of the handshake.
    Handshake,
    /// Everything else.
    Short {
        /// Alternates with each update of keys.
        key_phase: bool,
    },
}

/// The header of a packet that is sent.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Its kind.
    pub form: Form<'a>,
    /// The server's connection ID.
    pub destination: ConnectionId,
    /// This end's; short packets do not carry it.
    pub source: ConnectionId,
    /// The packet's number, below 2^32.
    pub number: u64,
}

impl Outgoing<'_> {
    /// Octets of the packet besides its payload.
    #[must_use]
    pub fn overhead(&self) -> usize {
        let destination = self.destination.as_slice().len();
        let long = 1 + 4 + 1 + destination + 1 + self.source.as_slice().len() + 2;
        let header = match self.form {
            Form::Initial { token } => long + token.len() + if token.len() < 64 { 1 } else { 2 },
            Form::Handshake => long,
            Form::Short { .. } => 1 + destination,
        };
        header + NUMBER_OCTETS + TAG_OCTETS
    }

    /// Appends the packet, encrypted and with its header protected.
    ///
    /// # Errors
    /// If the payload is longer than the cipher takes.
    pub fn seal(
        &self,
        out: &mut Vec<u8>,
        payload: &[u8],
        header_key: &dyn HeaderProtectionKey,
        packet_key: &dyn PacketKey,
    ) -> Result<(), rustls::Error> {
        let start = out.len();
        self.put_header(out, payload.len() + NUMBER_OCTETS + TAG_OCTETS);
        let header_octets = out.len() - start;
        out.extend_from_slice(payload);
        let (header, body) = out[start..].split_at_mut(header_octets);
        let tag = packet_key.encrypt_in_place(self.number, header, body)?;
        out.extend_from_slice(tag.as_ref());
        let (header, body) = out[start..].split_at_mut(header_octets);
        let (before, number) = header.split_at_mut(header_octets - NUMBER_OCTETS);
        header_key.encrypt_in_place(&body[..SAMPLE_OCTETS], &mut before[0], number)
    }

    fn put_header(&self, out: &mut Vec<u8>, length: usize) {
        let number_length = NUMBER_OCTETS as u8 - 1;
        match self.form {
            Form::Initial { token } => {
                self.put_long(out, INITIAL);
                varint::put(out, token.len() as u64);
                out.extend_from_slice(token);
                varint::put_2(out, length as u16);
            }
            Form::Handshake => {
                self.put_long(out, HANDSHAKE);
                varint::put_2(out, length as u16);
            }
            Form::Short { key_phase } => {
                out.push(FIXED | if key_phase { KEY_PHASE } else { 0 } | number_length);
                out.extend_from_slice(self.destination.as_slice());
            }
        }
        out.extend_from_slice(&(self.number as u32).to_be_bytes());
    }

    fn put_long(&self, out: &mut Vec<u8>, kind: u8) {
        out.push(LONG | FIXED | kind | (NUMBER_OCTETS as u8 - 1));
        out.extend_from_slice(&VERSION_1.to_be_bytes());
        for id in [&self.destination, &self.source] {
            out.push(id.as_slice().len() as u8);
            out.extend_from_slice(id.as_slice());
        }
    }
}

/// What kind of packet came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The server speaks other versions.
    VersionNegotiation,
    /// The first words.
    Initial,
    /// Early data, which no server sends.
    ZeroRtt,
    /// The rest of the handshake.
    Handshake,
    /// The server wants to see its token first.
    Retry,
    /// Everything else.
    Short,
}

/// What can be read of a packet without keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its kind.
    pub kind: Kind,
    /// The receiver's connection ID.
    pub destination: ConnectionId,
    /// The sender's; of a short packet the receiver's again, which has no other.
    pub source: ConnectionId,
    /// Where a Retry's token is.
    pub token: Range<usize>,
    /// Where the packet number begins.
    pub number_at: usize,
    /// Where the packet ends, and the next may begin.
    pub end: usize,
}

/// Reads the packet that the octets begin with; `id_octets` is the length of the receiver's connection IDs. None if it is
/// no packet of this version.
#[must_use]
pub fn parse(octets: &[u8], id_octets: usize) -> Option<Header> {
    let mut reader = Reader::new(octets);
    let at = |reader: &Reader<'_>| octets.len() - reader.rest().len();
    let first = reader.octet()?;
    if first & LONG == 0 {
        let destination = ConnectionId::new(reader.take(id_octets as u64)?)?;
        let (number_at, end) = (1 + id_octets, octets.len());
        return Some(Header {
            kind: Kind::Short,
            destination,
            source: destination,
            token: 0..0,
            number_at,
            end,
        });
    }
    let version = u32::from_be_bytes(reader.array()?);
    let length = reader.octet()?;
    let destination = ConnectionId::new(reader.take(length.into())?)?;
    let length = reader.octet()?;
    let source = ConnectionId::new(reader.take(length.into())?)?;
    let whole = |kind, token| {
        let end = octets.len();
        Some(Header { kind, destination, source, token, number_at: end, end })
    };
    match (version, first & KIND) {
        (0, _) => return whole(Kind::VersionNegotiation, 0..0),
        (VERSION_1, _) => {}
        _ => return None,
    }
    let kind = match first & KIND {
        INITIAL => {
            let length = reader.varint()?;
            let _token = reader.take(length)?;
            Kind::Initial
        }
        ZERO_RTT => Kind::ZeroRtt,
        HANDSHAKE => Kind::Handshake,
        _ => {
            let token = at(&reader)..octets.len().checked_sub(INTEGRITY_TAG_OCTETS)?;
            return if token.start <= token.end { whole(Kind::Retry, token) } else { None };
        }
    };
    let length = usize::try_from(reader.varint()?).ok()?;
    let number_at = at(&reader);
    let end = number_at.checked_add(length).filter(|end| *end <= octets.len())?;
    Some(Header { kind, destination, source, token: 0..0, number_at, end })
}

/// What header protection had hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revealed {
    /// The packet's number.
    pub number: u64,
    /// Where what is encrypted begins.
    pub body_at: usize,
    /// Of a short packet.
    pub key_phase: bool,
}

/// Takes header protection off a packet. `expected` is the number after the largest that came. None if the packet is too
/// short.
pub fn reveal(
    packet: &mut [u8],
    number_at: usize,
    key: &dyn HeaderProtectionKey,
    expected: u64,
) -> Option<Revealed> {
    let sample_at = number_at + NUMBER_OCTETS;
    if packet.len() < sample_at + SAMPLE_OCTETS {
        return None;
    }
    let (header, body) = packet.split_at_mut(sample_at);
    let (before, number) = header.split_at_mut(number_at);
    key.decrypt_in_place(&body[..SAMPLE_OCTETS], &mut before[0], number).ok()?;
    let octets = usize::from(packet[0] & NUMBER_LENGTH) + 1;
    let truncated =
        packet[number_at..number_at + octets].iter().fold(0, |value, octet| (value << 8) | u64::from(*octet));
    Some(Revealed {
        number: whole_number(truncated, 8 * octets as u32, expected),
        body_at: number_at + octets,
        key_phase: packet[0] & KEY_PHASE != 0,
    })
}

/// The number nearest to the expected one whose last bits these are (RFC 9000, appendix A.3).
fn whole_number(truncated: u64, bits: u32, expected: u64) -> u64 {
    let window = 1_u64 << bits;
    let candidate = (expected & !(window - 1)) | truncated;
    if candidate + window / 2 <= expected {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use rustls::Side;

    use super::super::initial;
    use super::*;

    /// Octets from hexadecimal digits; what is no digit is passed over.
    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
        digits.chunks(2).map(|pair| (pair[0] << 4) | pair[1]).collect()
    }

    /// The client's first connection ID in all samples of RFC 9001, appendix A.
    const CLIENTS_CHOICE: &str = "8394c8f03e515708";

    /// The CRYPTO frame of the client's Initial, appendix A.2.
    const CLIENT_HELLO: &str = "
        060040f1010000ed0303ebf8fa56f129 39b9584a3896472ec40bb863cfd3e868
        04fe3a47f06a2b69484c000004130113 02010000c000000010000e00000b6578
        616d706c652e636f6dff01000100000a 00080006001d00170018001000070005
        04616c706e0005000501000000000033 00260024001d00209370b2c9caa47fba
        baf4559fedba753de171fa71f50f1ce1 5d43e994ec74d748002b000302030400
        0d0010000e0403050306030203080408 050806002d00020101001c0002400100
        3900320408ffffffffffffffff050480 00ffff07048000ffff08011001048000
        75300901100f088394c8f03e51570806 048000ffff";

    #[test]
    fn the_clients_initial_of_the_standard() {
        let destination = ConnectionId::new(&hex(CLIENTS_CHOICE)).unwrap();
        let keys = initial::keys(&destination, Side::Client);
        let mut payload = hex(CLIENT_HELLO);
        assert_eq!(payload.len(), 245);
        payload.resize(1162, 0);
        let packet = Outgoing {
            form: Form::Initial { token: &[] },
            destination,
            source: ConnectionId::new(&[]).unwrap(),
            number: 2,
        };
        let mut sealed = Vec::new();
        packet.seal(&mut sealed, &payload, &*keys.local.header, &*keys.local.packet).unwrap();
        assert_eq!(sealed.len(), 1200);
        assert_eq!(packet.overhead(), 1200 - 1162);
        let begins = "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11";
        assert!(sealed.starts_with(&hex(begins)), "{:02x?}", &sealed[..32]);
        // The tag vouches for every octet before it.
        assert!(sealed.ends_with(&hex("e221af44860018ab0856972e194cd934")));
    }

    #[test]
    fn the_servers_initial_of_the_standard() {
        let mut packet = hex("cf000000010008f067a5502a4262b500 4075c0d95a482cd0991cd25b0aac406a
             5816b6394100f37a1c69797554780bb3 8cc5a99f5ede4cf73c3ec2493a1839b3
             dbcba3f6ea46c5b7684df3548e7ddeb9 c3bf9c73cc3f3bded74b562bfb19fb84
             022f8ef4cdd93795d77d06edbb7aaf2f 58891850abbdca3d20398c276456cbc4
             2158407dd074ee");
        let header = parse(&packet, 0).unwrap();
        assert_eq!((header.kind, header.number_at, header.end), (Kind::Initial, 18, 135));
        assert_eq!(header.source.as_slice(), hex("f067a5502a4262b5"));
        let keys = initial::keys(&ConnectionId::new(&hex(CLIENTS_CHOICE)).unwrap(), Side::Client);
        let revealed = reveal(&mut packet, header.number_at, &*keys.remote.header, 0).unwrap();
        assert_eq!((revealed.number, revealed.body_at), (1, 20));
        let (associated, body) = packet.split_at_mut(revealed.body_at);
        assert_eq!(associated, hex("c1000000010008f067a5502a4262b50040750001"));
        let plain = keys.remote.packet.decrypt_in_place(1, associated, body).unwrap();
        assert!(plain.starts_with(&hex("02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf7")));
    }

    #[test]
    fn the_retry_of_the_standard() {
        let packet = hex("ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba");
        let header = parse(&packet, 0).unwrap();
        assert_eq!((header.kind, &packet[header.token]), (Kind::Retry, &b"token"[..]));
        assert_eq!(header.source.as_slice(), hex("f067a5502a4262b5"));
        assert_eq!(parse(&packet[..20], 0), None, "too short for its tag");
    }

    #[test]
    fn coalesced_packets_come_apart() {
        let id = ConnectionId::of([5; 8]);
        let keys = initial::keys(&id, Side::Client);
        let mut datagram = Vec::new();
        for (form, number) in
            [(Form::Initial { token: b"t" }, 0), (Form::Handshake, 300), (Form::Short { key_phase: true }, 7)]
        {
            let packet = Outgoing { form, destination: id, source: id, number };
            let before = datagram.len();
            packet.seal(&mut datagram, &[1; 5], &*keys.local.header, &*keys.local.packet).unwrap();
            assert_eq!(datagram.len() - before, packet.overhead() + 5);
        }
        let server = initial::keys(&id, Side::Server);
        let mut rest = &mut datagram[..];
        for (kind, number) in [(Kind::Initial, 0), (Kind::Handshake, 300), (Kind::Short, 7)] {
            let header = parse(rest, 8).unwrap();
            assert_eq!((header.kind, header.destination), (kind, id));
            let (packet, behind) = rest.split_at_mut(header.end);
            let revealed = reveal(packet, header.number_at, &*server.remote.header, number).unwrap();
            assert_eq!(
                (revealed.number, revealed.key_phase && kind == Kind::Short),
                (number, kind == Kind::Short)
            );
            let (associated, body) = packet.split_at_mut(revealed.body_at);
            assert_eq!(server.remote.packet.decrypt_in_place(number, associated, body).unwrap(), [1; 5]);
            rest = behind;
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn numbers_are_the_nearest_to_the_expected() {
        // RFC 9000, appendix A.3.
        assert_eq!(whole_number(0x9b32, 16, 0xa82f_30eb), 0xa82f_9b32);
        assert_eq!(whole_number(0xff, 8, 0x100), 0xff);
        assert_eq!(whole_number(0x01, 8, 0xff), 0x101);
        assert_eq!(whole_number(0xff, 8, 0), 0xff);
    }

    #[test]
    fn other_versions_and_scraps_are_no_packets() {
        assert_eq!(parse(&[], 8), None);
        assert_eq!(parse(&[0xc0, 0, 0, 0, 2, 0, 0, 0, 0], 8), None);
        assert_eq!(parse(&[0xc0, 0, 0, 0, 1, 0, 0, 0, 0x44, 0x9e], 8), None);
        assert_eq!(parse(&[0x80, 0, 0, 0, 0, 0, 0], 8).unwrap().kind, Kind::VersionNegotiation);
    }
}
