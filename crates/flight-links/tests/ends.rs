//! First handshakes between two processes: they speak with each other and not with themselves, and no end is charged with
//! the time that it waits for the other.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const BENCH: &str = env!("CARGO_BIN_EXE_flight-bench");

/// What an end is kept waiting: far longer than a handshake computes in any build.
const DELAY: Duration = Duration::from_secs(2);

/// A test's own file with certificates; those of two files are of two authorities.
fn credentials(of: &str, signature: &str) -> PathBuf {
    let made =
        Command::new(BENCH).args(["credentials", "--signature", signature]).output().expect("it starts");
    assert!(made.status.success());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{of}-{}.txt", std::process::id()));
    std::fs::write(&path, made.stdout).expect("it can be written");
    path
}

/// A process with one end, led by hand.
struct End {
    child: Child,
    lines: ChildStdin,
    answers: BufReader<ChildStdout>,
    address: String,
}

impl End {
    fn start(words: &[&str], credentials: &Path, to: Option<&str>) -> Self {
        let mut command = Command::new(BENCH);
        command.arg("handshake-end").arg("--credentials").arg(credentials).args(words);
        command.args(to.into_iter().flat_map(|to| ["--to", to]));
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().expect("it starts");
        let (lines, answers) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let mut end = Self { child, lines, answers: BufReader::new(answers), address: String::new() };
        end.address = end.answer("at").expect("it has a socket");
        end
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.lines, "{line}").expect("it listens");
    }

    fn ask(&mut self, line: &str, wanted: &str) -> Option<String> {
        self.tell(line);
        self.answer(wanted)
    }

    /// What stands behind the word that is due; none if the process has ended instead.
    fn answer(&mut self, wanted: &str) -> Option<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line).expect("text") == 0 {
            return None;
        }
        let rest = line.trim().strip_prefix(wanted).unwrap_or_else(|| panic!("{line}"));
        Some(rest.trim().to_owned())
    }

    fn spent(&mut self) -> Duration {
        Duration::from_nanos(self.ask("spent", "spent").expect("it is there").parse().expect("a number"))
    }

    /// What it said last before it ended.
    fn last_words(self) -> String {
        drop(self.lines);
        let output: Output = self.child.wait_with_output().expect("it ends");
        assert!(!output.status.success());
        String::from_utf8(output.stderr).expect("text")
    }
}

/// The lengths behind the state.
fn lengths(said: &str) -> &str {
    said.split_once(' ').map_or("", |(_, lengths)| lengths)
}

/// Turns until both ends are quiet; datagrams of `lengths` are on their way to `one`. Whether both can send then; none if
/// an end has ended instead.
fn exchange(one: &mut End, other: &mut End, on_the_way: &str) -> Option<bool> {
    let (mut on_the_way, mut quiet, mut established) = (on_the_way.to_owned(), 0, [false; 2]);
    for turn in [0, 1].into_iter().cycle() {
        let end = if turn == 0 { &mut *one } else { &mut *other };
        let said = end.ask(&format!("take {on_the_way}"), "sent")?;
        established[turn] = said.starts_with("established");
        lengths(&said).clone_into(&mut on_the_way);
        quiet = if on_the_way.is_empty() { quiet + 1 } else { 0 };
        if quiet == 2 {
            break;
        }
    }
    Some(established == [true; 2])
}

#[test]
fn two_processes_do_one_handshake_with_each_other() {
    for (security, signature) in
        [("quic-stream", "ed25519"), ("quic-datagram", "ed25519"), ("tls", "ed25519"), ("dtls", "ecdsa-p256")]
    {
        let path = credentials(&format!("both-{security}"), signature);
        let words = ["--security", security, "--signature", signature];
        let mut space = End::start(&words, &path, None);
        space.ask("open server", "opened").expect("it opens");
        let mut ground = End::start(&words, &path, Some(&space.address));
        ground.ask("open client", "opened").expect("it opens");
        assert_ne!(ground.child.id(), space.child.id());

        assert_eq!(exchange(&mut ground, &mut space, ""), Some(true), "{security}");
        assert_eq!(space.ask("peer", "peer").as_ref(), Some(&ground.address), "{security}");
        assert_eq!(ground.ask("peer", "peer").as_ref(), Some(&space.address), "{security}");

        // Each end reads what the other's process alone knew: they have the same keys.
        let said = [ground.ask("say", "said"), space.ask("say", "said")];
        assert_eq!(said.iter().flatten().filter(|words| words.len() == 32).count(), 2);
        assert_ne!(said[0], said[1]);
        exchange(&mut ground, &mut space, "").expect("both are there");
        assert_eq!([space.ask("heard", "heard"), ground.ask("heard", "heard")], said, "{security}");
        std::fs::remove_file(path).expect("it is there");
    }
}

#[test]
fn an_end_that_trusts_another_authority_refuses_the_other_process() {
    let (path, strange) = (credentials("own", "ed25519"), credentials("strange", "ed25519"));
    let mut space = End::start(&[], &strange, None);
    space.ask("open server", "opened").expect("it opens");
    let mut ground = End::start(&[], &path, Some(&space.address));
    ground.ask("open client", "opened").expect("it opens");
    assert_eq!(exchange(&mut ground, &mut space, ""), None);
    let said = ground.last_words();
    assert!(said.contains("the handshake failed"), "{said}");
    let _ = space.child.kill();
    let _ = space.child.wait();
    for path in [path, strange] {
        std::fs::remove_file(path).expect("it is there");
    }
}

#[test]
fn an_end_is_not_charged_with_waiting_for_the_other() {
    let path = credentials("late", "ed25519");
    let mut space = End::start(&[], &path, None);
    space.ask("open server", "opened").expect("it opens");
    let mut ground = End::start(&[], &path, Some(&space.address));
    ground.ask("open client", "opened").expect("it opens");
    let begin = Instant::now();
    // Space waits at its socket, to which ground has not sent anything yet: a first datagram of QUIC has 1,200 octets.
    space.tell("take 1200");
    sleep(DELAY);
    assert_eq!(ground.ask("take", "sent").as_deref(), Some("handshaking 1200"));
    let said = space.answer("sent").expect("it is there");
    // Ground waits for its turn.
    sleep(DELAY);
    let said = ground.ask(&format!("take {}", lengths(&said)), "sent").expect("it is there");
    assert_eq!(exchange(&mut space, &mut ground, lengths(&said)), Some(true));
    let waited = begin.elapsed();
    let (of_ground, of_space) = (ground.spent(), space.spent());
    assert!(waited >= 2 * DELAY, "{waited:?}");
    for spent in [of_ground, of_space] {
        assert!(spent > Duration::ZERO && spent < DELAY, "{of_ground:?} and {of_space:?} of {waited:?}");
    }
    // Nor does a handshake grow while its end rests.
    sleep(Duration::from_millis(50));
    assert_eq!((ground.spent(), space.spent()), (of_ground, of_space));
    std::fs::remove_file(path).expect("it is there");
}

#[test]
fn a_line_that_is_none_is_answered_by_those_that_there_are() {
    let path = credentials("line", "ed25519");
    for (line, said) in [
        ("spent", "no link is open: open client or open server"),
        ("peer", "nobody has come yet"),
        ("give", "«give» is no line: open client, open server, take OCTETS ..., spent, say, heard, peer"),
        ("take many", "«take many» has lengths that are no numbers"),
    ] {
        let mut end = End::start(&[], &path, None);
        assert_eq!(end.ask(line, "sent"), None, "{line}");
        assert_eq!(end.last_words(), format!("flight-bench: {said}\n"));
    }
    std::fs::remove_file(path).expect("it is there");
}
