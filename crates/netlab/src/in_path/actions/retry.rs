//! `retry`: a Retry packet of QUIC version 1 (RFC 9000, section 17.2.5), in the name of the server. Its integrity tag has a
//! key that everybody knows (RFC 9001, section 5.8), so whoever sees the client's first packet can make one.

use serde::Deserialize;

use crate::in_path::action::{Action, Hand, Kind};
use crate::in_path::forged;
use crate::in_path::matcher::RetryTag;
use crate::in_path::packet::Headers;
use crate::in_path::quic::{LONGEST_ID_BYTES, LongHeader, VERSION_1, ids};
use crate::random::Random;

/// Longest token: it has to fit the client's next first packet with room to spare.
const LONGEST_TOKEN_BYTES: usize = 512;

pub(super) const RETRY: Kind = Kind {
    name: "retry",
    parameters: &["id_bytes", "token_bytes", "integrity"],
    without_packet: false,
    build: |params, names, random| {
        let Params { id_bytes, token_bytes, integrity } = params.read()?;
        if !(1..=LONGEST_ID_BYTES).contains(&id_bytes) {
            return Err(format!("has {id_bytes} for `id_bytes`; it must be from 1 to {LONGEST_ID_BYTES}"));
        }
        if !(1..=LONGEST_TOKEN_BYTES).contains(&token_bytes) {
            return Err(format!(
                "has {token_bytes} for `token_bytes`; it must be from 1 to {LONGEST_TOKEN_BYTES}"
            ));
        }
        Ok(Box::new(Retry { id_bytes, token_bytes, integrity, tag: names.retry_tag, random }))
    },
};

#[derive(Deserialize)]
struct Params {
    /// Of the connection ID that the client is told to use.
    #[serde(default = "usual_id")]
    id_bytes: usize,
    #[serde(default = "usual_token")]
    token_bytes: usize,
    #[serde(default)]
    integrity: Integrity,
}

fn usual_id() -> usize {
    8
}

fn usual_token() -> usize {
    16
}

/// Whether its tag is right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Integrity {
    #[default]
    Right,
    /// In one bit: a client has to discard it.
    Wrong,
}

struct Retry {
    id_bytes: usize,
    token_bytes: usize,
    integrity: Integrity,
    tag: RetryTag,
    random: Random,
}

/// The first byte: a long header of the type Retry.
const FIRST: u8 = 0xf0;

impl Action for Retry {
    fn act(&mut self, hand: &mut Hand<'_>) -> bool {
        let Some(frame) = hand.frame.clone() else { return false };
        let Some(headers) = Headers::of(&frame.bytes) else { return false };
        let header = LongHeader::of_packet(&frame.bytes, &headers).filter(LongHeader::is_initial);
        let Some(header) = header else { return false };
        let mut drawn = vec![0; self.id_bytes + self.token_bytes];
        self.random.fill(&mut drawn);
        let (id, token) = drawn.split_at(self.id_bytes);
        let head = [&[FIRST][..], &VERSION_1.to_be_bytes(), &ids(header.source, id), token].concat();
        let mut tag = (self.tag)(header.destination, &head);
        tag[0] ^= u8::from(self.integrity == Integrity::Wrong);
        let payload = [&head[..], &tag].concat();
        forged::send(hand, forged::answer(&frame, &payload).into_iter().collect(), 0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::in_path::checksums;
    use crate::in_path::packet::Headers;
    use crate::in_path::quic::tests::{DESTINATION, SOURCE, ids_bytes, long};
    use crate::in_path::quic::{LongHeader, VERSION_1};
    use crate::in_path::tests::{datagram, left_by, retry_tag};

    fn payload(packet: &[u8]) -> Vec<u8> {
        Headers::of(packet).expect("it is whole").payload(packet).to_vec()
    }

    #[test]
    fn it_answers_the_first_packet_and_its_tag_covers_what_was_asked() {
        let packet = long(0xc3, VERSION_1);
        let deed = json!({"action": "retry", "id_bytes": 5, "token_bytes": 30});
        let left = left_by(deed.clone(), &packet);
        assert_eq!((left.len(), &left[0]), (2, &packet));
        assert_eq!(checksums::are_right(&left[1]), Some(true));
        let made = payload(&left[1]);
        let header = LongHeader::of(&made).expect("it has a long header");
        assert_eq!((made[0], header.version, header.destination), (0xf0, 1, SOURCE));
        assert_eq!(header.source.len(), 5);
        assert_eq!(made.len(), 5 + ids_bytes(&header) + 30 + 16);
        let (head, tag) = made.split_at(made.len() - 16);
        assert_eq!(tag, retry_tag(DESTINATION, head));
        assert_eq!(left, left_by(deed, &packet), "the seed says which");
    }

    #[test]
    fn a_wrong_tag_differs_in_one_bit() {
        let packet = long(0xc3, VERSION_1);
        let of = |integrity: &str| {
            payload(&left_by(json!({"action": "retry", "integrity": integrity}), &packet)[1])
        };
        let (right, wrong) = (of("right"), of("wrong"));
        let turned: u32 = right.iter().zip(&wrong).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert_eq!((turned, right[right.len() - 16] ^ wrong[right.len() - 16]), (1, 1));
    }

    #[test]
    fn only_first_packets_of_version_1_are_answered() {
        for packet in [long(0xe3, VERSION_1), long(0xc3, 2), datagram(&[0x43; 40])] {
            assert_eq!(left_by(json!({"action": "retry"}), &packet), std::slice::from_ref(&packet));
        }
    }
}
