//! The virtual ground: this program is the first process of a guest kernel in virtual time. Everything that knows of
//! that is in this folder: file systems, memory, powering off, and that waiting costs nothing.

mod boot;
mod memory;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use netlab::{BuildOptions, Network, Node, RunClock};
use nix::time::ClockId;
use transports::Context;

use super::{Enlist, Ground, Half, Noted, Time, Wait};
use crate::descriptors::Descriptors;
use crate::failure::Result;
use crate::gate::Pass;
use crate::plan::Run;
use crate::record::{Guest, NodeUsage};

/// Its name in a record.
const NAME: &str = "virtual";

/// In memory, and at the same place in every run: a path on the host would differ from run to run, and with it the
/// memory layout of the programs.
const SCRATCH: &str = "/run/gauntlet";

/// The guest kernel.
pub struct Virtual {
    descriptors: Descriptors,
}

/// Whether this process is the first one of a kernel.
pub fn is_here() -> bool {
    std::process::id() == 1
}

/// What has to be done before anything else, while there is one thread.
pub fn prepare_the_process() {
    #[cfg(feature = "quiche")]
    leave_the_processors_random_numbers_alone();
}

/// Has BoringSSL believe that this processor has no RDRAND, which it would use on Intel's: all its randomness comes from
/// the kernel then, and with it from the run's seed.
#[cfg(feature = "quiche")]
fn leave_the_processors_random_numbers_alone() {
    /// Bits of CPUID that are to be cleared: RDRAND is bit 30 of ECX, which BoringSSL has in the upper half of its first
    /// number (crypto/cpu_intel.cc).
    const NO_RDRAND: &str = "~0x4000000000000000";
    // SAFETY: this is the first thing that the process does; there is no other thread yet that could read the
    // environment meanwhile.
    unsafe { std::env::set_var("OPENSSL_ia32cap", NO_RDRAND) };
}

/// Has memory come in large pieces; to be called before the first thread starts.
///
/// # Errors
/// The kernel refuses.
pub fn get_memory_in_large_pieces() -> Result<()> {
    memory::get_in_large_pieces()
}

/// Suits the memory to the flows of the largest run; to be called before the first of them starts.
///
/// # Errors
/// The kernel refuses.
pub fn suit_memory_to(flows: usize) -> Result<()> {
    memory::suit(flows)
}

/// Makes the bare guest a place where programs run, in which each of `writable` can be written.
///
/// # Errors
/// The kernel refuses a mount.
pub fn boot(writable: &[&Path]) -> Result<Virtual> {
    boot::prepare(writable)?;
    Ok(Virtual { descriptors: Descriptors::now() })
}

/// Ends the guest; the records are on the host by then.
pub fn power_off() -> ! {
    boot::power_off()
}

impl Ground for Virtual {
    fn name(&self) -> &'static str {
        NAME
    }

    fn clock(&mut self) -> Result<Time> {
        start_at_a_whole_second();
        Ok(Time { clock: RunClock::start()?, stands_still: true, quiet_ns: Context::DEFAULT_QUIET_NS })
    }

    fn prepare(&mut self, run: &Run) -> Result<BuildOptions> {
        self.descriptors.suffice_for(run.flows.len());
        Ok(BuildOptions { seed: run.seed, sysctls: run.sysctls.clone(), ..BuildOptions::default() })
    }

    fn spawn_in_node(
        &mut self,
        node: &Node,
        _flow: usize,
        half: Half,
        gate: &Pass,
        ended: &Sender<()>,
    ) -> Result<Wait> {
        let ended = ended.clone();
        let thread = match half {
            Half::Receiver(server) => {
                let gate = gate.clone();
                node.spawn("receiver", move || {
                    memory::lay_the_stack();
                    // Ends the sender too, which does nothing without a receiver.
                    if !gate.wait() {
                        server.call_off("the run could not be started");
                    }
                    let result = server.run();
                    let _ = ended.send(());
                    Noted::Received(result)
                })?
            }
            Half::Sender(client) => node.spawn("sender", move || {
                memory::lay_the_stack();
                let result = client.run();
                let _ = ended.send(());
                Noted::Sent(result)
            })?,
        };
        Ok(Box::new(move || thread.join().ok()))
    }

    fn enlist(&mut self, _node: &str) -> Result<Enlist> {
        let descriptors = self.descriptors;
        Ok(Arc::new(move |command: &mut Command| descriptors.give_back(command)))
    }

    fn begin(&mut self, _network: &Network) -> Result<()> {
        Ok(())
    }

    fn usage(&mut self, _network: &Network) -> Result<Vec<NodeUsage>> {
        Ok(Vec::new())
    }

    fn end(&mut self, _network: &Network) -> Result<Guest> {
        Ok(Guest { ground: NAME, ..Guest::default() })
    }

    fn releases_ahead(&self) -> bool {
        true
    }

    fn scratch(&self) -> PathBuf {
        SCRATCH.into()
    }
}

/// Runs start at the same phase of the kernel's ticks, however long their network took to build.
fn start_at_a_whole_second() {
    let now = nix::time::clock_gettime(ClockId::CLOCK_MONOTONIC).map(|t| t.tv_nsec()).unwrap_or(0);
    std::thread::sleep(Duration::from_nanos(1_000_000_000 - now as u64 % 1_000_000_000));
}
