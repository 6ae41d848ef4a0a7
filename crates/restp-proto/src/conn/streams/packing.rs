//! From streams to payloads: control frames first, then the bytes of streams by their priorities.

use bytes::Bytes;

use super::{KINDS, MAX_DATA_FRAMES, Streams, slot};
use crate::stream::{StreamEvent, StreamKind};
use crate::wire::{Frame, number_bytes};

/// Octets of the longest control frame: its first, two numbers of 8, a code of up to 8.
const CONTROL_BYTES: usize = 25;
/// Octets of the length of DATA: payloads are shorter than 16,384.
const LENGTH_BYTES: usize = 2;

impl Streams {
    /// Something may leave.
    pub fn has_work(&self) -> bool {
        !self.owed.is_empty() || !self.turns.is_empty()
    }

    /// The payload of the next packet, of at most `room` bytes.
    pub fn pack(&mut self, room: usize) -> Option<Bytes> {
        if !self.has_work() {
            return None;
        }
        let mut out = Vec::with_capacity(room);
        self.pack_control(room, &mut out);
        self.pack_data(room, &mut out);
        (!out.is_empty()).then(|| out.into())
    }

    // R-STR-7, R-STR-9
    fn pack_control(&mut self, room: usize, out: &mut Vec<u8>) {
        let fits = |out: &Vec<u8>| out.len() + CONTROL_BYTES <= room;
        if fits(out) && std::mem::take(&mut self.owed.credit) {
            Frame::Credit { limit_bytes: self.window.renew() }.encode(out);
        }
        for kind in KINDS {
            if fits(out) && std::mem::take(&mut self.owed.streams[slot(kind)]) {
                let limit = self.peers[slot(kind)].renew();
                Frame::Streams { one_way: kind == StreamKind::OneWay, limit }.encode(out);
            }
        }
        while fits(out)
            && let Some(end) = self.owed.ends.pop_front()
        {
            end.encode(out);
        }
        while fits(out)
            && let Some(id) = self.owed.stream_credit.pop_first()
        {
            if let Some(half) = self.receives.get_mut(&id) {
                Frame::StreamCredit { stream: id.0, limit_bytes: half.window.renew() }.encode(out);
            }
        }
        while fits(out)
            && let Some((id, priority)) = self.owed.priorities.pop_first()
        {
            let (urgency, incremental) = (priority.urgency(), priority.is_incremental());
            Frame::Priority { stream: id.0, urgency, incremental }.encode(out);
        }
    }

    // R-STR-5, R-STR-6, R-STR-10
    fn pack_data(&mut self, room: usize, out: &mut Vec<u8>) {
        let (mut last, mut frames) = (None, 0);
        while frames < MAX_DATA_FRAMES
            && let Some(place) = self.turns.after(last)
        {
            last = Some(place);
            let id = place.3;
            let Some(half) = self.sends.get_mut(&id) else { continue };
            let head = 1 + number_bytes(id.0) + number_bytes(half.next) + LENGTH_BYTES;
            let Some(space) = room.checked_sub(out.len() + head).filter(|space| *space > 0) else { return };
            let granted = (half.limit - half.next).min(self.credit - self.sent);
            let count = half.waiting.len().min(space).min(usize::try_from(granted).unwrap_or(usize::MAX));
            let fin = half.fin && count == half.waiting.len();
            if count == 0 && !fin {
                continue;
            }
            Frame::begin_data(out, id.0, half.next, fin, count);
            half.waiting.move_to(count, out);
            frames += 1;
            half.next += count as u64;
            self.sent += count as u64;
            if half.wants_room && half.waiting.len() <= self.send_bytes / 2 {
                half.wants_room = false;
                self.events.insert(StreamEvent::Writable(id));
            }
            if fin {
                self.drop_send(id);
            } else {
                self.turns.served(id, half);
            }
        }
    }
}
