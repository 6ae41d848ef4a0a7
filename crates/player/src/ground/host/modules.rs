//! What the kernel of the machine has, and which runs want more: those are refused with the module's name.

use std::collections::{BTreeMap, BTreeSet};

use netlab::NetworkSpec;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use serde::Serialize;
use serde_json::Value;

use crate::failure::Result;
use crate::flows::Flow;
use crate::in_path;
use crate::plan::Run;

/// What delays and loses packets; a relay stands in where it is missing.
pub const NETEM: &str = "sch_netem";

const TBF: &str = "sch_tbf";
const BRIDGE: &str = "bridge";
const GRE: &str = "ip_gre";
const DROPS: &str = "act_gact";
const SCTP: &str = "sctp";
const MPTCP: &str = "mptcp";

/// Module by name: why it is missing, or none where it is there.
#[derive(Debug, Clone, Default)]
pub struct Modules {
    found: BTreeMap<String, Option<String>>,
    purposes: BTreeMap<String, &'static str>,
}

/// One module as the doctor shows it.
#[derive(Debug, Serialize)]
pub struct Line {
    name: String,
    purpose: &'static str,
    missing: Option<String>,
}

impl Modules {
    /// Tries all that plans can ask for, in namespaces of its own.
    pub fn tried() -> Modules {
        let mut modules = Modules::default();
        match netlab::modules::tried() {
            Ok(tried) => {
                for it in tried {
                    modules.note(it.name, it.purpose, it.missing.map(|error| error.to_string()));
                }
            }
            Err(error) => modules.note("veth", "links", Some(error.to_string())),
        }
        modules.note(SCTP, "SCTP", unopened(SockType::SeqPacket, libc::IPPROTO_SCTP));
        modules.note(MPTCP, "MPTCP", unopened(SockType::Stream, libc::IPPROTO_MPTCP));
        modules
    }

    fn note(&mut self, name: &str, purpose: &'static str, missing: Option<String>) {
        self.found.insert(name.to_owned(), missing);
        self.purposes.insert(name.to_owned(), purpose);
    }

    /// Whether the kernel has it.
    pub fn has(&self, name: &str) -> bool {
        matches!(self.found.get(name), Some(None))
    }

    /// All, for the doctor.
    pub fn lines(&self) -> Vec<Line> {
        let line = |(name, missing): (&String, &Option<String>)| Line {
            name: name.clone(),
            purpose: self.purposes.get(name).copied().unwrap_or(""),
            missing: missing.clone(),
        };
        self.found.iter().map(line).collect()
    }
}

/// Why a socket of this protocol cannot be opened; none if it can.
fn unopened(kind: SockType, protocol: i32) -> Option<String> {
    // nix names neither protocol.
    // SAFETY: a plain system call without pointers.
    let fd = unsafe { libc::socket(libc::AF_INET, kind as i32 | libc::SOCK_CLOEXEC, protocol) };
    if fd < 0 {
        return Some(std::io::Error::last_os_error().to_string());
    }
    // SAFETY: fd was just opened and belongs to nobody else.
    drop(unsafe { <std::os::fd::OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(fd) });
    None
}

/// Whether a socket of TCP takes this congestion control; the kernel loads it where it may.
fn has_congestion_control(name: &str) -> bool {
    let Ok(opened) = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None) else {
        return false;
    };
    let name = std::ffi::OsString::from(name);
    nix::sys::socket::setsockopt(&opened, nix::sys::socket::sockopt::TcpCongestion, &name).is_ok()
}

/// The link directions to which the run's timeline gives a delay or a loss, each once.
pub fn delayed(run: &Run) -> impl Iterator<Item = &str> {
    let found: BTreeSet<&str> = run
        .timeline
        .iter()
        .filter(|change| change.touches_delay())
        .map(|change| change.link.as_str())
        .collect();
    found.into_iter()
}

/// Why a run cannot be played on this kernel; none if it can, as far as that is known beforehand.
///
/// # Errors
/// The run is not sound.
pub fn refusal(run: &Run, modules: &Modules) -> Result<Option<String>> {
    for flow in &run.flows {
        Flow::check(flow)?;
    }
    in_path::check_links(run)?;
    run.network.with_in_path(&run.in_path)?.resolve()?.check_timeline(&run.timeline)?;
    if let Some(processor) = &run.processor {
        return Ok(Some(format!(
            "the processor of node \"{}\" has costs in virtual time; here the machine computes itself, so leave \
             `processor` out",
            processor.node
        )));
    }
    Ok(wanted(run).into_iter().find_map(|(module, why)| {
        let missing = match module.strip_prefix("tcp_") {
            Some(control) => !has_congestion_control(control),
            None => !modules.has(&module),
        };
        missing.then(|| {
            format!(
                "{why} needs the module {module}, which this host's kernel has not got (as root: modprobe {module})"
            )
        })
    }))
}

/// The modules that a run needs, and what for; nothing for which something else can stand in.
fn wanted(run: &Run) -> Vec<(String, String)> {
    let mut wanted: Vec<(String, String)> = vec![("veth".into(), "every link".into())];
    let mut want = |module: &str, why: String| wanted.push((module.to_owned(), why));
    if let Some(change) = run.timeline.iter().find(|change| change.touches_rate()) {
        want(TBF, format!("the rate of link \"{}\"", change.link));
    }
    for change in &run.timeline {
        // A plain FIFO is part of every kernel with queues.
        if let Some(queue) = change.queue.filter(|queue| queue.kind() != "pfifo") {
            want(&format!("sch_{}", queue.kind()), format!("the queue of link \"{}\"", change.link));
        }
    }
    let network = named(&run.network);
    if let Some(node) = network.nodes.iter().find(|node| node.switch) {
        want(BRIDGE, format!("the switch \"{}\"", node.name));
    }
    if let Some(tunnel) = network.tunnels.first() {
        want(GRE, format!("the tunnel \"{}\"", tunnel.name));
    }
    if let Some(drop) = run.drops.first() {
        want(DROPS, format!("the scripted drop for flow \"{}\"", drop.flow));
    }
    for flow in &run.flows {
        let parameter = |key: &str| flow.stack_params.get(key).and_then(Value::as_str);
        if flow.stack == SCTP || parameter("transport") == Some(SCTP) {
            want(SCTP, format!("flow \"{}\" over SCTP", flow.id));
        }
        if flow.stack == MPTCP {
            want(MPTCP, format!("flow \"{}\" over MPTCP", flow.id));
        }
        // Transports in user space have congestion controls of their own.
        if ["tcp", "tls", MPTCP].contains(&flow.stack.as_str())
            && let Some(control) = parameter("congestion_control")
        {
            want(
                &format!("tcp_{control}"),
                format!("flow \"{}\" with congestion control {control}", flow.id),
            );
        }
    }
    wanted
}

/// The network written out, also where the plan names a preset.
fn named(network: &NetworkSpec) -> NetworkSpec {
    let preset = network.preset.as_deref().and_then(|name| netlab::presets::get(name).ok());
    preset.unwrap_or_else(|| network.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(changes: Value) -> Run {
        let mut run = json!({
            "id": "run", "seed": 1, "limit_s": 1.0, "network": {"preset": "wire"},
            "flows": [{"id": "f0", "stack": "tcp", "stack_params": {"congestion_control": "reno"}, "app": "bulk",
                       "app_params": {"size_bytes": 1}, "from": "client", "to": "server", "start_s": 0.0}]
        });
        for (key, value) in changes.as_object().expect("an object") {
            run[key] = value.clone();
        }
        serde_json::from_value(run).expect("the run is written correctly")
    }

    fn kernel(has: &[&str]) -> Modules {
        let mut modules = Modules::default();
        for name in has {
            modules.note(name, "", None);
        }
        modules
    }

    fn sentence(run: &Run, has: &[&str]) -> Option<String> {
        refusal(run, &kernel(has)).expect("the run is sound")
    }

    #[test]
    fn a_run_is_refused_with_the_module_that_is_missing() {
        let rate = run(json!({"timeline": [{"at_s": 0.0, "link": "west>mid", "rate_bps": 1e6}]}));
        assert_eq!(sentence(&rate, &["veth", TBF]), None);
        assert_eq!(
            sentence(&rate, &["veth"]).as_deref(),
            Some(
                "the rate of link \"west>mid\" needs the module sch_tbf, which this host's kernel has not got \
                 (as root: modprobe sch_tbf)"
            )
        );
        let rail = run(json!({"network": {"preset": "rail-d34"}, "flows": []}));
        assert!(sentence(&rail, &["veth", BRIDGE]).is_some_and(|said| said.contains("ip_gre")));
        assert!(sentence(&rail, &["veth", GRE]).is_some_and(|said| said.contains("module bridge")));
        assert_eq!(sentence(&rail, &["veth", BRIDGE, GRE]), None);
        let drops = run(json!({"drops": [{"flow": "f0", "packet": "syn", "nth": 1, "link": "mid>east"}]}));
        assert!(sentence(&drops, &["veth"]).is_some_and(|said| said.contains("act_gact")));
    }

    #[test]
    fn a_relay_stands_in_for_netem() {
        let delay = run(json!({"timeline": [
            {"at_s": 0.0, "link": "mid>east", "delay_s": 0.1}, {"at_s": 1.0, "link": "mid>east", "loss": 0.1}
        ]}));
        assert_eq!(sentence(&delay, &["veth"]), None);
        assert_eq!(delayed(&delay).collect::<Vec<_>>(), ["mid>east"]);
    }

    #[test]
    fn transports_of_the_kernel_are_looked_for() {
        let flow = |stack: &str, params: Value| {
            json!({"flows": [{"id": "f0", "stack": stack, "stack_params": params, "app": "bulk",
                              "app_params": {"size_bytes": 1}, "from": "client", "to": "server", "start_s": 0.0}]})
        };
        let sctp = run(flow("sctp", json!({})));
        assert!(sentence(&sctp, &["veth"]).is_some_and(|said| said.contains("module sctp")));
        assert_eq!(sentence(&sctp, &["veth", SCTP]), None);
    }
}
