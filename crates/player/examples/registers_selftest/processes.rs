//! Processes: fork, vfork, exec, page faults, a debugger.

use std::ffi::{CStr, CString};
use std::process::exit;

use crate::block::{self, AFRESH, Call, Child};
use crate::check::{Finding, ensure, unchanged};
use crate::children::{ended_with, spawn};
use crate::handlers;
use crate::image::Image;
use crate::threads::in_threads;

/// The word by which this program, executed by a check, looks at what it starts with.
pub const LOOK_AFRESH: &str = "look-afresh";

/// Forks by a thread among others: the child has its parent's registers, and neither changes the other's.
pub fn forks() -> Finding {
    in_threads(4, |number| {
        let pattern = Image::pattern(700 + number);
        for _ in 0..40 {
            let mut calls = [Call::new(libc::SYS_fork, &[]), Call::new(libc::SYS_sched_yield, &[])];
            let found = block::run(&pattern, &mut calls, 1);
            if calls[0].result == 0 {
                exit(i32::from(pattern.difference(&found).is_some()));
            }
            unchanged(&pattern, &found)?;
            let ending = ended_with(calls[0].result as libc::pid_t)?;
            ensure!(
                ending == "exit 0",
                "the child of a fork ended with {ending}: not its parent's registers"
            );
        }
        Ok(())
    })?;
    Ok("160 forks by 4 threads".into())
}

/// A child on its parent's memory fills its registers and executes a program: the parent has its own back, the
/// program starts afresh.
pub fn vfork_and_exec() -> Finding {
    let program = Program::this(&[LOOK_AFRESH]);
    in_threads(3, |number| {
        let pattern = Image::pattern(800 + number);
        for _ in 0..15 {
            let mut exec = [
                Call::new(libc::SYS_sched_yield, &[]),
                Call::new(libc::SYS_getppid, &[]),
                program.call(),
                Call::new(libc::SYS_exit, &[99]),
            ];
            let mut child =
                Child { found: Image::empty(), clobber: Image::pattern(900 + number), calls: &mut exec };
            let mut calls = [Call::new(libc::SYS_vfork, &[]), Call::new(libc::SYS_sched_yield, &[])];
            let found = block::run_with_child(&pattern, &mut calls, &mut child);
            unchanged(&pattern, &found)?;
            unchanged(&pattern, &child.found)
                .map_err(|reason| format!("in the child of a vfork, {reason}"))?;
            let ending = ended_with(calls[0].result as libc::pid_t)?;
            ensure!(ending == "exit 0", "the executed program ended with {ending}: it did not start afresh");
        }
        Ok(())
    })?;
    Ok("45 programs started by 3 threads".into())
}

/// A thread executes a program while others run, which ends them.
pub fn exec_among_threads() -> Finding {
    let program = Program::this(&[LOOK_AFRESH]);
    for round in 0..10 {
        let child = spawn(|| {
            in_threads(4, |number| {
                let pattern = Image::pattern(1_700 + number);
                let mut calls = vec![Call::new(libc::SYS_sched_yield, &[]); 5 + round];
                if number == 2 {
                    calls.push(program.call());
                }
                unchanged(&pattern, &block::run(&pattern, &mut calls, 1_000_000))
            })
        });
        let ending = ended_with(child)?;
        ensure!(ending == "exit 0", "the executed program ended with {ending}: it did not start afresh");
    }
    Ok("10 programs started among 4 threads".into())
}

/// Pages that are not there, that are shared with a child, or that are mapped anew between two faults.
pub fn page_faults() -> Finding {
    const PAGES: usize = 64;
    in_threads(3, |number| {
        let pattern = Image::pattern(1_100 + number);
        let memory = private_memory(PAGES * 4096)?;
        // SAFETY: within the memory just made, here and below.
        let page = |i: usize| unsafe { memory.add(i * 4096) };
        let mut calls: Vec<Call> = (0..PAGES).map(|i| Call::touch(page(i))).collect();
        unchanged(&pattern, &block::run(&pattern, &mut calls, 1))?;

        // Both sides of a fork write to pages that they share until then.
        calls.insert(0, Call::new(libc::SYS_fork, &[]));
        let found = block::run(&pattern, &mut calls, 1);
        if calls[0].result == 0 {
            exit(i32::from(pattern.difference(&found).is_some()));
        }
        unchanged(&pattern, &found)?;
        let ending = ended_with(calls[0].result as libc::pid_t)?;
        ensure!(ending == "exit 0", "a child that writes to shared pages ended with {ending}");

        let none = libc::PROT_NONE as u64;
        let all = (libc::PROT_READ | libc::PROT_WRITE) as u64;
        let mut calls = Vec::new();
        for i in 0..PAGES {
            let at = page(i) as u64;
            let kind = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED) as u64;
            calls.extend([
                Call::new(libc::SYS_munmap, &[at, 4096]),
                Call::new(libc::SYS_mmap, &[at, 4096, none, kind, u64::MAX, 0]),
                Call::new(libc::SYS_mprotect, &[at, 4096, all]),
                Call::touch(page(i)),
                Call::new(libc::SYS_sched_yield, &[]),
            ]);
        }
        unchanged(&pattern, &block::run(&pattern, &mut calls, 2))
    })?;
    Ok("3 threads, 64 pages each, four times".into())
}

/// A program that mends its faults itself.
pub fn faults_of_the_program() -> Finding {
    handlers::handle(libc::SIGSEGV, handlers::unprotecting, 0);
    let memory = private_memory(64 * 4096)?;
    // SAFETY: the memory just made.
    unsafe { libc::mprotect(memory.cast(), 64 * 4096, libc::PROT_READ) };
    let pattern = Image::pattern(1_200);
    // SAFETY: within the memory just made.
    let mut calls: Vec<Call> = (0..64).map(|i| Call::touch(unsafe { memory.add(i * 4096) })).collect();
    let found = handlers::run_watched(&pattern, &mut calls, 1);
    unchanged(&pattern, &found)?;
    let called = handlers::called()?;
    ensure!(called == 64, "{called} faults were reported, not 64");
    Ok(format!("{called} faults"))
}

/// A debugger reads and writes the x87 and SSE registers of a stopped program.
pub fn debugger() -> Finding {
    let (before, other) = (Image::pattern(1_300), Image::pattern(1_301));
    let after = before.with_legacy_of(&other);
    let child = spawn(|| {
        // SAFETY: asks to be traced; nothing is passed.
        unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
        let mut calls = [
            Call::new(libc::SYS_getppid, &[]),
            handlers::send(handlers::thread_id(), libc::SIGSTOP),
            Call::new(libc::SYS_getppid, &[]),
        ];
        unchanged(&after, &block::run(&before, &mut calls, 1))
    });
    let mut status = 0;
    // SAFETY: waits for the child just made.
    unsafe { libc::waitpid(child, &raw mut status, libc::WUNTRACED) };
    ensure!(libc::WIFSTOPPED(status), "the traced program did not stop (status {status:#x})");

    let mut seen = Box::new(before.as_ref().clone());
    let mut bytes = [0_u8; 512];
    let ask = |request: libc::c_uint, data: *mut u8| {
        // SAFETY: both requests move 512 bytes, which `bytes` has.
        unsafe { libc::ptrace(request, child, std::ptr::null_mut::<u8>(), data) }
    };
    ensure!(ask(libc::PTRACE_GETFPREGS, bytes.as_mut_ptr()) == 0, "the registers cannot be read");
    seen.0[..464].copy_from_slice(&bytes[..464]);
    unchanged(&before, &seen).map_err(|reason| format!("the debugger reads that {reason}"))?;

    let mut refused = bytes;
    refused[24..28].fill(0xff);
    ensure!(ask(libc::PTRACE_SETFPREGS, refused.as_mut_ptr()) == -1, "an MXCSR that cannot be was taken");
    bytes[..464].copy_from_slice(&other.0[..464]);
    ensure!(ask(libc::PTRACE_SETFPREGS, bytes.as_mut_ptr()) == 0, "the registers cannot be written");
    // SAFETY: lets the stopped child go on.
    unsafe { libc::ptrace(libc::PTRACE_CONT, child, 0, 0) };
    let ending = ended_with(child)?;
    ensure!(ending == "exit 0", "the traced program ended with {ending}");
    Ok("read, and written".into())
}

/// What `LOOK_AFRESH` does: the program's exit code says whether its control words are as they must be.
pub fn look_afresh() -> ! {
    let words = block::control_words();
    if words != AFRESH {
        println!("a program starts with control words {words:x?}, not {AFRESH:x?}");
    }
    exit(i32::from(words != AFRESH))
}

fn private_memory(bytes: usize) -> Result<*mut u8, String> {
    let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping where the kernel likes.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, kind, -1, 0) };
    ensure!(memory != libc::MAP_FAILED, "no memory: {}", std::io::Error::last_os_error());
    Ok(memory.cast())
}

/// A program with its arguments, ready for `execve`.
struct Program {
    path: &'static CStr,
    arguments: Vec<*const libc::c_char>,
    _words: Vec<CString>,
}

// SAFETY: the pointers are to strings that the same structure owns and nobody changes.
unsafe impl Sync for Program {}

impl Program {
    fn this(words: &[&str]) -> Self {
        let path = c"/proc/self/exe";
        let words: Vec<CString> = words.iter().filter_map(|word| CString::new(*word).ok()).collect();
        let mut arguments = vec![path.as_ptr()];
        arguments.extend(words.iter().map(|word| word.as_ptr()));
        arguments.push(std::ptr::null());
        Self { path, arguments, _words: words }
    }

    /// The call that executes it, with an empty environment.
    fn call(&self) -> Call {
        let last = &raw const self.arguments[self.arguments.len() - 1];
        Call::new(libc::SYS_execve, &[self.path.as_ptr() as u64, self.arguments.as_ptr() as u64, last as u64])
    }
}
