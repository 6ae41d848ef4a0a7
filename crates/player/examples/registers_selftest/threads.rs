//! Threads of one address space: system calls, switches, signals, threads that end.

use std::sync::{Barrier, Mutex};
use std::thread;

use crate::block::{self, Call};
use crate::check::{Finding, ensure, unchanged};
use crate::children::{ended_with, in_child, spawn};
use crate::handlers::{self, CHANGED, send, thread_id};
use crate::image::Image;

const YIELD: libc::c_long = libc::SYS_sched_yield;

/// Eight threads that hand the processor to each other at every other call.
pub fn system_calls() -> Finding {
    const THREADS: u64 = 8;
    const ROUNDS: u64 = 3_200;
    let calls = [YIELD, libc::SYS_gettid, YIELD, libc::SYS_getppid].map(|number| Call::new(number, &[]));
    let total = THREADS * ROUNDS * calls.len() as u64;
    in_threads(THREADS, |number| {
        let pattern = Image::pattern(number);
        unchanged(&pattern, &block::run(&pattern, &mut calls.clone(), ROUNDS))
    })?;
    ensure!(total > 100_000, "only {total} system calls were made");
    Ok(format!("{THREADS} threads, {total} system calls"))
}

/// Threads that signal themselves and each other; each handler fills the registers with something else.
pub fn signals() -> Finding {
    const THREADS: usize = 5;
    const ROUNDS: u64 = 400;
    handlers::handle(libc::SIGUSR1, handlers::clobbering, 0);
    let (everyone, ids) = (Barrier::new(THREADS), Mutex::new(vec![0; THREADS]));
    in_threads(THREADS as u64, |number| {
        ids.lock().map_err(|_| "a thread panicked")?[number as usize] = thread_id();
        everyone.wait();
        let next = ids.lock().map_err(|_| "a thread panicked")?[(number as usize + 1) % THREADS];
        let pattern = Image::pattern(100 + number);
        let mut calls = [send(thread_id(), libc::SIGUSR1), send(next, libc::SIGUSR1), Call::new(YIELD, &[])];
        let found = handlers::run_watched(&pattern, &mut calls, ROUNDS);
        everyone.wait();
        unchanged(&pattern, &found)
    })?;
    let called = handlers::called()?;
    ensure!(called > ROUNDS * THREADS as u64, "only {called} signals arrived");
    Ok(format!("{called} signals, {THREADS} threads"))
}

/// A handler that is itself interrupted.
pub fn nested_signals() -> Finding {
    handlers::handle(libc::SIGUSR1, handlers::interrupted, 0);
    handlers::handle(libc::SIGUSR2, handlers::clobbering, 0);
    let pattern = Image::pattern(200);
    let mut calls = [send(thread_id(), libc::SIGUSR1), Call::new(libc::SYS_getppid, &[])];
    let found = handlers::run_watched(&pattern, &mut calls, 200);
    unchanged(&pattern, &found)?;
    let called = handlers::called()?;
    ensure!(called == 400, "{called} signals arrived, not 400");
    Ok(format!("{called} signals"))
}

/// A handler changes a register of what it interrupted.
pub fn changed_frame() -> Finding {
    handlers::handle(libc::SIGUSR1, handlers::changing, 0);
    let pattern = Image::pattern(300);
    let mut expected = pattern.clone();
    expected.0[160 + 16 * 5..160 + 16 * 6].fill(CHANGED);
    let found = block::run(&pattern, &mut [send(thread_id(), libc::SIGUSR1)], 1);
    unchanged(&expected, &found)?;
    Ok("xmm5 is the handler's".into())
}

/// Handlers on a stack of their own: as large as the kernel says that it must be, and too small. Where the processor
/// has no AVX-512 a frame fits on the smallest stack that a program may name; too small is then only tried with the
/// larger state of the other call.
pub fn signal_stacks() -> Finding {
    // SAFETY: getauxval only reads.
    let least = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    ensure!(
        least > 512,
        "the kernel does not say how much a signal takes of a stack (AT_MINSIGSTKSZ: {least})"
    );
    handlers::handle(libc::SIGUSR1, handlers::clobbering, libc::SA_ONSTACK);
    let pattern = Image::pattern(400);
    // Beside the frame: what the handler itself needs.
    let memory = shared_memory(least + 131_072)?;
    use_signal_stack(memory, least + 131_072)?;
    let mut calls = [send(thread_id(), libc::SIGUSR1)];
    let found = handlers::run_watched(&pattern, &mut calls, 50);
    unchanged(&pattern, &found)?;
    let called = handlers::called()?;
    ensure!(called == 50, "{called} signals arrived, not 50");

    let small = libc::MINSIGSTKSZ;
    if least <= small {
        ensure!(
            handlers::FRAME_SIZE.get().is_none(),
            "a frame of {least} bytes, which was asked to be larger, fits on the smallest stack"
        );
        return Ok(format!("a frame takes at most {least} bytes, and fits on every stack"));
    }
    let memory = shared_memory(65_536)?;
    let child = spawn(|| {
        // The stack begins in the middle: what lies below it must stay as it is.
        // SAFETY: within the memory just made.
        use_signal_stack(unsafe { memory.add(32_768) }, small)?;
        block::run(&pattern, &mut [send(thread_id(), libc::SIGUSR1)], 1);
        Err("the signal was delivered".to_owned())
    });
    let ending = ended_with(child)?;
    ensure!(ending == "signal 11", "a frame that did not fit on its stack ended the program with {ending}");
    // SAFETY: within the memory just made, which the child has left.
    let below = unsafe { std::slice::from_raw_parts(memory, 32_768) };
    ensure!(below.iter().all(|&byte| byte == 0), "a frame was written below the signal stack");
    Ok(format!("a frame takes at most {least} bytes"))
}

/// Threads that end with the processor in their hands, while others go on and another process forks.
pub fn ending_threads() -> Finding {
    let forks = spawn(|| {
        let pattern = Image::pattern(500);
        for _ in 0..150 {
            in_child(|| unchanged(&pattern, &block::run(&pattern, &mut [Call::new(YIELD, &[])], 2)))?;
            unchanged(&pattern, &block::run(&pattern, &mut [Call::new(YIELD, &[])], 2))?;
        }
        Ok(())
    });
    let outcome = in_threads(3, |number| {
        let pattern = Image::pattern(510 + number);
        for round in 0..60 {
            let brief = thread::spawn(move || {
                let pattern = Image::pattern(1_000 + 100 * number + round);
                unchanged(&pattern, &block::run(&pattern, &mut [Call::new(YIELD, &[])], 1 + round % 3))
            });
            unchanged(&pattern, &block::run(&pattern, &mut [Call::new(YIELD, &[])], 3))?;
            brief.join().map_err(|_| "a thread panicked".to_owned())??;
        }
        Ok(())
    });
    let ending = ended_with(forks)?;
    outcome?;
    ensure!(ending == "exit 0", "the process that forks ended with {ending}");
    Ok("180 threads came and went, 150 forks elsewhere".into())
}

/// Alarms that interrupt sleeps.
pub fn interrupted_sleeps() -> Finding {
    handlers::handle(libc::SIGALRM, handlers::clobbering, 0);
    let every = libc::timeval { tv_sec: 0, tv_usec: 1_000 };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    let nap = libc::timespec { tv_sec: 0, tv_nsec: 2_500_000 };
    // SAFETY: the structure is as setitimer(2) has it.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
    in_threads(3, |number| {
        let pattern = Image::pattern(600 + number);
        let mut calls = [Call::new(libc::SYS_nanosleep, &[&raw const nap as u64, 0])];
        unchanged(&pattern, &block::run(&pattern, &mut calls, 100))
    })?;
    let called = handlers::called()?;
    ensure!(called > 100, "only {called} alarms went off");
    Ok(format!("{called} alarms"))
}

/// Run `f` in so many threads at once; the first failure is the outcome.
pub fn in_threads(count: u64, f: impl Fn(u64) -> Result<(), String> + Sync) -> Result<(), String> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| {
                let f = &f;
                scope.spawn(move || f(number))
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".into())))
    })
}

/// Memory that forks share, all zero.
pub fn shared_memory(bytes: usize) -> Result<*mut u8, String> {
    let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping where the kernel likes.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, kind, -1, 0) };
    ensure!(memory != libc::MAP_FAILED, "no memory: {}", std::io::Error::last_os_error());
    Ok(memory.cast())
}

fn use_signal_stack(memory: *mut u8, bytes: usize) -> Result<(), String> {
    let stack = libc::stack_t { ss_sp: memory.cast(), ss_flags: 0, ss_size: bytes };
    // SAFETY: the memory lives as long as the process.
    let outcome = unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) };
    ensure!(outcome == 0, "the signal stack was refused: {}", std::io::Error::last_os_error());
    Ok(())
}
