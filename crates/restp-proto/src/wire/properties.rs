//! Property tests of the codec: arbitrary packets survive the round trip, arbitrary octets never panic, and whatever
//! is accepted has exactly one spelling.

use proptest::collection::vec;
use proptest::prelude::*;

use super::bits::MptCode;
use super::presence::{Inputs, MultipathForm, Numbering};
use super::*;

/// Random material from which a packet that obeys the presence rules is built.
#[derive(Clone, Debug)]
struct Material {
    header: Header,
    mpt: u8,
    dss: Option<Dss>,
    window: Option<u16>,
    cookie_words: usize,
    fec: Fec,
    numbers: (u32, u32),
    keys: (u64, u64),
    octets: [u8; 20],
    report: Vec<[u8; 8]>,
    hole: Hole,
    payload: Vec<u8>,
    protection: Protection,
}

fn header() -> impl Strategy<Value = Header> {
    let services = (0..3u8, 0..3u8, 0..4u8, 0..16u8, proptest::bool::weighted(0.2));
    // Control flags and connection management that go together; one draw in eight takes any bits.
    let with_hints = |control: Flags| {
        (Just(control), any::<u8>())
            .prop_map(|(control, hints)| control | Flags::from_bits_retain(hints).difference(Flags::CONTROL))
    };
    let flags = prop_oneof![
        7 => proptest::sample::select(vec![
            Flags::empty(), Flags::ACK, Flags::SYN, Flags::SYN | Flags::ACK, Flags::FIN | Flags::ACK, Flags::RST,
        ]).prop_flat_map(with_hints),
        1 => any::<u8>().prop_map(Flags::from_bits_retain),
    ];
    let flow = prop_oneof![
        7 => proptest::sample::select(vec![Flow::CON, Flow::OPT, Flow::OPT | Flow::CKI, Flow::empty()]),
        1 => any::<u8>().prop_map(Flow::from_bits_truncate),
    ];
    let bits = (flags, flow, any::<u8>(), any::<bool>());
    (services, bits, any::<(u16, u16)>(), 0..16u8).prop_map(|(services, bits, ports, k)| {
        let (order, path_mode, scheduler, cong, corruption_echo) = services;
        let (flags, flow, error, protected) = bits;
        Header {
            version: if protected { Version::Protected } else { Version::Clear },
            flags,
            order: [Order::None, Order::Partial, Order::Full][usize::from(order)],
            flow,
            error: ErrorBits::from_bits_truncate(error),
            path_mode: [PathMode::Single, PathMode::HotStandby, PathMode::Spreading][usize::from(path_mode)],
            scheduler: [Scheduler::Unset, Scheduler::RoundRobin, Scheduler::LowestRtt, Scheduler::Both]
                [usize::from(scheduler)],
            cong: Cong::new(cong).unwrap(),
            corruption_echo,
            k,
            source_port: ports.0,
            destination_port: ports.1,
        }
    })
}

fn dss() -> impl Strategy<Value = Option<Dss>> {
    let mapping = (any::<(u32, u32, u16, bool)>(), any::<Option<u32>>()).prop_map(
        |((data_sequence, subflow_sequence, length, data_fin), payload_crc)| DssMapping {
            data_sequence,
            subflow_sequence,
            length,
            data_fin,
            payload_crc,
        },
    );
    let dss = (any::<Option<u32>>(), proptest::option::of(mapping));
    proptest::option::of(dss.prop_map(|(data_ack, mapping)| Dss { data_ack, mapping }))
}

prop_compose! {
    fn material()(
        header in header(),
        mpt in 0..4u8,
        dss in dss(),
        window in any::<Option<u16>>(),
        cookie_words in 1..5usize,
        fec in (any::<u8>(), 0..1u32 << 24),
        numbers in any::<(u32, u32)>(),
        keys in any::<(u64, u64)>(),
        octets in any::<[u8; 20]>(),
        report in vec(any::<[u8; 8]>(), 0..100),
        hole in (any::<u16>(), 1..=u16::MAX),
        payload in vec(any::<u8>(), 0..64),
        protection in (any::<u8>(), any::<u8>(), 0..1u64 << 48),
    ) -> Material {
        Material {
            header, mpt, dss, window, cookie_words, numbers, keys, octets, report, payload,
            fec: Fec { kind: fec.0, range: fec.1 },
            hole: Hole { offset: hole.0, size: hole.1 },
            protection: Protection { epoch: protection.0, subflow: protection.1, packet_number: protection.2 },
        }
    }
}

/// The packet, or `None` if the header bits contradict each other.
fn packet(material: &Material) -> Option<Packet<'_>> {
    let header = material.header;
    let protected = header.version == Version::Protected;
    let mut packet = Packet {
        protection: protected.then_some(material.protection),
        window: material.window,
        dss: material.dss,
        payload: &material.payload,
        ..Packet::new(header)
    };
    let mpt = [MptCode::None, MptCode::Capable, MptCode::Join, MptCode::Priority][usize::from(material.mpt)];
    let inputs = Inputs {
        header: &header,
        mpt,
        dss: packet.dss.is_some(),
        body_bytes: packet.body_bytes(),
        sealed: packet.is_sealed(),
        payload_bytes: packet.payload.len(),
    };
    let presence = inputs.presence().ok()?;

    let cookie_words = if header.flags.contains(Flags::SYN) { material.cookie_words } else { 4 };
    packet.cookie =
        presence.cookie.then(|| Cookie::new(&material.octets[..cookie_words * WORD_BYTES]).unwrap());
    packet.multipath = multipath(material, presence.multipath);
    packet.fec = presence.fec.then_some(material.fec);
    let (sequence, acknowledgement) = material.numbers;
    packet.sequence = match presence.numbering {
        Numbering::None => Sequence::None,
        Numbering::Seq => Sequence::Seq(sequence),
        Numbering::Arq => Sequence::Arq(Arq { sequence, acknowledgement }),
    };
    if presence.report && !material.report.is_empty() {
        let selective = header.error.contains(ErrorBits::SAK);
        packet.report = if header.error.contains(ErrorBits::NAK) {
            let vector = if selective { material.report.as_flattened() } else { &[] };
            Report::Snack(Snack { hole: material.hole, vector })
        } else {
            Report::Sack(SackBlocks::new(&material.report))
        };
    }
    Some(packet)
}

fn multipath(material: &Material, form: MultipathForm) -> Option<Multipath> {
    let flags = CapableFlags::from_bits_truncate(material.octets[0]);
    let (key, responder_key) = material.keys;
    let (token, nonce) = material.numbers;
    let join = |step| {
        Some(Multipath::Join(MpJoin {
            backup: token.is_multiple_of(2),
            address_id: material.octets[1],
            step,
        }))
    };
    match form {
        MultipathForm::None => None,
        MultipathForm::CapableOneKey => Some(Multipath::Capable(MpCapable::OneKey { flags, key })),
        MultipathForm::CapableBothKeys => {
            Some(Multipath::Capable(MpCapable::BothKeys { flags, initiator_key: key, responder_key }))
        }
        MultipathForm::JoinSyn => join(JoinStep::Syn { token, nonce }),
        MultipathForm::JoinSynAck => join(JoinStep::SynAck { mac: key.to_be_bytes(), nonce }),
        MultipathForm::JoinAck => join(JoinStep::Ack { mac: material.octets }),
        MultipathForm::Priority => {
            Some(Multipath::Priority(MpPriority { backup: true, address_id: material.octets[1] }))
        }
    }
}

/// Re-encoding gives the same octets, except for a payload CRC that did not match.
fn assert_canonical(datagram: &[u8], decoded: &Decoded<'_>) {
    let mut written = Vec::new();
    let header_bytes = decoded.packet.encode(&mut written, None).unwrap();
    assert_eq!(header_bytes, decoded.header_bytes);
    if decoded.packet.is_sealed() {
        written[header_bytes..].copy_from_slice(&datagram[header_bytes..]);
    }
    if decoded.payload_check != PayloadCheck::Corrupt {
        assert_eq!(written, datagram);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    /// R-HDR-1, R-EXT-1, R-EXT-3, R-HDR-10
    #[test]
    fn b12_every_valid_packet_survives_the_round_trip(material in material()) {
        let Some(packet) = packet(&material) else { return Ok(()) };
        let mut datagram = Vec::new();
        match packet.encode(&mut datagram, None) {
            // The material knows nothing of these two limits; the encoder has to.
            Err(EncodeError::HeaderTooLong { words }) => prop_assert!(words > MAX_HEADER_WORDS),
            Err(EncodeError::Contradiction { .. }) => prop_assert!(packet.dss.is_some()),
            Err(other) => panic!("{other}"),
            Ok(header_bytes) => {
                prop_assert_eq!(datagram.len(), packet.encoded_len());
                prop_assert_eq!(header_bytes, packet.header_words() * WORD_BYTES);
                let decoded = Packet::decode(&datagram, None).unwrap();
                prop_assert_eq!(decoded.packet, packet);
                prop_assert_eq!(decoded.header_bytes, header_bytes);
                assert_canonical(&datagram, &decoded);
            }
        }
    }

    /// R-ERR-1
    #[test]
    fn arbitrary_octets_never_panic_and_have_one_spelling(datagram in vec(any::<u8>(), 0..400)) {
        if let Ok(decoded) = Packet::decode(&datagram, None) {
            assert_canonical(&datagram, &decoded);
        }
    }

    /// R-EXT-2, R-HDR-4, R-ERR-1
    #[test]
    fn b7_a_mutated_packet_is_refused_or_still_has_one_spelling(
        material in material(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut material = material;
        material.header.error -= ErrorBits::CRC;
        let Some(packet) = packet(&material) else { return Ok(()) };
        let mut datagram = Vec::new();
        if packet.encode(&mut datagram, None).is_err() { return Ok(()) }
        for (at, octet) in changes {
            let at = at.index(datagram.len());
            datagram[at] = octet;
        }
        if let Some(cut) = cut {
            datagram.truncate(cut.index(datagram.len()));
        }
        if let Ok(decoded) = Packet::decode(&datagram, None) {
            assert_canonical(&datagram, &decoded);
        }
    }

    /// C3: with CRC on no single flipped octet of a header goes unseen, and none of the payload. R-CRC-5, R-CRC-6
    #[test]
    fn c3_a_changed_octet_is_seen(material in material(), at in any::<prop::sample::Index>(), change in 1..=255u8) {
        let mut material = material;
        material.header.error |= ErrorBits::CRC;
        material.header.version = Version::Clear;
        let Some(packet) = packet(&material) else { return Ok(()) };
        let mut datagram = Vec::new();
        let Ok(header_bytes) = packet.encode(&mut datagram, None) else { return Ok(()) };
        let at = at.index(datagram.len());
        datagram[at] ^= change;
        match Packet::decode(&datagram, None) {
            Err(_) => prop_assert!(at < header_bytes),
            // Version 1 with an epoch: its tag has to prove it, and a connection in clear text has no key (R-PROT-6).
            Ok(decoded) if decoded.packet.is_sealed() => prop_assert_eq!(at, 0),
            Ok(decoded) => {
                // Clearing the CRC bit itself is legal octets; the frozen bits of the connection catch it (A15).
                let crc_gone = !decoded.packet.header.error.contains(ErrorBits::CRC);
                let frozen_differ = decoded.packet.frozen_bits() != packet.frozen_bits();
                prop_assert!(
                    crc_gone && frozen_differ || decoded.payload_check == PayloadCheck::Corrupt,
                    "octet {} of {}", at, header_bytes
                );
            }
        }
    }

    /// F2, F3, F5: what a receiver lacks is what the sender reads. R-SNACK-2, R-SNACK-3, R-SNACK-5
    #[test]
    fn f3_a_snack_reports_exactly_the_holes_that_fit(
        first in any::<u32>(),
        received in vec(any::<bool>(), 1..300),
    ) {
        let count = u32::try_from(received.len()).unwrap();
        let highest = first.wrapping_add(count);
        let holds = |number: u32| number.wrapping_sub(first) >= count || received[number.wrapping_sub(first) as usize];
        let mut builder = SnackBuilder::<4>::new();
        let expected: Vec<u32> = (0..count).map(|offset| first.wrapping_add(offset)).filter(|n| !holds(*n)).collect();
        match builder.build(first, highest, holds) {
            None => prop_assert!(expected.is_empty()),
            Some(snack) => {
                let missing: Vec<u32> = snack.missing(first).collect();
                prop_assert!(!missing.is_empty());
                prop_assert_eq!(&missing[..], &expected[..missing.len()], "the oldest holes come first");
                let reported = snack.end(first).wrapping_sub(first);
                let in_range = expected.iter().filter(|n| n.wrapping_sub(first) < reported).count();
                prop_assert_eq!(missing.len(), in_range, "no hole inside the reported range is left out");
                prop_assert!(snack.vector.last_chunk::<4>().is_none_or(|word| word != &[0; 4]));
            }
        }
    }
}

/// The properties above say nothing about packets that the strategies never build, so this counts them.
#[test]
fn the_strategy_builds_every_extension_often() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let mut counts = [0u32; 11];
    for _ in 0..4096 {
        let material = material().new_tree(&mut runner).unwrap().current();
        let Some(packet) = packet(&material) else { continue };
        if packet.encode(&mut Vec::new(), None).is_err() {
            continue;
        }
        let present = [
            packet.protection.is_some(),
            packet.window.is_some(),
            packet.cookie.is_some(),
            matches!(packet.multipath, Some(Multipath::Capable(_))),
            matches!(packet.multipath, Some(Multipath::Join(_))),
            matches!(packet.multipath, Some(Multipath::Priority(_))),
            packet.dss.is_some(),
            packet.fec.is_some(),
            matches!(packet.sequence, Sequence::Seq(_)),
            matches!(packet.report, Report::Sack(_)),
            matches!(packet.report, Report::Snack(_)),
        ];
        for (count, present) in counts.iter_mut().zip(present) {
            *count += u32::from(present);
        }
    }
    assert!(counts.iter().all(|count| *count >= 20), "packets with each extension: {counts:?}");
}
