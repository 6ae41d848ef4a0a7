//! The fuzz bodies, run over octets by chance and over their corpora; `make fuzz` runs them for longer.

#[path = "../fuzz/bodies/cop1.rs"]
mod cop1;
#[path = "../fuzz/bodies/frames.rs"]
mod frames;
#[path = "../fuzz/bodies/procedures.rs"]
mod procedures;
#[path = "../fuzz/bodies/process.rs"]
mod process;

use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use sdls::check::fecf;
use sdls::frame::{
    AosFrame, AosParameters, TcFrame, TcParameters, TmFrame, TmParameters, TransferFrame, UslpFrame,
    UslpLength, UslpParameters,
};

/// The files that a fuzz target begins with.
fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let files = std::fs::read_dir(&folder).expect("a folder").map(|file| file.expect("a file").path());
    let files: Vec<_> = files.map(|path| (path.clone(), std::fs::read(path).expect("a file"))).collect();
    assert!(!files.is_empty(), "{}", folder.display());
    files
}

fn play(target: &str, body: fn(&[u8])) {
    corpus(target).iter().for_each(|(_, data)| body(data));
}

#[test]
fn the_bodies_hold_on_their_corpora() {
    play("frames", frames::frames);
    play("process", process::process);
    play("procedures", procedures::procedures);
    play("cop1", cop1::cop1);
}

/// Each frame of the corpus is one of the protocol that its name says, so that the fuzzer begins behind the first checks.
#[test]
fn frames_of_the_corpus_are_taken() {
    let mut kinds = [0; 4];
    for (path, data) in corpus("frames") {
        let (choice, octets) = (data[0], &data[2..]);
        let (fecf, other, ocf) = (choice & 1 != 0, choice & 2 != 0, choice & 4 != 0);
        let (insert_zone, frame) = (usize::from(choice >> 3 & 3), octets.len());
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let (kind, taken) = match name.split('-').next() {
            Some("tc") => {
                let parameters = TcParameters { segment_header: other, fecf, largest: 1024 };
                (0, TcFrame::decode(octets, &parameters).is_ok())
            }
            Some("tm") => (1, TmFrame::decode(octets, &TmParameters { frame, fecf }).is_ok()),
            Some("aos") => {
                let parameters = AosParameters { frame, fhec: other, insert_zone, ocf, fecf };
                (2, AosFrame::decode(octets, &parameters).is_ok())
            }
            Some("uslp") => {
                let length = if ocf { UslpLength::Fixed(frame) } else { UslpLength::UpTo(500) };
                let truncated = other.then_some(frame);
                let parameters = UslpParameters { length, insert_zone, fecf, truncated };
                (3, UslpFrame::decode(octets, &parameters).is_ok())
            }
            _ => continue,
        };
        assert!(taken, "{name}");
        kinds[kind] += 1;
    }
    assert!(kinds.iter().all(|count| *count > 0), "{kinds:?}");
}

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
