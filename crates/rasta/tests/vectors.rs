//! Octets that others published: what this crate reads and writes must be the same.
//!
//! * The example message of DIN VDE V 0831-200, Annex A, with its MD4 for two initial values, as the tests of SBB's stack
//!   (`unit_test_srmd4.cc`) and of Railway-CCS (`rastamd4Test.c`, `test.lua`) quote it.
//! * MD4 of a long message: `test_data.cc` of SBB's stack.
//! * Check codes of "123456789": `rastacrcTest.c` of Railway-CCS. Check codes of 1,109 octets: `unit_test_redcrc.cc` of
//!   SBB's stack.
//! * BLAKE2b: RFC 7693's own test by digests of digests covers the library, not this crate; what is held here is the keyed
//!   digest of 16 octets against an independent implementation (Python's `hashlib`). SipHash-2-4: the vectors of its
//!   authors, which librasta's test uses too.
//!
//! No public octets were found of a whole connection request, response, disconnection, data or retransmission message, nor
//! of a frame with check code around a message (the captures in Railway-CCS/dissectors are not stored as text): their
//! layout rests on reading two implementations, and on a second decoder, the Wireshark dissector.

use rasta::{Body, CheckCode, CodeLength, Frame, Header, Message, SafetyCode};

/// The heartbeat of Annex A without its safety code; its length field is that of the half code.
const EXAMPLE: [u8; 28] = [
    0x24, 0x00, 0x4c, 0x18, 0x3f, 0xb4, 0x96, 0x00, 0xce, 0xca, 0x23, 0x00, 0x56, 0x44, 0x33, 0x22, 0x66,
    0x55, 0x44, 0x33, 0x57, 0x01, 0x00, 0x00, 0xcb, 0x00, 0x00, 0x00,
];
const EXAMPLE_MD4: [u8; 16] =
    [0x83, 0xf0, 0xd0, 0x52, 0x40, 0x6b, 0xf4, 0x92, 0xf8, 0x9f, 0x8d, 0x1e, 0x9b, 0x89, 0xc9, 0x8d];
const EXAMPLE_MD4_OTHER: [u8; 16] =
    [0x93, 0x9f, 0x1c, 0x86, 0x59, 0xcf, 0xf5, 0x03, 0x95, 0x3c, 0x4e, 0xd3, 0x25, 0x96, 0x89, 0x5d];
const OTHER_INITIAL_VALUE: [u32; 4] = [0xafb1_6782, 0x304c_59de, 0x98ba_dcfe, 0x1032_5476];

fn example() -> Message {
    let header = Header {
        receiver_id: 0x0096_b43f,
        sender_id: 0x0023_cace,
        sequence_number: 0x2233_4456,
        confirmed_sequence_number: 0x3344_5566,
        time_stamp_ms: 0x157,
        confirmed_time_stamp_ms: 0xcb,
    };
    Message { header, body: Body::Heartbeat }
}

#[test]
fn the_heartbeat_of_annex_a_with_both_initial_values() {
    for (initial_value, md4) in
        [(rasta::MD4_INITIAL_VALUE, EXAMPLE_MD4), (OTHER_INITIAL_VALUE, EXAMPLE_MD4_OTHER)]
    {
        let code = SafetyCode::Md4 { length: CodeLength::Half, initial_value };
        let octets = [&EXAMPLE[..], &md4[..8]].concat();
        assert_eq!(Message::decode(&octets, &code), Ok(example()));
        assert_eq!(example().encode(&code), octets);
    }
}

/// The full code covers the length field, so the digest printed for the half-code message does not fit a message with
/// the full code; it is the digest of the 28 octets, which is what is compared.
#[test]
fn the_full_md4_of_annex_a() {
    for (initial_value, md4) in
        [(rasta::MD4_INITIAL_VALUE, EXAMPLE_MD4), (OTHER_INITIAL_VALUE, EXAMPLE_MD4_OTHER)]
    {
        assert_eq!(SafetyCode::Md4 { length: CodeLength::Full, initial_value }.of(&EXAMPLE), md4);
    }
}

/// SBB's long message: 0 to 254 over and over, the last octet 255.
#[test]
fn md4_over_several_blocks() {
    let mut message: Vec<u8> = (0..=254).cycle().take(1085).collect();
    message[1084] = 255;
    let expected =
        [0x44, 0x5b, 0x83, 0x81, 0x94, 0xf8, 0x0a, 0x6a, 0x67, 0xcc, 0x32, 0xe9, 0xe5, 0x38, 0x80, 0x6d];
    assert_eq!(SafetyCode::md4(CodeLength::Full).of(&message), expected);
}

#[test]
fn check_codes_of_nine_digits() {
    let codes = [0, 0x0E7C_650A, 0xE306_9283, 0x2189, 0xBB3D];
    assert_eq!(CheckCode::ALL.map(|code| code.compute(b"123456789")), codes);
}

#[test]
fn check_codes_of_a_longest_frame() {
    let frame: Vec<u8> = (0..=254).cycle().take(1109).collect();
    assert_eq!(
        CheckCode::ALL.map(|code| code.compute(&frame)),
        [0, 2_448_192_889, 2_506_336_787, 19_279, 37_817]
    );
}

/// `python3 -c "import hashlib; print(hashlib.blake2b(bytes(range(15)), digest_size=N, key=bytes(range(16))).hexdigest())"`
/// with N 8 and 16.
#[test]
fn blake2b_with_a_key() {
    let message: Vec<u8> = (0..15).collect();
    let key: Vec<u8> = (0..16).collect();
    let half = SafetyCode::Blake2b { length: CodeLength::Half, key: key.clone() };
    let full = SafetyCode::Blake2b { length: CodeLength::Full, key };
    assert_eq!(hex(&half.of(&message)), "772454d802b7cb44");
    assert_eq!(hex(&full.of(&message)), "0c7c9c3922d41a7b2b3b20f92685d560");
}

/// Vector 15 of the SipHash reference (64 bits: also appendix A of the paper), and vector 0 of 128 bits.
#[test]
fn siphash_of_its_authors() {
    let key: [u8; 16] = std::array::from_fn(|place| place as u8);
    let message: Vec<u8> = (0..15).collect();
    let half = SafetyCode::SipHash24 { length: CodeLength::Half, key };
    assert_eq!(half.of(&message), 0xa129_ca61_49be_45e5_u64.to_le_bytes());
    let full = SafetyCode::SipHash24 { length: CodeLength::Full, key };
    assert_eq!(hex(&full.of(b"")), "a3817f04ba25a8e66df67214c7550293");
}

/// Length, reserve, sequence number, what is carried, the check code with its lowest octet first.
#[test]
fn a_frame_is_laid_out_as_both_implementations_do_it() {
    let frame = Frame { sequence_number: 0x0102_0304, payload: b"ab" };
    assert_eq!(frame.encode(CheckCode::A), [10, 0, 0, 0, 4, 3, 2, 1, b'a', b'b']);
    let with_code = frame.encode(CheckCode::B);
    let code = CheckCode::B.compute(&with_code[..10]);
    assert_eq!((with_code[0], &with_code[10..]), (14, &code.to_le_bytes()[..]));
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
