//! One message after a gap: what its sender spends, and after a gap again what its receiver spends.
//!
//! The unit is a cell: a security, a length and a gap. In each block every cell has its turn once, in random order, with
//! all its samples of the block in a row, so that the gap before a sample is the gap since the same cell's work. A first
//! exchange of each turn is thrown away.
//!
//! Turns with the same long gap are taken together, each in the gaps of the others: one thread has them step one after
//! the other, spread evenly over the gap, so that no two are ever timed at once.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use flight_links::suite::Security;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::arms::Arm;
use super::rows::{Outcome, Rows};
use super::schedule::Schedule;
use super::turn::{Cell, Log, Turn};

/// What is measured.
pub struct Plan {
    /// What is compared.
    pub arms: Vec<Arm>,
    /// How often.
    pub schedule: Schedule,
    /// Only this block of all; all, if none was named.
    pub block: Option<usize>,
}

pub const HEADING: &str = "security,provider,cipher,payload_octets,gap_ms,block,order,operation,total_ns,crypto_ns,\
crypto_calls,system_ns,upkeep_ns,datagrams,datagram_octets,rested_ns,quiet_ns";

/// Turns together that rest longer than this are told when they begin.
const TOLD: Duration = Duration::from_secs(5);

/// Measures, and prints a row a sample. The order of a block follows from the seed and the block alone, so that blocks can
/// be measured by processes of their own.
pub fn run(plan: &Plan, seed: u64) -> Outcome {
    let Plan { arms, schedule, block } = plan;
    let all = schedule.blocks();
    if let Some(block) = block.filter(|block| *block >= all) {
        return Err(format!("there is no block {block}: the first is 0, the last {}", all - 1));
    }
    let blocks = block.map_or(0..all, |block| block..block + 1);
    let cells: Vec<_> = arms
        .iter()
        .flat_map(|arm| {
            schedule.cells(arm.rank).into_iter().map(move |(payload, gap)| Cell { arm, payload, gap })
        })
        .collect();
    let mut log = Log { rows: Rows::new(HEADING)?, order: 0, block: 0, worked: Instant::now() };
    let mut refused = Refused::default();
    for block in blocks.clone() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(1000) + block as u64);
        let mut cells = cells.clone();
        shuffle(&mut cells, &mut rng);
        let mut companies = companies(&cells, schedule);
        shuffle(&mut companies, &mut rng);
        if block == blocks.start {
            let rest: Duration = companies.iter().map(|company| resting(company)).sum();
            eprintln!(
                "flight-bench: {} cells in {} blocks; {:.0} s of gaps, and what the work takes",
                cells.len(),
                blocks.len(),
                rest.as_secs_f64() * blocks.len() as f64
            );
        }
        (log.block, log.order) = (block, 0);
        for company in companies {
            let rest = resting(&company);
            if rest >= TOLD {
                let (turns, gap) = (company.len(), company[0].gap.length.as_millis());
                eprintln!("flight-bench: {turns} turns with gaps of {gap} ms: {:.0} s", rest.as_secs_f64());
            }
            together(&company, &mut log, &mut refused)?;
        }
    }
    if log.order == 0 {
        return Err("nothing was measured: the messages fit no security that was to be measured".to_owned());
    }
    log.rows.finish()
}

/// The median of what two readings of the clock in a row are apart.
pub fn clock_ns() -> u128 {
    let mut apart: Vec<_> = (0..1001).map(|_| Instant::now().elapsed().as_nanos()).collect();
    apart.sort_unstable();
    apart[500]
}

fn shuffle<T>(of: &mut [T], rng: &mut Xoshiro256PlusPlus) {
    for place in (1..of.len()).rev() {
        of.swap(place, (rng.next_u64() % (place as u64 + 1)) as usize);
    }
}

/// The cells that have their turns together: as many of one gap as the schedule allows, in companies of nearly one size.
fn companies<'a>(cells: &[Cell<'a>], schedule: &Schedule) -> Vec<Vec<Cell<'a>>> {
    let mut gaps: Vec<_> = cells.iter().map(|cell| cell.gap).collect();
    gaps.sort_unstable();
    gaps.dedup();
    let mut companies = Vec::new();
    for gap in gaps {
        let of: Vec<_> = cells.iter().filter(|cell| cell.gap == gap).copied().collect();
        let count = of.len().div_ceil(schedule.together(gap.length));
        let company = |number: usize| of[of.len() * number / count..of.len() * (number + 1) / count].to_vec();
        companies.extend((0..count).map(company));
    }
    companies
}

/// How long a company rests: the first of its turns waits until the last has been opened.
fn resting(company: &[Cell]) -> Duration {
    let gap = company[0].gap;
    gap.length * (2 * gap.samples + usize::from(company.len() > 1)) as u32
}

/// Lengths that securities do not take, told once each.
#[derive(Default)]
struct Refused(BTreeSet<(Security, usize)>);

impl Refused {
    fn tell(&mut self, cell: &Cell) {
        let (security, payload) = (cell.arm.arrangement.security(), cell.payload);
        if self.0.insert((security, payload)) {
            eprintln!("flight-bench: {security}: {payload} octets are refused: they do not fit");
        }
    }
}

/// Measures the cells of a company. All have the same gap, so that they step in the order in which they were opened.
fn together(company: &[Cell], log: &mut Log, refused: &mut Refused) -> Outcome {
    let (gap, begin) = (company[0].gap, Instant::now());
    let mut turns = Vec::new();
    for (place, cell) in company.iter().enumerate() {
        rest_until(begin + gap.length * place as u32 / company.len() as u32);
        match Turn::open(*cell, log)? {
            Some(turn) => turns.push(turn),
            None => refused.tell(cell),
        }
    }
    for _ in 0..2 * gap.samples {
        for turn in &mut turns {
            rest_until(turn.due());
            turn.step(log)?;
        }
    }
    Ok(())
}

fn rest_until(due: Instant) {
    let rest = due.saturating_duration_since(Instant::now());
    if !rest.is_zero() {
        std::thread::sleep(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arms::arms;

    fn sizes(gaps: &[u64], alone: bool) -> Vec<(u64, usize)> {
        let (arms, schedule) =
            (arms(&[], &[], None).unwrap(), Schedule::new(false, &[128, 1024], gaps).alone(alone));
        let cells: Vec<_> = arms
            .iter()
            .flat_map(|arm| {
                schedule.cells(arm.rank).into_iter().map(move |(payload, gap)| Cell { arm, payload, gap })
            })
            .collect();
        let found = companies(&cells, &schedule);
        assert_eq!(found.iter().map(Vec::len).sum::<usize>(), cells.len(), "every cell once");
        for company in &found {
            assert!(company.iter().all(|cell| cell.gap == company[0].gap), "one gap");
        }
        found.iter().map(|company| (company[0].gap.length.as_millis() as u64, company.len())).collect()
    }

    #[test]
    fn only_long_gaps_are_shared_and_companies_are_of_nearly_one_size() {
        // Seventeen arms of two lengths: 34 cells of each gap.
        let mut expected = vec![(0, 1); 34];
        expected.extend(vec![(10, 1); 34]);
        expected.extend([(500, 6), (500, 7), (500, 7), (500, 7), (500, 7), (2000, 17), (2000, 17)]);
        assert_eq!(sizes(&[0, 10, 500, 2000], false), expected);
    }

    #[test]
    fn alone_nothing_is_shared() {
        assert_eq!(sizes(&[2000], true), vec![(2000, 1); 34]);
    }

    /// The bench of s2n-quic (`_FULL_S2N` in `space_messages.py`): a block rests once for all that it compares.
    #[test]
    fn what_stands_beside_s2n_quic_has_its_turns_together() {
        use flight_links::suite::{Cipher, Security};

        let named = [
            Security::SdlsGcmAwsLc,
            Security::QuicStream,
            Security::QuicDatagram,
            Security::S2nStream,
            Security::S2nDatagram,
        ];
        let arms = arms(&named, &[], Some(Cipher::Aes256Gcm)).unwrap();
        let schedule = Schedule::new(false, &[64, 128, 512, 1024], &[2000]);
        let cells = arms.iter().flat_map(|arm| {
            schedule.cells(arm.rank).into_iter().map(move |(payload, gap)| Cell { arm, payload, gap })
        });
        let found = companies(&cells.collect::<Vec<_>>(), &schedule);
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [28]);
    }

    #[test]
    fn turns_together_each_rest_their_own_gap_through() {
        let (arms, schedule) =
            (arms(&[], &[], None).unwrap(), Schedule::new(true, &[64], &[210]).samples(Some(3)));
        let cells: Vec<_> = arms
            .iter()
            .take(3)
            .map(|arm| Cell { arm, payload: 64, gap: schedule.cells(arm.rank)[0].1 })
            .collect();
        assert_eq!(resting(&cells), Duration::from_millis(7 * 210));
        let mut turns: Vec<Turn> = Vec::new();
        let mut log = Log { rows: Rows::new(HEADING).unwrap(), order: 0, block: 0, worked: Instant::now() };
        for cell in &cells {
            turns.extend(Turn::open(*cell, &mut log).unwrap());
        }
        for _ in 0..6 {
            for turn in &mut turns {
                let due = turn.due();
                rest_until(due);
                let before = log.worked;
                turn.step(&mut log).unwrap();
                assert!(Instant::now() >= due && log.worked > before);
                assert!(turn.due() >= due + Duration::from_millis(210), "the next gap is as long");
            }
        }
        assert_eq!(log.order, 18);
    }
}
