//! Fuzz body of the decoders: no octets make them panic, and what they read is written again as it was.

use rasta::{CheckCode, CodeLength, Frame, Message, SafetyCode};

/// Reads `data` as a frame and as a message with each code. The codes of the input are made right in a second try, since
/// a fuzzer does not guess them.
pub fn decode(data: &[u8]) {
    for check_code in CheckCode::ALL {
        let mut right = data.to_vec();
        if let Some(length) = right.first_chunk_mut::<2>() {
            *length = ((data.len() + check_code.bytes()) as u16).to_le_bytes();
            right.extend_from_slice(&check_code.compute(&right).to_le_bytes()[..check_code.bytes()]);
        }
        for octets in [data, &right] {
            if let Ok(frame) = Frame::decode(octets, check_code) {
                // The reserve is not read, so it is not written either.
                let (written, mut read) = (frame.encode(check_code), octets.to_vec());
                read[2..4].fill(0);
                let end = read.len() - check_code.bytes();
                assert_eq!(written[..end], read[..end]);
            }
        }
    }
    let codes = [
        SafetyCode::Unprotected,
        SafetyCode::md4(CodeLength::Half),
        SafetyCode::md4(CodeLength::Full),
        SafetyCode::Blake2b { length: CodeLength::Half, key: vec![1] },
        SafetyCode::SipHash24 { length: CodeLength::Full, key: [2; 16] },
    ];
    for code in codes {
        let mut right = data.to_vec();
        if let Some(length) = right.first_chunk_mut::<2>() {
            *length = ((data.len() + code.bytes()) as u16).to_le_bytes();
            right.extend_from_slice(&code.of(&right));
        }
        for octets in [data, &right] {
            if let Ok(message) = Message::decode(octets, &code) {
                assert_eq!(Message::decode(&message.encode(&code), &code), Ok(message));
            }
        }
    }
}
