//! A processor of stated speed: what a server computes costs nothing in virtual time by itself, so its costs are charged
//! here.
//!
//! ```text
//!   flow 1 ─┐
//!   flow 2 ─┼─▶ jobs, in the order in which they came ─▶ one processor ─▶ answers
//!   flow 3 ─┘
//! ```
//!
//! All ends that listen in a node share one. An end that has a job sleeps until that is done, and the next one, whose
//! ever it is, begins just then: the processor never rests while a job waits, does one at a time and interrupts none.
//! Ends that open sessions compute for nothing, and so does the kernel (`docs/decisions/0013-a-processor-in-virtual-time.md`).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::clock::Clock;

/// What work costs, in nanoseconds of the processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Costs {
    /// A session that is accepted.
    pub handshake_ns: u64,
    /// A request that is answered.
    pub request_ns: u64,
    /// A packet that comes or leaves.
    pub packet_ns: u64,
}

/// What a processor has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ProcessorUsage {
    /// Sessions that were accepted.
    pub handshakes: u64,
    /// Requests that were answered.
    pub requests: u64,
    /// Packets that were charged.
    pub packets: u64,
    /// Jobs that these were done in.
    pub jobs: u64,
    /// Time in which it computed.
    pub busy_ns: i64,
    /// For how long all jobs together waited for their turn.
    pub waited_ns: i64,
    /// For how long one did at most.
    pub longest_wait_ns: i64,
    /// Most jobs at once, the one that was being done among them.
    pub longest_queue: u64,
}

/// What is to be done in one go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Work {
    handshakes: u64,
    requests: u64,
    packets: u64,
}

impl Costs {
    fn of(&self, work: Work) -> i64 {
        let Costs { handshake_ns, request_ns, packet_ns } = *self;
        let costs = [(handshake_ns, work.handshakes), (request_ns, work.requests), (packet_ns, work.packets)];
        let sum =
            costs.into_iter().fold(0_u64, |sum, (ns, many)| sum.saturating_add(ns.saturating_mul(many)));
        i64::try_from(sum).unwrap_or(i64::MAX)
    }
}

/// The jobs of a processor, without a clock: the first that comes is the first that is done.
#[derive(Debug, Default)]
struct Queue {
    /// When all jobs so far are done.
    free_ns: i64,
    /// When each job is done that may not be yet, the oldest first.
    ends_ns: VecDeque<i64>,
    usage: ProcessorUsage,
}

impl Queue {
    /// A job comes at `now_ns`: when it is done.
    fn take(&mut self, now_ns: i64, cost_ns: i64) -> i64 {
        let begins_ns = self.free_ns.max(now_ns);
        if cost_ns == 0 {
            return begins_ns;
        }
        while self.ends_ns.front().is_some_and(|end_ns| *end_ns <= now_ns) {
            self.ends_ns.pop_front();
        }
        let waits_ns = begins_ns - now_ns;
        self.free_ns = begins_ns.saturating_add(cost_ns);
        self.ends_ns.push_back(self.free_ns);
        let usage = &mut self.usage;
        usage.jobs += 1;
        usage.busy_ns = usage.busy_ns.saturating_add(cost_ns);
        usage.waited_ns = usage.waited_ns.saturating_add(waits_ns);
        usage.longest_wait_ns = usage.longest_wait_ns.max(waits_ns);
        usage.longest_queue = usage.longest_queue.max(self.ends_ns.len() as u64);
        self.free_ns
    }

    /// What it has done by `now_ns`: what it still has to compute is not computed yet.
    fn usage(&self, now_ns: i64) -> ProcessorUsage {
        let left_ns = (self.free_ns - now_ns).max(0);
        ProcessorUsage { busy_ns: (self.usage.busy_ns - left_ns).max(0), ..self.usage }
    }
}

/// The one processor of a node.
#[derive(Debug)]
pub struct Processor {
    clock: Clock,
    /// Nobody waits for a job any longer then.
    limit_ns: i64,
    costs: Costs,
    queue: Mutex<Queue>,
}

impl Processor {
    /// One that has nothing to do yet, of a run that ends at `limit_ns`.
    pub fn new(clock: Clock, limit_ns: i64, costs: Costs) -> Self {
        Self { clock, limit_ns, costs, queue: Mutex::default() }
    }

    /// What it has done so far.
    pub fn usage(&self) -> ProcessorUsage {
        let now_ns = self.clock.now_ns();
        self.queue().usage(now_ns)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has work done: returns when it is, with the time then.
    fn work(&self, work: Work) -> i64 {
        let now_ns = self.clock.now_ns();
        let until_ns = {
            let mut queue = self.queue();
            queue.usage.handshakes += work.handshakes;
            queue.usage.requests += work.requests;
            queue.usage.packets += work.packets;
            queue.take(now_ns, self.costs.of(work)).min(self.limit_ns)
        };
        if until_ns <= now_ns { now_ns } else { self.clock.sleep_until(until_ns) }
    }
}

/// The place of a flow's listening end at the processor of its node.
///
/// Whoever answers waits for the whole of the job that the answer takes: a new session's, or a request's. Packets alone
/// are worked through at once and owed; the next job has them too, and where none comes the next packets wait for them.
/// So one turn of an end is one job, and the processor has all that there was to do.
#[derive(Debug)]
pub struct Workplace {
    processor: Arc<Processor>,
    owed_packets: AtomicU64,
}

impl Workplace {
    /// A place at a processor.
    pub fn new(processor: &Arc<Processor>) -> Self {
        Self { processor: Arc::clone(processor), owed_packets: AtomicU64::new(0) }
    }

    /// The first bytes of so many sessions came, in so many packets.
    pub(crate) fn sessions(&self, handshakes: u64, packets: u64) {
        self.work(Work { handshakes, packets, ..Work::default() });
    }

    /// A request came: returns when it is to be answered.
    pub(crate) fn request(&self) -> i64 {
        self.work(Work { requests: 1, ..Work::default() })
    }

    /// Whether packets cost anything.
    pub(crate) fn counts_packets(&self) -> bool {
        self.processor.costs.packet_ns > 0
    }

    /// Packets came or left, and none of them opened a session.
    pub(crate) fn packets(&self, packets: u64) {
        if packets == 0 || !self.counts_packets() {
            return;
        }
        if self.owed_packets.load(Ordering::Relaxed) > 0 {
            self.work(Work::default());
        }
        self.owed_packets.fetch_add(packets, Ordering::Relaxed);
    }

    /// Has work done, with what is owed.
    fn work(&self, work: Work) -> i64 {
        let packets = work.packets + self.owed_packets.swap(0, Ordering::Relaxed);
        let packets = if self.counts_packets() { packets } else { 0 };
        self.processor.work(Work { packets, ..work })
    }
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn jobs_are_done_one_after_the_other_and_none_waits_for_an_idle_processor() {
        let mut queue = Queue::default();
        let done: Vec<_> = [(0, 10), (3, 10), (19, 5), (40, 5)]
            .into_iter()
            .map(|(now_ms, cost_ms)| queue.take(now_ms * MS, cost_ms * MS) / MS)
            .collect();
        assert_eq!(done, [10, 20, 25, 45]);
        let expected = ProcessorUsage {
            jobs: 4,
            busy_ns: 30 * MS,
            waited_ns: 8 * MS,
            longest_wait_ns: 7 * MS,
            longest_queue: 2,
            ..ProcessorUsage::default()
        };
        assert_eq!(queue.usage(45 * MS), expected);
        // Two thirds of the last job are not done yet.
        assert_eq!(queue.usage(42 * MS).busy_ns, 27 * MS);
    }

    #[test]
    fn what_costs_nothing_waits_for_its_turn_and_is_no_job() {
        let mut queue = Queue::default();
        assert_eq!(queue.take(5, 0), 5);
        queue.take(5, 10);
        assert_eq!(queue.take(6, 0), 15);
        assert_eq!((queue.usage(20).jobs, queue.usage(20).longest_queue), (1, 1));
    }

    #[test]
    fn costs_add_up_and_do_not_overflow() {
        let costs = Costs { handshake_ns: 100, request_ns: 10, packet_ns: 1 };
        assert_eq!(costs.of(Work { handshakes: 2, requests: 3, packets: 4 }), 234);
        let costs = Costs { handshake_ns: u64::MAX, ..costs };
        assert_eq!(costs.of(Work { handshakes: 2, ..Work::default() }), i64::MAX);
    }

    /// The mean time that a job waits when jobs of one cost come by a Poisson process, in costs of a job.
    fn mean_wait(load: f64, jobs: u64, seed: u64) -> f64 {
        const COST_NS: i64 = 18_400_000;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut queue = Queue::default();
        let mut now_s = 0.0;
        for _ in 0..jobs {
            let uniform = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            now_s -= (1.0 - uniform).ln() * COST_NS as f64 / 1e9 / load;
            queue.take((now_s * 1e9) as i64, COST_NS);
        }
        let usage = queue.usage(i64::MAX);
        let utilisation = usage.busy_ns as f64 / (now_s * 1e9);
        assert!((utilisation / load - 1.0).abs() < 0.01, "{utilisation} instead of {load}");
        usage.waited_ns as f64 / jobs as f64 / COST_NS as f64
    }

    #[test]
    fn jobs_that_come_at_random_wait_as_long_as_queueing_theory_says() {
        // M/D/1 (Pollaczek and Khinchine): load / (2 (1 - load)) costs of a job, on average.
        for (load, expected) in [(0.3, 0.214_286), (0.5, 0.5), (0.8, 2.0)] {
            for seed in [1, 2, 3] {
                let waited = mean_wait(load, 400_000, seed);
                assert!((waited / expected - 1.0).abs() < 0.05, "load {load}, seed {seed}: {waited}");
            }
        }
    }

    fn workplace(costs: Costs) -> (Arc<Processor>, Workplace) {
        let processor = Arc::new(Processor::new(Clock::starting_now(false), i64::MAX, costs));
        let workplace = Workplace::new(&processor);
        (processor, workplace)
    }

    #[test]
    fn packets_are_owed_until_the_next_job_has_them() {
        let (processor, workplace) = workplace(Costs { packet_ns: 1, request_ns: 5, ..Costs::default() });
        workplace.packets(3);
        assert_eq!(processor.usage().jobs, 0);
        workplace.request();
        let usage = processor.usage();
        assert_eq!((usage.jobs, usage.requests, usage.packets), (1, 1, 3));
        // Where no job comes the next packets wait for those before them.
        workplace.packets(2);
        workplace.packets(4);
        assert_eq!((processor.usage().jobs, processor.usage().packets), (2, 5));
    }

    #[test]
    fn a_job_is_over_when_its_cost_has_passed_and_no_earlier() {
        let (processor, workplace) = workplace(Costs { handshake_ns: 20 * MS as u64, ..Costs::default() });
        let begun_ns = processor.clock.now_ns();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| workplace.sessions(1, 1));
            }
        });
        assert!(processor.clock.now_ns() - begun_ns >= 40 * MS, "two jobs were done at once");
        let usage = processor.usage();
        assert_eq!((usage.handshakes, usage.jobs), (2, 2));
        assert_eq!(usage.packets, 0, "packets that cost nothing are not counted");
        assert_eq!(usage.busy_ns, 40 * MS);
    }

    #[test]
    fn nobody_waits_beyond_the_limit_of_the_run() {
        let clock = Clock::starting_now(false);
        let costs = Costs { handshake_ns: 3600 * 1_000_000_000, ..Costs::default() };
        let processor = Arc::new(Processor::new(clock, 5 * MS, costs));
        Workplace::new(&processor).sessions(1, 1);
        assert!(processor.usage().busy_ns < 3600 * 1_000_000_000);
    }
}
