//! Parameters of an association: those that do not go together are refused, each by its own sentence, and those at
//! the end of their range serve.

use sdls::channel::ChannelId;
use sdls::crypto::Algorithm;
use sdls::frame::{TcFrame, TcParameters, TcService, TransferFrame};
use sdls::security::{KeyKind, ProcessError, SaError, SaParameters, Security, Service};

fn gcm() -> SaParameters {
    SaParameters::aes_gcm(32)
}

fn cmac() -> SaParameters {
    SaParameters::aes_cmac(32)
}

#[test]
fn parameters_that_do_not_go_together_are_refused_by_a_sentence() {
    for (spi, parameters, words) in [
        (0, gcm(), "are reserved"),
        (u16::MAX, gcm(), "are reserved"),
        (1, SaParameters { iv: vec![], iv_transmitted: 0, ..gcm() }, "needs an IV"),
        (1, SaParameters { iv: vec![0; 12], iv_transmitted: 12, ..cmac() }, "needs an IV"),
        (1, SaParameters { service: Service::Encryption, ..gcm() }, "and no MAC"),
        (1, SaParameters { service: Service::Encryption, mac_octets: 0, ..cmac() }, "and no MAC"),
        (1, SaParameters { mac_octets: 0, ..gcm() }, "needs a MAC"),
        (1, SaParameters { mac_octets: 0, ..cmac() }, "needs a MAC"),
        (1, SaParameters { service: Service::AuthenticatedEncryption, ..cmac() }, "does not encrypt"),
        (
            1,
            SaParameters { service: Service::Authentication, algorithm: Algorithm::AesCcm, ..gcm() },
            "use AES-CMAC",
        ),
        (1, SaParameters { pad_length_octets: 3, ..gcm() }, "at most two octets"),
        (1, SaParameters { padding_block: 0, ..gcm() }, "the block at least one"),
        (1, SaParameters { padding_block: 16, ..gcm() }, "needs a pad length field"),
        (1, SaParameters { sequence: vec![], sequence_transmitted: 0, ..cmac() }, "needs an IV or"),
        (1, SaParameters { iv_transmitted: 0, ..gcm() }, "at least one octet of IV"),
        (1, SaParameters { sequence_transmitted: 0, ..cmac() }, "at least one octet of IV"),
        (1, SaParameters { window: 0, iv_transmitted: 2, ..gcm() }, "in part needs a window"),
        (1, SaParameters { window: 0, sequence_transmitted: 2, ..cmac() }, "in part needs a window"),
    ] {
        let error = Security::default().create(spi, parameters).unwrap_err();
        assert!(matches!(error, SaError::Parameters { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}, not «{words}»");
    }
}

#[test]
fn reserved_numbers_and_no_window_can_be_asked_for() {
    let mut end = Security::default();
    end.create(0, SaParameters { reserved_spi: true, ..gcm() }).unwrap();
    end.create(1, SaParameters { window: 0, ..gcm() }).unwrap();
}

#[test]
fn a_number_that_is_refused_is_old_or_beyond_a_window_that_ends() {
    let said = |window| ProcessError::Replay { spi: 4, window }.to_string();
    let old = "the number of a frame under security association 4 was used before, or is too old";
    assert_eq!(said(u64::MAX), old);
    assert_eq!(said(5), format!("{old}, or is outside of the window of 5, too far ahead"));
}

#[test]
fn the_longest_padding_fits_one_octet() {
    for pad_length_octets in [1, 2] {
        let padded = SaParameters { padding_block: u8::MAX, pad_length_octets, ..gcm() };
        let frame = TcFrame {
            service: TcService::Expedited,
            spacecraft: 44,
            channel: 1,
            sequence: 0,
            segment: None,
            data: vec![7],
        };
        let [mut sender, mut receiver] = [(); 2].map(|()| {
            let mut end = Security::default();
            end.load_active_key(130, KeyKind::Cipher, &[7; 32]).unwrap();
            end.create(4, padded.clone()).unwrap();
            end.rekey(4, 130, None).unwrap();
            end.start(4, &[ChannelId::whole(frame.channel().0)]).unwrap();
            end
        });
        let channel = TcParameters { segment_header: false, ..TcParameters::default() };
        let octets = sender.apply(4, &frame, &channel).unwrap();
        let pad_length = &octets[5 + 2 + 12..][..pad_length_octets];
        assert_eq!(pad_length.iter().fold(0, |length, octet| length << 8 | usize::from(*octet)), 254);
        assert_eq!(
            octets.len(),
            frame.encode(&channel).unwrap().len() + 2 + 12 + pad_length_octets + 254 + 16
        );
        assert_eq!(receiver.process::<TcFrame>(&octets, &channel).unwrap().frame, frame);
    }
}
