//! Profile options: a preset, and single services that differ from it. They also travel to the server of `restp perf`.

use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use restp::profile::{Management, Protection, names};
use restp::{Composition, Conflict, Profile};
use serde::{Deserialize, Serialize};

use crate::numbers::{MOST_MS, whole};

/// What can be on or off.
pub const SWITCH: names::Table<bool> = &[("on", true), ("off", false)];
/// Fields that the library names in what it says of conflicts, and the options that stand for them here.
const OPTIONS: [(&str, &str); 2] =
    [("i_own_the_path", "--i-own-the-path"), ("useful_for", "--useful-for-ms")];
/// Signs of life that are asked for before a silent peer counts as gone.
const SIGNS_OF_LIFE: u32 = 4;

fn one_of<T>(table: names::Table<T>) -> PossibleValuesParser {
    these(table.iter().map(|(name, _)| *name))
}

/// A choice of names. What needs no connection is not offered, but understood, so that its refusal can say why.
fn these(names: impl IntoIterator<Item = &'static str>) -> PossibleValuesParser {
    let hidden = |name| matches!(name, "datagram" | "connectionless");
    PossibleValuesParser::new(names.into_iter().map(|name| PossibleValue::new(name).hide(hidden(name))))
}

/// Replaces `service` if a name was given.
fn choose<T: Copy>(service: &mut T, name: Option<&str>, table: &[(&str, T)]) -> Result<(), String> {
    let Some(name) = name else { return Ok(()) };
    *service = names::find(table, name)
        .ok_or_else(|| format!("'{name}' is not a choice here; choose one of {}", names::choices(table)))?;
    Ok(())
}

/// The services of a connection.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[command(next_help_heading = "Services")]
#[serde(deny_unknown_fields, default)]
pub struct ProfileArgs {
    /// Preset to start from
    #[arg(long, default_value = "file_arq", value_parser = these(Profile::PRESETS))]
    pub profile: String,
    /// The dissertation's own algorithms and timers instead of ours
    #[arg(long)]
    pub dissertation: bool,
    /// How the connection begins
    #[arg(long, value_parser = one_of(names::MANAGEMENT))]
    pub management: Option<String>,
    /// Receiver protection
    #[arg(long, value_parser = one_of(names::FLOW_CONTROL))]
    pub flow_control: Option<String>,
    /// Congestion control
    #[arg(long, value_parser = one_of(names::CONGESTION))]
    pub congestion: Option<String>,
    /// Order of delivery
    #[arg(long, value_parser = one_of(names::ORDERING))]
    pub ordering: Option<String>,
    /// What is done about losses
    #[arg(long, value_parser = one_of(names::RELIABILITY))]
    pub reliability: Option<String>,
    /// When acknowledgements are sent
    #[arg(long, value_parser = one_of(names::ACK_TIMING))]
    pub ack: Option<String>,
    /// What acknowledgements report
    #[arg(long, value_parser = one_of(names::ACK_REPORT))]
    pub ack_report: Option<String>,
    /// Message boundaries
    #[arg(long, value_parser = one_of(names::FRAMING))]
    pub framing: Option<String>,
    /// Number and use of paths
    #[arg(long, value_parser = one_of(names::PATHS))]
    pub paths: Option<String>,
    /// What a loss means
    #[arg(long, value_parser = one_of(names::LOSS_CAUSE))]
    pub loss_cause: Option<String>,
    /// Header and payload checks
    #[arg(long, value_parser = one_of(SWITCH))]
    pub crc: Option<String>,
    /// Marking and reaction to congestion marks
    #[arg(long, value_parser = one_of(SWITCH))]
    pub ecn: Option<String>,
    /// Spread packets over the round trip
    #[arg(long, value_parser = one_of(SWITCH))]
    pub pacing: Option<String>,
    /// Nobody else's traffic crosses the path
    #[arg(long)]
    pub i_own_the_path: bool,
    /// Largest packet in bytes, ResTP header included, from 256 to 65507
    #[arg(long, value_parser = whole::<usize>(256..=65_507))]
    pub packet_bytes: Option<usize>,
    /// Receive window in packets, from 2 to 65535
    #[arg(long, value_parser = whole::<u32>(2..=65_535))]
    pub window_packets: Option<u32>,
    /// Longest wait for a hole with partial ordering, in milliseconds
    #[arg(long, value_parser = whole::<u64>(0..=MOST_MS))]
    pub hold_ms: Option<u64>,
    /// End the connection when nothing is heard from the peer for so many seconds; 240 unless told. A peer that has nothing
    /// to say is asked for a sign of life in time
    #[arg(long, value_name = "SECONDS", value_parser = whole::<u64>(1..=MOST_MS / 1000))]
    pub idle_s: Option<u64>,
    /// Encrypt and authenticate; set where keys are known, not by an option of its own
    #[arg(skip)]
    pub protected: bool,
}

impl ProfileArgs {
    /// The chosen services, checked.
    ///
    /// # Errors
    /// A sentence for each unknown name or contradiction.
    pub fn compose(&self) -> Result<Composition, String> {
        let mut profile = Profile::preset(&self.profile).ok_or_else(|| {
            format!("there is no preset '{}'; choose one of {}", self.profile, Profile::PRESETS.join(", "))
        })?;
        if self.dissertation {
            profile = profile.dissertation();
        }
        choose(&mut profile.management, self.management.as_deref(), names::MANAGEMENT)?;
        if profile.management == Management::Connectionless {
            return Err(
                "messages without a connection are for programs (Endpoint::datagrams of the library restp); \
                        this tool needs a connection, so choose another --profile or --management"
                    .into(),
            );
        }
        choose(&mut profile.flow_control, self.flow_control.as_deref(), names::FLOW_CONTROL)?;
        choose(&mut profile.congestion, self.congestion.as_deref(), names::CONGESTION)?;
        choose(&mut profile.ordering, self.ordering.as_deref(), names::ORDERING)?;
        choose(&mut profile.reliability, self.reliability.as_deref(), names::RELIABILITY)?;
        choose(&mut profile.ack_timing, self.ack.as_deref(), names::ACK_TIMING)?;
        choose(&mut profile.ack_report, self.ack_report.as_deref(), names::ACK_REPORT)?;
        choose(&mut profile.framing, self.framing.as_deref(), names::FRAMING)?;
        choose(&mut profile.paths, self.paths.as_deref(), names::PATHS)?;
        choose(&mut profile.loss_cause, self.loss_cause.as_deref(), names::LOSS_CAUSE)?;
        choose(&mut profile.crc, self.crc.as_deref(), SWITCH)?;
        choose(&mut profile.tuning.ecn, self.ecn.as_deref(), SWITCH)?;
        choose(&mut profile.tuning.pacing, self.pacing.as_deref(), SWITCH)?;
        profile.i_own_the_path |= self.i_own_the_path;
        if self.protected {
            profile.protection = Protection::Protected;
        }
        let tuning = &mut profile.tuning;
        tuning.max_packet_bytes = self.packet_bytes.unwrap_or(tuning.max_packet_bytes);
        tuning.receive_window_packets = self.window_packets.unwrap_or(tuning.receive_window_packets);
        tuning.hold = self.hold_ms.map_or(tuning.hold, Duration::from_millis);
        if let Some(idle) = self.idle_s.map(Duration::from_secs) {
            tuning.idle_timeout = Some(idle);
            tuning.keepalive = tuning.keepalive.map(|period| period.min(idle / SIGNS_OF_LIFE));
        }
        profile
            .validate()
            .map_err(|conflicts| format!("these services do not go together: {}", sentences(&conflicts)))
    }
}

/// What does not go together, with the names of this tool.
pub fn sentences(conflicts: &[Conflict]) -> String {
    let text = conflicts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    OPTIONS.iter().fold(text, |text, (field, option)| text.replace(field, option))
}

#[cfg(test)]
mod tests {
    use super::*;
    use restp::profile::{Congestion, Ordering};

    fn preset(name: &str) -> ProfileArgs {
        ProfileArgs { profile: name.into(), ..ProfileArgs::default() }
    }

    #[test]
    fn single_services_replace_those_of_the_preset() {
        let args = ProfileArgs {
            congestion: Some("bbr".into()),
            crc: Some("off".into()),
            hold_ms: Some(30),
            ..preset("voice")
        };
        let composition = args.compose().unwrap();
        let profile = composition.profile();
        assert_eq!((profile.congestion, profile.crc), (Congestion::Bbr, false));
        assert_eq!(profile.tuning.hold.as_millis(), 30);
        assert_eq!(profile.ordering, Ordering::Partial);
    }

    #[test]
    fn a_silent_peer_is_asked_for_signs_of_life_before_it_counts_as_gone() {
        for (idle_s, keepalive_s) in [(20, 5), (3600, 60)] {
            let args = ProfileArgs { idle_s: Some(idle_s), ..preset("file_arq") };
            let composition = args.compose().unwrap();
            let tuning = &composition.profile().tuning;
            assert_eq!(tuning.idle_timeout, Some(Duration::from_secs(idle_s)));
            assert_eq!(tuning.keepalive, Some(Duration::from_secs(keepalive_s)));
        }
    }

    #[test]
    fn names_from_a_peer_are_checked_too() {
        let args = ProfileArgs { ordering: Some("sideways".into()), ..preset("voice") };
        assert!(args.compose().unwrap_err().contains("'sideways' is not a choice here"));
        assert!(preset("nothing").compose().unwrap_err().contains("no preset 'nothing'"));
    }

    #[test]
    fn contradictions_are_sentences() {
        let args = ProfileArgs { ack: Some("none".into()), ..preset("file_arq") };
        assert!(args.compose().unwrap_err().contains("Retransmission reads acknowledgements"));
        let args = ProfileArgs { congestion: Some("none".into()), ..preset("file_arq") };
        assert!(args.compose().unwrap_err().contains("set --i-own-the-path if nobody else"));
    }
}
