//! Copies over paths: each message leaves on several paths at once, so that the failure of one costs no time.
//!
//! Each path takes, in their order, the messages that the peer is not known to have and that it has not carried itself; one
//! that is through with them takes a new message. So a fast path never waits for a slow one, whose copies are left out once
//! the fast one's have arrived, and when the fast one fails the slow one goes on where the peer is missing something.

use std::time::Duration;

use super::multipath::Multi;
use super::path::{Path, Stage};
use super::sender::Sent;
use super::{Connection, Cx};
use crate::path::Transmit;
use crate::profile::Paths;
use crate::time::Instant;
use crate::wire::{ErrorBits, MAX_PATHS, Packet};

/// The mark of the path at place `index` among the carriers of a message.
pub(super) fn carrier(index: usize) -> u16 {
    1 << index
}

impl Multi {
    /// The peer is known to have message `index`, whichever path brought it.
    pub fn is_held(&self, index: u64) -> bool {
        index < self.data_first || self.stored(index).is_some_and(|stored| stored.arrived)
    }

    /// Message `index` left on the path at place `path`.
    fn note_carrier(&mut self, index: u64, path: usize) {
        if let Some(stored) = self.stored_mut(index) {
            stored.carriers |= carrier(path);
        }
    }

    /// Another path takes this place: it has carried nothing.
    pub fn forget_carrier(&mut self, path: usize) {
        self.copied[path] = 0;
        for stored in &mut self.store {
            stored.carriers &= !carrier(path);
        }
    }
}

impl Path {
    /// Copies may go there. One that is suspected takes part while its window has room: nothing relies on it, and so its
    /// first answer brings it back.
    fn takes_copies(&self, packet_bytes: usize) -> bool {
        self.carries_data()
            && self.outage.is_none()
            && (self.id.0 == 0 || self.handshake.confirmed)
            && self.allowance_bytes.is_none_or(|allowance| allowance >= packet_bytes)
    }
}

impl Connection {
    /// Every message leaves on several paths.
    pub(super) fn sends_copies(&self) -> bool {
        self.path_mode() == Paths::Copies
    }

    /// Copies and new messages, on the path with the lowest RTT that has room for one of them.
    // R-MP-14
    pub(super) fn poll_copies(
        &mut self,
        cx: &mut Cx<'_>,
        max_segments: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let new = self.has_new();
        let packet_bytes = self.composition.profile().tuning.longest_packet_bytes();
        let in_service = self.paths.in_service();
        let mut best: Option<(Duration, usize, Instant)> = None;
        for index in 0..self.paths.len() {
            let path = &self.paths[index];
            if !path.takes_copies(packet_bytes) || !in_service(path) || !path.has_room() {
                continue;
            }
            if self.next_copy(cx.now, index).is_none() && !new {
                continue;
            }
            let Some(release_at) = self.pace(cx, index) else { continue };
            let srtt = self.paths[index].rtt.smoothed();
            if best.is_none_or(|(least, ..)| srtt < least) {
                best = Some((srtt, index, release_at));
            }
        }
        let (_, index, release_at) = best?;
        self.send_batch(cx, index, release_at, max_segments, out, |conn, cx, index, room, out| {
            conn.send_next(cx, index, room, out)
        })
    }

    /// The oldest message of which path `index` is to carry a copy.
    // R-MP-14
    pub(super) fn next_copy(&mut self, now: Instant, index: usize) -> Option<u64> {
        let live = (0..self.paths.len())
            .filter(|other| self.paths[*other].is_usable())
            .fold(0, |live, other| live | carrier(other));
        let most = self.composition.profile().tuning.copies;
        let multi = self.multi.as_mut()?;
        let mut next = multi.copied[index].max(multi.data_first);
        let mut found = None;
        while let Some(stored) = multi.stored(next) {
            let wanted = !stored.arrived
                && stored.carriers & carrier(index) == 0
                && (stored.carriers & live).count_ones() < most
                && now <= stored.deadline;
            if wanted {
                found = Some(next);
                break;
            }
            next += 1;
        }
        multi.copied[index] = next;
        found
    }

    /// Sends the next copy that path `index` is to carry if its packet is no longer than `room`; the outer `None` says that
    /// there is none.
    pub(super) fn send_copy(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Option<Option<usize>> {
        let data = self.next_copy(cx.now, index)?;
        let sent = self.multi.as_ref()?.packet_of(data)?;
        let length = self.send_new(cx, index, sent, room, out);
        if length.is_some() {
            self.stats.copies += 1;
            if let Some(multi) = &mut self.multi {
                multi.note_carrier(data, index);
            }
        }
        Some(length)
    }

    /// A path failed: what it was to bring is copied to others that have not carried it, where there are not enough copies
    /// without it.
    // R-MP-14
    pub(super) fn copy_anew(&mut self) {
        if let Some(multi) = &mut self.multi {
            multi.copied = [0; MAX_PATHS];
        }
    }

    /// What arrived on one path need not arrive on another.
    // R-MP-15
    pub(super) fn note_arrivals(&mut self, messages: &[u64]) {
        let Some(multi) = &mut self.multi else { return };
        for data in messages {
            if let Some(stored) = multi.stored_mut(*data) {
                stored.arrived = true;
            }
        }
    }

    /// The repetition of `sent` on path `index` need not bring its message again: where paths carry copies, and where it
    /// would be too late.
    // R-MP-15, R-ARQ-7
    pub(super) fn is_spared(&self, now: Instant, index: usize, sent: &Sent) -> bool {
        let data = sent.data_index;
        !sent.fin
            && (self.sends_copies() || now > sent.deadline)
            && self.paths[index].handshake.confirmed
            && self.multi.as_ref().is_some_and(|multi| multi.is_held(data))
    }

    /// Leaves the payload of a data packet out.
    // R-MP-15, R-DSS-4
    pub(super) fn make_stub(&self, packet: &mut Packet<'_>) {
        packet.payload = &[];
        if let Some(mapping) = packet.dss.as_mut().and_then(|dss| dss.mapping.as_mut()) {
            mapping.payload_crc = None;
        }
        if packet.header.error.contains(ErrorBits::FEC | ErrorBits::ARQ) {
            packet.fec = self.offered_fec();
        }
    }

    /// The end of the data is told on every path, as the data are.
    // R-MP-14
    pub(super) fn copy_data_fin(&mut self) {
        if self.sends_copies() {
            for path in self.paths.iter_mut().filter(|path| path.stage == Stage::Established) {
                path.ack.now = true;
            }
        }
    }

    /// A packet without the payload that it stands for: taken where another path has brought that. Whether it was one.
    // R-MP-15
    pub(super) fn on_stub(&mut self, index: usize, packet: &Packet<'_>, number: Option<u64>) -> bool {
        if !is_stub(packet) {
            return false;
        }
        if let Some(number) = number
            && let Some(data) = self.data_index(packet, number)
        {
            let path = &mut self.paths[index];
            if self.assembler.has_taken(data) && path.rx.accepts(number) {
                path.rx.insert(number);
            }
            path.ack.now = true;
        }
        true
    }
}

/// It has a mapping, and no payload. A sender makes it of length 1 and without a check; a receiver is not so strict.
// R-MP-15
pub(super) fn is_stub(packet: &Packet<'_>) -> bool {
    let mapping = packet.dss.and_then(|dss| dss.mapping);
    packet.payload.is_empty() && mapping.is_some_and(|mapping| mapping.length > 0 && !mapping.data_fin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Dss, DssMapping};

    /// R-MP-15
    #[test]
    fn a_stub_is_taken_with_any_length_and_check_but_not_as_the_end_of_the_data() {
        let usual = DssMapping {
            data_sequence: 1,
            subflow_sequence: 2,
            length: 1,
            data_fin: false,
            payload_crc: None,
        };
        for (mapping, wanted) in [
            (usual, true),
            (DssMapping { length: 2, payload_crc: Some(0), ..usual }, true),
            (DssMapping { length: 0, ..usual }, false),
            (DssMapping { data_fin: true, ..usual }, false),
        ] {
            let dss = Some(Dss { data_ack: None, mapping: Some(mapping) });
            let packet = Packet { dss, ..Packet::new(crate::wire::Header::default()) };
            assert_eq!(is_stub(&packet), wanted, "{mapping:?}");
            assert!(!is_stub(&Packet { payload: b"data", ..packet }), "{mapping:?}");
        }
    }
}
