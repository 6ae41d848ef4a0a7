//! One message after a gap: what its sender spends, and after a gap again what its receiver spends.
//!
//! The unit is a cell: a security, a length and a gap. In each block every cell has its turn once, in random order, with
//! all its samples of the block in a row, so that the gap before a sample is the gap since the same cell's work. A first
//! exchange of each turn is thrown away. Protocols see a time of their own that does not pass during gaps: a sleep is
//! no loss to be repaired.

use std::time::{Duration, Instant};

use flight::dictionary::benchmark;
use flight::message::command;
use flight::security::Output;
use flight_links::exchange::Pair;
use flight_links::link::State;
use flight_links::meter;
use flight_links::suite::Security;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::arms::Arm;
use super::rows::{Outcome, Rows};
use super::schedule::{Gap, Schedule};
use super::wire::Wire;

/// What is measured.
pub struct Plan {
    /// What is compared.
    pub arms: Vec<Arm>,
    /// How often.
    pub schedule: Schedule,
    /// Only this block of all; all, if none was named.
    pub block: Option<usize>,
}

const HEADING: &str = "security,provider,cipher,payload_octets,gap_ms,block,order,operation,total_ns,crypto_ns,\
crypto_calls,system_ns,upkeep_ns,datagrams,datagram_octets";

/// Time that passes for the protocols from one message to the next: acknowledgements become due as in a slow flow.
const STEP: Duration = Duration::from_millis(30);

/// How long the handshake may take in the protocols' time.
const HANDSHAKE: Duration = Duration::from_secs(5);

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
        .flat_map(|arm| schedule.cells(arm.rank).into_iter().map(move |(payload, gap)| (arm, payload, gap)))
        .collect();
    let rest: Duration = cells.iter().map(|(.., gap)| 2 * gap.length * gap.samples as u32).sum();
    eprintln!(
        "flight-bench: {} cells in {} blocks; {:.0} s of gaps, and what the work takes",
        cells.len(),
        blocks.len(),
        rest.as_secs_f64() * blocks.len() as f64
    );
    let mut rows = Rows::new(HEADING)?;
    for block in blocks {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(1000) + block as u64);
        let mut cells = cells.clone();
        for place in (1..cells.len()).rev() {
            cells.swap(place, (rng.next_u64() % (place as u64 + 1)) as usize);
        }
        let mut order = 0;
        for (arm, payload, gap) in cells {
            Turn { arm, payload, gap, block }.run(gap.samples, &mut order, &mut rows)?;
        }
    }
    rows.finish()
}

/// The median of what two readings of the clock in a row are apart.
pub fn clock_ns() -> u128 {
    let mut apart: Vec<_> = (0..1001).map(|_| Instant::now().elapsed().as_nanos()).collect();
    apart.sort_unstable();
    apart[500]
}

/// A cell's turn in a block.
struct Turn<'a> {
    arm: &'a Arm,
    payload: usize,
    gap: Gap,
    block: usize,
}

type Datagrams = Vec<Vec<u8>>;

/// What one end spent.
struct Spent {
    total: Duration,
    system: Duration,
    ciphers: meter::Spent,
}

impl Turn<'_> {
    fn run(&self, samples: usize, order: &mut u64, rows: &mut Rows) -> Outcome {
        let security = self.arm.arrangement.security();
        let mut pair = self.arm.arrangement.open(&mut ()).map_err(|error| error.to_string())?;
        pair.pass(HANDSHAKE, &mut ());
        if !matches!(
            (pair.ground.state(), pair.space.state()),
            (State::Established { .. }, State::Established { .. })
        ) {
            return Err(format!("{security}: the handshake did not end: {:?}", pair.ground.state()));
        }
        let mut wire =
            Wire::new(security == Security::Tls).map_err(|error| format!("no sockets: {error}"))?;
        for sample in 0..=samples {
            let message = command(
                benchmark::COMMAND,
                sample as u16 & 0x3FFF,
                benchmark::TAKE_DATA,
                &vec![0x5A; self.payload],
            )
            .map_err(|error| error.to_string())?;
            let gap = if sample == 0 { Duration::ZERO } else { self.gap.length };
            rest(gap);
            let Some((applied, datagrams)) = apply(&mut pair, &message, &mut wire)? else {
                eprintln!("flight-bench: {security}: {} octets are refused: they do not fit", self.payload);
                return Ok(());
            };
            rest(gap);
            let (processed, answers) = process(&mut pair, &message, &datagrams, &mut wire)
                .map_err(|error| format!("{security}, {} octets: {error}", self.payload))?;
            let begin = Instant::now();
            for answer in answers {
                pair.ground.process(&answer, pair.now).map_err(|refusal| refusal.reason)?;
            }
            pair.pass(pair.now + STEP, &mut ());
            let upkeep = begin.elapsed();
            meter::take();
            if sample == 0 {
                continue;
            }
            for (operation, spent, upkeep) in
                [("apply", applied, Duration::ZERO), ("process", processed, upkeep)]
            {
                *order += 1;
                rows.write(&self.row(*order, operation, &spent, upkeep, &datagrams))?;
            }
        }
        Ok(())
    }

    fn row(
        &self,
        order: u64,
        operation: &str,
        spent: &Spent,
        upkeep: Duration,
        datagrams: &[Vec<u8>],
    ) -> String {
        let octets: usize = datagrams.iter().map(Vec::len).sum();
        let crypto = if self.arm.arrangement.security() == Security::Restp {
            // It has no place for a meter.
            ",".to_owned()
        } else {
            format!("{},{}", spent.ciphers.time.as_nanos(), spent.ciphers.calls)
        };
        format!(
            "{},{},{},{},{order},{operation},{},{crypto},{},{},{},{octets}",
            self.arm.columns(),
            self.payload,
            self.gap.length.as_millis(),
            self.block,
            spent.total.as_nanos(),
            spent.system.as_nanos(),
            upkeep.as_nanos(),
            datagrams.len(),
        )
    }
}

fn rest(gap: Duration) {
    if !gap.is_zero() {
        std::thread::sleep(gap);
    }
}

/// What ground spends on a message, and its datagrams; none if it does not fit.
fn apply(pair: &mut Pair, message: &[u8], wire: &mut Wire) -> Result<Option<(Spent, Datagrams)>, String> {
    let mut datagrams = Vec::with_capacity(4);
    meter::take();
    let begin = Instant::now();
    let applied = pair.ground.apply(message, pair.now);
    while let Some(output) = pair.ground.poll() {
        if let Output::Datagram(datagram) = output {
            datagrams.push(datagram);
        }
    }
    let made = Instant::now();
    for datagram in &datagrams {
        wire.send(datagram).map_err(|error| format!("nothing can be sent: {error}"))?;
    }
    let system = made.elapsed();
    match applied {
        Ok(()) => Ok(Some((Spent { total: made - begin, system, ciphers: meter::take() }, datagrams))),
        Err(refusal) if refusal.code == "too-long" => Ok(None),
        Err(refusal) => Err(refusal.reason),
    }
}

/// What space spends until it has the message, and what it has to answer, which is sent later.
fn process(
    pair: &mut Pair,
    message: &[u8],
    datagrams: &[Vec<u8>],
    wire: &mut Wire,
) -> Result<(Spent, Datagrams), String> {
    let mut buffers: Vec<_> = datagrams.iter().map(|datagram| vec![0; datagram.len()]).collect();
    let mut answers = Vec::new();
    meter::take();
    let begin = Instant::now();
    for buffer in &mut buffers {
        wire.receive(buffer).map_err(|error| format!("nothing can be received: {error}"))?;
    }
    let came = Instant::now();
    for buffer in &buffers {
        pair.space.process(buffer, pair.now).map_err(|refusal| refusal.reason)?;
    }
    let taken = loop {
        match pair.space.poll() {
            Some(Output::Message(taken)) => break Some(taken),
            Some(Output::Datagram(answer)) => answers.push(answer),
            None => break None,
        }
    };
    let (system, total) = (came - begin, came.elapsed());
    if taken.as_deref() != Some(message) {
        return Err("the message did not come out as it went in".to_owned());
    }
    Ok((Spent { total, system, ciphers: meter::take() }, answers))
}
