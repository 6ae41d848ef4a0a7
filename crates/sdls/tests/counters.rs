//! An IV and a sequence number of which only a part is transmitted: what the receiver keeps of both.

use sdls::channel::ChannelId;
use sdls::frame::{TcFrame, TcParameters, TcService, TransferFrame};
use sdls::security::{KeyKind, SaParameters, Security};

const SPI: u16 = 4;
const CHANNEL: TcParameters = TcParameters { segment_header: false, fecf: true, largest: 1024 };

/// A sender and a receiver under one association.
fn ends(parameters: &SaParameters) -> [Security; 2] {
    [(); 2].map(|()| {
        let mut end = Security::default();
        end.load_active_key(130, KeyKind::Cipher, &[7; 32]).unwrap();
        end.create(SPI, parameters.clone()).unwrap();
        end.rekey(SPI, 130, None).unwrap();
        end.start(SPI, &[ChannelId::whole(frame().channel().0)]).unwrap();
        end
    })
}

fn frame() -> TcFrame {
    let service = TcService::Expedited;
    TcFrame { service, spacecraft: 44, channel: 1, sequence: 0, segment: None, data: vec![7] }
}

/// The code of the refusal, or none if the frame is taken.
fn refused(receiver: &mut Security, octets: &[u8]) -> Option<&'static str> {
    receiver.process::<TcFrame>(octets, &CHANNEL).err().map(|error| error.code())
}

/// Of the IV one octet is transmitted, and the numbers come to its third round: the receiver follows only if each frame that
/// it takes moves its IV on, too. A third of the frames is lost, which both counters bridge.
#[test]
fn an_iv_in_part_carries_over_with_the_sequence_number() {
    let parameters = SaParameters {
        iv_transmitted: 1,
        sequence: vec![0; 2],
        sequence_transmitted: 2,
        ..SaParameters::aes_gcm(32)
    };
    let [mut sender, mut receiver] = ends(&parameters);
    for number in 0..600_u128 {
        let octets = sender.apply(SPI, &frame(), &CHANNEL).unwrap();
        if number % 3 == 1 {
            continue;
        }
        let processed = receiver.process::<TcFrame>(&octets, &CHANNEL);
        assert_eq!(processed.map(|it| it.number), Ok(Some(number)), "frame {number}");
        let association = receiver.association(SPI).unwrap();
        let next = (association.iv().next(), association.sequence().next());
        assert_eq!(next, (Some(number + 1), Some(number + 1)));
    }
}

/// After the last value of an IV in part no round can complete what comes: it is a replay, and not a frame of another key.
#[test]
fn after_the_last_iv_in_part_everything_is_a_replay() {
    let mut last = vec![0xFF; 12];
    last[11] = 0xFE;
    let [mut sender, mut receiver] =
        ends(&SaParameters { iv: last, iv_transmitted: 2, ..SaParameters::aes_gcm(32) });
    let sent = [(); 2].map(|()| sender.apply(SPI, &frame(), &CHANNEL).unwrap());
    assert!(sender.apply(SPI, &frame(), &CHANNEL).is_err(), "all are used");
    assert_eq!(sent.clone().map(|octets| refused(&mut receiver, &octets)), [None; 2]);
    assert_eq!(sent.map(|octets| refused(&mut receiver, &octets)), [Some("replay"); 2]);
    assert!(receiver.report().bad_sequence && !receiver.report().bad_mac);
}
