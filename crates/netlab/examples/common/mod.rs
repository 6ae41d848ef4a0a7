//! What a program has to do that runs as the first process of a guest kernel.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};

/// Prepares the guest, runs `f`, prints its failure if it has one, and powers the guest off.
pub fn run_as_first_process(f: impl FnOnce() -> Result<(), Box<dyn std::error::Error>>) {
    let outcome = prepare().map_err(Into::into).and_then(|()| {
        catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| Err("the program panicked".into()))
    });
    if let Err(e) = outcome {
        println!("failed: {e}");
    }
    if std::process::id() == 1 {
        let Err(e) = reboot(RebootMode::RB_POWER_OFF);
        println!("cannot power off: {e}");
    }
}

fn prepare() -> nix::Result<()> {
    if std::process::id() != 1 {
        return Ok(());
    }
    for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/tmp")] {
        mount(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>)?;
    }
    Ok(())
}
