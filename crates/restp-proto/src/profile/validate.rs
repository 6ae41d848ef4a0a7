//! Which services go together: a profile becomes a composition, or is refused with all reasons at once.

use std::fmt;
use std::sync::Arc;

use super::{
    AckReport, AckTiming, Congestion, FecKind, FlowControl, Framing, LossCause, Management, Ordering, Paths,
    Profile, Protection, Reliability,
};
use crate::stream::{INITIAL_BYTES, INITIAL_STREAM_BYTES, INITIAL_STREAMS};
use crate::wire::MAX_PATHS;

/// What a peer may be granted at a time, at most.
const MOST_CREDIT: u64 = 1 << 40;

/// Two services that contradict each other, or a number out of its range.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    reason: String,
}

impl Conflict {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Conflict {}

/// A profile whose services are known to work together. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Composition {
    profile: Arc<Profile>,
    warnings: Arc<[String]>,
}

impl Composition {
    /// The services in force.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// `profile` as a composition, this one if it is the same: a server's connections share what its listener offers.
    pub(crate) fn with(&self, profile: Profile) -> Option<Self> {
        if profile == *self.profile { Some(self.clone()) } else { profile.validate().ok() }
    }

    /// Legal but unwise choices.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// True if packets are acknowledged.
    #[must_use]
    pub fn acknowledges(&self) -> bool {
        self.profile.ack_timing != AckTiming::None
    }

    /// True if a connection may use more than one path.
    #[must_use]
    pub fn several_paths(&self) -> bool {
        self.profile.paths != Paths::Single
    }
}

impl Profile {
    /// What is lost is repeated, and acknowledgements never say what arrived beyond the oldest packet missing.
    pub(crate) fn has_bare_answers(&self) -> bool {
        self.ack_report == AckReport::Cumulative && self.reliability.retransmits()
    }

    /// True if nothing else would check the payloads of several paths (answer C4).
    pub(crate) fn leaves_paths_unchecked(&self) -> bool {
        self.paths != Paths::Single && !self.crc && self.protection == Protection::ClearText
    }

    /// Whether an end with this profile asks for a check of every payload.
    pub(crate) fn asks_checks(&self) -> bool {
        self.tuning.path_checks && self.leaves_paths_unchecked()
    }

    /// Checks that the chosen services go together.
    ///
    /// # Errors
    /// Every conflict, each as a sentence that says what to change.
    // R-COMP-1, R-PROT-9
    pub fn validate(self) -> Result<Composition, Vec<Conflict>> {
        let mut found = Vec::new();
        self.check_connectionless(&mut found);
        self.check_acknowledgements(&mut found);
        self.check_congestion(&mut found);
        self.check_delivery(&mut found);
        self.check_paths(&mut found);
        self.check_tuning(&mut found);
        if !found.is_empty() {
            return Err(found);
        }
        let warnings = self.warnings().into();
        Ok(Composition { profile: Arc::new(self), warnings })
    }

    // Answer D15.
    fn check_connectionless(&self, found: &mut Vec<Conflict>) {
        if self.management != Management::Connectionless {
            return;
        }
        let needs_connection = [
            (self.flow_control != FlowControl::None, "flow control"),
            (self.congestion != Congestion::None, "congestion control"),
            (self.ordering != Ordering::Unordered, "ordering"),
            (self.reliability != Reliability::None, "error recovery"),
            (self.ack_timing != AckTiming::None, "acknowledgements"),
            (self.paths != Paths::Single, "several paths"),
            (self.protection != Protection::ClearText, "protection"),
        ];
        for (_, service) in needs_connection.into_iter().filter(|(wanted, _)| *wanted) {
            found.push(Conflict::new(format!(
                "Connectionless packets carry no state, so they cannot have {service}: choose the three-way or the \
                 opportunistic handshake, or drop {service}."
            )));
        }
    }

    fn check_acknowledgements(&self, found: &mut Vec<Conflict>) {
        let none = self.ack_timing == AckTiming::None;
        let readers = [
            (self.flow_control == FlowControl::Window, "Windowed flow control"),
            (self.congestion != Congestion::None, "Congestion control"),
            (self.reliability.retransmits(), "Retransmission"),
            (self.paths != Paths::Single, "The use of several paths"),
        ];
        let mut read = false;
        for (_, service) in readers.into_iter().filter(|(wanted, _)| *wanted) {
            read = true;
            if none {
                found.push(Conflict::new(format!(
                    "{service} reads acknowledgements, but none are sent: choose positive or delayed acknowledgements."
                )));
            }
        }
        if !none && !read {
            found.push(Conflict::new(
                "Acknowledgements would be sent that no service reads: choose no acknowledgements, or a service that \
                 needs them.",
            ));
        }
        if none && (self.ack_report != AckReport::Cumulative || self.duplicate_acks) {
            found.push(Conflict::new(
                "SACK, SNACK, NACK and duplicate acknowledgements need acknowledgements to ride on: choose positive or \
                 delayed acknowledgements.",
            ));
        }
        // Answer E4.
        if self.ack_timing == AckTiming::Delayed && self.ordering == Ordering::Partial {
            found.push(Conflict::new(
                "Delayed acknowledgements hold back the news that a hole was passed over, which partial ordering needs \
                 at once: choose positive acknowledgements.",
            ));
        }
    }

    fn check_congestion(&self, found: &mut Vec<Conflict>) {
        // Answer I2: without congestion control every retransmission adds to a full queue.
        if self.congestion == Congestion::None && self.reliability.retransmits() && !self.i_own_the_path {
            found.push(Conflict::new(
                "Retransmission without congestion control can collapse a shared network: choose a congestion control, \
                 or set i_own_the_path if nobody else uses the path.",
            ));
        }
        if self.loss_cause == LossCause::Corruption {
            if !self.i_own_the_path {
                found.push(Conflict::new(
                    "Taking every loss for bit errors ignores congestion: set i_own_the_path if nobody else uses the \
                     path, or let the cause be found out dynamically.",
                ));
            }
            if !self.crc {
                found.push(Conflict::new(
                    "Losses taken for bit errors need bit-error detection: switch the CRC on.",
                ));
            }
        }
        if self.loss_cause == LossCause::Outage && !self.reliability.retransmits() {
            found.push(Conflict::new(
                "An outage is probed with unacknowledged data, which only ARQ and HARQ keep: choose one of them.",
            ));
        }
        if self.loss_cause == LossCause::Dynamic && self.ack_timing == AckTiming::None {
            found.push(Conflict::new(
                "The cause of losses is found out from acknowledgements: choose positive or delayed acknowledgements.",
            ));
        }
        if self.congestion == Congestion::Lia && self.paths == Paths::Single {
            found.push(Conflict::new(
                "LIA links the windows of several paths, but there is one: choose several paths or another congestion \
                 control.",
            ));
        }
        let together = matches!(self.paths, Paths::Spreading(_) | Paths::Overflow | Paths::Copies);
        if together && matches!(self.congestion, Congestion::Bic | Congestion::Cubic | Congestion::Bbr) {
            found.push(Conflict::new(
                "BIC, CUBIC and BBR are defined for one path at a time and would take more than one flow's share on \
                 several: choose LIA or NewReno.",
            ));
        }
    }

    fn check_delivery(&self, found: &mut Vec<Conflict>) {
        if self.ordering == Ordering::Streams {
            self.check_streams(found);
        }
        let stream = self.ordering == Ordering::Full && self.reliability.retransmits();
        if self.framing == Framing::Coalesce && !stream {
            found.push(Conflict::new(
                "A coalesced byte stream has no boundaries, so a missing or displaced piece makes the rest unreadable: \
                 choose full ordering with ARQ or HARQ, or fixed framing.",
            ));
        }
    }

    // R-STR-1
    fn check_streams(&self, found: &mut Vec<Conflict>) {
        if !self.reliability.retransmits() {
            found.push(Conflict::new(
                "Streams are sent once and rely on packets that are repeated until they arrive: choose ARQ or HARQ.",
            ));
        }
        if self.management == Management::Opportunistic {
            found.push(Conflict::new(
                "Early data would leave before the peer has agreed to streams, and could be taken for a message: choose \
                 the three-way handshake.",
            ));
        }
        let t = &self.tuning;
        let least = [
            ("tuning.max_streams", t.max_streams, INITIAL_STREAMS),
            ("tuning.stream_window_bytes", t.stream_window_bytes, INITIAL_STREAM_BYTES),
            ("tuning.connection_window_bytes", t.connection_window_bytes, INITIAL_BYTES),
            ("tuning.stream_send_bytes", t.stream_send_bytes as u64, 1),
        ];
        for (name, value, low) in least {
            if !(low..=MOST_CREDIT).contains(&value) {
                found.push(Conflict::new(format!(
                    "{name} is {value}: choose a value from {low} to {MOST_CREDIT}."
                )));
            }
        }
    }

    fn check_paths(&self, found: &mut Vec<Conflict>) {
        // Answer C4: encoded packets have no check of their own. R-DSS-4
        if self.asks_checks() && self.reliability.fec().is_some() {
            found.push(Conflict::new(
                "tuning.path_checks forbids repair from encoded packets, which it does not cover: switch the CRC on \
                 instead, or leave out FEC.",
            ));
        }
        if self.protection == Protection::Protected && self.management == Management::Opportunistic {
            found.push(Conflict::new(
                "Early data would leave before keys exist: choose the three-way handshake with the protected profile.",
            ));
        }
        if self.protection == Protection::Protected && !cfg!(feature = "protected") {
            found.push(Conflict::new(
                "This build has no protected profile: build restp-proto with the feature 'protected'.",
            ));
        }
        // Answer A5: the largest packet is the duplicate SYN of an opportunistic multipath connection, 21 words.
        if self.tuning.strict_header
            && self.management == Management::Opportunistic
            && self.paths != Paths::Single
        {
            found.push(Conflict::new(
                "The duplicate SYN of an opportunistic connection over several paths does not fit 15 header words: \
                 drop strict_header, or choose the three-way handshake or a single path.",
            ));
        }
    }

    fn check_tuning(&self, found: &mut Vec<Conflict>) {
        let t = &self.tuning;
        let most = if self.reliability.fec() == Some(FecKind::Interleaved) { 8 } else { 16 };
        let group = u64::from(t.fec_group);
        let ranges: [(&str, u64, u64, u64); 11] = [
            ("tuning.fec_group", if self.reliability.fec().is_some() { group } else { 2 }, 2, most),
            ("tuning.fec_timer_divisor", t.fec_timer_divisor.into(), 1, 1000),
            ("tuning.initial_window_packets", t.initial_window_packets.into(), 1, 1000),
            ("tuning.open_window_packets", t.open_window_packets.into(), 1, 65_535),
            ("tuning.receive_window_packets", t.receive_window_packets.into(), 2, 65_535),
            ("tuning.send_buffer_packets", t.send_buffer_packets.into(), 1, 1 << 20),
            ("tuning.max_packet_bytes", t.max_packet_bytes as u64, 256, 65_507),
            ("tuning.search_packet_bytes", t.search_packet_bytes.unwrap_or(256) as u64, 256, 65_507),
            ("tuning.ack_every", t.ack_every.into(), 1, 256),
            ("tuning.copies", t.copies.into(), 2, MAX_PATHS as u64),
            ("tuning.max_sack_blocks", t.max_sack_blocks as u64, 1, 64),
        ];
        for (name, value, low, high) in ranges {
            if !(low..=high).contains(&value) {
                found.push(Conflict::new(format!("{name} is {value}: choose a value from {low} to {high}.")));
            }
        }
        if t.min_rto.is_zero()
            || t.min_rto > t.max_rto
            || t.initial_rto > t.max_rto
            || t.initial_rto.is_zero()
        {
            found.push(Conflict::new(
                "The timeouts must satisfy 0 < min_rto <= max_rto and 0 < initial_rto <= max_rto.",
            ));
        }
        if t.ack_delay >= t.min_rto {
            found.push(Conflict::new(
                "tuning.ack_delay is not below tuning.min_rto, so every lone packet would be repeated: shorten it.",
            ));
        }
        if t.delayed_ack_period >= t.min_rto && self.ack_timing == AckTiming::Delayed {
            found.push(Conflict::new(
                "tuning.delayed_ack_period is not below tuning.min_rto, so packets would be repeated: shorten it.",
            ));
        }
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        // Answer E4.
        if self.ack_timing == AckTiming::Delayed
            && matches!(self.congestion, Congestion::NewReno | Congestion::Bic)
        {
            warnings.push(
                "NewReno and BIC grow by the count of acknowledgements; delayed ones make them slow and bursty.".into(),
            );
        }
        if self.ack_timing == AckTiming::Delayed && self.ack_report == AckReport::Cumulative {
            warnings.push(
                "Delayed acknowledgements without SACK or SNACK leave the timeout as only recovery.".into(),
            );
        }
        if self.ordering == Ordering::Full && !self.reliability.retransmits() {
            warnings.push(
                "Full order without retransmission passes over losses; what comes late is dropped.".into(),
            );
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Tuning;

    fn reasons(profile: Profile) -> String {
        profile.validate().unwrap_err().iter().map(|c| format!("{c}\n")).collect()
    }

    #[test]
    fn every_preset_is_valid_in_both_variants() {
        for name in Profile::PRESETS {
            let profile = Profile::preset(name).unwrap();
            assert_eq!(profile.name, name);
            profile.clone().validate().unwrap();
            profile.dissertation().validate().unwrap();
        }
        assert!(Profile::preset("no such preset").is_none());
    }

    #[test]
    fn connectionless_refuses_each_service_that_needs_state() {
        let text = reasons(Profile { management: Management::Connectionless, ..Profile::file_arq() });
        for service in
            ["flow control", "congestion control", "ordering", "error recovery", "acknowledgements"]
        {
            assert!(text.contains(service), "{text}");
        }
    }

    #[test]
    fn all_conflicts_are_reported_at_once() {
        let profile = Profile {
            congestion: Congestion::Lia,
            ordering: Ordering::Partial,
            ack_timing: AckTiming::Delayed,
            ..Profile::file_arq()
        };
        assert_eq!(profile.validate().unwrap_err().len(), 3);
    }

    #[test]
    fn corruption_needs_an_owned_path_and_a_crc() {
        let profile = Profile { loss_cause: LossCause::Corruption, crc: false, ..Profile::file_arq() };
        let text = reasons(profile.clone());
        assert!(text.contains("i_own_the_path") && text.contains("CRC"), "{text}");
        Profile { i_own_the_path: true, crc: true, congestion: Congestion::None, ..profile }
            .validate()
            .unwrap();
    }

    #[test]
    fn numbers_out_of_range_are_named() {
        let tuning = Tuning { fec_group: 16, max_packet_bytes: 10, ..Tuning::default() };
        let profile =
            Profile { reliability: Reliability::Harq(FecKind::Interleaved), tuning, ..Profile::file_harq() };
        let text = reasons(profile);
        assert!(text.contains("fec_group is 16: choose a value from 2 to 8"), "{text}");
        assert!(text.contains("max_packet_bytes is 10"), "{text}");
    }

    #[test]
    // R-COMP-2, R-SEC-6
    fn explain_says_clear_text_loudly() {
        let text = Profile::file_arq().validate().unwrap().explain();
        assert!(text.contains("CLEAR TEXT"), "{text}");
        assert!(text.contains("CUBIC"), "{text}");
    }

    #[test]
    // R-COMP-2, R-MP-14
    fn explain_tells_how_many_paths_carry_a_copy() {
        let two = |copies| Profile { tuning: Tuning { copies, ..Tuning::default() }, ..Profile::copies() };
        assert!(two(2).validate().unwrap().explain().contains("on more than 2 of them at a time"));
        assert!(!two(15).validate().unwrap().explain().contains("more than"));
        assert!(reasons(two(1)).contains("tuning.copies is 1: choose a value from 2 to 15"));
    }

    #[cfg(feature = "protected")]
    #[test]
    // R-COMP-2, R-PROT-6
    fn explain_speaks_of_no_checksums_where_packets_are_sealed() {
        let sealed = Profile { protection: Protection::Protected, ..Profile::file_arq() };
        let text = sealed.validate().unwrap().explain();
        assert!(text.contains("Every packet is authenticated") && !text.contains("CRC"), "{text}");
    }

    #[test]
    // R-COMP-2, R-STR-1
    fn explain_speaks_of_no_framing_where_there_are_streams() {
        let text = Profile::file_arq().with_streams().validate().unwrap().explain();
        assert!(
            text.contains("a stream has no message boundaries") && !text.contains("Coalescing"),
            "{text}"
        );
    }
}
