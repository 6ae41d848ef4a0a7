//! The host ground: the kernel of the machine, in real time.
//!
//! ```text
//!   rights    by what right namespaces are made
//!   modules   what the kernel has, and which runs want more
//!   groups    control groups, where the host allows them
//!   crew      the processes of nodes, seen from the player      node   the same, seen from inside      mail   between
//!   idle      how busy the machine is
//!   report    what `gauntlet doctor` and the engine ask
//! ```
//!
//! Nothing outside of the player's own namespaces is changed: settings of the whole kernel are read, never written.

mod crew;
mod groups;
mod idle;
mod mail;
mod modules;
mod node;
pub mod report;
mod rights;

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use netlab::{BuildOptions, Network, Node, RunClock, WholeKernel};

use self::crew::Crew;
use self::groups::{Group, Groups};
use self::idle::Ticks;
use self::modules::Modules;
use self::report::HostSettings;
pub use self::rights::Rights;
use super::{Enlist, Ground, Half, Time, Wait};
use crate::descriptors::Descriptors;
use crate::failure::{Failure, Result};
use crate::gate::Pass;
use crate::plan::Run;
use crate::record::{self, Guest, Load, NodeUsage};

/// Its name in a record.
const NAME: &str = "host";

/// How long a receiver of datagrams goes on after the last one. In real time silence costs; datagrams that a link holds
/// back for longer count as lost.
const QUIET_NS: i64 = 3_000_000_000;

/// The kernel of the machine, for one run.
pub struct Host {
    rights: Rights,
    modules: Modules,
    groups: Groups,
    crew: Crew,
    scratch: PathBuf,
    clock: Option<RunClock>,
    begun_s: f64,
    before: Option<(Load, Ticks)>,
    relays: bool,
    netem: bool,
    settings: HostSettings,
    whole_kernel_sysctls: BTreeMap<String, Option<String>>,
    descriptors: Descriptors,
}

impl Host {
    /// Gets ready to play a run on a host of these settings, whose files that nobody keeps go below `out`, in a process
    /// that was started with `descriptors`.
    pub fn new(rights: Rights, settings: HostSettings, out: &Path, descriptors: Descriptors) -> Host {
        let id = std::process::id().to_string();
        Host {
            rights,
            modules: Modules::tried(),
            groups: Groups::open(&id),
            crew: Crew::default(),
            scratch: out.join(format!(".gauntlet-{id}")),
            clock: None,
            begun_s: 0.0,
            before: None,
            relays: false,
            netem: false,
            settings,
            whole_kernel_sysctls: BTreeMap::new(),
            descriptors,
        }
    }

    fn group(&mut self, node: &str) -> Result<Group> {
        let group = self.groups.of(node);
        group.map_err(|error| Failure::io(format_args!("make the control group of node \"{node}\""), &error))
    }
}

impl Ground for Host {
    fn name(&self) -> &'static str {
        NAME
    }

    fn clock(&mut self) -> Result<Time> {
        let clock = RunClock::start()?;
        self.clock = Some(clock);
        Ok(Time { clock, stands_still: false, quiet_ns: QUIET_NS })
    }

    fn prepare(&mut self, run: &Run) -> Result<BuildOptions> {
        if let Some(reason) = modules::refusal(run, &self.modules)? {
            return Err(Failure::new(reason));
        }
        let mut delayed: Vec<String> = modules::delayed(run).map(str::to_owned).collect();
        self.netem = self.modules.has(modules::NETEM) && !delayed.is_empty();
        if self.modules.has(modules::NETEM) {
            delayed.clear();
        }
        self.relays = !delayed.is_empty();
        self.whole_kernel_sysctls = self.settings.others_than(run)?;
        self.descriptors.suffice_for(run.flows.len());
        self.before = Some((idle::look(), Ticks::now()));
        Ok(BuildOptions {
            seed: run.seed,
            sysctls: run.sysctls.clone(),
            whole_kernel: WholeKernel::Leave,
            relayed: delayed,
        })
    }

    fn spawn_in_node(
        &mut self,
        node: &Node,
        flow: usize,
        half: Half,
        _gate: &Pass,
        ended: &Sender<()>,
    ) -> Result<Wait> {
        if let Half::Receiver(server) = &half {
            server.prepare_to_part().map_err(|failure| Failure::new(failure.to_string()))?;
        }
        Ok(self.crew.sign_on(node.name(), flow, half, ended))
    }

    fn enlist(&mut self, node: &str) -> Result<Enlist> {
        let procs = self.group(node)?.procs();
        let descriptors = self.descriptors;
        Ok(Arc::new(move |command: &mut Command| {
            descriptors.give_back(command);
            let procs = procs.clone();
            // SAFETY: what is called between fork and exec opens, writes and closes a file, and allocates nothing.
            unsafe { command.pre_exec(move || Group::enter(&procs)) };
        }))
    }

    fn begin(&mut self, network: &Network) -> Result<()> {
        for node in self.crew.nodes() {
            let group = self.group(&node)?;
            self.crew.fork(network.node(&node)?, &group)?;
        }
        self.crew.go()?;
        if let Some(clock) = self.clock {
            self.begun_s = clock.now_ns()? as f64 / 1e9;
        }
        Ok(())
    }

    fn usage(&mut self, network: &Network) -> Result<Vec<NodeUsage>> {
        let counters = network.link_counters()?;
        let of_crew = self.crew.end();
        let mut usage = Vec::new();
        for name in network.topology().node_names() {
            let own = of_crew.get(name);
            let group = self.groups.known(name);
            let here = counters.iter().filter(|link| link.link.split('>').next() == Some(name));
            usage.push(NodeUsage {
                node: name.to_owned(),
                cpu_ns: group.and_then(Group::cpu_ns).or(own.map(|own| own.cpu_ns)),
                peak_memory_bytes: group
                    .and_then(Group::peak_memory_bytes)
                    .or(own.map(|own| own.peak_memory_bytes)),
                peak_socket_memory_bytes: own
                    .and_then(|own| own.peak_socket_memory_bytes)
                    .or_else(|| group.and_then(Group::socket_memory_bytes)),
                voluntary_context_switches: own.map(|own| own.voluntary_context_switches),
                involuntary_context_switches: own.map(|own| own.involuntary_context_switches),
                queue_dropped_packets: here.map(|link| link.dropped_packets).sum(),
                socket_dropped_packets: report::socket_drops(network.node(name)?),
            });
        }
        Ok(usage)
    }

    fn end(&mut self, network: &Network) -> Result<Guest> {
        let (before, ticks) = self.before.take().ok_or_else(|| Failure::new("the run was never prepared"))?;
        let steal_share = Ticks::now().steal_since(ticks);
        let host = record::Host {
            rights: self.rights.name(),
            accounting: self.groups.accounting.name(),
            delays_by: if self.relays { Some("relay") } else { self.netem.then_some("netem") },
            begun_s: self.begun_s,
            before,
            after: idle::look(),
            steal_share,
            relays: network.relay_counters()?,
            whole_kernel_sysctls: std::mem::take(&mut self.whole_kernel_sysctls),
        };
        Ok(Guest { ground: NAME, host: Some(host), ..Guest::default() })
    }

    fn releases_ahead(&self) -> bool {
        false
    }

    fn scratch(&self) -> PathBuf {
        self.scratch.clone()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Empty by now, or never made.
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}
