//! `reset`: segments that reset a TCP connection, in the name of the other end, with sequence numbers that are known or
//! guessed. What a receiver makes of a guess says RFC 5961, section 3.2: only the very next number resets it; one within
//! its window has it ask back, any other is nothing to it.

use serde::Deserialize;

use crate::in_path::action::{Action, Hand, Kind, duration_ns, one};
use crate::in_path::checksums;
use crate::in_path::fields::replace_payload;
use crate::in_path::forged;
use crate::in_path::frame::Frame;
use crate::in_path::packet::{Headers, TCP, u16_at, u32_at};
use crate::random::Random;

pub(super) const RESET: Kind = Kind {
    name: "reset",
    parameters: &["guess", "times", "interval_s"],
    without_packet: false,
    build: |params, _, random| {
        let Params { guess, times, interval_s } = params.read()?;
        if times == 0 {
            return Err("has 0 for `times`; it must be at least 1".into());
        }
        Ok(Box::new(Reset { guess, times, interval_ns: duration_ns("interval_s", interval_s)?, random }))
    },
};

#[derive(Deserialize)]
struct Params {
    #[serde(default)]
    guess: Guess,
    #[serde(default = "one")]
    times: u16,
    #[serde(default)]
    interval_s: f64,
}

/// Which sequence number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Guess {
    /// The one that the sender of the packet says it waits for.
    #[default]
    Exact,
    /// One behind that, within the window that it offers in the packet, whatever the window's scale.
    Window,
    /// Any.
    Any,
}

struct Reset {
    guess: Guess,
    times: u16,
    interval_ns: i64,
    random: Random,
}

/// Flags (RFC 9293, section 3.1).
const ACK: u8 = 0x10;
const RST: u8 = 0x04;
/// A header without options, as its field counts.
const NO_OPTIONS: u8 = 0x50;
const TCP_BYTES: usize = 20;

impl Reset {
    fn sequence(&mut self, next: u32, window: u16) -> Option<u32> {
        match self.guess {
            Guess::Exact => Some(next),
            Guess::Window => {
                let offset =
                    1 + self.random.below(usize::from(window).checked_sub(1).filter(|room| *room > 0)?);
                Some(next.wrapping_add(offset as u32))
            }
            Guess::Any => Some(self.random.below(1 << 32) as u32),
        }
    }

    fn segment(&mut self, frame: &Frame) -> Option<Frame> {
        let headers = Headers::of(&frame.bytes)?;
        let at = headers.transport_at.filter(|_| headers.protocol == TCP && headers.payload_at.is_some())?;
        frame.bytes.get(at + 13).filter(|flags| **flags & ACK != 0)?;
        let sequence = self.sequence(u32_at(&frame.bytes, at + 8)?, u16_at(&frame.bytes, at + 14)?)?;
        let mut segment = forged::answer(frame, &[])?;
        let header = segment.bytes.get_mut(at + 4..at + TCP_BYTES)?;
        header.fill(0);
        header[..4].copy_from_slice(&sequence.to_be_bytes());
        (header[8], header[9]) = (NO_OPTIONS, RST);
        // Options of the packet's own go.
        let headers = Headers::of(&segment.bytes)?;
        let fits = replace_payload(&mut segment.bytes, &headers, &[]);
        checksums::repair(&mut segment.bytes);
        fits.then_some(segment)
    }
}

impl Action for Reset {
    fn act(&mut self, hand: &mut Hand<'_>) -> bool {
        let Some(frame) = hand.frame.clone() else { return false };
        let segments = (0..self.times).map_while(|_| self.segment(&frame)).collect();
        forged::send(hand, segments, self.interval_ns)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::in_path::checksums;
    use crate::in_path::packet::tests::{in_gre, ipv4, ipv6, tcp};
    use crate::in_path::packet::{TCP, u32_at};
    use crate::in_path::tests::{datagram, left_by};

    /// An acknowledgement of 1000 with a window of 500 and options, from port 7 to 80.
    fn acknowledgement() -> Vec<u8> {
        let mut segment = tcp((7, 80), 5, 0x10, b"");
        segment[8..12].copy_from_slice(&1000_u32.to_be_bytes());
        segment[12] = 0x60;
        segment[14..16].copy_from_slice(&500_u16.to_be_bytes());
        segment.extend([1, 1, 1, 0]);
        segment.extend(b"data");
        segment
    }

    fn expected(sequence: u32) -> Vec<u8> {
        let mut segment = tcp((80, 7), sequence, 0x04, b"");
        (segment[11], segment[14], segment[15]) = (0, 0, 0);
        segment
    }

    #[test]
    fn the_exact_one_has_the_number_that_its_receiver_waits_for_and_nothing_else() {
        let packet = ipv4(TCP, &acknowledgement());
        let left = left_by(json!({"action": "reset"}), &packet);
        let mut wanted = ipv4(TCP, &expected(1000));
        let (source, destination) = ([10, 0, 1, 1], [10, 0, 2, 1]);
        wanted[12..16].copy_from_slice(&destination);
        wanted[16..20].copy_from_slice(&source);
        checksums::repair(&mut wanted);
        assert_eq!(left, [packet, wanted]);
    }

    #[test]
    fn it_is_right_in_a_tunnel_and_over_ipv6_too() {
        for packet in [in_gre(&ipv4(TCP, &acknowledgement())), ipv6(TCP, &acknowledgement())] {
            let left = left_by(json!({"action": "reset"}), &packet);
            assert_eq!(left.len(), 2);
            assert_eq!(checksums::are_right(&left[1]), Some(true));
            assert_eq!(left[1].len(), packet.len() - 8, "neither options nor data");
        }
    }

    #[test]
    fn guesses_lie_where_they_are_said_to() {
        let numbers = |guess: &str| -> Vec<u32> {
            let packet = ipv4(TCP, &acknowledgement());
            let left = left_by(json!({"action": "reset", "guess": guess, "times": 300}), &packet);
            left[1..].iter().map(|segment| u32_at(segment, 24).expect("it is whole")).collect()
        };
        let window = numbers("window");
        assert_eq!(window.len(), 300);
        assert!(window.iter().all(|number| (1001..1500).contains(number)));
        assert!(window.iter().any(|number| *number < 1100) && window.iter().any(|number| *number > 1400));
        let any = numbers("any");
        assert!(any.iter().any(|number| *number < 1 << 31) && any.iter().any(|number| *number >= 1 << 31));
        assert_eq!(any, numbers("any"), "the seed says which");
    }

    #[test]
    fn what_acknowledges_nothing_or_offers_no_window_is_left() {
        let mut no_window = acknowledgement();
        no_window[14..16].fill(0);
        for (packet, deed) in [
            (datagram(b"no segment"), json!({"action": "reset"})),
            (ipv4(TCP, &tcp((7, 80), 5, 0x02, b"")), json!({"action": "reset"})),
            (ipv4(TCP, &no_window), json!({"action": "reset", "guess": "window"})),
        ] {
            assert_eq!(left_by(deed, &packet), std::slice::from_ref(&packet));
        }
    }
}
