//! A cell's turn: a security, a length and a gap with all its samples of one block, a step after each gap.
//!
//! Protocols see a time of their own that does not pass during gaps: a sleep is no loss to be repaired.

use std::time::{Duration, Instant};

use flight::dictionary::benchmark;
use flight::message::command;
use flight::security::Output;
use flight_links::exchange::Pair;
use flight_links::link::State;
use flight_links::meter;
use flight_links::suite::Security;

use super::arms::Arm;
use super::rows::{Outcome, Rows};
use super::schedule::Gap;
use super::wire::Wire;

/// Time that passes for the protocols from one message to the next: acknowledgements become due as in a slow flow.
const STEP: Duration = Duration::from_millis(30);

/// How long the handshake may take in the protocols' time.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// What is measured in a turn.
#[derive(Clone, Copy)]
pub struct Cell<'a> {
    /// The security with its suite.
    pub arm: &'a Arm,
    /// Octets of a message behind its header.
    pub payload: usize,
    /// The rest before each operation, and the samples.
    pub gap: Gap,
}

/// Where the samples go.
pub struct Log {
    /// The table.
    pub rows: Rows,
    /// Rows of the block so far.
    pub order: u64,
    /// The block.
    pub block: usize,
    /// When work of any turn ended last.
    pub worked: Instant,
}

/// A turn that was opened: both ends know each other, and a first exchange is done and thrown away.
pub struct Turn<'a> {
    cell: Cell<'a>,
    pair: Pair,
    wire: Wire,
    sample: usize,
    next: Next,
    ended: Instant,
}

enum Next {
    Apply(Vec<u8>),
    Process(Vec<u8>, Sent),
}

/// A message on its way.
struct Sent {
    spent: Spent,
    datagrams: Datagrams,
    rested: Rested,
}

type Datagrams = Vec<Vec<u8>>;

/// What one end spent.
struct Spent {
    total: Duration,
    system: Duration,
    ciphers: meter::Spent,
}

/// What lay before an operation.
#[derive(Clone, Copy)]
struct Rested {
    /// Since this turn's own work.
    own: Duration,
    /// Since any work of this process.
    any: Duration,
}

impl<'a> Turn<'a> {
    /// Opens a turn; none if the security does not take so long a message.
    pub fn open(cell: Cell<'a>, log: &mut Log) -> Result<Option<Self>, String> {
        let security = cell.arm.arrangement.security();
        let mut pair = cell.arm.arrangement.open(&mut ()).map_err(|error| error.to_string())?;
        pair.pass(HANDSHAKE, &mut ());
        if !matches!(
            (pair.ground.state(), pair.space.state()),
            (State::Established { .. }, State::Established { .. })
        ) {
            return Err(format!("{security}: the handshake did not end: {:?}", pair.ground.state()));
        }
        let mut wire =
            Wire::new(security == Security::Tls).map_err(|error| format!("no sockets: {error}"))?;
        let first = message(0, cell.payload)?;
        let Some((_, datagrams)) = apply(&mut pair, &first, &mut wire)? else { return Ok(None) };
        let mut turn = Self { cell, pair, wire, sample: 0, next: Next::Apply(Vec::new()), ended: log.worked };
        turn.received(&first, &datagrams)?;
        turn.wait(log)?;
        Ok(Some(turn))
    }

    /// When the gap is over.
    pub fn due(&self) -> Instant {
        self.ended + self.cell.gap.length
    }

    /// Sends the next message, or receives the one that was sent, and writes what both took.
    pub fn step(&mut self, log: &mut Log) -> Outcome {
        let begin = Instant::now();
        let rested = Rested { own: begin - self.ended, any: begin - log.worked };
        match std::mem::replace(&mut self.next, Next::Apply(Vec::new())) {
            Next::Apply(message) => {
                let Some((spent, datagrams)) = apply(&mut self.pair, &message, &mut self.wire)? else {
                    return Err("a message is refused that was taken before".to_owned());
                };
                self.next = Next::Process(message, Sent { spent, datagrams, rested });
                self.ended = Instant::now();
                log.worked = self.ended;
            }
            Next::Process(message, sent) => {
                let (processed, upkeep) = self.received(&message, &sent.datagrams)?;
                for (operation, rested, spent, upkeep) in [
                    ("apply", sent.rested, &sent.spent, Duration::ZERO),
                    ("process", rested, &processed, upkeep),
                ] {
                    log.order += 1;
                    let row =
                        self.row((log.block, log.order), operation, spent, upkeep, &sent.datagrams, rested);
                    log.rows.write(&row)?;
                }
                self.wait(log)?;
            }
        }
        Ok(())
    }

    /// Has the next message ready before the gap, which begins.
    fn wait(&mut self, log: &mut Log) -> Outcome {
        self.sample += 1;
        self.next = Next::Apply(message(self.sample, self.cell.payload)?);
        self.ended = Instant::now();
        log.worked = self.ended;
        Ok(())
    }

    /// What space spends on a message, and both ends on what follows it.
    fn received(&mut self, message: &[u8], datagrams: &[Vec<u8>]) -> Result<(Spent, Duration), String> {
        let Self { pair, wire, cell, .. } = self;
        let (processed, answers) = process(pair, message, datagrams, wire).map_err(|error| {
            format!("{}, {} octets: {error}", cell.arm.arrangement.security(), cell.payload)
        })?;
        let begin = Instant::now();
        for answer in answers {
            pair.ground.process(&answer, pair.now).map_err(|refusal| refusal.reason)?;
        }
        pair.pass(pair.now + STEP, &mut ());
        let upkeep = begin.elapsed();
        meter::take();
        Ok((processed, upkeep))
    }

    fn row(
        &self,
        (block, order): (usize, u64),
        operation: &str,
        spent: &Spent,
        upkeep: Duration,
        datagrams: &[Vec<u8>],
        rested: Rested,
    ) -> String {
        let Cell { arm, payload, gap } = &self.cell;
        let octets: usize = datagrams.iter().map(Vec::len).sum();
        let crypto = if arm.arrangement.security() == Security::Restp {
            // It has no place for a meter.
            ",".to_owned()
        } else {
            format!("{},{}", spent.ciphers.time.as_nanos(), spent.ciphers.calls)
        };
        format!(
            "{},{payload},{},{block},{order},{operation},{},{crypto},{},{},{},{octets},{},{}",
            arm.columns(),
            gap.length.as_millis(),
            spent.total.as_nanos(),
            spent.system.as_nanos(),
            upkeep.as_nanos(),
            datagrams.len(),
            rested.own.as_nanos(),
            rested.any.as_nanos(),
        )
    }
}

fn message(sample: usize, payload: usize) -> Result<Vec<u8>, String> {
    command(benchmark::COMMAND, sample as u16 & 0x3FFF, benchmark::TAKE_DATA, &vec![0x5A; payload])
        .map_err(|error| error.to_string())
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
