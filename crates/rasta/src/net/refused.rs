//! Frames that came and were not taken.

use std::ops::{AddAssign, Sub};

use crate::config::Config;
use crate::endpoint::Endpoint;
use crate::frame::{Frame, FrameError};
use crate::message::{Message, MessageError};

/// Frames that came and were not taken, by the first thing that was wrong with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// The form of the frame or of the message in it.
    pub malformed: u64,
    /// The check code.
    pub check_code: u64,
    /// The safety code.
    pub safety_code: u64,
    /// The identifications: it is for another end, or of another one.
    pub address: u64,
}

impl Refused {
    /// Nothing if `octets` are a frame and a message of the peer to this end, by form, codes and identifications; else
    /// one, by what is wrong.
    pub(super) fn of(octets: &[u8], config: &Config) -> Option<Self> {
        let malformed = Self { malformed: 1, ..Self::default() };
        let payload = match Frame::decode(octets, config.check_code) {
            Ok(frame) => frame.payload,
            Err(FrameError::CheckCode) => return Some(Self { check_code: 1, ..Self::default() }),
            Err(_) => return Some(malformed),
        };
        match Message::decode(payload, &config.safety_code) {
            Ok(message) => {
                let ids = (message.header.sender_id, message.header.receiver_id);
                (ids != (config.remote_id, config.local_id)).then(|| Self { address: 1, ..Self::default() })
            }
            Err(MessageError::SafetyCode) => Some(Self { safety_code: 1, ..Self::default() }),
            Err(_) => Some(malformed),
        }
    }

    /// What an end has refused so far; it counts errors anew when it opens.
    pub(super) fn by(endpoint: &Endpoint) -> Self {
        let (errors, frames) = (endpoint.connection_report().errors, endpoint.frame_counters());
        Self {
            malformed: frames.malformed + errors.malformed + errors.kind,
            check_code: frames.check_code,
            safety_code: errors.safety_code,
            address: errors.address,
        }
    }

    /// Each count with its name, in a fixed order.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, u64); 4] {
        [
            ("malformed", self.malformed),
            ("check_code", self.check_code),
            ("safety_code", self.safety_code),
            ("address", self.address),
        ]
    }

    /// All of them.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.malformed + self.check_code + self.safety_code + self.address
    }
}

impl AddAssign for Refused {
    fn add_assign(&mut self, more: Self) {
        self.malformed += more.malformed;
        self.check_code += more.check_code;
        self.safety_code += more.safety_code;
        self.address += more.address;
    }
}

impl Sub for Refused {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            malformed: self.malformed - before.malformed,
            check_code: self.check_code - before.check_code,
            safety_code: self.safety_code - before.safety_code,
            address: self.address - before.address,
        }
    }
}
