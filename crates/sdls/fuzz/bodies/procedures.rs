//! What must hold for any octets given as commands: whatever is read is written the same, and refusals change nothing.

use sdls::ep::{Command, LengthUnit, Pdu, Reply};
use sdls::security::{KeyKind, SaParameters, Security};

/// The input is a run of commands, each behind its length.
///
/// # Panics
/// If a command has two spellings, or a refused one changed the recipient: those are the defects looked for.
pub fn procedures(data: &[u8]) {
    let mut end = Security::default();
    for id in [1, 2] {
        end.load_active_key(id, KeyKind::Session, &[7; 32]).expect("a key");
    }
    end.create(7, SaParameters::aes_gcm(32)).expect("an association");
    let mut rest = data;
    while let Some((&[length, tag], behind)) = rest.split_first_chunk::<2>() {
        let (value, next) = behind.split_at(usize::from(length).min(behind.len()));
        rest = next;
        let bits = u16::try_from(value.len() * 8).unwrap_or(0).to_be_bytes();
        let octets = [&[tag, bits[0], bits[1]][..], value].concat();
        if let Ok(pdu) = Pdu::decode(&octets, LengthUnit::Bits) {
            assert_eq!(pdu.encode().as_deref(), Ok(&octets[..]));
            if let (false, Ok(command)) = (pdu.reply, Command::of(&pdu)) {
                assert_eq!(command.encode().as_deref(), Ok(&octets[..]), "a command has two spellings");
            }
        }
        if let Ok(reply) = Reply::decode(&octets, LengthUnit::Bits) {
            let written = reply.encode().expect("a short reply");
            assert_eq!(Reply::decode(&written, LengthUnit::Bits), Ok(reply));
        }
        let before = format!("{end:?}");
        if end.execute(&octets, LengthUnit::Bits, None).is_err() {
            assert_eq!(format!("{end:?}"), before, "a refused command changed something");
        }
    }
}
