//! `stateless_reset`: datagrams that look like a Stateless Reset of QUIC (RFC 9000, section 10.3), in the name of the other
//! end. Whoever has not seen the token, which is sent encrypted, can only guess it.

use serde::Deserialize;

use crate::in_path::action::{Action, Hand, Kind, duration_ns, one};
use crate::in_path::forged;
use crate::in_path::packet::{Headers, UDP};
use crate::random::Random;

/// The shortest that a receiver takes for one (RFC 9000, section 10.3), and the longest that fits every path.
const SHORTEST_BYTES: usize = 21;
const LONGEST_BYTES: usize = 1200;
/// The first two bits of a packet with a short header.
const SHORT: u8 = 0x40;

pub(super) const STATELESS_RESET: Kind = Kind {
    name: "stateless_reset",
    parameters: &["payload_bytes", "times", "interval_s"],
    without_packet: false,
    build: |params, _, random| {
        let Params { payload_bytes, times, interval_s } = params.read()?;
        if times == 0 {
            return Err("has 0 for `times`; it must be at least 1".into());
        }
        if !(SHORTEST_BYTES..=LONGEST_BYTES).contains(&payload_bytes) {
            return Err(format!(
                "has {payload_bytes} for `payload_bytes`; it must be from {SHORTEST_BYTES} to {LONGEST_BYTES}"
            ));
        }
        let interval_ns = duration_ns("interval_s", interval_s)?;
        Ok(Box::new(StatelessReset { payload_bytes, times, interval_ns, random }))
    },
};

#[derive(Deserialize)]
struct Params {
    #[serde(default = "usual_bytes")]
    payload_bytes: usize,
    #[serde(default = "one")]
    times: u16,
    #[serde(default)]
    interval_s: f64,
}

/// Below this length an endpoint's own answers get shorter each time (RFC 9000, section 10.3.3).
fn usual_bytes() -> usize {
    43
}

struct StatelessReset {
    payload_bytes: usize,
    times: u16,
    interval_ns: i64,
    random: Random,
}

impl Action for StatelessReset {
    fn act(&mut self, hand: &mut Hand<'_>) -> bool {
        let Some(frame) = hand.frame.clone() else { return false };
        if Headers::of(&frame.bytes).is_none_or(|headers| headers.protocol != UDP) {
            return false;
        }
        let guesses = (0..self.times).map_while(|_| {
            let mut payload = vec![0; self.payload_bytes];
            self.random.fill(&mut payload);
            payload[0] = SHORT | payload[0] & 0x3f;
            forged::answer(&frame, &payload)
        });
        let guesses = guesses.collect();
        forged::send(hand, guesses, self.interval_ns)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use crate::in_path::checksums;
    use crate::in_path::packet::tests::{ipv4, tcp, udp};
    use crate::in_path::packet::{Headers, TCP, UDP};
    use crate::in_path::tests::left_by;

    #[test]
    fn guesses_look_like_packets_with_a_short_header_and_differ() {
        let packet = ipv4(UDP, &udp(7, 443, &[0x43; 60]));
        let left = left_by(json!({"action": "stateless_reset", "times": 50}), &packet);
        assert_eq!((left.len(), &left[0]), (51, &packet));
        let mut tokens = BTreeSet::new();
        for guess in &left[1..] {
            let headers = Headers::of(guess).expect("it is whole");
            assert_eq!(headers.ports(guess), Some((443, 7)));
            let payload = headers.payload(guess);
            assert_eq!((payload.len(), payload[0] >> 6), (43, 1));
            assert_eq!(checksums::are_right(guess), Some(true));
            tokens.insert(payload[27..].to_vec());
        }
        assert_eq!(tokens.len(), 50);
        assert_eq!(left, left_by(json!({"action": "stateless_reset", "times": 50}), &packet));
        let short = left_by(json!({"action": "stateless_reset", "payload_bytes": 21}), &packet);
        assert_eq!(short[1].len(), 28 + 21);
    }

    #[test]
    fn over_tcp_there_is_none() {
        let packet = ipv4(TCP, &tcp((7, 443), 1, 0x10, b"x"));
        assert_eq!(left_by(json!({"action": "stateless_reset"}), &packet), [packet]);
    }
}
