//! Parameters of a ResTP flow as a plan names them: a preset, single services that differ from it, and what is below.

use std::net::IpAddr;
use std::time::Duration;

use restp_proto::profile::{
    AckReport, AckTiming, Congestion, FlowControl, Framing, LossCause, Management, Ordering, Paths,
    Protection, Reliability, names,
};
use restp_proto::{Composition, Encapsulation, Profile};
use serde::Deserialize;

use crate::error::SpecError;

const ENCAPSULATION: &[(&str, Encapsulation)] = &[("udp", Encapsulation::Udp), ("ip", Encapsulation::RawIp)];

/// A path beside the one between the flow's own addresses.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FurtherPath {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// Used only while the others fail.
    #[serde(default)]
    pub(super) backup: bool,
    /// Opened so long after the connection may have several paths.
    #[serde(default)]
    pub(super) open_s: f64,
}

impl FurtherPath {
    /// One that is opened at once, for data.
    pub(super) fn new(source: IpAddr, destination: IpAddr) -> Self {
        Self { source, destination, backup: false, open_s: 0.0 }
    }
}

/// What a plan may say; services that are absent are as in the preset.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Params {
    encapsulation: Option<String>,
    /// Application bytes that wait for their first transmission, at most; a congestion window when absent.
    pub(super) send_buffer_bytes: Option<u32>,
    /// Time after which a repetition of a message is of no use; with partial ordering.
    lifetime_s: Option<f64>,
    /// Further paths, opened once the connection stands; with services that use several.
    further_paths: Vec<FurtherPath>,
    /// Paths that are open at a time, the first included; the others take the place of those that fail.
    paths_at_once: Option<usize>,
    /// The sender has been at the receiver before and holds its cookie, with the opportunistic handshake.
    pub(super) visited: bool,
    /// Preset to start from.
    profile: Option<String>,
    /// The dissertation's own algorithms and timers instead of today's.
    dissertation: bool,
    management: Option<Management>,
    flow_control: Option<FlowControl>,
    congestion: Option<Congestion>,
    ordering: Option<Ordering>,
    reliability: Option<Reliability>,
    ack: Option<AckTiming>,
    ack_report: Option<AckReport>,
    duplicate_acks: Option<bool>,
    framing: Option<Framing>,
    paths: Option<Paths>,
    loss_cause: Option<LossCause>,
    protection: Option<Protection>,
    crc: Option<bool>,
    ecn: Option<bool>,
    pacing: Option<bool>,
    /// The user states that nobody else's traffic crosses the path.
    i_own_the_path: Option<bool>,
    /// Largest packet, ResTP header included; what the path's MTU allows when absent.
    packet_bytes: Option<usize>,
    window_packets: Option<u32>,
    open_window_packets: Option<u32>,
    ack_every: Option<u32>,
    fec_group: Option<u32>,
    /// Most paths that carry a copy of one message, where paths carry copies.
    copies: Option<u32>,
    /// Encoded packets leave by a timer too, and not only when their group is full.
    fec_timer: Option<bool>,
    /// An opportunistic opening begins with a SYN of its own; false: its first data are the SYN.
    syn_first: Option<bool>,
    /// Longest wait for a hole with partial ordering.
    hold_s: Option<f64>,
    min_rto_s: Option<f64>,
    initial_rto_s: Option<f64>,
    /// Outage after which the connection is given up.
    outage_give_up_s: Option<f64>,
}

impl Params {
    /// The services, checked; packets as large as the preset's unless a size is named.
    ///
    /// # Errors
    /// A sentence for an unknown name or for services that contradict each other.
    pub(super) fn profile(&self) -> Result<Profile, SpecError> {
        let name = self.profile.as_deref().unwrap_or("file_arq");
        let mut profile = Profile::preset(name).ok_or_else(|| {
            wrong(format!("there is no `profile` `{name}`; choose one of {}", Profile::PRESETS.join(", ")))
        })?;
        if self.dissertation {
            profile = profile.dissertation();
        }
        replace(&mut profile.management, self.management);
        replace(&mut profile.flow_control, self.flow_control);
        replace(&mut profile.congestion, self.congestion);
        replace(&mut profile.ordering, self.ordering);
        replace(&mut profile.reliability, self.reliability);
        replace(&mut profile.ack_timing, self.ack);
        replace(&mut profile.ack_report, self.ack_report);
        replace(&mut profile.framing, self.framing);
        replace(&mut profile.paths, self.paths);
        replace(&mut profile.loss_cause, self.loss_cause);
        replace(&mut profile.protection, self.protection);
        replace(&mut profile.duplicate_acks, self.duplicate_acks);
        replace(&mut profile.crc, self.crc);
        replace(&mut profile.i_own_the_path, self.i_own_the_path);
        let tuning = &mut profile.tuning;
        replace(&mut tuning.ecn, self.ecn);
        replace(&mut tuning.pacing, self.pacing);
        replace(&mut tuning.max_packet_bytes, self.packet_bytes);
        replace(&mut tuning.receive_window_packets, self.window_packets);
        replace(&mut tuning.open_window_packets, self.open_window_packets);
        replace(&mut tuning.ack_every, self.ack_every);
        replace(&mut tuning.fec_group, self.fec_group);
        replace(&mut tuning.copies, self.copies);
        replace(&mut tuning.fec_timer, self.fec_timer);
        replace(&mut tuning.syn_first, self.syn_first);
        replace(&mut tuning.hold, seconds("hold_s", self.hold_s)?);
        replace(&mut tuning.min_rto, seconds("min_rto_s", self.min_rto_s)?);
        replace(&mut tuning.initial_rto, seconds("initial_rto_s", self.initial_rto_s)?);
        if self.visited && profile.management != Management::Opportunistic {
            return Err(wrong("`visited` means something with the opportunistic handshake only"));
        }
        let give_up = seconds("outage_give_up_s", self.outage_give_up_s)?;
        tuning.outage_give_up = give_up.or(tuning.outage_give_up);
        compose(profile.clone())?;
        Ok(profile)
    }

    /// Whether the plan names the size of packets.
    pub(super) fn names_packet_size(&self) -> bool {
        self.packet_bytes.is_some()
    }

    /// What carries the packets.
    ///
    /// # Errors
    /// A sentence for an unknown name.
    pub(super) fn encapsulation(&self) -> Result<Encapsulation, SpecError> {
        let name = self.encapsulation.as_deref().unwrap_or("udp");
        names::find(ENCAPSULATION, name).ok_or_else(|| {
            wrong(format!("`encapsulation` is `{name}`; choose one of {}", names::choices(ENCAPSULATION)))
        })
    }

    /// The paths beside the first that the plan names.
    ///
    /// # Errors
    /// A sentence if one is to be opened at no time.
    pub(super) fn further_paths(&self) -> Result<Vec<FurtherPath>, SpecError> {
        for further in &self.further_paths {
            seconds("further_paths.open_s", Some(further.open_s))?;
        }
        Ok(self.further_paths.clone())
    }

    /// How many paths are open at a time, the first included.
    ///
    /// # Errors
    /// A sentence if they are so few that the failure of one is noticed by no other.
    pub(super) fn paths_at_once(&self) -> Result<usize, SpecError> {
        match self.paths_at_once {
            Some(0 | 1) => {
                Err(wrong("`paths_at_once` must be at least 2: a path that fails alone is waited for"))
            }
            wanted => Ok(wanted.unwrap_or(usize::MAX)),
        }
    }

    /// How long a repetition of a message is of use.
    ///
    /// # Errors
    /// A sentence if it is no time, or if the services give it no meaning.
    pub(super) fn lifetime(&self, profile: &Profile) -> Result<Option<Duration>, SpecError> {
        if self.lifetime_s.is_some() && profile.ordering != Ordering::Partial {
            return Err(wrong("`lifetime_s` means something with partial ordering only"));
        }
        seconds("lifetime_s", self.lifetime_s)
    }
}

/// Checks that services go together.
///
/// # Errors
/// A sentence with every conflict.
pub(super) fn compose(profile: Profile) -> Result<Composition, SpecError> {
    profile.validate().map_err(|conflicts| {
        let reasons: Vec<_> = conflicts.iter().map(ToString::to_string).collect();
        wrong(format!("these services do not go together: {}", reasons.join(" ")))
    })
}

/// The sentence for wrong parameters of this stack.
pub(super) fn wrong(sentence: impl std::fmt::Display) -> SpecError {
    SpecError::new(format!("`stack_params` of `restp`: {sentence}"))
}

/// A duration that a plan gives in seconds.
fn seconds(key: &str, value_s: Option<f64>) -> Result<Option<Duration>, SpecError> {
    value_s
        .map(|value_s| {
            Duration::try_from_secs_f64(value_s)
                .map_err(|_| wrong(format!("`{key}` is {value_s}; it must be a number of seconds from 0")))
        })
        .transpose()
}

fn replace<T: Copy>(value: &mut T, wanted: Option<T>) {
    *value = wanted.unwrap_or(*value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::parse_params;
    use serde_json::json;

    fn profile(params: serde_json::Value) -> Result<Profile, String> {
        let params = params.as_object().expect("the test writes an object");
        let params: Params = parse_params("stack_params", "restp", params).map_err(|e| e.to_string())?;
        params.profile().map_err(|error| error.to_string())
    }

    #[test]
    fn single_services_replace_those_of_the_preset() {
        let voice = profile(json!({"profile": "voice", "congestion": "bbr", "crc": false, "hold_s": 0.03}));
        let voice = voice.expect("these services go together");
        assert_eq!((voice.congestion, voice.crc), (Congestion::Bbr, false));
        assert_eq!(voice.tuning.hold.as_millis(), 30);
        assert_eq!(voice.ordering, Ordering::Partial);
    }

    #[test]
    fn mistakes_are_sentences() {
        let cases = [
            (json!({"profile": "fax"}), "no `profile` `fax`"),
            (
                json!({"ordering": "sideways"}),
                "`ordering`: `sideways` is no choice; choose one of none, partial, full",
            ),
            (
                json!({"crc": "yes"}),
                "`stack_params` of `restp`: `crc`: invalid type: string \"yes\", expected a boolean",
            ),
            (json!({"profil": "voice"}), "`stack_params` of `restp`: unknown field `profil`"),
            (json!({"ack": "none"}), "Retransmission reads acknowledgements"),
            (json!({"hold_s": -1.0}), "`hold_s` is -1"),
            (json!({"visited": true}), "`visited` means something with the opportunistic"),
        ];
        for (params, part) in cases {
            let sentence = profile(params).expect_err("the parameters are wrong");
            assert!(sentence.contains(part), "{sentence}");
        }
    }
}
