//! Checks that the guest kernel keeps the extended state of every thread (x87, MXCSR, SSE, AVX, AVX-512): over system
//! calls, switches, signals, faults, forks and ends of others. Runs as the first process of a guest, or anywhere; prints
//! one line a check, then `selftest: N passed, M failed`. The argument `frame=N` says how many bytes of state signal
//! frames must hold, where that is not what the processor has.

#[path = "../../../netlab/examples/common/mod.rs"]
mod common;

mod block;
mod check;
mod children;
mod handlers;
mod image;
mod processes;
mod threads;

use check::Check;

const CHECKS: &[Check] = &[
    ("registers: kept over system calls and switches of threads", threads::system_calls),
    ("registers: kept over signals whose handlers fill them", threads::signals),
    ("registers: kept in a handler that is interrupted", threads::nested_signals),
    ("registers: a handler can change those of what it interrupted", threads::changed_frame),
    ("registers: signal frames on stacks of their own", threads::signal_stacks),
    ("registers: kept while other threads end", threads::ending_threads),
    ("registers: kept over interrupted sleeps", threads::interrupted_sleeps),
    ("registers: inherited over a fork", processes::forks),
    ("registers: kept over vfork, afresh after exec", processes::vfork_and_exec),
    ("registers: afresh after exec among threads", processes::exec_among_threads),
    ("registers: kept over page faults", processes::page_faults),
    ("registers: kept over faults that the program mends", processes::faults_of_the_program),
    ("registers: read and written by a debugger", processes::debugger),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == processes::LOOK_AFRESH) {
        processes::look_afresh();
    }
    if let Some(size) = words.iter().find_map(|word| word.strip_prefix("frame=")?.parse().ok()) {
        handlers::FRAME_SIZE.get_or_init(|| size);
    }
    common::run_as_first_process(|| {
        let mut passed = 0;
        for (name, check) in CHECKS {
            // Each in a process of its own: one that is killed takes no other with it.
            let outcome = children::in_child(|| {
                let finding = check()?;
                println!("ok    {name}: {finding}");
                Ok(())
            });
            match outcome {
                Ok(()) => passed += 1,
                Err(reason) => println!("FAIL  {name}: {reason}"),
            }
        }
        println!("selftest: {passed} passed, {} failed", CHECKS.len() - passed);
        Ok(())
    });
}
