//! What one end is configured with; both ends must agree on codes, nothing of it is negotiated but versions and
//! buffer sizes.

use std::time::Duration;

use crate::check_code::CheckCode;
use crate::frame::FRAME_HEADER_BYTES;
use crate::message::{MESSAGE_HEADER_BYTES, Version};
use crate::safety_code::SafetyCode;

/// Who opens the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Sends the connection request.
    Client,
    /// Waits for it.
    Server,
}

/// From when the adaptive time-out `T_i = T_max - T_rtd` runs. Public implementations differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Supervision {
    /// From the reception of a timely message (librasta: `updateTimeoutInterval` starts its timer anew). A message
    /// that was confirmed at CTS is then at most `T_max` old, counted from CTS.
    #[default]
    FromReception,
    /// From the confirmed time stamp (SBB's stack: `srcor_IsMessageTimeout` compares the time since CTS_R), which
    /// takes the round trip off twice and so ends earlier.
    FromConfirmation,
}

/// The configuration of one end of one connection.
///
/// [`new`](Self::new) fills it with the values that librasta takes by default (`config_setstd` in `config.c` of
/// Railway-CCS/rasta-protocol) where nothing else is said.
#[derive(Clone, Debug)]
pub struct Config {
    /// Identification of this end.
    pub local_id: u32,
    /// Identification of the other end.
    pub remote_id: u32,
    /// Who opens; by default the end with the lower identification (`srcor_IsConnRoleServer` of SBB's stack).
    pub role: Role,
    /// Code of each message; the same on both ends.
    pub safety_code: SafetyCode,
    /// Own version; a peer with a lower one is refused.
    pub version: Version,
    /// Greatest accepted age of a message (T_max), 1.8 s. SBB's stack takes 0.75 to 2 s.
    pub t_max: Duration,
    /// A heartbeat follows when nothing was sent for so long (T_h), 300 ms. SBB's stack takes 300 to 750 ms.
    pub t_h: Duration,
    /// Messages with data that may be under way unconfirmed, and that wait to be sent (N_sendMax), 20.
    pub n_send_max: u16,
    /// So many messages are taken before they are confirmed (MWA), 10.
    pub mwa: u16,
    /// So many application messages at most go into one message (N_maxPacket), 1 as in SBB's stack; librasta has 3.
    pub n_max_packet: u16,
    /// Longest application message in octets, 1055 as in SBB's stack: all its codes then fit into one Ethernet frame.
    pub max_message_bytes: usize,
    /// Timely messages that one diagnosis of the connection counts (N_diagWindow), 5000.
    pub n_diag_window: u32,
    /// What the time-out counts from.
    pub supervision: Supervision,
    /// Resolution of the clock, which is added to each round trip; 1 ms, since stamps count whole milliseconds.
    pub clock_granularity: Duration,
    /// Transport channels of the redundancy layer, 1. SBB's stack has at most 2.
    pub channels: usize,
    /// Code of each frame; the same on both ends. Option a), none, by default.
    pub check_code: CheckCode,
    /// How long a frame waits for one before it (T_seq), 100 ms. SBB's stack takes 50 to 500 ms.
    pub t_seq: Duration,
    /// Frames that can wait (N_deferQueueSize), 4. SBB's stack takes 4 to 10.
    pub n_defer_queue: usize,
    /// Frames that one diagnosis of a channel counts (N_diagnosis), 200.
    pub n_diagnosis: u32,
}

/// What is wrong with a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Both ends have the same identification.
    #[error("both ends have the identification {0}: they must differ")]
    SameId(u32),
    /// T_h is not between 1 ms and T_max.
    #[error("T_h ({t_h:?}) must be at least 1 ms and shorter than T_max ({t_max:?})")]
    Heartbeat {
        /// As configured.
        t_h: Duration,
        /// As configured.
        t_max: Duration,
    },
    /// T_max is longer than half of what time stamps can tell apart.
    #[error("T_max ({0:?}) must be shorter than 2^31 ms")]
    TMax(Duration),
    /// The deferral is not shorter than the greatest accepted age.
    #[error("T_seq ({t_seq:?}) must be shorter than T_max ({t_max:?})")]
    TSeq {
        /// As configured.
        t_seq: Duration,
        /// As configured.
        t_max: Duration,
    },
    /// N_sendMax is below 2.
    #[error("N_sendMax is {0}: at least 2")]
    NSendMax(u16),
    /// MWA is not between 1 and N_sendMax.
    #[error(
        "MWA is {mwa}: it must be 1 or more and below N_sendMax ({n_send_max}), or the peer would wait for ever"
    )]
    Mwa {
        /// As configured.
        mwa: u16,
        /// As configured.
        n_send_max: u16,
    },
    /// Nothing fits into a message, or more than a length field can say.
    #[error(
        "{n_max_packet} messages of {max_message_bytes} octets do not fit into one: 1 or more, and {most} octets in all"
    )]
    Packet {
        /// As configured.
        n_max_packet: u16,
        /// As configured.
        max_message_bytes: usize,
        /// What fits beside all headers and codes.
        most: usize,
    },
    /// A key of BLAKE2b has not 1 to 64 octets.
    #[error("a BLAKE2b key has 1 to 64 octets, this one {0}")]
    KeyBytes(usize),
    /// There is no channel, no place to wait or no window of diagnosis.
    #[error("{0} is 0: at least 1")]
    Zero(&'static str),
}

impl Config {
    /// Defaults for a connection between `local_id` and `remote_id`.
    #[must_use]
    pub fn new(local_id: u32, remote_id: u32) -> Self {
        Self {
            local_id,
            remote_id,
            role: if local_id < remote_id { Role::Client } else { Role::Server },
            safety_code: SafetyCode::default(),
            version: Version::CURRENT,
            t_max: Duration::from_millis(1800),
            t_h: Duration::from_millis(300),
            n_send_max: 20,
            mwa: 10,
            n_max_packet: 1,
            max_message_bytes: 1055,
            n_diag_window: 5000,
            supervision: Supervision::default(),
            clock_granularity: Duration::from_millis(1),
            channels: 1,
            check_code: CheckCode::default(),
            t_seq: Duration::from_millis(100),
            n_defer_queue: 4,
            n_diagnosis: 200,
        }
    }

    /// Longest frame in octets that this configuration can send.
    #[must_use]
    pub fn max_frame_bytes(&self) -> usize {
        let data = usize::from(self.n_max_packet).saturating_mul(self.max_message_bytes.saturating_add(2));
        data.saturating_add(self.overhead_bytes())
    }

    fn overhead_bytes(&self) -> usize {
        FRAME_HEADER_BYTES + MESSAGE_HEADER_BYTES + self.safety_code.bytes() + self.check_code.bytes()
    }

    /// Whether an end can run with it.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.local_id == self.remote_id {
            return Err(ConfigError::SameId(self.local_id));
        }
        let (t_h, t_max, t_seq) = (self.t_h, self.t_max, self.t_seq);
        if t_h < Duration::from_millis(1) || t_h >= t_max {
            return Err(ConfigError::Heartbeat { t_h, t_max });
        }
        if t_max.as_millis() >= 1 << 31 {
            return Err(ConfigError::TMax(t_max));
        }
        if t_seq >= t_max {
            return Err(ConfigError::TSeq { t_seq, t_max });
        }
        let (mwa, n_send_max) = (self.mwa, self.n_send_max);
        if n_send_max < 2 {
            return Err(ConfigError::NSendMax(n_send_max));
        }
        if mwa == 0 || mwa >= n_send_max {
            return Err(ConfigError::Mwa { mwa, n_send_max });
        }
        let (n_max_packet, max_message_bytes) = (self.n_max_packet, self.max_message_bytes);
        let most = usize::from(u16::MAX) - self.overhead_bytes();
        if n_max_packet == 0 || max_message_bytes == 0 || self.max_frame_bytes() > usize::from(u16::MAX) {
            return Err(ConfigError::Packet { n_max_packet, max_message_bytes, most });
        }
        if let SafetyCode::Blake2b { key, .. } = &self.safety_code
            && !(1..=64).contains(&key.len())
        {
            return Err(ConfigError::KeyBytes(key.len()));
        }
        for (name, is_zero) in [
            ("the number of channels", self.channels == 0),
            ("N_deferQueueSize", self.n_defer_queue == 0),
            ("N_diagnosis", self.n_diagnosis == 0),
            ("N_diagWindow", self.n_diag_window == 0),
        ] {
            if is_zero {
                return Err(ConfigError::Zero(name));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_run_and_the_lower_identification_opens() {
        assert_eq!(Config::new(96, 97).validate(), Ok(()));
        assert_eq!(Config::new(96, 97).role, Role::Client);
        assert_eq!(Config::new(97, 96).role, Role::Server);
    }

    #[test]
    fn what_cannot_run_is_refused_with_what_would_be_right() {
        type Spoil = fn(&mut Config);
        let cases: [(Spoil, &str); 9] = [
            (|c| c.remote_id = 96, "must differ"),
            (|c| c.t_h = c.t_max, "shorter than T_max"),
            (|c| c.t_max = Duration::from_millis(1 << 31), "2^31 ms"),
            (|c| c.t_seq = c.t_max, "T_seq"),
            (|c| c.n_send_max = 1, "at least 2"),
            (|c| c.mwa = 20, "below N_sendMax (20)"),
            (|c| c.n_max_packet = 100, "do not fit"),
            (
                |c| c.safety_code = SafetyCode::Blake2b { length: crate::CodeLength::Half, key: vec![] },
                "64 octets",
            ),
            (|c| c.channels = 0, "channels"),
        ];
        for (spoil, says) in cases {
            let mut config = Config::new(96, 97);
            spoil(&mut config);
            let error = config.validate().expect_err(says).to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
