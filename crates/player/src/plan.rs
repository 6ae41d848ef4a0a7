//! The plan file (`docs/formats/plan.md`): read, checked, every mistake a sentence.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use netlab::{InPathSpec, LinkChange, NetworkSpec, RouteChange};
use serde::{Deserialize, Serialize};
use transports::Costs;
use workload::FlowSpec;

use crate::failure::{Failure, Result};

const FORMAT: &str = "gauntlet-plan";
const VERSION: u32 = 1;

/// MiB of a guest: with less there is no room for the buffers of its sockets.
const MEMORY_MIB: RangeInclusive<u32> = 64..=65_536;

/// Largest seed: the largest integer that survives JSON readers that use doubles.
const LARGEST_SEED: u64 = (1 << 53) - 1;

/// The port at which the receiver of a run's first flow waits, and the one from which its sender sends; those of later
/// flows follow.
pub const FIRST_PORT: u16 = 5000;
pub const FIRST_SOURCE_PORT: u16 = 40_000;

/// Flows of one run: as many as have ports of their own at either end. There is room above the last source port.
pub const MOST_FLOWS: usize = 20_000;

/// What one guest is to do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    format: String,
    version: u32,
    /// The runs, played one after the other.
    pub runs: Vec<Run>,
}

/// One run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Name of the run and of its record folder.
    pub id: String,
    /// Reaches every source of randomness.
    pub seed: u64,
    /// Virtual seconds after which the run is ended as failed.
    pub limit_s: f64,
    /// MiB that its guest is booted with, which is the engine's part; none: as usual.
    #[serde(default)]
    memory_mib: Option<u32>,
    /// Nodes, links, routes, tunnels.
    pub network: NetworkSpec,
    /// Nodes that stand in links and alter what passes.
    #[serde(default)]
    pub in_path: Vec<InPathSpec>,
    /// Packets that vanish by script.
    #[serde(default)]
    pub drops: Vec<Drop>,
    /// Changes of links over time.
    #[serde(default)]
    pub timeline: Vec<LinkChange>,
    /// Changes of routes over time.
    #[serde(default)]
    pub route_changes: Vec<RouteChange>,
    /// What the servers in a node compute with; none: computing costs nothing.
    #[serde(default)]
    pub processor: Option<ProcessorSpec>,
    /// Whether the hosts of flows and programs have segmentation offload.
    #[serde(default)]
    pub offload: bool,
    /// Kernel settings applied in every node.
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    /// Who sends what to whom.
    #[serde(default)]
    pub flows: Vec<FlowSpec>,
    /// Programs of the user.
    #[serde(default)]
    pub programs: Vec<Program>,
    /// What to keep.
    #[serde(default)]
    pub record: RecordSpec,
}

/// A packet that vanishes by script: the `nth` of its kind, of one flow, in front of one link direction.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Drop {
    /// Id of the flow.
    pub flow: String,
    /// Which packets of it are counted.
    pub packet: PacketKind,
    /// Which of them vanishes, counted from 1.
    pub nth: u32,
    /// Link direction in front of which it does.
    pub link: String,
}

/// Packets that a script can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PacketKind {
    /// The request that opens a session.
    Syn,
    /// The answer to it.
    SynAck,
}

/// Most that a piece of work may cost: a minute, beyond what any does.
const MOST_COST_NS: u64 = 60_000_000_000;

/// A processor of stated speed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessorSpec {
    /// The node whose listening ends share it.
    pub node: String,
    /// Cost of a session that is accepted.
    #[serde(default)]
    handshake_ns: u64,
    /// Cost of a request that is answered.
    #[serde(default)]
    request_ns: u64,
    /// Cost of a packet that comes or leaves.
    #[serde(default)]
    packet_ns: u64,
}

impl ProcessorSpec {
    /// What work costs on it.
    pub fn costs(&self) -> Costs {
        let ProcessorSpec { handshake_ns, request_ns, packet_ns, .. } = *self;
        Costs { handshake_ns, request_ns, packet_ns }
    }

    fn check(&self) -> Result<()> {
        let costs = [self.handshake_ns, self.request_ns, self.packet_ns];
        if costs.iter().all(|cost_ns| *cost_ns == 0) {
            return Err(Failure::new(format!(
                "the processor of node \"{}\" does everything for nothing; give `handshake_ns`, `request_ns` or \
                 `packet_ns`, or leave it out",
                self.node
            )));
        }
        match costs.iter().find(|cost_ns| **cost_ns > MOST_COST_NS) {
            None => Ok(()),
            Some(cost_ns) => Err(Failure::new(format!(
                "the processor of node \"{}\" has a cost of {cost_ns} ns; the most is {MOST_COST_NS}",
                self.node
            ))),
        }
    }
}

/// A program of the user's own inside the network.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Name, unique in the run.
    pub id: String,
    /// Node that it runs in.
    pub node: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Where it starts.
    #[serde(default = "root_folder")]
    pub working_directory: PathBuf,
    /// Its whole environment, beside GAUNTLET_SERVER and GAUNTLET_CLIENT.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Instant at which it starts.
    #[serde(default)]
    pub start_s: f64,
    /// Whether the run lasts until it has ended.
    #[serde(default = "yes")]
    pub wait: bool,
    /// Whether it has a /tmp of its own, in memory.
    #[serde(default)]
    pub private_tmp: bool,
    /// Names by which it finds nodes: name, node.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
    /// A terminal of the host on which it runs; none: it reads nothing, and what it prints is passed on.
    #[serde(default)]
    pub terminal: Option<PathBuf>,
}

/// What to keep of a run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RecordSpec {
    /// One row a message.
    pub messages: bool,
    /// Interval of socket samples in seconds; none without.
    pub socket_interval_s: Option<f64>,
    /// How much of each packet is captured.
    pub packets: Packets,
    /// Link directions to capture; the network's own choice without.
    pub taps: Option<Vec<String>>,
    /// The secrets of secure sessions.
    pub keys: bool,
    /// The events of QUIC connections.
    pub qlog: bool,
}

impl Default for RecordSpec {
    fn default() -> Self {
        RecordSpec {
            messages: true,
            socket_interval_s: None,
            packets: Packets::Headers,
            taps: None,
            keys: false,
            qlog: false,
        }
    }
}

/// How much of each packet is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Packets {
    /// Nothing.
    None,
    /// The first 112 bytes from the IP header on.
    Headers,
    /// Everything.
    Full,
}

fn root_folder() -> PathBuf {
    PathBuf::from("/")
}

fn yes() -> bool {
    true
}

impl Plan {
    /// Reads and checks a plan file.
    ///
    /// # Errors
    /// One sentence naming the file, the run and the key.
    pub fn read(path: &Path) -> Result<Plan> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::io(format_args!("read the plan {}", path.display()), &error))?;
        let plan: Plan = serde_json::from_str(&text)
            .map_err(|error| Failure::new(format!("the plan {} is not right: {error}", path.display())))?;
        plan.check().map_err(|failure| Failure::new(format!("the plan {}: {failure}", path.display())))?;
        Ok(plan)
    }

    fn check(&self) -> Result<()> {
        if self.format != FORMAT || self.version != VERSION {
            return Err(Failure::new(format!(
                "format \"{}\" version {} is not known; \"{FORMAT}\" version {VERSION} is",
                self.format, self.version
            )));
        }
        let mut ids = BTreeSet::new();
        for run in &self.runs {
            run.check().map_err(|failure| Failure::new(format!("run \"{}\": {failure}", run.id)))?;
            if !ids.insert(&run.id) {
                return Err(Failure::new(format!("two runs are called \"{}\"; ids are unique", run.id)));
            }
        }
        Ok(())
    }
}

impl Run {
    fn check(&self) -> Result<()> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if self.id.is_empty() || self.id.starts_with('.') || !self.id.chars().all(plain) {
            return Err(Failure::new(
                "`id` must be of letters, digits, '.', '_' and '-', and not start with '.'",
            ));
        }
        if self.seed > LARGEST_SEED {
            return Err(Failure::new(format!("`seed` is {}; the largest is {LARGEST_SEED}", self.seed)));
        }
        if !(self.limit_s.is_finite() && self.limit_s > 0.0) {
            return Err(Failure::new(format!("`limit_s` is {}; it must be above 0", self.limit_s)));
        }
        if let Some(mib) = self.memory_mib.filter(|mib| !MEMORY_MIB.contains(mib)) {
            let (least, most) = (MEMORY_MIB.start(), MEMORY_MIB.end());
            return Err(Failure::new(format!("`memory_mib` is {mib}; it must be from {least} to {most}")));
        }
        if let Some(interval_s) = self.record.socket_interval_s
            && (!interval_s.is_finite() || interval_s < 1e-3)
        {
            return Err(Failure::new(format!(
                "`socket_interval_s` is {interval_s}; it must be at least 0.001, or null for no samples"
            )));
        }
        if self.flows.len() > MOST_FLOWS {
            return Err(Failure::new(format!(
                "it has {} flows; a run has at most {MOST_FLOWS}, for each has ports of its own",
                self.flows.len()
            )));
        }
        unique("flow", self.flows.iter().map(|flow| flow.id.as_str()))?;
        unique("program", self.programs.iter().map(|program| program.id.as_str()))?;
        self.check_route_changes()?;
        self.processor.iter().try_for_each(ProcessorSpec::check)?;
        for program in &self.programs {
            if program.argv.is_empty() {
                return Err(Failure::new(format!(
                    "program \"{}\": `argv` is empty; it names the program",
                    program.id
                )));
            }
        }
        Ok(())
    }
}

impl Run {
    /// Against the network, which is looked at only where there are any.
    fn check_route_changes(&self) -> Result<()> {
        if self.route_changes.is_empty() {
            return Ok(());
        }
        let topology = self.network.with_in_path(&self.in_path)?.resolve()?;
        Ok(topology.check_route_changes(&self.route_changes, &self.pairs())?)
    }

    /// Nodes that talk to each other: the ends of each flow, and those of programs.
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        let flows = self.flows.iter().map(|flow| (flow.from.as_str(), flow.to.as_str()));
        flows.chain(self.program_pairs()).collect()
    }
}

fn unique<'a>(what: &str, ids: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(Failure::new(format!("two {what}s are called \"{id}\"; ids are unique")));
        }
    }
    Ok(())
}

impl Run {
    /// Virtual seconds that the run will last if nothing ends it earlier, for progress reports.
    pub fn expected_s(&self) -> f64 {
        let flows = self.flows.iter().map(|flow| {
            let duration_s = flow.app_params.get("duration_s").and_then(serde_json::Value::as_f64);
            duration_s.map_or(self.limit_s, |duration_s| flow.start_s + duration_s)
        });
        let programs = self.programs.iter().filter(|program| program.wait).map(|_| self.limit_s);
        flows.chain(programs).fold(1.0, f64::max).min(self.limit_s)
    }

    /// Its hosts: every node that a flow or a program names.
    pub fn hosts(&self) -> BTreeSet<&str> {
        let flows = self.flows.iter().flat_map(|flow| [flow.from.as_str(), flow.to.as_str()]);
        flows.chain(self.programs.iter().map(|program| program.node.as_str())).collect()
    }

    /// When it ends at the latest, in nanoseconds from its start.
    pub fn limit_ns(&self) -> i64 {
        (self.limit_s * 1e9) as i64
    }

    /// Nodes whose programs may talk to each other: each one that is waited for, with each other one.
    pub fn program_pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.programs.iter().filter(|program| program.wait).flat_map(move |program| {
            let others = self.programs.iter().filter(move |other| other.node != program.node);
            others.map(move |other| (program.node.as_str(), other.node.as_str()))
        })
    }

    /// Some host of the run, whose kernel settings stand for all.
    pub fn first_node(&self) -> Option<&str> {
        let flows = self.flows.iter().map(|flow| flow.from.as_str());
        flows.chain(self.programs.iter().map(|program| program.node.as_str())).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn run_of(flows: usize) -> Run {
        let flow = |index| {
            json!({"id": format!("f{index}"), "stack": "tcp", "stack_params": {"congestion_control": "cubic"},
                   "app": "bulk", "app_params": {"size_bytes": 1}, "from": "client", "to": "server", "start_s": 0.0})
        };
        let flows: Vec<Value> = (0..flows).map(flow).collect();
        let run =
            json!({"id": "run", "seed": 1, "limit_s": 1.0, "network": {"preset": "wire"}, "flows": flows});
        serde_json::from_value(run).expect("the plan of the tests is written correctly")
    }

    #[test]
    fn every_flow_that_a_run_may_have_has_ports_of_its_own() {
        assert_eq!(run_of(MOST_FLOWS).check(), Ok(()));
        let last = u16::try_from(MOST_FLOWS - 1).expect("a port holds it");
        assert!(FIRST_PORT.checked_add(last).is_some_and(|port| port < FIRST_SOURCE_PORT));
        assert!(FIRST_SOURCE_PORT.checked_add(last).is_some());
    }

    #[test]
    fn more_flows_are_refused() {
        let failure = run_of(25_537).check().expect_err("they have no ports");
        assert_eq!(
            failure.to_string(),
            "it has 25537 flows; a run has at most 20000, for each has ports of its own"
        );
    }
}
