//! `version_negotiation`: a Version Negotiation packet of QUIC (RFC 9000, section 17.2.1), in the name of the server. It has
//! no protection but the connection IDs, which whoever sees a packet can copy; a client has to discard it once it has
//! had any other packet, and one that names the client's own version (RFC 9000, section 6.2).

use serde::Deserialize;

use crate::in_path::action::{Action, Hand, Kind};
use crate::in_path::forged;
use crate::in_path::hex;
use crate::in_path::packet::Headers;
use crate::in_path::quic::{LongHeader, ids};

pub(super) const VERSION_NEGOTIATION: Kind = Kind {
    name: "version_negotiation",
    parameters: &["versions"],
    without_packet: false,
    build: |params, _, _| {
        let Params { versions } = params.read()?;
        let versions = versions.iter().map(|digits| hex::decode(digits)).collect::<Result<Vec<_>, _>>()?;
        if versions.is_empty() || versions.iter().any(|version| version.len() != 4) {
            return Err("has `versions` that are none; each is of eight hexadecimal digits".into());
        }
        Ok(Box::new(VersionNegotiation { versions: versions.concat() }))
    },
};

#[derive(Deserialize)]
struct Params {
    #[serde(default = "reserved")]
    versions: Vec<String>,
}

/// A version that nobody speaks (RFC 9000, section 15).
fn reserved() -> Vec<String> {
    vec!["1a2a3a4a".into()]
}

struct VersionNegotiation {
    versions: Vec<u8>,
}

/// The first byte: a long header, and the bit that other protocols tell QUIC by (RFC 9000, section 17.2.1).
const FIRST: u8 = 0xc0;

impl Action for VersionNegotiation {
    fn act(&mut self, hand: &mut Hand<'_>) -> bool {
        let Some(frame) = hand.frame.clone() else { return false };
        let Some(headers) = Headers::of(&frame.bytes) else { return false };
        let header = LongHeader::of_packet(&frame.bytes, &headers).filter(|header| header.version != 0);
        let Some(header) = header else { return false };
        let ids = ids(header.source, header.destination);
        let payload = [&[FIRST, 0, 0, 0, 0][..], &ids, &self.versions].concat();
        forged::send(hand, forged::answer(&frame, &payload).into_iter().collect(), 0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::in_path::checksums;
    use crate::in_path::packet::Headers;
    use crate::in_path::quic::tests::{DESTINATION, SOURCE, long};
    use crate::in_path::quic::{VERSION_1, ids};
    use crate::in_path::tests::{datagram, left_by};

    #[test]
    fn it_has_the_connection_ids_the_other_way_round_and_the_versions() {
        let packet = long(0xc3, VERSION_1);
        for (deed, versions) in [
            (json!({"action": "version_negotiation"}), vec![0x1a, 0x2a, 0x3a, 0x4a]),
            (
                json!({"action": "version_negotiation", "versions": ["00000001", "6b3343cf"]}),
                vec![0, 0, 0, 1, 0x6b, 0x33, 0x43, 0xcf],
            ),
        ] {
            let left = left_by(deed, &packet);
            assert_eq!((left.len(), &left[0]), (2, &packet));
            let headers = Headers::of(&left[1]).expect("it is whole");
            assert_eq!(headers.ports(&left[1]), Some((5000, 40_000)));
            let expected = [&[0xc0, 0, 0, 0, 0][..], &ids(SOURCE, DESTINATION), &versions].concat();
            assert_eq!(headers.payload(&left[1]), expected);
            assert_eq!(checksums::are_right(&left[1]), Some(true));
        }
    }

    #[test]
    fn packets_that_negotiate_or_have_a_short_header_are_left() {
        for packet in [long(0xc3, 0), datagram(&[0x43; 40]), datagram(b"")] {
            let left = left_by(json!({"action": "version_negotiation"}), &packet);
            assert_eq!(left, std::slice::from_ref(&packet));
        }
    }
}
