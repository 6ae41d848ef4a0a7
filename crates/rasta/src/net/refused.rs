//! Frames that came and were not taken.

use std::ops::AddAssign;

use crate::config::Config;
use crate::endpoint::Endpoint;
use crate::frame::{Frame, FrameError};
use crate::message::{Message, MessageError};

/// Frames that came and were not taken, by the first thing that was wrong with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
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

    /// What came to it since `before`; where an end has begun to count anew in between, what it has.
    pub(super) fn since(self, before: Self) -> Self {
        let more = |now: u64, then: u64| now.checked_sub(then).unwrap_or(now);
        Self {
            malformed: more(self.malformed, before.malformed),
            check_code: more(self.check_code, before.check_code),
            safety_code: more(self.safety_code, before.safety_code),
            address: more(self.address, before.address),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_counts_anew_has_refused_what_it_has() {
        let counted = |safety_code, check_code| Refused { safety_code, check_code, ..Refused::default() };
        assert_eq!(counted(5, 4).since(counted(2, 4)), counted(3, 0));
        assert_eq!(counted(1, 4).since(counted(5, 2)), counted(1, 2), "errors anew, frames not");
    }
}
