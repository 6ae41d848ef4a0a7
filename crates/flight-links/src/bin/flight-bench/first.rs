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

/// An end that does what it is told, and answers.
trait End {
    /// Its name.
    fn name(&self) -> &'static str;
    /// Where its socket is.
    fn address(&self) -> &str;
    /// What it answers to a line: the answer begins with `wanted`, which is taken off.
    fn ask(&mut self, line: &str, wanted: &str) -> Result<String, String>;

    /// As [`ask`](Self::ask), for an answer that is a number.
    fn number(&mut self, line: &str, wanted: &str) -> Result<u64, String> {
        let said = self.ask(line, wanted)?;
        said.parse()
            .map_err(|_| format!("the process of {} answered «{said}», which is no number", self.name()))
    }
}

impl End for Process {
    fn name(&self) -> &'static str {
        self.name
    }

    fn address(&self) -> &str {
        &self.address
    }

    fn ask(&mut self, line: &str, wanted: &str) -> Result<String, String> {
        // Whether it is still there shows when it answers.
        let _ = writeln!(self.lines, "{line}");
        self.answer(wanted)
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
fn exchange<E: End>(client: &mut E, server: &mut E) -> Result<Went, String> {
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
fn handshake<E: End>(client: &mut E, server: &mut E) -> Result<Took, String> {
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
fn check_peer<E: End>(end: &mut E, other: &E) -> Outcome {
    let peer = end.ask("peer", "peer")?;
    if peer == other.address() {
        return Ok(());
    }
    let (end, address, other) = (end.name(), other.address(), other.name());
    Err(format!("the process of {end} talks to {peer} and not to {address} of {other}"))
}

/// What both ends' beginnings and two handshakes took: the first of both processes, and space's as a client afterwards.
struct Measured {
    ground_randomness: u64,
    space_randomness: u64,
    first: Took,
    second: Took,
}

impl Measured {
    /// The values of the columns of [`SPENT`].
    fn columns(&self) -> String {
        let Self { ground_randomness, space_randomness, first, second } = self;
        let Took { went, client, server } = first;
        let [(ground_octets, ground_datagrams), (space_octets, space_datagrams)] = went.sent;
        let spent = format!("{ground_randomness},{space_randomness},{client},{server}");
        let sent = format!("{ground_octets},{space_octets},{ground_datagrams},{space_datagrams}");
        format!("{spent},{sent},{},false,{}", went.round_trips, second.client)
    }
}

/// Measures two handshakes of ends that `start` starts, of a name and for an address to go to.
fn measure<E: End>(
    start: impl Fn(&'static str, Option<&str>) -> Result<E, String>,
) -> Result<Measured, String> {
    let mut space = start("space", None)?;
    let space_randomness = space.number("open server", "opened")?;
    let mut ground = start("ground", Some(space.address()))?;
    let ground_randomness = ground.number("open client", "opened")?;
    let first = handshake(&mut ground, &mut space)?;
    check_peer(&mut space, &ground)?;
    check_peer(&mut ground, &space)?;
    ground.ask("open server", "opened")?;
    space.ask("open client", "opened")?;
    let second = handshake(&mut space, &mut ground)?;
    Ok(Measured { ground_randomness, space_randomness, first, second })
}

/// Prints the row of two handshakes.
pub fn run(kind: &Kind) -> Outcome {
    let suite = kind.suite()?;
    let measured = measure(|name, to| Process::start(name, kind, to))?;
    let kind = columns(kind.security, &suite);
    let mut rows = Rows::new(&format!("{KIND},{SPENT}"))?;
    rows.write(&format!("{kind},{}", measured.columns()))?;
    rows.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An end that answers from a script, and of whose numbers no two are alike.
    struct Scripted {
        name: &'static str,
        client: bool,
        opened: u64,
        turns: usize,
    }

    impl Scripted {
        fn start(name: &'static str, to: Option<&str>) -> Result<Self, String> {
            assert_eq!(to, (name == "ground").then_some("address of space"));
            Ok(Self { name, client: false, opened: 0, turns: 0 })
        }

        fn other(&self) -> &'static str {
            if self.name == "space" { "ground" } else { "space" }
        }

        /// Two flights of the client and one of the server, as a handshake has; and nothing afterwards.
        fn turn(&mut self) -> &'static str {
            self.turns += 1;
            match (self.client, self.turns) {
                (true, 1) => "handshaking 1200",
                (false, 1) => "handshaking 1300 700 80 10",
                (true, 2) => "established 500 11",
                _ => "established",
            }
        }

        fn spent(&self) -> u64 {
            match (self.name, self.client) {
                ("ground", true) => 31,
                ("space", false) => 32,
                ("ground", false) => 33,
                _ => 34,
            }
        }
    }

    impl End for Scripted {
        fn name(&self) -> &'static str {
            self.name
        }

        fn address(&self) -> &str {
            if self.name == "space" { "address of space" } else { "address of ground" }
        }

        fn ask(&mut self, line: &str, wanted: &str) -> Result<String, String> {
            let (order, _) = line.split_once(' ').unwrap_or((line, ""));
            let (answer, said) = match order {
                "open" => {
                    self.client = line == "open client";
                    self.opened += if self.name == "ground" { 21 } else { 22 };
                    self.turns = 0;
                    ("opened", self.opened.to_string())
                }
                "take" => ("sent", self.turn().to_owned()),
                "spent" => ("spent", self.spent().to_string()),
                "say" => ("said", self.name.to_owned()),
                "heard" => ("heard", self.other().to_owned()),
                "peer" => ("peer", format!("address of {}", self.other())),
                _ => panic!("{line}"),
            };
            assert_eq!(answer, wanted, "{line}");
            Ok(said)
        }
    }

    #[test]
    fn a_row_has_in_each_column_what_it_says() {
        let measured = measure(Scripted::start).unwrap();
        let columns = measured.columns();
        let named: Vec<_> = SPENT.split(',').zip(columns.split(',')).collect();
        assert_eq!(
            named,
            [
                ("ground_randomness_cpu_ns", "21"),
                ("space_randomness_cpu_ns", "22"),
                ("ground_cpu_ns", "31"),
                ("space_cpu_ns", "32"),
                ("ground_octets", "1711"),
                ("space_octets", "2090"),
                ("ground_datagrams", "3"),
                ("space_datagrams", "4"),
                ("round_trips", "1"),
                ("early", "false"),
                ("space_as_client_cpu_ns", "34"),
            ]
        );
        assert_eq!(columns.split(',').count(), named.len());
    }
}
