//! What is written is read again, and what is damaged is not.

use proptest::prelude::*;
use rasta::{
    Body, CheckCode, CodeLength, DisconnectReason, Disconnection, Frame, FrameError, Header, Message,
    MessageError, Parameters, SafetyCode, Version,
};

fn safety_codes() -> impl Strategy<Value = SafetyCode> {
    let length = prop_oneof![Just(CodeLength::Half), Just(CodeLength::Full)];
    (length, any::<[u32; 4]>(), any::<[u8; 16]>(), 0..4).prop_map(|(length, initial_value, key, choice)| {
        match choice {
            0 => SafetyCode::Md4 { length, initial_value },
            1 => SafetyCode::Blake2b { length, key: key.to_vec() },
            2 => SafetyCode::SipHash24 { length, key },
            _ => SafetyCode::Unprotected,
        }
    })
}

fn headers() -> impl Strategy<Value = Header> {
    any::<[u32; 6]>().prop_map(|[receiver_id, sender_id, sequence_number, confirmed, time_stamp_ms, cts]| {
        Header {
            receiver_id,
            sender_id,
            sequence_number,
            confirmed_sequence_number: confirmed,
            time_stamp_ms,
            confirmed_time_stamp_ms: cts,
        }
    })
}

fn bodies() -> impl Strategy<Value = Body> {
    let messages = || proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..5);
    let parameters = ("[0-9]{4}", any::<u16>()).prop_map(|(digits, n_send_max)| {
        let digits = digits.as_bytes().try_into().expect("four digits");
        Parameters { version: Version::new(digits).expect("digits"), n_send_max }
    });
    prop_oneof![
        parameters.clone().prop_map(Body::ConnectionRequest),
        parameters.prop_map(Body::ConnectionResponse),
        Just(Body::RetransmissionRequest),
        Just(Body::RetransmissionResponse),
        any::<[u16; 2]>().prop_map(|[detail, reason]| Body::DisconnectionRequest(Disconnection {
            detail,
            reason: DisconnectReason::from_number(reason % 12),
        })),
        Just(Body::Heartbeat),
        messages().prop_map(Body::Data),
        messages().prop_map(Body::RetransmittedData),
    ]
}

proptest! {
    #[test]
    fn a_message_is_read_as_it_was_written(header in headers(), body in bodies(), code in safety_codes()) {
        let message = Message { header, body };
        prop_assert_eq!(Message::decode(&message.encode(&code), &code), Ok(message));
    }

    #[test]
    fn a_frame_is_read_as_it_was_written(
        sequence_number: u32,
        payload in proptest::collection::vec(any::<u8>(), 0..1200),
        check_code in prop::sample::select(&CheckCode::ALL[..]),
    ) {
        let frame = Frame { sequence_number, payload: &payload };
        let octets = frame.encode(check_code);
        prop_assert_eq!(Frame::decode(&octets, check_code), Ok(frame));
    }

    #[test]
    fn a_changed_bit_is_found(header in headers(), body in bodies(), code in safety_codes(), place: prop::sample::Index) {
        prop_assume!(code.protects());
        let mut octets = Message { header, body }.encode(&code);
        let bit = place.index(octets.len() * 8);
        octets[bit / 8] ^= 1 << (bit % 8);
        let expected = if bit < 16 { matches!(Message::decode(&octets, &code), Err(MessageError::Length { .. })) }
            else { Message::decode(&octets, &code) == Err(MessageError::SafetyCode) };
        prop_assert!(expected, "{:?}", Message::decode(&octets, &code));
    }

    #[test]
    fn no_octets_make_a_decoder_panic(octets in proptest::collection::vec(any::<u8>(), 0..80), code in safety_codes()) {
        let _ = Message::decode(&octets, &code);
        for check_code in CheckCode::ALL {
            let _ = Frame::decode(&octets, check_code);
        }
    }
}

/// Octets of a message without safety code whose length field is right.
fn octets(kind: u16, body: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; 28];
    octets[..2].copy_from_slice(&(28 + body.len() as u16).to_le_bytes());
    octets[2..4].copy_from_slice(&kind.to_le_bytes());
    octets.extend_from_slice(body);
    octets
}

#[test]
fn bodies_that_do_not_fit_their_type_are_refused() {
    let cases: [(u16, &[u8], &str); 8] = [
        (6199, b"", "no message has type 6199"),
        (6220, b"x", "a body of 1 octets is none of type Heartbeat"),
        (6216, b"abc", "a body of 3 octets is none of type DisconnectionRequest"),
        (6200, b"0303\x14\x00", "a body of 6 octets is none of type ConnectionRequest"),
        (6200, b"03.3\x14\x00\0\0\0\0\0\0\0\0", "the version [48, 51, 46, 51] is not four decimal digits"),
        (6240, b"", "a body of 0 octets is none of type Data"),
        (6240, b"\x02\x00a", "a body of 3 octets is none of type Data"),
        (6241, b"\x01\x00a\x05", "a body of 4 octets is none of type RetransmittedData"),
    ];
    for (kind, body, says) in cases {
        let error = Message::decode(&octets(kind, body), &SafetyCode::Unprotected).expect_err(says);
        assert_eq!(error.to_string(), says);
    }
}

#[test]
fn lengths_that_lie_are_refused() {
    let mut message = octets(6220, b"");
    message[0] = 29;
    assert_eq!(
        Message::decode(&message, &SafetyCode::Unprotected),
        Err(MessageError::Length { declared: 29, bytes: 28 })
    );
    assert_eq!(
        Message::decode(&message[..27], &SafetyCode::Unprotected),
        Err(MessageError::Short { bytes: 27, needed: 28 })
    );
    let mut frame = Frame { sequence_number: 0, payload: b"" }.encode(CheckCode::E);
    assert_eq!(Frame::decode(&frame[..9], CheckCode::E), Err(FrameError::Short { bytes: 9, needed: 10 }));
    frame.push(0);
    assert_eq!(Frame::decode(&frame, CheckCode::E), Err(FrameError::Length { declared: 10, bytes: 11 }));
    frame.pop();
    frame[9] ^= 1;
    assert_eq!(Frame::decode(&frame, CheckCode::E), Err(FrameError::CheckCode));
}
