//! Programs of the user inside the network: started in their nodes, heard, waited for, stopped.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use netlab::{Network, RunClock};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::ends::address;
use crate::events::{Event, tell};
use crate::failure::{Failure, Result};
use crate::files::Files;
use crate::gate::Pass;
use crate::ground::Ground;
use crate::plan::{Program, Run};
use crate::record::ProgramResult;
use crate::terminal;

/// What stands for a node's address in arguments and environment: this, the node's name, and `}`.
const ADDRESS: &str = "{address:";

/// How long a program that is told to end may take before it is ended.
const GRACE: Duration = Duration::from_secs(2);

/// The programs of a run while it is played.
pub struct Programs {
    running: Vec<Running>,
    background: Arc<Mutex<Vec<Pid>>>,
}

struct Running {
    id: String,
    node: String,
    wait: bool,
    thread: JoinHandle<ProgramResult>,
}

impl Programs {
    /// Starts each program when its instant comes, from `gate` on; `ended` hears of the end of those that are waited for.
    pub fn start(
        ground: &mut dyn Ground,
        run: &Run,
        network: &Network,
        clock: RunClock,
        (gate, ended): (&Pass, &Sender<()>),
    ) -> Result<Programs> {
        let background = Arc::new(Mutex::new(Vec::new()));
        let mut running = Vec::new();
        for program in &run.programs {
            let mut command = command(program, network)?;
            let files = Files::of(program, network, &ground.scratch())?;
            ground.enlist(&program.node)?(&mut command);
            let job = Job {
                run: run.id.clone(),
                program: program.clone(),
                files,
                clock,
                limit_s: run.limit_s,
                background: Arc::clone(&background),
            };
            let (gate, ended) = (gate.clone(), ended.clone());
            let thread = network.node(&program.node)?.spawn("program", move || {
                let wait = job.program.wait;
                // Only the programs that are waited for keep the run alive.
                let keep = wait.then_some(ended);
                let result = job.play(command, &gate);
                if let Some(ended) = keep {
                    let _ = ended.send(());
                }
                result
            })?;
            running.push(Running {
                id: program.id.clone(),
                node: program.node.clone(),
                wait: program.wait,
                thread,
            });
        }
        Ok(Programs { running, background })
    }

    /// Waits for the programs that are to be waited for, stops the others, and says what became of each.
    pub fn join(self) -> Result<Vec<ProgramResult>> {
        let mut results = Vec::new();
        let (waited, others): (Vec<_>, Vec<_>) = self.running.into_iter().partition(|running| running.wait);
        let mut stopped = false;
        for running in waited.into_iter().chain(others) {
            if !running.wait && !stopped {
                stop(&self.background.lock().unwrap_or_else(PoisonError::into_inner));
                stopped = true;
            }
            let Running { id, node, thread, .. } = running;
            results.push(thread.join().map_err(|_| {
                Failure::new(format!(
                    "program \"{id}\" in node \"{node}\" was lost by a defect of gauntlet-player"
                ))
            })?);
        }
        Ok(results)
    }
}

struct Job {
    run: String,
    program: Program,
    files: Option<Files>,
    clock: RunClock,
    limit_s: f64,
    background: Arc<Mutex<Vec<Pid>>>,
}

impl Job {
    fn play(self, mut command: Command, gate: &Pass) -> ProgramResult {
        let now_s = || self.clock.now_ns().unwrap_or(0) as f64 / 1e9;
        let mut result = ProgramResult {
            id: self.program.id.clone(),
            node: self.program.node.clone(),
            outcome: "failed",
            reason: None,
            exit_code: None,
            started_s: None,
            finished_s: None,
        };
        if !gate.wait() {
            return result;
        }
        let until_start_s = self.program.start_s - now_s();
        if until_start_s > 0.0 {
            std::thread::sleep(Duration::from_secs_f64(until_start_s));
        }
        if let Some(Err(failure)) = self.files.as_ref().map(Files::enter) {
            result.reason = Some(failure.to_string());
            return result;
        }
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                result.reason = Some(cannot_start(&self.program, &error));
                return result;
            }
        };
        result.started_s = Some(now_s());
        let group = Pid::from_raw(child.id() as i32);
        if !self.program.wait {
            self.background.lock().unwrap_or_else(PoisonError::into_inner).push(group);
        }
        let status = std::thread::scope(|scope| {
            self.forward(scope, &mut child);
            self.wait(&mut child, group)
        });
        result.finished_s = Some(now_s());
        match status {
            Ok(Ended::ByItself(status)) => self.judge(status, &mut result),
            Ok(Ended::AtTheLimit) => {
                result.reason = Some(format!(
                    "\"{}\" was stopped at the limit of {} virtual s",
                    self.program.argv[0], self.limit_s
                ));
            }
            Err(error) => result.reason = Some(format!("\"{}\" was lost: {error}", self.program.argv[0])),
        }
        result
    }

    /// Waits for the program's end; one that the run waits for is stopped at the run's limit.
    fn wait(&self, child: &mut Child, group: Pid) -> std::io::Result<Ended> {
        if !self.program.wait {
            return child.wait().map(Ended::ByItself);
        }
        let limit_ns = (self.limit_s * 1e9) as i64;
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Ended::ByItself(status));
            }
            if self.clock.now_ns().unwrap_or(limit_ns) >= limit_ns {
                stop(&[group]);
                child.wait()?;
                return Ok(Ended::AtTheLimit);
            }
            std::thread::sleep(pause);
            // A program that runs for long is asked less often; its end is then known within 50 ms.
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    fn judge(&self, status: ExitStatus, result: &mut ProgramResult) {
        result.exit_code = status.code();
        if status.success() || !self.program.wait {
            result.outcome = "ok";
        } else if let Some(code) = status.code() {
            result.reason = Some(format!("\"{}\" ended with exit code {code}", self.program.argv[0]));
        } else if let Some(signal) = status.signal() {
            result.reason = Some(format!("\"{}\" was ended by signal {signal}", self.program.argv[0]));
        }
    }

    /// Passes on what the program prints, line by line.
    fn forward<'scope>(&'scope self, scope: &'scope std::thread::Scope<'scope, '_>, child: &mut Child) {
        if let Some(stdout) = child.stdout.take() {
            scope.spawn(move || self.pass(stdout, "stdout"));
        }
        if let Some(stderr) = child.stderr.take() {
            scope.spawn(move || self.pass(stderr, "stderr"));
        }
    }

    fn pass(&self, pipe: impl Read, stream: &'static str) {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line), Ok(n) if n > 0) {
            let text = String::from_utf8_lossy(&line);
            tell(&Event::Output { run: &self.run, program: &self.program.id, stream, text: &text });
            line.clear();
        }
    }
}

enum Ended {
    ByItself(ExitStatus),
    AtTheLimit,
}

fn command(program: &Program, network: &Network) -> Result<Command> {
    let filled = |word: &String| with_addresses(word, network);
    let mut command = Command::new(&program.argv[0]);
    command
        .args(program.argv[1..].iter().map(filled).collect::<Result<Vec<_>>>()?)
        .current_dir(&program.working_directory)
        .env_clear();
    match &program.terminal {
        Some(place) => terminal::start_on(&mut command, place)?,
        // A group of its own, so that what the program starts ends with it.
        None => {
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        }
    }
    for (name, value) in &program.environment {
        command.env(name, filled(value)?);
    }
    Ok(command)
}

/// `word` with every `{address:NODE}` replaced by that node's address.
fn with_addresses(word: &str, network: &Network) -> Result<String> {
    let mut done = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once(ADDRESS) {
        let Some((node, behind)) = after.split_once('}') else { break };
        done.push_str(before);
        done.push_str(&address(network, node)?.to_string());
        rest = behind;
    }
    Ok(done + rest)
}

fn cannot_start(program: &Program, error: &std::io::Error) -> String {
    let name = &program.argv[0];
    if error.kind() == std::io::ErrorKind::NotFound {
        return format!(
            "the program \"{name}\" was not found (or its working directory {} is not there); \
             give its full path, or one that PATH finds",
            program.working_directory.display()
        );
    }
    format!("the program \"{name}\" could not be started: {error}")
}

/// Asks process groups to end, and ends those that do not.
fn stop(groups: &[Pid]) {
    for &group in groups {
        // A group that is gone already needs nothing.
        let _ = killpg(group, Signal::SIGTERM);
    }
    std::thread::sleep(GRACE);
    for &group in groups {
        let _ = killpg(group, Signal::SIGKILL);
    }
}
