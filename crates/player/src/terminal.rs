//! A program on a terminal: it reads and writes there in place of pipes, and has it as its controlling terminal, so that
//! a shell there controls jobs.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, Result};

/// Has `command` start on the terminal at `place`, in a session of its own.
///
/// # Errors
/// There is no such terminal.
pub fn start_on(command: &mut Command, place: &Path) -> Result<()> {
    let open = || {
        File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOCTTY)
            .open(place)
            .map_err(|error| Failure::io(format_args!("open the terminal {}", place.display()), &error))
    };
    command.stdin(open()?).stdout(open()?).stderr(open()?);
    // SAFETY: what is called between fork and exec are two system calls, and it allocates nothing.
    unsafe { command.pre_exec(take_the_terminal) };
    Ok(())
}

fn take_the_terminal() -> io::Result<()> {
    nix::unistd::setsid()?;
    // SAFETY: the request takes a number and no pointer; standard input is open.
    if unsafe { libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
