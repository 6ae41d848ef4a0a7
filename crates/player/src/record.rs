//! The record of a run (`docs/formats/record.md`): a folder that is there whole or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use netlab::{Hop, InPathCounters, LinkChange, LinkCounters, RelayCounters, RouteChange, TapCounters};
use serde::Serialize;
use transports::ProcessorUsage;
use workload::FlowResult;

use crate::failure::{Failure, Result};
use crate::kernel_counters::KernelCounters;
use crate::plan::Drop;

/// The folder of a record for qlog files.
pub const QLOG: &str = "qlog";

/// The content of `record.json`.
#[derive(Debug, Serialize)]
pub struct Record {
    /// Name of the format.
    pub format: &'static str,
    /// Version of the format.
    pub version: u32,
    /// Id of the run.
    pub run: String,
    /// Its seed.
    pub seed: u64,
    /// `ok` or `failed`.
    pub outcome: &'static str,
    /// Why it failed.
    pub reason: Option<String>,
    /// What it was played on.
    pub guest: Guest,
    /// Virtual seconds that it lasted.
    pub virtual_s: f64,
    /// What became of each flow.
    pub flows: Vec<FlowResult>,
    /// What became of each program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramResult>,
    /// The programs of the flows that were carried by some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<Note>,
    /// Counters of every queueing discipline.
    pub links: Vec<LinkCounters>,
    /// Counters of every tap.
    pub taps: Vec<TapCounters>,
    /// Tapped link directions of each flow, in the order in which its packets pass them.
    pub paths: Vec<FlowPath>,
    /// What each node used up, where the ground can tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeUsage>,
    /// Changes of links with the instants at which they were made.
    pub timeline: Vec<LinkChange>,
    /// Changes of routes with the instants at which they were made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub route_changes: Vec<RouteChange>,
    /// With changes of routes: which tap follows which, and when.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<Hop>,
    /// What the nodes did that stand in links; packet by packet it is in `in_path.arrow`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_path: Vec<InPathCounters>,
    /// What became of each packet that was to vanish by script.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drops: Vec<DropResult>,
    /// What the kernels of the hosts counted, where rules may have made or altered what came to them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernel: Vec<KernelCounters>,
    /// What the processor of the plan's node did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor: Option<ProcessorResult>,
}

/// What the processor of a node did.
#[derive(Debug, Serialize)]
pub struct ProcessorResult {
    /// Its node.
    pub node: String,
    #[serde(flatten)]
    pub usage: ProcessorUsage,
}

/// What became of a packet that was to vanish.
#[derive(Debug, Serialize)]
pub struct DropResult {
    #[serde(flatten)]
    pub asked: Drop,
    /// When it came; null if it never did.
    pub at_s: Option<f64>,
    /// Packets that vanished: 1, or 0 if none came.
    pub dropped_packets: u64,
}

/// What the record says of the programs of a flow.
#[derive(Debug, Serialize)]
pub struct Note {
    /// Id of the flow.
    pub flow: String,
    /// Name of the stack.
    pub name: String,
    /// Its client.
    pub client: Option<SideNote>,
    /// Its server.
    pub server: Option<SideNote>,
}

/// What the record says of one program.
#[derive(Debug, Clone, Serialize)]
pub struct SideNote {
    /// What the program says it is, with its version.
    pub software: Option<String>,
    /// Its exit code, if it exited by itself.
    pub exit_code: Option<i32>,
    /// When it was started.
    pub started_s: f64,
    /// When it had ended.
    pub finished_s: f64,
}

/// What a run was played on.
#[derive(Debug, Default, Serialize)]
pub struct Guest {
    /// The ground: `virtual` or `host`.
    pub ground: &'static str,
    /// Version of this program.
    pub gauntlet: &'static str,
    /// Release of the kernel.
    pub kernel: String,
    /// Ticks per second of the kernel.
    pub hz: u32,
    /// Versions of the libraries whose transports do not come with the kernel.
    pub libraries: BTreeMap<&'static str, &'static str>,
    /// Kernel settings as the kernel states them.
    pub sysctls: BTreeMap<String, String>,
    /// What is to be known of the machine, on the host ground.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
}

/// What is to be known of the machine whose kernel a run was played on.
#[derive(Debug, Serialize)]
pub struct Host {
    /// `user namespace` or `root`: the rights by which namespaces were made.
    pub rights: &'static str,
    /// By what the nodes' use was counted: `cgroup v1`, `cgroup v2` or `rusage`.
    pub accounting: &'static str,
    /// What delayed and lost packets: `netem`, `relay`, or nothing.
    pub delays_by: Option<&'static str>,
    /// When the processes of all nodes stood, from the start of the run.
    pub begun_s: f64,
    /// How busy the machine was before and after the run.
    pub before: Load,
    /// As `before`.
    pub after: Load,
    /// The time of other virtual machines (steal) during the run, as a share of all cores' time.
    pub steal_share: f64,
    /// How the relays kept up.
    pub relays: Vec<RelayCounters>,
    /// Settings of the plan that belong to the whole kernel and were left as they are: what it has (null: no such
    /// setting).
    pub whole_kernel_sysctls: BTreeMap<String, Option<String>>,
}

/// How busy a machine was over a short time.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Load {
    /// Share of all cores' time that was not idle.
    pub busy_share: f64,
    /// Share of all cores' time that other virtual machines had.
    pub steal_share: f64,
    /// How long that was.
    pub over_s: f64,
}

/// What a node used up. Null is what the host cannot tell.
#[derive(Debug, Serialize)]
pub struct NodeUsage {
    /// Its name.
    pub node: String,
    /// CPU time of its processes, in user space and in the kernel on their behalf.
    pub cpu_ns: Option<u64>,
    /// Most memory of its processes at once.
    pub peak_memory_bytes: Option<u64>,
    /// Most memory of its sockets in the kernel at once.
    pub peak_socket_memory_bytes: Option<u64>,
    /// How often its process gave the processor up by itself.
    pub voluntary_context_switches: Option<u64>,
    /// How often it was taken from it.
    pub involuntary_context_switches: Option<u64>,
    /// Packets that queues of its link directions dropped, for want of room or as asked.
    pub queue_dropped_packets: u64,
    /// UDP datagrams that found a receive or send buffer full.
    pub socket_dropped_packets: Option<u64>,
}

/// The tapped link directions that a flow's packets pass.
#[derive(Debug, Serialize)]
pub struct FlowPath {
    /// Id of the flow.
    pub flow: String,
    /// From the sender to the receiver.
    pub forward: Vec<String>,
    /// Back.
    #[serde(rename = "return")]
    pub back: Vec<String>,
    /// Addresses of the sender and of the receiver on a further way of a flow; absent on its first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<[IpAddr; 2]>,
}

/// What became of a program.
#[derive(Debug, Serialize)]
pub struct ProgramResult {
    /// Id of the program.
    pub id: String,
    /// Node it ran in.
    pub node: String,
    /// `ok` or `failed`.
    pub outcome: &'static str,
    /// Why it failed.
    pub reason: Option<String>,
    /// Its exit code, if it exited by itself.
    pub exit_code: Option<i32>,
    /// When it was started.
    pub started_s: Option<f64>,
    /// When it had ended.
    pub finished_s: Option<f64>,
}

impl Record {
    /// An empty record of a run.
    pub fn new(run: &str, seed: u64) -> Record {
        Record {
            format: "gauntlet-record",
            version: 1,
            run: run.to_owned(),
            seed,
            outcome: "ok",
            reason: None,
            guest: Guest::default(),
            virtual_s: 0.0,
            flows: Vec::new(),
            programs: Vec::new(),
            external: Vec::new(),
            links: Vec::new(),
            taps: Vec::new(),
            paths: Vec::new(),
            nodes: Vec::new(),
            timeline: Vec::new(),
            route_changes: Vec::new(),
            hops: Vec::new(),
            in_path: Vec::new(),
            drops: Vec::new(),
            kernel: Vec::new(),
            processor: None,
        }
    }

    /// The record of a run that could not be played.
    pub fn failed(run: &str, seed: u64, reason: String) -> Record {
        Record { outcome: "failed", reason: Some(reason), ..Record::new(run, seed) }
    }
}

/// The folder of one record while it is being written.
pub struct Folder {
    part: PathBuf,
    place: PathBuf,
}

impl Folder {
    /// Makes `<id>.part` in `out`, empty.
    pub fn create(out: &Path, id: &str) -> Result<Folder> {
        let folder = Folder { part: out.join(format!("{id}.part")), place: out.join(id) };
        if folder.part.exists() {
            fs::remove_dir_all(&folder.part).map_err(|error| folder.failure("clear", &error))?;
        }
        fs::create_dir_all(&folder.part).map_err(|error| folder.failure("make", &error))?;
        Ok(folder)
    }

    /// Where the run's files go.
    pub fn path(&self) -> &Path {
        &self.part
    }

    /// Adds `record.json` and gives the folder its name.
    pub fn finish(self, record: &Record) -> Result<()> {
        let text = serde_json::to_string_pretty(record).map_err(|error| {
            Failure::new(format!("the record of run \"{}\" cannot be written: {error}", record.run))
        })?;
        fs::write(self.part.join("record.json"), text + "\n")
            .map_err(|error| self.failure("write to", &error))?;
        if self.place.exists() {
            fs::remove_dir_all(&self.place).map_err(|error| self.failure("replace", &error))?;
        }
        fs::rename(&self.part, &self.place).map_err(|error| self.failure("name", &error))
    }

    fn failure(&self, deed: &str, error: &std::io::Error) -> Failure {
        Failure::io(format_args!("{deed} the record folder {}", self.part.display()), error)
    }
}
