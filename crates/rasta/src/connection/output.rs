//! What the connection sends: numbers and stamps are put in when a message leaves, never earlier.

use super::{Connection, Sent};
use crate::message::{Body, Header, Message};
use crate::time::Instant;

impl Connection {
    /// The own clock as a time stamp.
    pub(super) fn stamp(&self, now: Instant) -> u32 {
        self.seeds.time_stamp_ms().wrapping_add(now.millis_wrapping())
    }

    /// Sends one message with the next number.
    pub(super) fn transmit(&mut self, now: Instant, body: Body) {
        let header = Header {
            receiver_id: self.config.remote_id,
            sender_id: self.config.local_id,
            sequence_number: self.sn_t,
            confirmed_sequence_number: self.cs_t,
            time_stamp_ms: self.stamp(now),
            confirmed_time_stamp_ms: self.ts_r,
        };
        self.sn_t = self.sn_t.wrapping_add(1);
        self.cs_sent = self.cs_t;
        self.heartbeat_at = Some(now + self.config.t_h);
        let message = Message { header, body };
        self.output.push_back(message.encode(&self.config.safety_code));
        let messages = match message.body {
            Body::Data(messages) | Body::RetransmittedData(messages) => Some(messages),
            // Nobody confirms the end.
            Body::DisconnectionRequest(_) => return,
            _ => None,
        };
        self.sent.push_back(Sent { sequence_number: header.sequence_number, messages });
    }

    /// Sends what waits as far as flow control allows, several messages in one up to N_maxPacket; whether any went.
    ///
    /// Only data wait for confirmations. Were heartbeats held back too (SBB's stack does it), two ends with full
    /// windows would wait for each other until T_max; librasta lets them go.
    pub(super) fn flush(&mut self, now: Instant) -> bool {
        let window = usize::from(self.config.n_send_max.min(self.peer_n_send_max));
        let mut sent_any = false;
        while !self.waiting.is_empty() && self.sent.len() < window {
            let together = usize::from(self.config.n_max_packet).min(self.waiting.len());
            let messages = self.waiting.drain(..together).collect();
            self.transmit(now, Body::Data(messages));
            sent_any = true;
        }
        sent_any
    }

    /// RetrResp, all data that are not confirmed, and what ends a retransmission: new data, or else a heartbeat. If
    /// `request`, a RetrReq of this end comes after that end, since it would be unexpected before it.
    pub(super) fn retransmit(&mut self, now: Instant, request: bool) {
        let again: Vec<_> = self.sent.drain(..).filter_map(|sent| sent.messages).collect();
        self.transmit(now, Body::RetransmissionResponse);
        for messages in again {
            self.transmit(now, Body::RetransmittedData(messages));
        }
        if request || !self.flush(now) {
            self.transmit(now, Body::Heartbeat);
        }
        if request {
            self.transmit(now, Body::RetransmissionRequest);
        }
    }
}
