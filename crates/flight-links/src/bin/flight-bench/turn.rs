//! A cell's turn: a security, a length and a gap with all its samples of one block, a step after each gap.
//!
//! Protocols see a time of their own that does not pass during gaps: a sleep is no loss to be repaired.

use std::io::{Stdout, Write};
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
use super::wire::{System, Wire};

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
pub struct Log<W: Write = Stdout> {
    /// The table.
    pub rows: Rows<W>,
    /// Rows of the block so far.
    pub order: u64,
    /// The block.
    pub block: usize,
    /// When work of any turn ended last.
    pub worked: Instant,
}

/// A turn that was opened: both ends know each other, and a first exchange is done and thrown away.
pub struct Turn<'a, S = Wire> {
    cell: Cell<'a>,
    pair: Pair,
    wire: S,
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
        let wire = Wire::new(security == Security::Tls).map_err(|error| format!("no sockets: {error}"))?;
        Self::begin(cell, pair, wire, log)
    }
}

impl<'a, S: System> Turn<'a, S> {
    /// The first exchange of ends that know each other.
    fn begin<W: Write>(
        cell: Cell<'a>,
        mut pair: Pair,
        mut wire: S,
        log: &mut Log<W>,
    ) -> Result<Option<Self>, String> {
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
    pub fn step<W: Write>(&mut self, log: &mut Log<W>) -> Outcome {
        let begin = self.wire.now();
        let rested = Rested { own: begin - self.ended, any: begin - log.worked };
        match std::mem::replace(&mut self.next, Next::Apply(Vec::new())) {
            Next::Apply(message) => {
                let Some((spent, datagrams)) = apply(&mut self.pair, &message, &mut self.wire)? else {
                    return Err("a message is refused that was taken before".to_owned());
                };
                self.next = Next::Process(message, Sent { spent, datagrams, rested });
                self.ended = self.wire.now();
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
    fn wait<W: Write>(&mut self, log: &mut Log<W>) -> Outcome {
        self.sample += 1;
        self.next = Next::Apply(message(self.sample, self.cell.payload)?);
        self.ended = self.wire.now();
        log.worked = self.ended;
        Ok(())
    }

    /// What space spends on a message, and both ends on what follows it.
    fn received(&mut self, message: &[u8], datagrams: &[Vec<u8>]) -> Result<(Spent, Duration), String> {
        let Self { pair, wire, cell, .. } = self;
        let (processed, answers) = process(pair, message, datagrams, wire).map_err(|error| {
            format!("{}, {} octets: {error}", cell.arm.arrangement.security(), cell.payload)
        })?;
        let begin = wire.now();
        for answer in answers {
            pair.ground.process(&answer, pair.now).map_err(|refusal| refusal.reason)?;
        }
        pair.pass(pair.now + STEP, &mut ());
        let upkeep = wire.now() - begin;
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
fn apply(
    pair: &mut Pair,
    message: &[u8],
    wire: &mut impl System,
) -> Result<Option<(Spent, Datagrams)>, String> {
    let mut datagrams = Vec::with_capacity(4);
    meter::take();
    let begin = wire.now();
    let applied = pair.ground.apply(message, pair.now);
    while let Some(output) = pair.ground.poll() {
        if let Output::Datagram(datagram) = output {
            datagrams.push(datagram);
        }
    }
    let made = wire.now();
    for datagram in &datagrams {
        wire.send(datagram).map_err(|error| format!("nothing can be sent: {error}"))?;
    }
    let system = wire.now() - made;
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
    wire: &mut impl System,
) -> Result<(Spent, Datagrams), String> {
    let mut buffers: Vec<_> = datagrams.iter().map(|datagram| vec![0; datagram.len()]).collect();
    let mut answers = Vec::new();
    meter::take();
    let begin = wire.now();
    for buffer in &mut buffers {
        wire.receive(buffer).map_err(|error| format!("nothing can be received: {error}"))?;
    }
    let came = wire.now();
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
    let (system, total) = (came - begin, wire.now() - came);
    if taken.as_deref() != Some(message) {
        return Err("the message did not come out as it went in".to_owned());
    }
    Ok((Spent { total, system, ciphers: meter::take() }, answers))
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use flight::security::{LinkSecurity, Refusal};
    use flight_links::arrangement::Arrangement;
    use flight_links::link::Link;
    use flight_links::suite::Suite;

    use super::*;
    use crate::arms::Rank;
    use crate::messages::HEADING;

    /// A clock that stands still but for what is said to take time.
    #[derive(Clone)]
    struct Clock(Instant, Arc<AtomicU64>);

    impl Clock {
        fn now(&self) -> Instant {
            self.0 + Duration::from_nanos(self.1.load(Ordering::Relaxed))
        }

        fn pass(&self, ns: u64) {
            self.1.fetch_add(ns, Ordering::Relaxed);
        }
    }

    /// What was sent waits here. A sending takes 50 us, a receiving 70 us.
    struct Queue(Clock, Vec<Vec<u8>>);

    impl System for Queue {
        fn now(&self) -> Instant {
            self.0.now()
        }

        fn send(&mut self, octets: &[u8]) -> io::Result<()> {
            self.0.pass(50_000);
            self.1.push(octets.to_vec());
            Ok(())
        }

        fn receive(&mut self, octets: &mut [u8]) -> io::Result<()> {
            self.0.pass(70_000);
            octets.copy_from_slice(&self.1.remove(0));
            Ok(())
        }
    }

    /// An end whose work takes a time that is known, and which answers each datagram by one that the other end ignores.
    struct Slow {
        link: Box<dyn Link>,
        clock: Clock,
        apply_ns: u64,
        process_ns: u64,
        poll_ns: u64,
        answers: Option<usize>,
    }

    const ANSWER: &[u8] = b"taken";

    impl LinkSecurity for Slow {
        fn name(&self) -> &'static str {
            self.link.name()
        }

        fn apply(&mut self, message: &[u8], now: Duration) -> Result<(), Refusal> {
            self.clock.pass(self.apply_ns);
            self.link.apply(message, now)
        }

        fn process(&mut self, datagram: &[u8], now: Duration) -> Result<(), Refusal> {
            self.clock.pass(self.process_ns);
            if datagram == ANSWER {
                return Ok(());
            }
            self.answers = self.answers.map(|due| due + 1);
            self.link.process(datagram, now)
        }

        fn poll(&mut self) -> Option<Output> {
            self.clock.pass(self.poll_ns);
            if let Some(due) = self.answers.filter(|due| *due > 0) {
                self.answers = Some(due - 1);
                return Some(Output::Datagram(ANSWER.to_vec()));
            }
            self.link.poll()
        }
    }

    impl Link for Slow {
        fn state(&self) -> State {
            self.link.state()
        }
    }

    /// Sends one message over SDLS, which takes two rows. Between its steps another turn's ciphers work.
    fn write_one_message(arm: &Arm, rows: Rows<&mut Vec<u8>>) {
        let open = || arm.arrangement.open(&mut ()).unwrap();
        let clock = Clock(Instant::now(), Arc::default());
        let slow = |link, (apply_ns, process_ns, poll_ns), answers| {
            Box::new(Slow { link, clock: clock.clone(), apply_ns, process_ns, poll_ns, answers })
        };
        let Pair { ground, space, .. } = open();
        let pair = Pair::new(slow(ground, (1000, 300, 10), None), slow(space, (0, 2000, 40), Some(0)));
        let mut other = open();
        let mut log = Log { rows, order: 16, block: 6, worked: clock.now() };
        let gap = Gap { length: Duration::from_millis(3), samples: 1 };
        let cell = Cell { arm, payload: 128, gap };
        let mut turn = Turn::begin(cell, pair, Queue(clock.clone(), vec![]), &mut log).unwrap().unwrap();
        assert_eq!(turn.due(), clock.now() + gap.length);
        for (rest_ns, quiet_ns) in [(5_000_000, 2_000_000), (7_000_000, 6_000_000)] {
            clock.pass(rest_ns - quiet_ns);
            other.ground.apply(&message(0, 8).unwrap(), Duration::ZERO).unwrap();
            log.worked = clock.now();
            clock.pass(quiet_ns);
            turn.step(&mut log).unwrap();
            assert_eq!(log.worked, clock.now());
        }
        log.rows.finish().unwrap();
    }

    /// No two times of a row are alike, so that each can only come from what its column names. Ground is polled until it
    /// has nothing more to send; space until the message comes, before which its answer does; upkeep is that answer at
    /// ground, and one more poll of each.
    #[test]
    fn a_row_has_in_each_column_what_it_says() {
        let arrangement = Arrangement::new(Security::SdlsGcm, Suite::of(Security::SdlsGcm), true).unwrap();
        let mut table = Vec::new();
        let arm = Arm { arrangement, rank: Rank::Main };
        write_one_message(&arm, Rows::to(&mut table, HEADING).unwrap());
        let table = String::from_utf8(table).unwrap();
        let mut lines = table.lines();
        assert_eq!(lines.next(), Some(HEADING));
        let place = HEADING.split(',').position(|name| name == "crypto_ns").unwrap();
        let rows: Vec<_> = lines
            .map(|line| {
                let mut values: Vec<_> = line.split(',').collect();
                assert!(values[place].parse::<u64>().unwrap() > 0, "ciphers take time: {line}");
                values[place] = "*";
                values.join(",")
            })
            .collect();
        assert_eq!(
            rows,
            [
                "sdls-gcm,rustcrypto,aes-256-gcm,128,3,6,17,apply,1020,*,1,50000,0,1,174,5000000,2000000",
                "sdls-gcm,rustcrypto,aes-256-gcm,128,3,6,18,process,2080,*,1,70000,350,1,174,7000000,6000000",
            ]
        );
    }
}
