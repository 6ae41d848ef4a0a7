//! What the engine and `gauntlet doctor` ask of the host ground without playing anything, as JSON; and what is read of
//! the kernel for a record.

use std::collections::BTreeMap;

use netlab::Node;
use serde::Serialize;

use super::groups::Groups;
use super::modules::{Line, Modules, refusal};
use super::rights::Rights;
use crate::failure::Result;
use crate::kernel_counters;
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

/// Datagrams that found a buffer of a socket of this node full, of UDP over either version of IP.
pub fn socket_drops(node: &Node) -> Option<u64> {
    let counters = kernel_counters::of(node)?;
    Some(BUFFER_ERRORS.iter().filter_map(|name| counters.get(*name)).sum())
}

const BUFFER_ERRORS: [&str; 4] =
    ["UdpRcvbufErrors", "UdpSndbufErrors", "Udp6RcvbufErrors", "Udp6SndbufErrors"];
