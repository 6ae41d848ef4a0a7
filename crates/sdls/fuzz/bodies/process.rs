//! What must hold for any octets given to a receiver: nothing that was not sent is taken, and nothing twice.

use sdls::channel::{ChannelId, Gvcid};
use sdls::check::fecf;
use sdls::frame::{TcFrame, TcParameters, TcService};
use sdls::security::{KeyKind, SaParameters, Security};

const CHANNEL: TcParameters = TcParameters { segment_header: false, fecf: true, largest: 1024 };

fn end() -> Security {
    let mut end = Security::default();
    let gvcid = Gvcid { version: 0, spacecraft: 0, channel: 0 };
    end.load_active_key(1, KeyKind::Cipher, &[1; 16]).expect("a key");
    end.load_active_key(2, KeyKind::Mac, &[2; 16]).expect("a key");
    let gcm = SaParameters { padding_block: 8, pad_length_octets: 1, ..SaParameters::aes_gcm(16) };
    for (spi, parameters) in [(1, gcm), (2, SaParameters::aes_cmac(16))] {
        end.create(spi, parameters).expect("an association");
        end.rekey(spi, spi, None).expect("a key of its kind");
        end.start(spi, &[ChannelId::whole(gvcid)]).expect("a keyed association");
    }
    end
}

/// The input is a script: frames are sent, changed, given twice, or made up with length and FECF put right.
///
/// # Panics
/// If the receiver takes what was not sent, or takes it twice: that is the defect looked for.
pub fn process(data: &[u8]) {
    let (mut sender, mut receiver) = (end(), end());
    let mut script = data.iter().copied();
    let mut taken = 0;
    let mut sent = 0;
    while let Some(action) = script.next() {
        let length = usize::from(script.next().unwrap_or(0));
        let octets: Vec<u8> = script.by_ref().take(length).collect();
        if action & 3 == 0 {
            let mut made = [&[0, 0, 0, 0, 0, 0, action >> 2 & 3][..], &octets].concat();
            put_right(&mut made);
            assert!(receiver.process::<TcFrame>(&made, &CHANNEL).is_err(), "a made-up frame was taken");
            continue;
        }
        let frame = TcFrame {
            service: TcService::Expedited,
            spacecraft: 0,
            channel: 0,
            sequence: 0,
            segment: None,
            data: octets,
        };
        let protected =
            sender.apply(1 + u16::from(action >> 2 & 1), &frame, &CHANNEL).expect("a short frame");
        sent += 1;
        if action & 3 == 1 {
            let mut changed = protected[..protected.len() - 2].to_vec();
            let place = 7 + usize::from(action) % (changed.len() - 7);
            changed[place] ^= 1;
            put_right(&mut changed);
            assert!(receiver.process::<TcFrame>(&changed, &CHANNEL).is_err(), "a changed frame was taken");
        }
        if action & 3 != 3 {
            let opened = receiver.process::<TcFrame>(&protected, &CHANNEL);
            if let Ok(opened) = opened {
                assert_eq!(opened.frame, frame);
                taken += 1;
            }
            assert!(receiver.process::<TcFrame>(&protected, &CHANNEL).is_err(), "a frame was taken twice");
        }
    }
    assert!(taken <= sent);
}

/// Makes the length field that of the octets, and puts a FECF behind them.
fn put_right(octets: &mut Vec<u8>) {
    octets.truncate(1000);
    let length = u16::try_from(octets.len() + 1).unwrap_or(0).to_be_bytes();
    octets[2..4].copy_from_slice(&length);
    octets.extend(fecf(octets).to_be_bytes());
}
