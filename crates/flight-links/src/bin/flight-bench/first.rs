//! Handshakes that are the first of their processes: each end has a process of its own, space's starts first, and this
//! one only says whose turn it is ([`end`](super::end)).
//!
//! Afterwards the ends change roles, and space's process opens a session as a client. So the flight software of the study
//! SPACE had it: a server's handshake, and then a client's in the same process.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::handshakes::{KIND, columns};
use super::kind::Kind;
use super::rows::{Outcome, Rows};

const SPENT: &str = "ground_randomness_cpu_ns,space_randomness_cpu_ns,ground_cpu_ns,space_cpu_ns,ground_octets,\
space_octets,ground_datagrams,space_datagrams,round_trips,early,space_as_client_cpu_ns";

/// Turns of ends that do not come to rest, which would be a mistake of a protocol.
const MOST_TURNS: usize = 1000;

/// The process of an end.
struct Process {
    name: &'static str,
    child: Child,
    lines: ChildStdin,
    answers: BufReader<ChildStdout>,
    address: String,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It waits for lines that nobody will write any more, or it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    /// An end that waits to be gone to, or that goes to the other's address.
    fn start(name: &'static str, kind: &Kind, to: Option<&str>) -> Result<Self, String> {
        let failed = |error: io::Error| format!("the process of {name} cannot be started: {error}");
        let mut command = Command::new(env::current_exe().map_err(failed)?);
        command.arg("handshake-end").args(kind.words());
        command.args(to.into_iter().flat_map(|to| ["--to", to]));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let (Some(lines), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        let answers = BufReader::new(answers);
        let mut process = Self { name, child, lines, answers, address: String::new() };
        process.address = process.answer("at")?;
        Ok(process)
    }

    /// What it answers to a line: the answer begins with `wanted`, which is taken off.
    fn ask(&mut self, line: &str, wanted: &str) -> Result<String, String> {
        // Whether it is still there shows when it answers.
        let _ = writeln!(self.lines, "{line}");
        self.answer(wanted)
    }

    fn answer(&mut self, wanted: &str) -> Result<String, String> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        match line.strip_suffix('\n').and_then(|line| line.strip_prefix(wanted)) {
            Some(rest) => Ok(rest.trim().to_owned()),
            None if read.is_ok_and(|octets| octets == 0) => {
                Err(format!("the process of {} has ended; it said why above", self.name))
            }
            None => Err(format!(
                "the process of {} answered «{}» where «{wanted}» was due",
                self.name,
                line.trim()
            )),
        }
    }

    fn number(&mut self, line: &str, wanted: &str) -> Result<u64, String> {
        let said = self.ask(line, wanted)?;
        said.parse()
            .map_err(|_| format!("the process of {} answered «{said}», which is no number", self.name))
    }
}

/// What went between both ends.
#[derive(Default)]
struct Went {
    /// Octets and datagrams that the client and the server sent.
    sent: [(usize, usize); 2],
    /// Flights of the server that came to the client before it could send messages.
    round_trips: usize,
    /// Whether the client and the server can send messages.
    established: [bool; 2],
}

/// Gives each end its turn until neither has anything more to say.
fn exchange(client: &mut Process, server: &mut Process) -> Result<Went, String> {
    let mut went = Went::default();
    let mut on_the_way = String::new();
    let mut quiet = 0;
    for place in 0..MOST_TURNS {
        let turn = place % 2;
        let end = if turn == 0 { &mut *client } else { &mut *server };
        let said = end.ask(&format!("take{on_the_way}"), "sent")?;
        let (state, lengths) = said.split_once(' ').unwrap_or((&said, ""));
        went.established[turn] = state == "established";
        on_the_way.clear();
        for length in lengths.split_whitespace() {
            went.sent[turn].0 += length.parse::<usize>().map_err(|_| format!("«{said}» is no length"))?;
            went.sent[turn].1 += 1;
            on_the_way += &format!(" {length}");
        }
        quiet = if on_the_way.is_empty() { quiet + 1 } else { 0 };
        went.round_trips += usize::from(turn == 1 && !went.established[0] && !on_the_way.is_empty());
        if quiet == 2 {
            return Ok(went);
        }
    }
    Err(format!("both ends still talk after {MOST_TURNS} turns"))
}

/// What a handshake took of the client's and of the server's process.
struct Took {
    went: Went,
    client: u64,
    server: u64,
}

/// A handshake of two ends that are open, after which each reads what only the other knew.
fn handshake(client: &mut Process, server: &mut Process) -> Result<Took, String> {
    let went = exchange(client, server)?;
    if went.established != [true; 2] {
        return Err("the handshake did not end".to_owned());
    }
    let (of_client, of_server) = (client.number("spent", "spent")?, server.number("spent", "spent")?);
    let said = [client.ask("say", "said")?, server.ask("say", "said")?];
    exchange(client, server)?;
    let heard = [server.ask("heard", "heard")?, client.ask("heard", "heard")?];
    if heard != said {
        return Err(format!("the ends said {} and heard {}", said.join(" and "), heard.join(" and ")));
    }
    Ok(Took { went, client: of_client, server: of_server })
}

/// Checks that an end's datagrams came from where the other's process has its socket.
fn check_peer(end: &mut Process, other: &Process) -> Outcome {
    let peer = end.ask("peer", "peer")?;
    if peer == other.address {
        return Ok(());
    }
    Err(format!("the process of {} talks to {peer} and not to {} of {}", end.name, other.address, other.name))
}

/// Prints the row of two handshakes: the first of both processes, and space's as a client afterwards.
pub fn run(kind: &Kind) -> Outcome {
    let suite = kind.suite()?;
    let mut space = Process::start("space", kind, None)?;
    let of_space = space.number("open server", "opened")?;
    let mut ground = Process::start("ground", kind, Some(&space.address))?;
    let of_ground = ground.number("open client", "opened")?;
    let first = handshake(&mut ground, &mut space)?;
    check_peer(&mut space, &ground)?;
    check_peer(&mut ground, &space)?;
    ground.ask("open server", "opened")?;
    space.ask("open client", "opened")?;
    let second = handshake(&mut space, &mut ground)?;
    let Took { went, client, server } = first;
    let [(ground_octets, ground_datagrams), (space_octets, space_datagrams)] = went.sent;
    let spent = format!("{of_ground},{of_space},{client},{server}");
    let sent = format!("{ground_octets},{space_octets},{ground_datagrams},{space_datagrams}");
    let kind = columns(kind.security, &suite);
    let mut rows = Rows::new(&format!("{KIND},{SPENT}"))?;
    rows.write(&format!("{kind},{spent},{sent},{},false,{}", went.round_trips, second.client))?;
    rows.finish()
}
