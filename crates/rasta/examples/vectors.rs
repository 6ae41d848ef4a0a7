//! Prints one frame a line as hexadecimal digits and what is in it as JSON: `cargo run -p rasta --example vectors`.
//!
//! For decoders of other make; the repository keeps the lines in `tests/vectors/frames.jsonl` and holds its Wireshark
//! dissector against them.

use rasta::{
    Body, CheckCode, CodeLength, DisconnectReason, Disconnection, Frame, Header, Message, Parameters,
    SafetyCode, Version,
};

fn main() {
    for line in lines() {
        println!("{line}");
    }
}

/// All lines.
pub fn lines() -> Vec<String> {
    let mut lines = Vec::new();
    let parameters = Parameters { version: Version::CURRENT, n_send_max: 20 };
    let disconnection = Disconnection { detail: 42, reason: DisconnectReason::Timeout };
    let bodies = [
        Body::ConnectionRequest(parameters),
        Body::ConnectionResponse(parameters),
        Body::RetransmissionRequest,
        Body::RetransmissionResponse,
        Body::DisconnectionRequest(disconnection),
        Body::Heartbeat,
        Body::Data(vec![b"set route 12".to_vec()]),
        Body::RetransmittedData(vec![vec![0; 70], b"lock".to_vec()]),
    ];
    let initial_values = [rasta::MD4_INITIAL_VALUE, [0xafb1_6782, 0x304c_59de, 0x98ba_dcfe, 0x1032_5476]];
    for check_code in CheckCode::ALL {
        for length in [CodeLength::Half, CodeLength::Full] {
            for (place, body) in bodies.iter().enumerate() {
                let safety_code = SafetyCode::Md4 { length, initial_value: initial_values[place % 2] };
                lines.push(line(place as u32, body, check_code, &safety_code, initial_values[place % 2]));
            }
        }
        lines.push(line(99, &Body::Heartbeat, check_code, &SafetyCode::Unprotected, initial_values[0]));
    }
    lines
}

fn line(
    place: u32,
    body: &Body,
    check_code: CheckCode,
    safety_code: &SafetyCode,
    initial_value: [u32; 4],
) -> String {
    let header = Header {
        receiver_id: 97,
        sender_id: 0x8000_0001,
        sequence_number: u32::MAX - place,
        confirmed_sequence_number: 0x3344_5566,
        time_stamp_ms: 4_000_000_000,
        confirmed_time_stamp_ms: place,
    };
    let message = Message { header, body: body.clone() }.encode(safety_code);
    let frame = Frame { sequence_number: 7 + place, payload: &message }.encode(check_code);
    let mut more = String::new();
    match body {
        Body::ConnectionRequest(parameters) | Body::ConnectionResponse(parameters) => {
            let version = String::from_utf8_lossy(&parameters.version.digits()).into_owned();
            more = format!(r#", "version": "{version}", "n_send_max": {}"#, parameters.n_send_max);
        }
        Body::DisconnectionRequest(said) => {
            more = format!(r#", "detail": {}, "reason": {}"#, said.detail, said.reason.number());
        }
        Body::Data(messages) | Body::RetransmittedData(messages) => {
            let payload: Vec<_> = messages.iter().map(|octets| format!(r#""{}""#, hex(octets))).collect();
            more = format!(r#", "payload": [{}]"#, payload.join(", "));
        }
        _ => {}
    }
    format!(
        concat!(
            r#"{{"hex": "{}", "check_code": "{:?}", "safety_bytes": {}, "md4_initial_value": "{}", "frame.sequence_number": {}, "#,
            r#""type": {}, "receiver_id": {}, "sender_id": {}, "sequence_number": {}, "confirmed_sequence_number": {}, "#,
            r#""time_stamp": {}, "confirmed_time_stamp": {}{}}}"#
        ),
        hex(&frame),
        check_code,
        safety_code.bytes(),
        initial_value.map(|word| format!("{word:08x}")).join(","),
        7 + place,
        body.kind() as u16,
        header.receiver_id,
        header.sender_id,
        header.sequence_number,
        header.confirmed_sequence_number,
        header.time_stamp_ms,
        header.confirmed_time_stamp_ms,
        more
    )
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
