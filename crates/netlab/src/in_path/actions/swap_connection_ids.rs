//! `swap_connection_ids`: the two connection IDs of a long header of QUIC change places, lengths included; the destination's
//! may be drawn anew besides.

use serde::Deserialize;

use crate::in_path::action::{Action, Checksums, Hand, Kind};
use crate::in_path::quic::{LongHeader, ids};
use crate::random::Random;

pub(super) const SWAP_CONNECTION_IDS: Kind = Kind {
    name: "swap_connection_ids",
    parameters: &["draw", "checksums"],
    without_packet: false,
    build: |params, _, random| {
        let Params { draw, checksums } = params.read()?;
        Ok(Box::new(SwapConnectionIds { draw, checksums, random }))
    },
};

#[derive(Deserialize)]
struct Params {
    /// Whether the destination's, after the change, gets other bytes.
    #[serde(default)]
    draw: bool,
    #[serde(default)]
    checksums: Checksums,
}

struct SwapConnectionIds {
    draw: bool,
    checksums: Checksums,
    random: Random,
}

impl Action for SwapConnectionIds {
    fn act(&mut self, hand: &mut Hand<'_>) -> bool {
        let Some(headers) = hand.headers() else { return false };
        let (Some(frame), Some(at)) = (&mut hand.frame, headers.payload_at) else { return false };
        let Some(header) = LongHeader::of_packet(&frame.bytes, &headers) else { return false };
        let mut destination = header.source.to_vec();
        if self.draw {
            self.random.fill(&mut destination);
        }
        let swapped = ids(&destination, header.destination);
        let place = at + LongHeader::IDS_AT;
        frame.bytes[place..place + swapped.len()].copy_from_slice(&swapped);
        self.checksums.settle(&mut frame.bytes);
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::in_path::checksums;
    use crate::in_path::packet::Headers;
    use crate::in_path::quic::tests::{DESTINATION, SOURCE, ids_bytes, long};
    use crate::in_path::quic::{LongHeader, VERSION_1};
    use crate::in_path::tests::{datagram, left_by};

    #[test]
    fn they_change_places_and_nothing_else_does() {
        let packet = long(0xe3, VERSION_1);
        let left = left_by(json!({"action": "swap_connection_ids"}), &packet);
        assert_eq!(left.len(), 1);
        let headers = Headers::of(&left[0]).expect("it is whole");
        let (was, is) = (headers.payload(&packet), headers.payload(&left[0]));
        let header = LongHeader::of(is).expect("it has a long header");
        assert_eq!((header.destination, header.source), (SOURCE, DESTINATION));
        let rest = 5 + ids_bytes(&header);
        assert_eq!((&was[..5], &was[rest..]), (&is[..5], &is[rest..]));
        assert_eq!(checksums::are_right(&left[0]), Some(true));
        // Twice is as it was.
        assert_eq!(left_by(json!({"action": "swap_connection_ids"}), &left[0]), [packet]);
    }

    #[test]
    fn the_destination_may_be_drawn_and_checksums_left() {
        let packet = long(0xc3, VERSION_1);
        let left =
            left_by(json!({"action": "swap_connection_ids", "draw": true, "checksums": "leave"}), &packet);
        let headers = Headers::of(&left[0]).expect("it is whole");
        let header = LongHeader::of_packet(&left[0], &headers).expect("it has a long header");
        assert_eq!((header.destination.len(), header.source), (SOURCE.len(), DESTINATION));
        assert_ne!(header.destination, SOURCE);
        assert_eq!(checksums::are_right(&left[0]), Some(false));
    }

    #[test]
    fn short_headers_are_left() {
        let packet = datagram(&[0x43; 40]);
        assert_eq!(left_by(json!({"action": "swap_connection_ids"}), &packet), [packet]);
    }
}
