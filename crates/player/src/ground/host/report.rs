//! What the engine and `gauntlet doctor` ask of the host ground without playing anything, as JSON; and what is read of
//! the kernel for a record.

use std::collections::BTreeMap;

use netlab::Node;
use serde::Serialize;

use super::groups::Groups;
use super::modules::{Line, Modules, refusal};
use super::rights::Rights;
use crate::failure::Result;
use crate::plan::{Plan, Run};

/// What the host ground can do here.
#[derive(Serialize)]
struct Doctor {
    rights: &'static str,
    accounting: &'static str,
    modules: Vec<Line>,
}

/// What stands in the way of a run.
#[derive(Serialize)]
struct Checked {
    run: String,
    /// Why it cannot be played; none if it can.
    refusal: Option<String>,
    /// Its settings that belong to the whole kernel and differ from what that has.
    whole_kernel_sysctls: BTreeMap<String, Option<String>>,
}

/// What the host ground can do here.
pub fn doctor(rights: Rights) -> String {
    let groups = Groups::open(&format!("doctor-{}", std::process::id()));
    let found = Doctor {
        rights: rights.name(),
        accounting: groups.accounting.name(),
        modules: Modules::tried().lines(),
    };
    serde_json::to_string_pretty(&found).expect("names and texts can be written as JSON")
}

/// Which runs of a plan cannot be played here, and why. `host` has the settings of the whole kernel.
pub fn check(plan: &Plan, host: &HostSettings) -> String {
    let modules = Modules::tried();
    let checked: Vec<Checked> = plan
        .runs
        .iter()
        .map(|run| {
            let settings = host.others_than(run);
            let refused = refusal(run, &modules).unwrap_or_else(|failure| Some(failure.to_string()));
            Checked {
                run: run.id.clone(),
                refusal: refused.or_else(|| settings.as_ref().err().map(ToString::to_string)),
                whole_kernel_sysctls: settings.unwrap_or_default(),
            }
        })
        .collect();
    serde_json::to_string_pretty(&checked).expect("names and texts can be written as JSON")
}

/// What the host's kernel has of the settings that a plan names, read where the player was started: a network namespace of
/// its own does not show those of the whole kernel.
#[derive(Debug, Clone, Default)]
pub struct HostSettings(BTreeMap<String, String>);

impl HostSettings {
    /// Reads them; to be called before [`Rights::acquire`].
    pub fn read(plan: &Plan) -> HostSettings {
        let names = plan.runs.iter().flat_map(|run| run.sysctls.keys());
        HostSettings(
            names.filter_map(|name| Some((name.clone(), netlab::sysctl::read(name).ok()?))).collect(),
        )
    }

    /// The settings of a run that cannot be made in a namespace, where the kernel has another value or none: with what it
    /// has.
    ///
    /// # Errors
    /// A name is not that of a setting, or nothing can be tried.
    pub fn others_than(&self, run: &Run) -> Result<BTreeMap<String, Option<String>>> {
        let mut left = BTreeMap::new();
        for (name, asked) in netlab::sysctl::not_in_namespaces(&run.sysctls)? {
            let found = self.0.get(name);
            let same = found.is_some_and(|found| found.split_whitespace().eq(asked.split_whitespace()));
            if !same {
                left.insert(name.to_owned(), found.cloned());
            }
        }
        Ok(left)
    }
}

/// Datagrams that found a buffer of a socket of this node full: RcvbufErrors and SndbufErrors of UDP over either version
/// of IP (proc_net(5), Linux `Documentation/networking/snmp_counter.rst`).
pub fn socket_drops(node: &Node) -> Option<u64> {
    let read = || {
        let four = std::fs::read_to_string("/proc/thread-self/net/snmp")?;
        Ok::<_, std::io::Error>((
            four,
            std::fs::read_to_string("/proc/thread-self/net/snmp6").unwrap_or_default(),
        ))
    };
    let (four, six) = node.enter(read).ok()?;
    Some(of_version_4(&four) + of_version_6(&six))
}

const BUFFER_ERRORS: [&str; 2] = ["RcvbufErrors", "SndbufErrors"];

/// Two lines: names, then values.
fn of_version_4(text: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let named = names.split_whitespace().zip(values.split_whitespace());
    named
        .filter(|(name, _)| BUFFER_ERRORS.contains(name))
        .filter_map(|(_, value)| value.parse::<u64>().ok())
        .sum()
}

/// A line for each.
fn of_version_6(text: &str) -> u64 {
    let named = text.lines().filter_map(|line| line.strip_prefix("Udp6")?.split_once(char::is_whitespace));
    named
        .filter(|(name, _)| BUFFER_ERRORS.contains(name))
        .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_buffers_of_udp_are_read() {
        let four = "Tcp: A RcvbufErrors\nTcp: 1 900\nUdp: InDatagrams RcvbufErrors SndbufErrors InCsumErrors\n\
                    Udp: 100 7 2 5\nUdpLite: InDatagrams RcvbufErrors\nUdpLite: 0 800\n";
        assert_eq!(of_version_4(four), 9);
        assert_eq!(of_version_6("Udp6InDatagrams 5\nUdp6RcvbufErrors    3\nUdpLite6RcvbufErrors 9\n"), 3);
        assert_eq!((of_version_4(""), of_version_6("")), (0, 0));
    }
}
