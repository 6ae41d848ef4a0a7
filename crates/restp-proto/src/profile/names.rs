//! Names of services, as configuration files and command lines write them: a table a service, each choice with its name.
//!
//! ```
//! use restp_proto::profile::{Congestion, names};
//!
//! assert_eq!(names::find(names::CONGESTION, "bbr"), Some(Congestion::Bbr));
//! assert_eq!(names::find(names::CONGESTION, "fax"), None);
//! assert_eq!(names::choices(names::ORDERING), "none, partial, full");
//! ```

use super::{
    AckReport, AckTiming, Congestion, FecKind, FlowControl, Framing, LossCause, Management, Ordering, Paths,
    Protection, Reliability, Scheduler,
};

/// The choices of one service with their names, in the order in which they are told.
pub type Table<T> = &'static [(&'static str, T)];

/// How a connection begins.
pub const MANAGEMENT: Table<Management> = &[
    ("connectionless", Management::Connectionless),
    ("three-way", Management::ThreeWay),
    ("opportunistic", Management::Opportunistic),
];

/// How the receiver protects itself.
pub const FLOW_CONTROL: Table<FlowControl> = &[("none", FlowControl::None), ("window", FlowControl::Window)];

/// How the network is protected.
pub const CONGESTION: Table<Congestion> = &[
    ("none", Congestion::None),
    ("newreno", Congestion::NewReno),
    ("bic", Congestion::Bic),
    ("cubic", Congestion::Cubic),
    ("bbr", Congestion::Bbr),
    ("lia", Congestion::Lia),
];

/// In which order messages are delivered. [`Ordering::Streams`] has no name: it takes an application that opens streams.
pub const ORDERING: Table<Ordering> =
    &[("none", Ordering::Unordered), ("partial", Ordering::Partial), ("full", Ordering::Full)];

/// What is done about losses.
pub const RELIABILITY: Table<Reliability> = &[
    ("none", Reliability::None),
    ("xor", Reliability::Quasi(FecKind::Xor)),
    ("interleaved-xor", Reliability::Quasi(FecKind::Interleaved)),
    ("arq", Reliability::Arq),
    ("harq", Reliability::Harq(FecKind::Xor)),
    ("harq-interleaved", Reliability::Harq(FecKind::Interleaved)),
];

/// When acknowledgements are sent.
pub const ACK_TIMING: Table<AckTiming> =
    &[("none", AckTiming::None), ("positive", AckTiming::Positive), ("delayed", AckTiming::Delayed)];

/// What acknowledgements report.
pub const ACK_REPORT: Table<AckReport> = &[
    ("cumulative", AckReport::Cumulative),
    ("nack", AckReport::Nack),
    ("sack", AckReport::Sack),
    ("snack", AckReport::Snack),
];

/// Message boundaries.
pub const FRAMING: Table<Framing> = &[("fixed", Framing::Fixed), ("coalesce", Framing::Coalesce)];

/// How many paths are used, and for what.
pub const PATHS: Table<Paths> = &[
    ("single", Paths::Single),
    ("hot-standby", Paths::HotStandby),
    ("overflow", Paths::Overflow),
    ("round-robin", Paths::Spreading(Scheduler::RoundRobin)),
    ("fastest-rtt", Paths::Spreading(Scheduler::FastestRtt)),
    ("copies", Paths::Copies),
];

/// What a loss is taken to mean.
pub const LOSS_CAUSE: Table<LossCause> = &[
    ("congestion", LossCause::Congestion),
    ("corruption", LossCause::Corruption),
    ("outage", LossCause::Outage),
    ("dynamic", LossCause::Dynamic),
];

/// Whether packets are protected.
pub const PROTECTION: Table<Protection> =
    &[("clear", Protection::ClearText), ("protected", Protection::Protected)];

/// What `name` stands for; none if the table does not have it. Also for tables of one's own.
#[must_use]
pub fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|(_, choice)| *choice)
}

/// All names of a table for a sentence, separated by commas.
#[must_use]
pub fn choices<T>(table: &[(&str, T)]) -> String {
    table.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fmt::Debug;
    use std::hash::Hash;

    use super::*;

    /// Each name is found, and neither a name nor a choice stands twice; gives the choices.
    fn check<T: Copy + Debug + Eq + Hash>(table: Table<T>) -> HashSet<T> {
        let chosen: HashSet<T> =
            table.iter().map(|(name, _)| find(table, name).expect("the name is in the table")).collect();
        assert_eq!(chosen.len(), table.len(), "{}", choices(table));
        assert_eq!(choices(table).split(", ").count(), table.len());
        assert_eq!(find(table, "nothing of the kind"), None);
        chosen
    }

    #[test]
    fn each_name_stands_for_one_choice() {
        check(MANAGEMENT);
        check(FLOW_CONTROL);
        check(CONGESTION);
        check(ORDERING);
        check(RELIABILITY);
        check(ACK_TIMING);
        check(ACK_REPORT);
        check(FRAMING);
        check(PATHS);
        check(LOSS_CAUSE);
        check(PROTECTION);
    }

    #[test]
    fn what_the_presets_choose_has_a_name() {
        for name in crate::Profile::PRESETS {
            let profile = crate::Profile::preset(name).expect("its name is listed");
            assert!(check(MANAGEMENT).contains(&profile.management), "{name}");
            assert!(check(FLOW_CONTROL).contains(&profile.flow_control), "{name}");
            assert!(check(CONGESTION).contains(&profile.congestion), "{name}");
            assert!(check(ORDERING).contains(&profile.ordering), "{name}");
            assert!(check(RELIABILITY).contains(&profile.reliability), "{name}");
            assert!(check(ACK_TIMING).contains(&profile.ack_timing), "{name}");
            assert!(check(ACK_REPORT).contains(&profile.ack_report), "{name}");
            assert!(check(FRAMING).contains(&profile.framing), "{name}");
            assert!(check(PATHS).contains(&profile.paths), "{name}");
            assert!(check(LOSS_CAUSE).contains(&profile.loss_cause), "{name}");
            assert!(check(PROTECTION).contains(&profile.protection), "{name}");
        }
    }
}
