//! Checks of a message before the state table sees it, in the order of SBB's `srcor_ReceiveMessage`: safety code and
//! form, addresses, range of the sequence number, confirmed sequence number, time stamp.

use super::Connection;
use super::table::{Input, Order};
use crate::config::Role;
use crate::event::State;
use crate::message::{Body, Message, MessageError};
use crate::serial::distance;
use crate::time::millis;

impl Connection {
    /// The message and what it is to the state table, or nothing if a check failed (which is counted).
    pub(super) fn check(&mut self, octets: &[u8]) -> Option<(Message, Input)> {
        let message = match Message::decode(octets, &self.config.safety_code) {
            Ok(message) => message,
            Err(error) => {
                let errors = self.diagnosis.errors();
                match error {
                    MessageError::SafetyCode => errors.safety_code += 1,
                    MessageError::Type(_) => errors.kind += 1,
                    _ => errors.malformed += 1,
                }
                return None;
            }
        };
        if (message.header.receiver_id, message.header.sender_id)
            != (self.config.local_id, self.config.remote_id)
        {
            self.diagnosis.errors().address += 1;
            return None;
        }
        if !self.is_in_range(&message) {
            self.diagnosis.errors().sequence_number += 1;
            return None;
        }
        if !self.confirms_what_was_sent(&message) {
            self.diagnosis.errors().confirmed_sequence_number += 1;
            return None;
        }
        if is_timed(&message.body)
            && distance(self.ts_r, message.header.time_stamp_ms) >= millis(self.config.t_max)
        {
            self.diagnosis.errors().time_stamp += 1;
            return None;
        }
        let input = self.classify(&message);
        Some((message, input))
    }

    /// `0 <= SN_PDU - SN_R <= 10 * N_sendMax`, except where any number will do.
    fn is_in_range(&self, message: &Message) -> bool {
        let anything_goes = match message.body {
            Body::ConnectionRequest(_) | Body::ConnectionResponse(_) | Body::RetransmissionResponse => true,
            // A server that refuses the version answers before the client knows any of its numbers. SBB's stack
            // drops that message and the client waits for T_max; here the confirmed number below vouches for it.
            Body::DisconnectionRequest(_) => self.state == State::Start && self.config.role == Role::Client,
            _ => false,
        };
        anything_goes
            || distance(self.sn_r, message.header.sequence_number) <= 10 * u32::from(self.config.n_send_max)
    }

    /// ConnReq confirms 0, ConnResp the request; everything else `0 <= CS_PDU - CS_R < SN_T - CS_R`.
    fn confirms_what_was_sent(&self, message: &Message) -> bool {
        let confirmed = message.header.confirmed_sequence_number;
        let last_sent = self.sn_t.wrapping_sub(1);
        match message.body {
            Body::ConnectionRequest(_) => confirmed == 0,
            Body::ConnectionResponse(_) => confirmed == last_sent,
            Body::DisconnectionRequest(_)
                if self.state == State::Start && self.config.role == Role::Client =>
            {
                confirmed == last_sent
            }
            _ => distance(self.cs_r, confirmed) < distance(self.cs_r, self.sn_t),
        }
    }

    fn classify(&mut self, message: &Message) -> Input {
        let in_sequence = message.header.sequence_number == self.sn_r;
        let timely = distance(self.cts_r, message.header.confirmed_time_stamp_ms) < millis(self.config.t_max);
        let order = Order { in_sequence, timely };
        if (is_timed(&message.body) || matches!(message.body, Body::RetransmissionRequest)) && !in_sequence {
            self.diagnosis.errors().sequence_number += 1;
        }
        if is_timed(&message.body) && !timely {
            self.diagnosis.errors().confirmed_time_stamp += 1;
        }
        match &message.body {
            Body::ConnectionRequest(parameters) => {
                Input::ConnectionRequest { version_fits: parameters.version >= self.config.version }
            }
            Body::ConnectionResponse(parameters) => {
                Input::ConnectionResponse { version_fits: parameters.version >= self.config.version }
            }
            Body::RetransmissionRequest => {
                let available = self.can_retransmit_after(message.header.confirmed_sequence_number);
                Input::RetransmissionRequest { in_sequence, available }
            }
            Body::RetransmissionResponse => Input::RetransmissionResponse,
            Body::DisconnectionRequest(_) => Input::DisconnectionRequest,
            Body::Heartbeat => Input::Heartbeat(order),
            Body::Data(_) => Input::Data(order),
            Body::RetransmittedData(_) => Input::RetransmittedData(order),
        }
    }

    /// Whether the message after `number` is still there, or waits to be sent.
    fn can_retransmit_after(&self, number: u32) -> bool {
        let wanted = number.wrapping_add(1);
        self.sent.iter().any(|sent| sent.sequence_number == wanted)
            || (wanted == self.sn_t && !self.waiting.is_empty())
    }
}

/// Whether time stamps of this message are supervised.
const fn is_timed(body: &Body) -> bool {
    matches!(body, Body::Heartbeat | Body::Data(_) | Body::RetransmittedData(_))
}
