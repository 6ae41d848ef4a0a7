//! Messages and times: golden datagrams of others, round trips, and octets by chance.

use flight::dictionary::{self, OutputHousekeeping, output};
use flight::message::{
    HIGHEST_MESSAGE_ID, Message, MessageError, MessageId, checksum_of, command, telemetry,
    telemetry_header_octets,
};
use flight::time::{FlightTime, Subseconds};
use proptest::collection::vec;
use proptest::prelude::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

/// COSMOS's command to KIT_TO to send telemetry to 127.0.0.1, as solar-wine/tools-for-hack-a-sat-2020 at 69485c6 has it
/// (`scapy-space-packets/client.py`). KIT_TO's function code is 7, TO_LAB's 6; the rest is the same.
const ENABLE_BY_COSMOS: &str = "1880c0000011079a 3132372e302e302e3100000000000000";

/// COSMOS's command without payload to UART_TO_CI, from the same file.
const BARE_BY_COSMOS: &str = "19d7c000000107f7";

/// Housekeeping of TO_LAB as it came from a running cFS: GokServis/rust-cfs-bridge at 3c2ba45
/// (`docs/AVAILABLE_TELEMETRY.md`), where octets 6 and 7 are taken for a message id; they are the time's.
const HOUSEKEEPING_OF_TO_LAB: &str = "0880c0a5000d 000f46cdb116 00000000 01000000";

#[test]
fn commands_are_those_of_a_ground_system_to_the_octet() {
    let theirs = hex(ENABLE_BY_COSMOS);
    assert_eq!(command(output::COMMAND, 0, 7, &theirs[8..]), Ok(theirs.clone()));
    assert_eq!(dictionary::bare(MessageId(0x19D7), 7), Ok(hex(BARE_BY_COSMOS)));
    let read = Message::parse(&theirs).unwrap().command().unwrap();
    assert_eq!((read.id, read.code, read.checksum_holds), (output::COMMAND, 7, true));
    assert_eq!(dictionary::destination(read.payload), Some("127.0.0.1".parse().unwrap()));
    // TO_LAB's own differs in function code and checksum only.
    let ours = dictionary::enable_output("127.0.0.1".parse().unwrap());
    let differ: Vec<_> = (0..ours.len()).filter(|place| ours[*place] != theirs[*place]).collect();
    assert_eq!((ours.len(), differ), (theirs.len(), vec![6, 7]));
}

#[test]
fn housekeeping_of_a_running_to_lab_is_read_and_written_to_the_octet() {
    let octets = hex(HOUSEKEEPING_OF_TO_LAB);
    let read = Message::parse(&octets).unwrap().telemetry(Subseconds::Bits16).unwrap();
    // 165 s after a clock that starts with 1,001,000 s.
    assert_eq!((read.id, read.sequence, read.time.seconds), (output::HOUSEKEEPING, 165, 1_001_165));
    let counters = OutputHousekeeping::decode(read.payload).unwrap();
    assert_eq!(counters, OutputHousekeeping { commands: 1, command_errors: 0 });
    let written = telemetry(read.id, read.sequence, read.time, Subseconds::Bits16, &counters.encode());
    assert_eq!(written, Ok(octets));
}

#[test]
fn to_lab_adds_a_packet_by_a_message_id_of_32_bits() {
    // Payload as a script sends it with cmdUtil: minseo2222/SatelliteComSim, src/newGS/scripts/setup_tolab_08a9.sh.
    let octets = dictionary::add_packet(MessageId(0x08A9), 4);
    assert_eq!(octets[8..], [0xA9, 0x08, 0, 0, 0, 0, 4, 0]);
    let read = Message::parse(&octets).unwrap().command().unwrap();
    assert_eq!((read.id, read.code), (MessageId(0x1880), 2));
}

#[test]
fn what_follows_a_message_is_left_out_and_what_is_missing_is_told() {
    let noop = dictionary::bare(output::COMMAND, output::NOOP).unwrap();
    let longer = [&noop[..], b"more"].concat();
    assert_eq!(Message::parse(&longer).unwrap().octets(), noop);
    assert_eq!(Message::parse(&noop[..7]), Err(MessageError::LengthField { says: 8, octets: 7 }));
    assert_eq!(Message::parse(&noop[..5]), Err(MessageError::TooShort { octets: 5, needed: 6 }));
}

#[test]
fn values_that_make_no_message_are_refused() {
    let wrong = |id| MessageError::WrongKind { id: MessageId(id), wanted: "a command" };
    assert_eq!(command(MessageId(0x0880), 0, 0, &[]), Err(wrong(0x0880)));
    assert_eq!(command(MessageId(0x1080), 0, 0, &[]), Err(wrong(0x1080)), "no secondary header");
    assert_eq!(command(output::COMMAND, 0, 128, &[]), Err(MessageError::FunctionCode { code: 128 }));
    assert!(command(output::COMMAND, 0, 0, &vec![0; 65_534]).is_ok());
    assert_eq!(
        command(output::COMMAND, 0, 0, &vec![0; 65_535]),
        Err(MessageError::TooLong { octets: 65_543 })
    );
    let time = FlightTime::default();
    assert!(telemetry(output::COMMAND, 0, time, Subseconds::Bits16, &[]).is_err());
}

fn formats() -> impl Strategy<Value = Subseconds> {
    prop_oneof![Just(Subseconds::Bits16), Just(Subseconds::Bits32), Just(Subseconds::Micros20)]
}

proptest! {
    #[test]
    fn commands_come_out_as_they_went_in(
        apid in 0_u16..0x800, sequence in 0_u16..0x4000, code in 0_u8..128, payload in vec(any::<u8>(), 0..900),
    ) {
        let id = MessageId(0x1800 | apid);
        let octets = command(id, sequence, code, &payload).unwrap();
        prop_assert_eq!(checksum_of(&octets), 0);
        let read = Message::parse(&octets).unwrap().command().unwrap();
        prop_assert_eq!((read.id, read.sequence, read.code, read.payload), (id, sequence, code, &payload[..]));
        prop_assert!(read.checksum_holds);
    }

    #[test]
    fn a_changed_bit_of_a_command_breaks_its_checksum(
        payload in vec(any::<u8>(), 0..60), place in any::<prop::sample::Index>(), bit in 0_u8..8,
    ) {
        let mut octets = command(output::COMMAND, 0, 1, &payload).unwrap();
        let place = place.index(octets.len());
        octets[place] ^= 1 << bit;
        prop_assert_ne!(checksum_of(&octets), 0);
    }

    #[test]
    fn telemetry_comes_out_as_it_went_in(
        apid in 0_u16..0x800, sequence in 0_u16..0x4000, seconds: u32, subseconds: u32, format in formats(),
        payload in vec(any::<u8>(), 0..900),
    ) {
        let id = MessageId(0x0800 | apid);
        let time = FlightTime { seconds, subseconds };
        let octets = telemetry(id, sequence, time, format, &payload).unwrap();
        prop_assert_eq!(octets.len(), telemetry_header_octets(format) + payload.len());
        let read = Message::parse(&octets).unwrap().telemetry(format).unwrap();
        prop_assert_eq!((read.id, read.sequence, read.payload), (id, sequence, &payload[..]));
        // The format's resolution is what may be lost, and once only.
        let lost = time.since_zero().as_nanos().abs_diff(read.time.since_zero().as_nanos());
        let most = match format { Subseconds::Bits16 => 15_260, Subseconds::Bits32 => 0, Subseconds::Micros20 => 1_001 };
        prop_assert!(lost <= most, "{} ns", lost);
        prop_assert_eq!(telemetry(id, sequence, read.time, format, &payload).unwrap(), octets);
    }

    #[test]
    fn any_octets_are_a_message_or_an_error_and_a_message_s_octets_are_its_own(octets in vec(any::<u8>(), 0..200)) {
        if let Ok(message) = Message::parse(&octets) {
            prop_assert_eq!(message.octets(), &octets[..message.octets().len()]);
            prop_assert_eq!(message.id().0.to_be_bytes(), [octets[0], octets[1]]);
            if let Ok(read) = message.command() {
                let again = command(read.id, read.sequence, read.code, read.payload).unwrap();
                // But for sequence flags, the reserved bit beside the function code, and the checksum.
                prop_assert_eq!(&again[4..6], &octets[4..6]);
                prop_assert_eq!(&again[8..], &message.octets()[8..]);
            }
            for format in [Subseconds::Bits16, Subseconds::Bits32, Subseconds::Micros20] {
                let _ = message.telemetry(format);
            }
            prop_assert!(!message.id().is_valid() || message.id().0 <= HIGHEST_MESSAGE_ID);
        }
    }
}
