//! Children of this program, in which checks run.

use std::process::exit;

use crate::check::ensure;

/// Run `f` in a child of its own, which prints why it failed; its number.
pub fn spawn(f: impl FnOnce() -> Result<(), String>) -> libc::pid_t {
    // SAFETY: the child goes on in this program, on its copy of the memory.
    let child = unsafe { libc::fork() };
    if child == 0 {
        exit(match f() {
            Ok(()) => 0,
            Err(reason) => {
                println!("      {reason}");
                1
            }
        });
    }
    child
}

/// Run `f` in a child and wait for its end.
pub fn in_child(f: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let ending = ended_with(spawn(f))?;
    ensure!(ending == "exit 0", "a child ended with {ending}");
    Ok(())
}

/// How a child ended, in words: `exit 0`, `signal 11`.
pub fn ended_with(child: libc::pid_t) -> Result<String, String> {
    ensure!(child > 0, "no child could be made: {}", std::io::Error::from_raw_os_error(-child));
    let mut status = 0;
    // SAFETY: writes the status.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    ensure!(waited == child, "the child cannot be waited for: {}", std::io::Error::last_os_error());
    Ok(if libc::WIFSIGNALED(status) {
        format!("signal {}", libc::WTERMSIG(status))
    } else {
        format!("exit {}", libc::WEXITSTATUS(status))
    })
}
