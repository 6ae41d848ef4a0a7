//! Packets in the name of the end that a packet was sent to, back to who sent it: what all forgeries of answers share.

use super::action::{Extra, Hand};
use super::checksums;
use super::fields::{replace_payload, swap_addresses, swap_ports};
use super::frame::Frame;
use super::packet::Headers;

/// An answer to a packet of UDP, TCP or SCTP with this payload, and right lengths and checksums; none to another packet.
pub(crate) fn answer(frame: &Frame, payload: &[u8]) -> Option<Frame> {
    let headers = Headers::of(&frame.bytes)?;
    let mut answer = frame.clone();
    answer.turn(1 - frame.towards);
    let fits = swap_addresses(&mut answer.bytes)
        && swap_ports(&mut answer.bytes)
        && replace_payload(&mut answer.bytes, &headers, payload);
    checksums::repair(&mut answer.bytes);
    fits.then_some(answer)
}

/// Has forgeries leave, one an interval, the first at once; says whether there were any to send.
pub(crate) fn send(hand: &mut Hand<'_>, forgeries: Vec<Frame>, interval_ns: i64) -> bool {
    let fits = !forgeries.is_empty();
    let extra = (0..).zip(forgeries).map(|(number, frame)| Extra {
        frame,
        after_ns: number * interval_ns,
        before: false,
        copy: false,
    });
    hand.extra.extend(extra);
    fits
}
