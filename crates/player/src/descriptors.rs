//! How many files this process may have open: flows are threads of one process, each with sockets of its own.

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// Of a flow: what listens, a socket at each end, what wakes them, and as many again for a session that follows before
/// the last one is gone.
const OF_A_FLOW: rlim_t = 8;
/// The network, the records, the console, programs.
const BESIDE: rlim_t = 256;

/// The limit that this process was started with, and how much of a run is beyond it.
#[derive(Debug, Clone, Copy)]
pub struct Descriptors {
    soft: rlim_t,
    hard: rlim_t,
    raised: bool,
}

impl Descriptors {
    /// As they are, before anything is raised.
    pub fn now() -> Descriptors {
        // RLIMIT_NOFILE is a limit that every kernel has.
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 4096));
        Descriptors { soft, hard, raised: false }
    }

    /// Has as many as a run of so many flows takes, if the kernel allows it; what this process was started with, if
    /// that is enough, so that a run is the same behind a larger one.
    pub fn suffice_for(&mut self, flows: usize) {
        let wanted = BESIDE + OF_A_FLOW * flows as rlim_t;
        let _ = set(self.soft, self.hard);
        self.raised = wanted > self.soft
            && (set(wanted, wanted.max(self.hard)).is_ok() || set(wanted.min(self.hard), self.hard).is_ok());
    }

    /// Gives a program of the user's own the limit that this process was started with: some walk through all numbers
    /// below it, others have a bit for each and no more than 1,024 of them (select(2)).
    pub fn give_back(self, command: &mut Command) {
        if self.raised {
            // SAFETY: what is called between fork and exec is one system call, which allocates nothing.
            unsafe { command.pre_exec(move || Ok(set(self.soft, self.hard)?)) };
        }
    }
}

fn set(soft: rlim_t, hard: rlim_t) -> Result<(), Errno> {
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard)
}
