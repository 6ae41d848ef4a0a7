//! Unit tests of the codec, each named after the settled question or requirement it shows.

use super::*;

fn arq(sequence: u32, acknowledgement: u32) -> Sequence {
    Sequence::Arq(Arq { sequence, acknowledgement })
}

fn connection(flags: Flags, error: ErrorBits) -> Header {
    Header { flags, flow: Flow::CON, error, k: 1, ..Header::default() }
}

fn encoded(packet: &Packet<'_>) -> Vec<u8> {
    let mut datagram = Vec::new();
    packet.encode(&mut datagram, None).unwrap();
    datagram
}

#[test]
fn a5_header_length_is_hlx_times_16_plus_hl() {
    // R-HDR-3
    let blocks = [[0; 8]; 6];
    let header = connection(Flags::ACK, ErrorBits::ARQ | ErrorBits::SAK);
    let report = Report::Sack(SackBlocks::new(&blocks));
    let packet = Packet { sequence: arq(1, 2), report, ..Packet::new(header) };
    let datagram = encoded(&packet);
    assert_eq!(packet.header_words(), 17);
    assert_eq!(datagram[0] & 0xF, 1, "HL");
    assert_eq!(datagram[6] & 0xF, 1, "HLX");
}

#[test]
fn a5_room_for_a_report_under_the_strict_limit() {
    // R-HDR-9
    let room = |packet: &Packet<'_>| packet.report_room_words(STRICT_HEADER_WORDS) / 2;
    let base = Packet { sequence: arq(0, 0), ..Packet::new(connection(Flags::ACK, ErrorBits::ARQ)) };
    assert_eq!(room(&base), 5, "ARQ only");
    let window = Packet { window: Some(1), ..base };
    assert_eq!(room(&window), 4, "with window");
    let error = ErrorBits::ARQ | ErrorBits::FEC | ErrorBits::CRC;
    let fec = Some(Fec { kind: 1, range: 0 });
    let harq = Packet { header: connection(Flags::ACK, error), fec, ..window };
    assert_eq!(room(&harq), 3, "HARQ, CRC, window");
    let several = Packet {
        header: Header { path_mode: PathMode::HotStandby, ..harq.header },
        dss: Some(Dss { data_ack: Some(1), mapping: None }),
        ..harq
    };
    assert_eq!(room(&several), 2, "and several paths");
}

#[test]
fn a15_frozen_bits_ignore_what_may_vary_and_see_what_may_not() {
    // R-HDR-8
    let base = Packet::new(connection(Flags::ACK, ErrorBits::ARQ | ErrorBits::CRC));
    let with = |change: fn(&mut Header)| {
        let mut packet = base;
        change(&mut packet.header);
        packet.frozen_bits()
    };
    let may_vary: [fn(&mut Header); 6] = [
        |h| h.error |= ErrorBits::NAK | ErrorBits::SAK | ErrorBits::DEL | ErrorBits::ENC,
        |h| h.cong = Cong::BIC,
        |h| h.k = 3,
        |h| h.scheduler = Scheduler::RoundRobin,
        |h| h.flags = Flags::FIN,
        |h| h.corruption_echo = true,
    ];
    for change in may_vary {
        assert_eq!(with(change), base.frozen_bits());
    }
    let frozen: [fn(&mut Header); 8] = [
        |h| h.version = Version::Protected,
        |h| h.order = Order::Full,
        |h| h.order = Order::Partial,
        |h| h.flow = Flow::OPT,
        |h| h.path_mode = PathMode::Spreading,
        |h| h.error.remove(ErrorBits::CRC),
        |h| h.error.insert(ErrorBits::FEC),
        |h| h.error.remove(ErrorBits::ARQ),
    ];
    let mut seen = vec![base.frozen_bits(), Packet { window: Some(0), ..base }.frozen_bits()];
    seen.extend(frozen.map(with));
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 10, "every frozen bit changes the value");
}

#[test]
fn b4_every_cookie_length_is_found_by_subtraction() {
    // R-COOKIE-2
    let header = Header { flags: Flags::SYN, flow: Flow::OPT, ..Header::default() };
    for words in 1..=4 {
        let bytes = vec![7; words * 4];
        let packet = Packet {
            cookie: Cookie::new(&bytes),
            window: Some(5),
            sequence: arq(1, 0),
            ..Packet::new(header)
        };
        let header = Header { error: ErrorBits::CRC, ..packet.header };
        let datagram = encoded(&Packet { header, ..packet });
        let decoded = Packet::decode(&datagram, None).unwrap();
        assert_eq!(decoded.packet.cookie.unwrap().as_bytes(), bytes);
    }
    for bytes in [0, 3, 5, 20] {
        assert_eq!(Cookie::new(&vec![0; bytes]), None);
    }
}

#[test]
fn b4_h11_a_dss_beside_a_cookie_holds_a_mapping_only() {
    // R-COOKIE-3
    let header =
        Header { flags: Flags::SYN, flow: Flow::OPT, path_mode: PathMode::HotStandby, ..Header::default() };
    let mapping =
        DssMapping { data_sequence: 1, subflow_sequence: 2, length: 1, data_fin: false, payload_crc: None };
    let good = Packet {
        cookie: Cookie::new(&[1; 16]),
        dss: Some(Dss { data_ack: None, mapping: Some(mapping) }),
        sequence: arq(2, 0),
        payload: b"early",
        ..Packet::new(header)
    };
    assert_eq!(Packet::decode(&encoded(&good), None).unwrap().packet, good);
    let checked = DssMapping { payload_crc: Some(0), ..mapping };
    for dss in [
        Dss { data_ack: Some(1), mapping: Some(mapping) },
        Dss { data_ack: None, mapping: None },
        Dss { data_ack: None, mapping: Some(checked) },
    ] {
        let result = Packet { dss: Some(dss), ..good }.encode(&mut Vec::new(), None);
        assert!(matches!(result, Err(EncodeError::Contradiction { .. })), "{dss:?}");
    }
}

#[test]
fn b8_every_control_packet_is_numbered() {
    // R-ARQ-1
    for flags in [Flags::SYN, Flags::ACK, Flags::FIN, Flags::RST] {
        let packet = Packet::new(connection(flags, ErrorBits::empty()));
        let result = packet.encode(&mut Vec::new(), None);
        assert_eq!(result, Err(EncodeError::Missing(Extension::Arq)), "{flags:?}");
    }
}

#[test]
fn b9_data_are_numbered_only_if_somebody_needs_the_number() {
    // R-SEQ-1
    let plain = Packet { payload: b"x", ..Packet::new(connection(Flags::empty(), ErrorBits::empty())) };
    assert_eq!(plain.encode(&mut Vec::new(), None), Ok(12));
    let needing: [fn(&mut Packet<'_>); 4] = [
        |p| p.header.error = ErrorBits::FEC,
        |p| p.header.order = Order::Partial,
        |p| p.header.cong = Cong::BIC,
        |p| {
            p.header.path_mode = PathMode::Spreading;
            p.dss = Some(Dss::default());
        },
    ];
    for need in needing {
        let mut packet = plain;
        need(&mut packet);
        assert_eq!(
            packet.encode(&mut Vec::new(), None),
            Err(EncodeError::Missing(Extension::Sequence)),
            "{packet:?}"
        );
        packet.sequence = Sequence::Seq(1);
        assert!(packet.encode(&mut Vec::new(), None).is_ok(), "{packet:?}");
    }
}

#[test]
fn c4_one_crc_covers_a_payload() {
    // R-DSS-4
    let mapping =
        DssMapping { data_sequence: 1, subflow_sequence: 1, length: 1, data_fin: false, payload_crc: None }
            .with_payload_crc(b"data");
    let header = Header { path_mode: PathMode::Spreading, ..connection(Flags::empty(), ErrorBits::ARQ) };
    let packet = Packet {
        dss: Some(Dss { data_ack: None, mapping: Some(mapping) }),
        sequence: arq(1, 0),
        payload: b"data",
        ..Packet::new(header)
    };
    let mut datagram = encoded(&packet);
    assert_eq!(Packet::decode(&datagram, None).unwrap().payload_check, PayloadCheck::Good);
    *datagram.last_mut().unwrap() ^= 1;
    assert_eq!(Packet::decode(&datagram, None).unwrap().payload_check, PayloadCheck::Corrupt);

    let both = Header { error: ErrorBits::ARQ | ErrorBits::CRC, ..header };
    let result = Packet { header: both, ..packet }.encode(&mut Vec::new(), None);
    assert!(matches!(result, Err(EncodeError::Contradiction { .. })));
}

#[test]
fn f4_the_dissertations_example() {
    // R-SNACK-1, R-SNACK-2: packets 10 to 13 and 16 of a burst from 10 to 17 are lost.
    let mut builder = SnackBuilder::<2>::new();
    for (arrived, vector) in [(&[14][..], &[][..]), (&[14, 15], &[]), (&[14, 15, 17], &[0xD0, 0, 0, 0])] {
        let highest = *arrived.last().unwrap();
        let snack = builder.build(10, highest, |number| arrived.contains(&number)).unwrap();
        assert_eq!(snack.hole, Hole { offset: 0, size: 4 });
        assert_eq!(snack.vector, vector);
    }
    assert_eq!(builder.build(18, 17, |_| true), None, "nothing is missing");
}

#[test]
fn f5_holes_that_do_not_fit_wait() {
    // R-SNACK-5: every other packet of 200 is missing, one word of vector covers 32 of them.
    let mut builder = SnackBuilder::<1>::new();
    let snack = builder.build(0, 200, |number| number % 2 == 0 && number > 0).unwrap();
    let missing: Vec<u32> = snack.missing(0).collect();
    assert_eq!(missing[..3], [0, 1, 3], "oldest first");
    assert_eq!(snack.end(0), 33);
    let wide = builder.build(0, 70_000, |number| number == 70_000).unwrap();
    assert_eq!(wide.hole.size, u16::MAX, "a hole wider than its field is cut");
}

#[test]
fn r_prot_5_nonces_differ_for_every_packet_number_and_subflow() {
    // R-PROT-5
    let protection = Protection { epoch: 9, subflow: 0xAB, packet_number: 0x0123_4567_89AB };
    assert_eq!(protection.nonce(), 0x00AB_0123_4567_89AB);
    let too_big = Protection { packet_number: 1 << 48, ..protection };
    let header = Header { version: Version::Protected, ..connection(Flags::ACK, ErrorBits::ARQ) };
    let packet = Packet { protection: Some(too_big), sequence: arq(0, 0), ..Packet::new(header) };
    assert!(matches!(packet.encode(&mut Vec::new(), None), Err(EncodeError::TooWide { .. })));
}

#[test]
fn r_prot_6_a_sealed_packet_has_no_checksums_and_the_handshake_has() {
    // R-PROT-6, R-PROT-7
    let header =
        Header { version: Version::Protected, ..connection(Flags::ACK, ErrorBits::ARQ | ErrorBits::CRC) };
    for (epoch, check) in [(0, PayloadCheck::Good), (1, PayloadCheck::Absent)] {
        let protection = Some(Protection { epoch, subflow: 0, packet_number: 5 });
        let packet = Packet { protection, sequence: arq(1, 2), payload: b"secret", ..Packet::new(header) };
        let mut datagram = encoded(&packet);
        assert_eq!(packet.header_words(), if epoch == 0 { 9 } else { 7 });
        assert_eq!(Packet::decode(&datagram, None).unwrap().payload_check, check);
        if let Some(last) = datagram.last_mut() {
            *last ^= 1;
        }
        // What a sealed packet is worth is for the AEAD to say.
        let damaged = Packet::decode(&datagram, None).unwrap().payload_check;
        assert_eq!(damaged == PayloadCheck::Corrupt, epoch == 0);
    }
}

#[test]
fn an_encoder_that_fails_leaves_the_buffer_alone() {
    let mut out = vec![1, 2, 3];
    let packet = Packet::new(connection(Flags::SYN, ErrorBits::empty()));
    assert!(packet.encode(&mut out, None).is_err());
    assert_eq!(out, [1, 2, 3]);
    let small = Packet::new(Header::default()).encode_into(&mut [0; 11], None);
    assert_eq!(small, Err(EncodeError::BufferTooSmall { needed: 12, available: 11 }));
}

#[test]
fn errors_are_sentences_that_name_what_would_be_right() {
    let short = Packet::decode(&[0; 5], None).unwrap_err();
    assert_eq!(short.to_string(), "the datagram has 5 bytes but a ResTP base header needs 12");
    let missing = EncodeError::Missing(Extension::Dss);
    assert_eq!(
        missing.to_string(),
        "the header bits require the data sequence signal extension, which the packet does not hold"
    );
}

/// The twelve octets of a base header in which each bit of `bits` is one of the bits that steer the decoder.
fn steering_header(bits: usize) -> [u8; 12] {
    // (octet, mask) of ACK, RST, SYN, FIN, ENC, ARQ, FEC, NAK, SAK, FUL, CKI, CON, OPT, MP?, Cong, WIN, MPT, MPT, D.
    const STEERING: [(usize, u8); 19] = [
        (1, 0x10),
        (1, 0x04),
        (1, 0x02),
        (1, 0x01),
        (3, 0x80),
        (3, 0x40),
        (3, 0x10),
        (3, 0x08),
        (3, 0x04),
        (2, 0x40),
        (2, 0x20),
        (2, 0x10),
        (2, 0x08),
        (4, 0x80),
        (4, 0x01),
        (5, 0x10),
        (7, 0x80),
        (7, 0x40),
        (7, 0x20),
    ];
    let mut raw = [0; 12];
    for (index, (octet, mask)) in STEERING.into_iter().enumerate() {
        if bits >> index & 1 == 1 {
            raw[octet] |= mask;
        }
    }
    raw
}

/// Every base header that steers the decoder, before zero extensions: either no length of the header is accepted, or
/// exactly one, or the packet has a part of variable length. Whatever is accepted has one spelling.
///
/// R-EXT-3, R-HDR-5, R-HDR-6
#[test]
fn b12_every_base_header_fits_one_length() {
    let (mut accepted, mut refused) = (0u32, 0u32);
    for (bits, payload_bytes) in (0..1usize << 19).flat_map(|bits| [(bits, 0), (bits, 1)]) {
        let mut datagram = [0; STRICT_HEADER_WORDS * WORD_BYTES + 1];
        datagram[..12].copy_from_slice(&steering_header(bits));
        let mut lengths = 0;
        let mut variable = false;
        for words in BASE_WORDS..=STRICT_HEADER_WORDS {
            datagram[0] = u8::try_from(words).unwrap();
            let datagram = &datagram[..words * WORD_BYTES + payload_bytes];
            if let Ok(decoded) = Packet::decode(datagram, None) {
                assert_eq!(encoded(&decoded.packet), datagram);
                let error = decoded.packet.header.error;
                variable |= decoded.packet.cookie.is_some()
                    || error & ErrorBits::NAK.union(ErrorBits::SAK) == ErrorBits::SAK;
                lengths += 1;
            }
        }
        assert!(lengths <= 1 || variable, "{:02x?} fits {lengths} lengths", steering_header(bits));
        accepted += u32::from(lengths > 0);
        refused += u32::from(lengths == 0);
    }
    assert!(accepted > 20_000 && refused > 20_000, "{accepted} accepted, {refused} refused");
}
