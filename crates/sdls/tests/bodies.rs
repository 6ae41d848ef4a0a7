//! The fuzz bodies, run over octets by chance and over the published vectors; `make fuzz` runs them for longer.

#[path = "../fuzz/bodies/cop1.rs"]
mod cop1;
#[path = "../fuzz/bodies/frames.rs"]
mod frames;
#[path = "../fuzz/bodies/procedures.rs"]
mod procedures;
#[path = "../fuzz/bodies/process.rs"]
mod process;

use proptest::collection::vec;
use proptest::prelude::*;
use sdls::check::fecf;

/// Octets that begin like a frame of some protocol, with length fields and FECF put right.
fn framed() -> impl Strategy<Value = Vec<u8>> {
    (0_usize..4, any::<u8>(), any::<u8>(), vec(any::<u8>(), 8..80)).prop_map(
        |(kind, choice, pointer, mut octets)| {
            let length = octets.len() + 1;
            let [.., high, low] = length.to_be_bytes();
            match kind {
                0 => {
                    octets[0] &= 0b0011_0011;
                    octets[2] = octets[2] & 0xFC | high & 3;
                    octets[3] = low;
                }
                1 => octets[0] &= 0x3F,
                2 => {
                    octets[0] = octets[0] & 0x3F | 0x40;
                    octets[5] &= 0xCF;
                }
                _ => {
                    octets[0] = octets[0] & 0xF | 0xC0;
                    octets[4] = high;
                    octets[5] = low;
                    octets[6] &= 0xCF;
                }
            }
            if choice & 1 == 0 {
                octets.extend([0, 0]);
            } else {
                octets.extend(fecf(&octets).to_be_bytes());
            }
            [vec![choice, pointer], octets].concat()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn frames_have_one_spelling(data in framed()) {
        frames::frames(&data);
    }

    #[test]
    fn any_octets_can_be_given_as_frames(data in vec(any::<u8>(), 0..60)) {
        frames::frames(&data);
    }

    #[test]
    fn a_receiver_takes_only_what_was_sent(data in vec(any::<u8>(), 0..200)) {
        process::process(&data);
    }

    #[test]
    fn refused_commands_change_nothing(data in vec(prop_oneof![any::<u8>(), 0_u8..0x20], 0..120)) {
        procedures::procedures(&data);
    }

    #[test]
    fn what_arrives_over_cop1_is_what_was_sent(data in vec(any::<u8>(), 0..300)) {
        cop1::cop1(&data);
    }
}
