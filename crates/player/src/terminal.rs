//! A program on a terminal: it reads and writes there in place of pipes, and has it as its controlling terminal, so that
//! a shell there controls jobs.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::{SigHandler, SigSet, Signal, signal};

use crate::failure::{Failure, Result};

/// What the keys and the end of a terminal send, and what asks a program to end. Whoever started the player may have had
/// it ignore some (a shell does so for what it runs by `&`, `nohup` too), and what is ignored stays so in all that a
/// program starts: Ctrl-C would end nothing.
const SIGNALS: [Signal; 7] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
];

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
    // SAFETY: what is called between fork and exec are system calls, and it allocates nothing.
    unsafe { command.pre_exec(take_the_terminal) };
    Ok(())
}

fn take_the_terminal() -> io::Result<()> {
    nix::unistd::setsid()?;
    // SAFETY: the request takes a number and no pointer; standard input is open.
    if unsafe { libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    for it in SIGNALS {
        // SAFETY: no handler is set, what the kernel does by default is.
        unsafe { signal(it, SigHandler::SigDfl) }?;
    }
    SigSet::empty().thread_set_mask()?;
    Ok(())
}
