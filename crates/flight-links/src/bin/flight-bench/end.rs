//! One end of a first handshake, in a process of its own. Lines on standard input say whose turn it is; datagrams go over
//! sockets of the loopback.
//!
//! | line that comes | what the end does | line that goes |
//! |---|---|---|
//! | | binds a socket | `at ADDRESS` |
//! | `open ROLE` | makes settings as `client` or `server`, gathers randomness, and opens a link | `opened RANDOMNESS_NS` |
//! | `take OCTETS ...` | takes datagrams of these lengths from the socket, and sends its own | `sent STATE OCTETS ...` |
//! | `spent` | | `spent CPU_NS`, since its link was opened |
//! | `say` | gives the link a message that nobody else knows, for its next turn | `said HEX` |
//! | `heard` | | `heard HEX`, what the last message had in it |
//! | `peer` | | `peer ADDRESS`, from where datagrams come |
//!
//! Only calls of the link are timed: neither waiting for the other end nor the sockets are in it. The protocols' time
//! stands still, so that a wait is no loss to be repaired.

use std::io::{self, BufRead, Write};
use std::net::SocketAddr;
use std::time::Duration;

use flight::dictionary::benchmark;
use flight::message::{Message, command};
use flight::security::{End, Output};
use flight_links::arrangement::random;
use flight_links::credentials::Credentials;
use flight_links::link::{Link, State};
use flight_links::single::Single;
use flight_links::suite::{Security, Suite};
use flight_links::tls_config::{SetupError, gather_randomness};

use super::handshakes::thread_ns;
use super::kind::Kind;
use super::rows::Outcome;
use super::socket::Socket;

/// The time of both protocols.
const NOW: Duration = Duration::ZERO;

/// An end of a link, and what it has computed.
struct Opened {
    link: Box<dyn Link>,
    spent: i64,
    heard: Vec<u8>,
}

struct Process {
    security: Security,
    suite: Suite,
    credentials: Credentials,
    socket: Socket,
    opened: Option<Opened>,
}

/// Obeys lines until there are no more. With an address it goes there; without one it waits to be gone to.
pub fn run(kind: &Kind, to: Option<SocketAddr>) -> Outcome {
    let (security, suite) = (kind.security, kind.suite()?);
    let credentials = kind.credentials()?;
    let socket =
        Socket::new(security == Security::Tls, to).map_err(|error| format!("there is no socket: {error}"))?;
    let address = socket.address().map_err(|error| format!("the socket has no address: {error}"))?;
    let mut process = Process { security, suite, credentials, socket, opened: None };
    answer(&format!("at {address}"))?;
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| format!("standard input cannot be read: {error}"))?;
        answer(&process.obey(&line)?)?;
    }
    Ok(())
}

fn answer(line: &str) -> Outcome {
    let mut out = io::stdout().lock();
    let written = writeln!(out, "{line}").and_then(|()| out.flush());
    written.map_err(|error| format!("nobody takes the answer: {error}"))
}

impl Process {
    fn obey(&mut self, line: &str) -> Result<String, String> {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["open", "client"] => self.open(End::Ground),
            ["open", "server"] => self.open(End::Space),
            ["peer"] => match self.socket.peer() {
                Some(peer) => Ok(format!("peer {peer}")),
                None => Err("nobody has come yet".to_owned()),
            },
            ["take", ref lengths @ ..] => {
                let lengths: Result<Vec<usize>, _> = lengths.iter().map(|it| it.parse()).collect();
                self.take(&lengths.map_err(|_| format!("«{line}» has lengths that are no numbers"))?)
            }
            ["spent"] => Ok(format!("spent {}", self.opened()?.spent)),
            ["say"] => self.say(),
            ["heard"] => Ok(format!("heard {}", hex(&self.opened()?.heard))),
            _ => Err(format!(
                "«{line}» is no line: open client, open server, take OCTETS ..., spent, say, heard, peer"
            )),
        }
    }

    fn opened(&mut self) -> Result<&mut Opened, String> {
        self.opened.as_mut().ok_or_else(|| "no link is open: open client or open server".to_owned())
    }

    /// Randomness is gathered before the link is opened, and the time of that stands beside it: OpenSSL, whose place
    /// AWS-LC has here, asks the system for its own.
    fn open(&mut self, end: End) -> Result<String, String> {
        let (security, suite) = (self.security, self.suite);
        let failed = |error: SetupError| format!("{security}, {suite}: {error}");
        let single = Single::new(end, security, &suite, &self.credentials).map_err(failed)?;
        let before = thread_ns();
        gather_randomness(suite.provider).map_err(failed)?;
        let begin = thread_ns();
        let link = single.open();
        let spent = thread_ns() - begin;
        self.opened = Some(Opened { link: link.map_err(failed)?, spent, heard: Vec::new() });
        Ok(format!("opened {}", begin - before))
    }

    fn take(&mut self, lengths: &[usize]) -> Result<String, String> {
        let came = self.socket.receive(lengths)?;
        let opened = self.opened()?;
        let mut datagrams = Vec::new();
        let begin = thread_ns();
        let refused = turn(opened, &came, &mut datagrams);
        opened.spent += thread_ns() - begin;
        refused?;
        let state = match opened.link.state() {
            State::Handshaking => "handshaking",
            State::Established { .. } => "established",
            State::Failed(reason) => return Err(format!("the handshake failed: {reason}")),
        };
        let mut line = format!("sent {state}");
        for datagram in &datagrams {
            self.socket.send(datagram)?;
            line += &format!(" {}", datagram.len());
        }
        Ok(line)
    }

    fn say(&mut self) -> Result<String, String> {
        let words: [u8; 16] = random().map_err(|error| error.to_string())?;
        let message = command(benchmark::COMMAND, 0, benchmark::TAKE_DATA, &words)
            .map_err(|error| error.to_string())?;
        self.opened()?.link.apply(&message, NOW).map_err(|refusal| refusal.reason)?;
        Ok(format!("said {}", hex(&words)))
    }
}

/// All that an end does in its turn, as [`Pair::settle`](flight_links::exchange::Pair::settle) has it do.
fn turn(opened: &mut Opened, came: &[Vec<u8>], datagrams: &mut Vec<Vec<u8>>) -> Outcome {
    let Opened { link, heard, .. } = opened;
    for datagram in came {
        link.process(datagram, NOW).map_err(|refusal| refusal.reason)?;
    }
    if link.next_timeout().is_some_and(|due| due <= NOW) {
        link.handle_timeout(NOW);
    }
    while let Some(output) = link.poll() {
        match output {
            Output::Datagram(datagram) => datagrams.push(datagram),
            Output::Message(message) => *heard = words_of(&message)?,
        }
    }
    Ok(())
}

fn words_of(message: &[u8]) -> Result<Vec<u8>, String> {
    let read = Message::parse(message).and_then(|message| Ok(message.command()?.payload.to_vec()));
    read.map_err(|error| format!("what came is no command: {error}"))
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
