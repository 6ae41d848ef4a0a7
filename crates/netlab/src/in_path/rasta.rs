//! Messages in frames of RaSTA over UDP, as the crate `rasta` writes them: a frame's header, a message's header, and in
//! messages of type Data or RetrData the application's own, each behind its length; all numbers lowest octet first. The
//! redundancy layer sends a frame over every channel, and what is retransmitted has new sequence numbers: a message
//! that bears no number is one more each time.

use std::ops::Range;

use super::messages::{Found, Messages, Part};

/// Length, reserve and sequence number of the redundancy layer.
const FRAME_HEADER_BYTES: usize = 8;
/// Length, type, two identities, two sequence numbers and two time stamps of the safety layer.
const MESSAGE_HEADER_BYTES: usize = 28;
/// Types of messages that carry those of an application (`srtyp_sr_types.h` of SBB's stack).
const CARRYING: [u16; 2] = [6240, 6241];
/// In front of each of them.
const LENGTH_BYTES: usize = 2;
/// The longest safety code, which stands behind them. The packet does not tell how long it is.
const LONGEST_CODE_BYTES: usize = 16;

fn u16_le(packet: &[u8], at: usize) -> Option<u16> {
    packet.get(at..at + 2).map(|octets| u16::from_le_bytes([octets[0], octets[1]]))
}

/// The parts of messages in a frame that stands at `place` of a packet; `flow` is the place of theirs, `counted` how many
/// of them that bear no number have passed.
pub(super) fn parts(
    flow: usize,
    packet: &[u8],
    place: Range<usize>,
    messages: &dyn Messages,
    counted: &mut u64,
) -> Vec<Part> {
    let mut found = Vec::new();
    for within in carried(packet, place) {
        if let Found::Message { number, .. } = messages.begins(&packet[within.clone()]) {
            *counted += 1;
            let number = number.map_or(*counted, |number| number + 1);
            found.push(Part { flow, number, begins_at: within.start as i64, within });
        }
    }
    found
}

/// Where the application's messages stand that are whole. There is a first one; where no more is left than a safety code
/// takes, there is no further one.
fn carried(packet: &[u8], place: Range<usize>) -> Vec<Range<usize>> {
    let message_at = place.start + FRAME_HEADER_BYTES;
    let frame = &packet[..place.end.min(packet.len())];
    let (Some(bytes), Some(kind)) = (u16_le(frame, message_at), u16_le(frame, message_at + 2)) else {
        return Vec::new();
    };
    let message = &frame[..frame.len().min(message_at + usize::from(bytes))];
    let mut at = message_at + MESSAGE_HEADER_BYTES;
    let mut found = Vec::new();
    while CARRYING.contains(&kind) && (found.is_empty() || message.len() > at + LONGEST_CODE_BYTES) {
        let Some(length) = u16_le(message, at) else { break };
        let within = at + LENGTH_BYTES..at + LENGTH_BYTES + usize::from(length);
        if length == 0 || within.end > message.len() {
            break;
        }
        at = within.end;
        found.push(within);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_path::messages::tests::Framed;

    /// A frame with a message of this type, its body and a safety code of eight octets that looks like a length.
    fn frame(kind: u16, body: &[&[u8]]) -> Vec<u8> {
        let body: Vec<u8> =
            body.iter().flat_map(|data| [&(data.len() as u16).to_le_bytes()[..], data].concat()).collect();
        let bytes = (MESSAGE_HEADER_BYTES + body.len() + 8) as u16;
        let mut message = [bytes.to_le_bytes(), kind.to_le_bytes()].concat();
        message.resize(MESSAGE_HEADER_BYTES, 7);
        let length = (FRAME_HEADER_BYTES as u16 + bytes).to_le_bytes();
        [&length[..], &[0; 6], &message, &body, &[2, 0, 1, 1, 1, 1, 1, 1]].concat()
    }

    fn found(packet: &[u8], counted: &mut u64) -> Vec<(u64, Range<usize>)> {
        let parts = parts(3, packet, 0..packet.len(), &Framed, counted);
        assert!(parts.iter().all(|part| part.flow == 3 && part.begins_at == part.within.start as i64));
        parts.into_iter().map(|part| (part.number, part.within)).collect()
    }

    #[test]
    fn data_and_retransmitted_data_carry_messages_and_nothing_else_does() {
        let mut counted = 0;
        assert_eq!(found(&frame(6240, &[&[3, 0, 0]]), &mut counted), [(1, 38..41)]);
        assert_eq!(found(&frame(6241, &[&[2, 0], &[9; 9]]), &mut counted), [(2, 38..40), (3, 42..51)]);
        for kind in [6200, 6220] {
            assert_eq!(found(&frame(kind, &[&[3, 0, 0]]), &mut counted), []);
        }
    }

    #[test]
    fn what_is_cut_or_strange_is_no_message() {
        let mut counted = 0;
        let mut lies = frame(6240, &[&[3, 0, 0]]);
        lies[36] = 200;
        assert_eq!(found(&lies, &mut counted), []);
        let whole = frame(6240, &[&[3, 0, 0]]);
        for bytes in 0..40 {
            assert_eq!(found(&whole[..bytes], &mut counted), [], "{bytes}");
        }
        assert_eq!(found(&frame(6240, &[&[0, 1]]), &mut counted), []);
        assert_eq!(counted, 0);
    }
}
