//! Makes the bare guest a place where ordinary programs run: file systems, loopback, limits.
//!
//! The root is the host's file tree, read-only. Folders that the run may write are mounted over themselves, writable.

use std::fs;
use std::path::Path;

use nix::mount::{MsFlags, mount};

use crate::failure::{Failure, Result};

/// Mounts what a Linux user space expects, and makes each of `writable` writable at its own path.
pub(super) fn prepare(writable: &[&Path]) -> Result<()> {
    virtual_file_system("proc", "/proc", "")?;
    virtual_file_system("sysfs", "/sys", "")?;
    virtual_file_system("devtmpfs", "/dev", "mode=0755")?;
    fs::create_dir_all("/dev/pts").map_err(|error| Failure::io("make the folder /dev/pts", &error))?;
    virtual_file_system("devpts", "/dev/pts", "ptmxmode=0666")?;
    fs::create_dir_all("/dev/shm").map_err(|error| Failure::io("make the folder /dev/shm", &error))?;
    virtual_file_system("tmpfs", "/dev/shm", "mode=1777")?;
    virtual_file_system("tmpfs", "/run", "mode=0755")?;
    for folder in writable {
        host_folder(folder)?;
    }
    Ok(())
}

/// Ends the guest; the records are on the host by then.
pub(super) fn power_off() -> ! {
    nix::unistd::sync();
    let error = nix::sys::reboot::reboot(nix::sys::reboot::RebootMode::RB_POWER_OFF).unwrap_err();
    // Returning from the first process makes the kernel panic, which the host sees as a dead guest.
    eprintln!("the guest could not be powered off: {error}");
    std::process::exit(1)
}

fn virtual_file_system(kind: &str, place: &str, options: &str) -> Result<()> {
    mount(Some(kind), place, Some(kind), MsFlags::empty(), Some(options))
        .map_err(|error| Failure::new(format!("could not mount {kind} at {place}: {}", error.desc())))
}

fn host_folder(folder: &Path) -> Result<()> {
    let place = folder.to_str().ok_or_else(|| {
        Failure::new(format!(
            "the folder {} cannot be made writable: its name is not UTF-8",
            folder.display()
        ))
    })?;
    mount(Some("none"), place, Some("hostfs"), MsFlags::empty(), Some(place)).map_err(|error| {
        Failure::new(format!("could not make {place} writable in the guest: {}", error.desc()))
    })
}
