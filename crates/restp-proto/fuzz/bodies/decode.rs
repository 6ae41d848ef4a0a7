//! What must hold for any octets given to the decoder; run by the fuzzer and, over the corpus, by `cargo test`.

use restp_proto::wire::{Packet, PayloadCheck, PseudoHeader, Report, Sequence};

/// Decodes `data` without and with a pseudo-header; whatever is accepted is walked through and written again.
///
/// # Panics
/// If an accepted packet has a second spelling: that is the defect looked for.
pub fn decode(data: &[u8]) {
    let pseudo = PseudoHeader::V4 {
        source: [192, 0, 2, 1].into(),
        destination: [198, 51, 100, 2].into(),
        protocol: restp_proto::wire::IP_PROTOCOL,
    };
    for pseudo in [None, Some(&pseudo)] {
        let Ok(decoded) = Packet::decode(data, pseudo) else { continue };
        let packet = decoded.packet;
        match (packet.report, packet.sequence) {
            (Report::Sack(blocks), _) => assert!(blocks.iter().count() > 0),
            (Report::Snack(snack), Sequence::Arq(arq)) => {
                assert!(snack.missing(arq.acknowledgement).count() >= usize::from(snack.hole.size));
            }
            (Report::Snack(_), _) => panic!("a SNACK without ARQ extension was accepted"),
            (Report::None, _) => {}
        }

        let mut written = Vec::new();
        let header_bytes = packet.encode(&mut written, pseudo).expect("what was accepted can be sent");
        assert_eq!(header_bytes, decoded.header_bytes);
        if packet.is_sealed() {
            assert_eq!(written[..header_bytes], data[..header_bytes], "the associated data are the header");
            written[header_bytes..].copy_from_slice(&data[header_bytes..]);
        }
        if decoded.payload_check != PayloadCheck::Corrupt {
            assert_eq!(written, data, "an accepted packet has two spellings");
        }
    }
}
