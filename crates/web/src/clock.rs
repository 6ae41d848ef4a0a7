//! Instants and processor time, as the kernel counts them.

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds of CLOCK_MONOTONIC: the same clock for all processes of the machine.
pub fn now_ns() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Nanoseconds of processor time that this process has used, in its own code and in the kernel's: what getrusage
/// counts, without being rounded to microseconds.
pub fn cpu_ns() -> u64 {
    read(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock).expect("Linux has both clocks");
    let part = |part: i64| u64::try_from(part).expect("neither clock goes below zero");
    part(time.tv_sec()) * 1_000_000_000 + part(time.tv_nsec())
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::{cpu_ns, now_ns};

    #[test]
    fn work_takes_both_kinds_of_time() {
        let (before_ns, cpu_before_ns) = (now_ns(), cpu_ns());
        let sum: u64 = (0..2_000_000_u64).map(black_box).sum();
        assert!(black_box(sum) > 0);
        assert!(now_ns() > before_ns);
        assert!(cpu_ns() > cpu_before_ns);
    }
}
