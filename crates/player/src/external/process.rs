//! One program of an external stack: started, heard, waited for, ended at the latest at the limit of the run.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use netlab::RunClock;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::role::{Role, left};
use super::variables::variable;
use crate::events::{Event, tell};
use crate::ground::Enlist;
use crate::record::SideNote;

/// The line by which a server says that it can be connected to.
const READY: &str = "GAUNTLET READY";

/// How a program says that it cannot do what is asked: as the test servers of the QUIC interop runner do
/// (github.com/quic-interop/quic-interop-runner, "exit code 127").
const UNSUPPORTED: i32 = 127;

/// How long a program that is asked to end may take before it is ended, and how long its last output may take.
const GRACE: Duration = Duration::from_secs(2);

/// How a program is to be started.
pub(super) struct Launch {
    pub(super) role: Role,
    pub(super) argv: Vec<String>,
    pub(super) working_directory: PathBuf,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) limit_s: f64,
    pub(super) enlist: Enlist,
}

/// How a program came to its end.
pub(super) struct End {
    /// `Ok` when it did what was asked.
    pub(super) verdict: Result<(), Bad>,
    /// What the record says of it; nothing when it could not be started.
    pub(super) note: Option<SideNote>,
}

/// Why a program did not do what was asked.
pub(super) enum Bad {
    /// It cannot; the sentence says what.
    Unsupported(String),
    /// It failed; the sentence says why.
    Failed(String),
}

/// What the threads that listen to a program say.
enum Heard {
    Ready,
    ErrorLine(String),
    PipeClosed,
    Ended(std::io::Result<ExitStatus>),
}

/// A program that runs.
pub(super) struct Process {
    role: Role,
    name: String,
    limit_s: f64,
    clock: RunClock,
    group: Pid,
    heard: Receiver<Heard>,
    last_error: String,
    open_pipes: u32,
    ready: bool,
    status: Option<std::io::Result<ExitStatus>>,
    asked_to_end: bool,
    started_s: f64,
}

impl Process {
    /// Starts a program in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The end of a program that could not be started.
    pub(super) fn start(launch: Launch, run: &str, flow: &str, clock: RunClock) -> Result<Process, End> {
        let Launch { role, argv, working_directory, variables, limit_s, enlist } = launch;
        let started_s = clock.now_ns().unwrap_or(0) as f64 / 1e9;
        let mut command = Command::new(&argv[0]);
        command
            .args(&argv[1..])
            .current_dir(&working_directory)
            .env_clear()
            .envs(&variables)
            .env(variable("TIME_LEFT_S"), (limit_s - started_s).max(0.0).to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, so that what the program starts ends with it.
            .process_group(0);
        enlist(&mut command);
        let spawned = command.spawn();
        let mut child = spawned.map_err(|error| {
            let name = &argv[0];
            let sentence = if error.kind() == ErrorKind::NotFound {
                format!(
                    "the {} \"{name}\" was not found (or its working directory {} is not there); give its full path",
                    role.name(),
                    working_directory.display()
                )
            } else {
                format!("the {} \"{name}\" could not be started: {error}", role.name())
            };
            End { verdict: Err(Bad::Failed(sentence)), note: None }
        })?;
        let group = Pid::from_raw(child.id() as i32);
        let (says, heard) = channel();
        let program = format!("{flow}-{}", role.name());
        let mut open_pipes = 0;
        if let Some(stdout) = child.stdout.take() {
            listen(stdout, "stdout", run, &program, says.clone());
            open_pipes += 1;
        }
        if let Some(stderr) = child.stderr.take() {
            listen(stderr, "stderr", run, &program, says.clone());
            open_pipes += 1;
        }
        thread::spawn(move || says.send(Heard::Ended(child.wait())));
        Ok(Process {
            role,
            name: argv[0].clone(),
            limit_s,
            clock,
            group,
            heard,
            last_error: String::new(),
            open_pipes,
            ready: false,
            status: None,
            asked_to_end: false,
            started_s,
        })
    }

    /// Waits until the program says that it is ready; `false` when it ended or the limit came first.
    pub(super) fn wait_until_ready(&mut self, limit_ns: i64) -> bool {
        while !self.ready && self.status.is_none() && self.hear(limit_ns) {}
        self.ready
    }

    /// The end of a server that never became ready.
    pub(super) fn end_unready(mut self) -> End {
        if self.status.is_some() {
            let mut end = self.into_end();
            if end.verdict.is_ok() {
                end.verdict = Err(Bad::Failed(
                    "the server ended before it was ready, with exit code 0: it is to stay until its client has gone"
                        .into(),
                ));
            }
            return end;
        }
        self.stop();
        let sentence =
            format!("the server never printed \"{READY}\" before the limit of {} virtual s", self.limit_s);
        End { verdict: Err(Bad::Failed(sentence)), note: Some(self.note()) }
    }

    /// Waits for the program's end, at the latest to the limit of the run.
    pub(super) fn wait(&mut self, limit_ns: i64) -> End {
        self.wait_for_end(limit_ns);
        if self.status.is_none() {
            self.stop();
            let sentence = format!(
                "the {} \"{}\" had not ended at the limit of {} virtual s and was stopped",
                self.role.name(),
                self.name,
                self.limit_s
            );
            return End { verdict: Err(Bad::Failed(sentence)), note: Some(self.note()) };
        }
        self.drain();
        End { verdict: self.verdict(), note: Some(self.note()) }
    }

    /// Waits for the program to end by itself until `until_ns`, then asks it to: both are in order.
    pub(super) fn end_by(mut self, until_ns: i64) -> End {
        self.wait_for_end(until_ns);
        if self.status.is_none() {
            self.stop();
        }
        self.into_end()
    }

    fn into_end(mut self) -> End {
        self.drain();
        End { verdict: self.verdict(), note: Some(self.note()) }
    }

    fn verdict(&self) -> Result<(), Bad> {
        let role = self.role.name();
        let said = if self.last_error.is_empty() { "it said nothing" } else { &self.last_error };
        let status = match &self.status {
            Some(Ok(status)) => status,
            Some(Err(error)) => return Err(Bad::Failed(format!("the {role} was lost: {error}"))),
            None => return Err(Bad::Failed(format!("the {role} did not end when it was told to"))),
        };
        match (status.code(), status.signal()) {
            (Some(0), _) => Ok(()),
            (Some(UNSUPPORTED), _) => Err(Bad::Unsupported(format!("the {role} does not do this: {said}"))),
            (Some(code), _) => Err(Bad::Failed(format!("the {role} failed: {said} (exit code {code})"))),
            // Asked to end, it may do so without a word.
            (None, _) if self.asked_to_end => Ok(()),
            (None, Some(signal)) => Err(Bad::Failed(format!("the {role} was ended by signal {signal}"))),
            (None, None) => Err(Bad::Failed(format!("the {role} ended in an unknown way"))),
        }
    }

    fn note(&self) -> SideNote {
        let exit_code = match &self.status {
            Some(Ok(status)) => status.code(),
            _ => None,
        };
        SideNote {
            software: None,
            exit_code,
            started_s: self.started_s,
            finished_s: self.now_ns() as f64 / 1e9,
        }
    }

    /// Asks the program and all that it started to end, and ends what does not.
    fn stop(&mut self) {
        self.asked_to_end = true;
        // A group that is gone already needs nothing.
        let _ = killpg(self.group, Signal::SIGTERM);
        let grace_ns = GRACE.as_nanos() as i64;
        self.wait_for_end(self.now_ns() + grace_ns);
        let _ = killpg(self.group, Signal::SIGKILL);
        self.wait_for_end(self.now_ns() + grace_ns);
    }

    fn wait_for_end(&mut self, until_ns: i64) {
        while self.status.is_none() && self.hear(until_ns) {}
    }

    /// Hears the program's last words. What it has started and left behind would keep its pipes open, and is ended.
    fn drain(&mut self) {
        let _ = killpg(self.group, Signal::SIGKILL);
        let until_ns = self.now_ns() + GRACE.as_nanos() as i64;
        while self.open_pipes > 0 && self.hear(until_ns) {}
    }

    /// Takes in the next thing that happens; `false` when nothing did until `until_ns`.
    fn hear(&mut self, until_ns: i64) -> bool {
        let Ok(heard) = self.heard.recv_timeout(left(self.clock, until_ns)) else { return false };
        match heard {
            Heard::Ready => self.ready = true,
            Heard::ErrorLine(line) => self.last_error = line,
            Heard::PipeClosed => self.open_pipes -= 1,
            Heard::Ended(status) => self.status = Some(status),
        }
        true
    }

    fn now_ns(&self) -> i64 {
        self.clock.now_ns().unwrap_or(i64::MAX / 2)
    }
}

/// Passes on what a program prints, line by line, until it closes the pipe.
fn listen(
    pipe: impl Read + Send + 'static,
    stream: &'static str,
    run: &str,
    program: &str,
    says: Sender<Heard>,
) {
    let (run, program) = (run.to_owned(), program.to_owned());
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line), Ok(n) if n > 0) {
            let text = String::from_utf8_lossy(&line);
            let plain = text.trim_end();
            if stream == "stdout" && plain == READY {
                let _ = says.send(Heard::Ready);
            } else {
                tell(&Event::Output { run: &run, program: &program, stream, text: &text });
                if stream == "stderr" && !plain.is_empty() {
                    let _ = says.send(Heard::ErrorLine(plain.to_owned()));
                }
            }
            line.clear();
        }
        says.send(Heard::PipeClosed)
    });
}
