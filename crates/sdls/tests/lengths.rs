//! How long frames are: header, data, OCF and FECF together are what a channel's managed parameters say, or an error
//! tells both numbers.

use sdls::frame::{
    AosFrame, AosParameters, DataStatus, FrameError, FrameKind, SourceOrDestination, TcFrame, TcParameters,
    TcService, TmFrame, TmParameters, TransferFrame, UslpFrame, UslpHeader, UslpLength, UslpParameters,
};

const OCF: [u8; 4] = [1, 2, 3, 4];
/// Octets of data in every frame.
const DATA: usize = 20;

/// Which fields stand behind the data, and the octets that they take.
const TAILS: [(bool, bool, usize); 4] =
    [(false, false, 0), (true, false, 4), (false, true, 2), (true, true, 6)];

fn ocf(has: bool) -> Option<[u8; 4]> {
    has.then_some(OCF)
}

/// A frame of exactly its channel's length is written with its tail behind the data and read back; one octet more or
/// less is refused both ways.
fn has_one_length<F>(kind: FrameKind, frame: F, expected: usize, tail: usize, parameters: &F::Parameters)
where
    F: TransferFrame + Clone + PartialEq + std::fmt::Debug,
{
    let octets = frame.encode(parameters).unwrap();
    assert_eq!(octets.len(), expected);
    assert_eq!(octets[expected - tail - DATA..expected - tail], [7; DATA]);
    assert_eq!(F::decode(&octets, parameters), Ok(frame.clone()));
    for (data, wrong) in [(DATA - 1, expected - 1), (DATA + 1, expected + 1)] {
        let error = Err(FrameError::NotFixedLength { kind, octets: wrong, expected });
        assert_eq!(frame.clone().with_data(vec![7; data]).encode(parameters), error);
    }
    let longer = [&octets[..], &[0]].concat();
    for wrong in [&octets[..expected - 1], &longer] {
        assert!(F::decode(wrong, parameters).is_err(), "{kind:?} of {} octets", wrong.len());
    }
}

fn uslp(header: UslpHeader, ocf: Option<[u8; 4]>) -> UslpFrame {
    UslpFrame {
        spacecraft: 5,
        identifies: SourceOrDestination::Source,
        channel: 1,
        map: 2,
        header,
        insert: Vec::new(),
        data: vec![7; DATA],
        ocf,
    }
}

fn uslp_parameters(length: UslpLength, truncated: Option<usize>, fecf: bool) -> UslpParameters {
    UslpParameters { length, truncated, insert_zone: 0, fecf }
}

const FULL: UslpHeader = UslpHeader::Full { expedited: false, control: false, count_octets: 1, count: 9 };

fn tm(data: usize, ocf: Option<[u8; 4]>) -> TmFrame {
    TmFrame {
        spacecraft: 5,
        channel: 1,
        master_count: 8,
        channel_count: 9,
        status: DataStatus::Packets { first_header: 0 },
        secondary: None,
        data: vec![7; data],
        ocf,
    }
}

fn aos(insert: usize, data: usize, ocf: Option<[u8; 4]>) -> AosFrame {
    AosFrame {
        spacecraft: 5,
        channel: 1,
        count: 9,
        replay: false,
        cycle: None,
        insert: vec![0; insert],
        data: vec![7; data],
        ocf,
    }
}

#[test]
fn frames_of_one_length_count_header_data_and_what_stands_behind() {
    for (has_ocf, fecf, tail) in TAILS {
        let frame = 6 + 3 + DATA + tail;
        let parameters = AosParameters { frame, fhec: false, insert_zone: 3, ocf: has_ocf, fecf };
        has_one_length(FrameKind::Aos, aos(3, DATA, ocf(has_ocf)), frame, tail, &parameters);

        let frame = 6 + DATA + tail;
        has_one_length(FrameKind::Tm, tm(DATA, ocf(has_ocf)), frame, tail, &TmParameters { frame, fecf });

        let frame = 7 + 1 + DATA + tail;
        let parameters = uslp_parameters(UslpLength::Fixed(frame), None, fecf);
        has_one_length(FrameKind::Uslp, uslp(FULL, ocf(has_ocf)), frame, tail, &parameters);
    }
    for (fecf, tail) in [(false, 0), (true, 2)] {
        let frame = 4 + DATA + tail;
        let parameters = uslp_parameters(UslpLength::UpTo(100), Some(frame), fecf);
        has_one_length(FrameKind::Uslp, uslp(UslpHeader::Truncated, None), frame, tail, &parameters);
    }
}

#[test]
fn frames_up_to_a_length_may_have_it_and_not_an_octet_more() {
    for (has_ocf, fecf, tail) in TAILS {
        let largest = 7 + 1 + DATA + tail;
        let frame = uslp(FULL, ocf(has_ocf));
        let parameters = |largest| uslp_parameters(UslpLength::UpTo(largest), None, fecf);
        let octets = frame.encode(&parameters(largest)).unwrap();
        assert_eq!(octets.len(), largest);
        let error = FrameError::TooLong { kind: FrameKind::Uslp, octets: largest, largest: largest - 1 };
        assert_eq!(frame.encode(&parameters(largest - 1)), Err(error.clone()));
        assert_eq!(UslpFrame::decode(&octets, &parameters(largest - 1)), Err(error));
    }
    for (fecf, tail) in [(false, 0), (true, 2)] {
        let largest = 5 + DATA + tail;
        let frame = TcFrame {
            service: TcService::Expedited,
            spacecraft: 5,
            channel: 1,
            sequence: 0,
            segment: None,
            data: vec![7; DATA],
        };
        let parameters = |largest| TcParameters { segment_header: false, fecf, largest };
        let octets = frame.encode(&parameters(largest)).unwrap();
        assert_eq!(octets.len(), largest);
        let error = FrameError::TooLong { kind: FrameKind::Tc, octets: largest, largest: largest - 1 };
        assert_eq!(frame.encode(&parameters(largest - 1)), Err(error.clone()));
        assert_eq!(TcFrame::decode(&octets, &parameters(largest - 1)), Err(error));
    }
}

#[test]
fn a_truncated_frame_needs_a_channel_that_has_them() {
    let error = FrameError::NotAsManaged { kind: FrameKind::Uslp, what: "truncated header" };
    let (with, without) =
        [Some(4 + DATA), None].map(|octets| uslp_parameters(UslpLength::UpTo(100), octets, false)).into();
    let frame = uslp(UslpHeader::Truncated, None);
    assert_eq!(frame.encode(&without), Err(error.clone()));
    assert_eq!(UslpFrame::decode(&frame.encode(&with).unwrap(), &without), Err(error));
}

/// A channel whose parameters name a length that no telemetry frame has: writing and reading say so alike. AOS takes the
/// length that its channel names.
#[test]
fn telemetry_frames_have_at_most_2048_octets() {
    let parameters = |frame| TmParameters { frame, fecf: false };
    let longest = tm(2048 - 6, None).encode(&parameters(2048)).unwrap();
    assert_eq!(TmFrame::decode(&longest, &parameters(2048)), Ok(tm(2048 - 6, None)));
    let error =
        FrameError::OutOfRange { kind: FrameKind::Tm, field: "the frame length", value: 2049, largest: 2048 };
    assert_eq!(tm(2049 - 6, None).encode(&parameters(2049)), Err(error.clone()));
    for octets in [&longest, &[&longest[..], &[7]].concat()] {
        assert_eq!(TmFrame::decode(octets, &parameters(2049)), Err(error.clone()), "{} octets", octets.len());
    }

    let aos = aos(0, 2049 - 6, None);
    let parameters = AosParameters { frame: 2049, fhec: false, insert_zone: 0, ocf: false, fecf: false };
    assert_eq!(AosFrame::decode(&aos.encode(&parameters).unwrap(), &parameters), Ok(aos));
}
