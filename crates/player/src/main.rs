//! `gauntlet-player`: first process of the guest kernel. Reads a plan (`docs/formats/plan.md`), plays its runs one after
//! the other, writes a record of each (`docs/formats/record.md`), reports on its console, and powers the guest off.

mod boot;
mod describe;
mod ends;
mod events;
mod external;
mod failure;
mod flows;
mod gate;
mod in_path;
mod memory;
mod plan;
mod play;
mod programs;
mod record;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use events::{Event, tell};
use failure::{Failure, Result};
use plan::{Plan, Run};

const USAGE: &str = "usage: init=gauntlet-player -- --plan FILE --out FOLDER [--writable FOLDER]...";

fn main() -> ExitCode {
    if std::env::args().skip(1).eq(["--describe"]) {
        println!("{}", describe::text());
        return ExitCode::SUCCESS;
    }
    if std::process::id() != 1 {
        eprintln!(
            "gauntlet-player is the first process of the guest kernel and of no use by itself: `gauntlet run` boots it. \
             `gauntlet-player --describe` tells what it can play."
        );
        return ExitCode::from(2);
    }
    #[cfg(feature = "quiche")]
    leave_the_processors_random_numbers_alone();
    if let Err(failure) = serve() {
        tell(&Event::Refused { reason: &failure.to_string() });
    }
    boot::power_off()
}

/// Has BoringSSL believe that this processor has no RDRAND, which it would use on Intel's: all its randomness comes from
/// the kernel then, and with it from the run's seed.
#[cfg(feature = "quiche")]
fn leave_the_processors_random_numbers_alone() {
    /// Bits of CPUID that are to be cleared: RDRAND is bit 30 of ECX, which BoringSSL has in the upper half of its first
    /// number (crypto/cpu_intel.cc).
    const NO_RDRAND: &str = "~0x4000000000000000";
    // SAFETY: this is the first thing that the process does; there is no other thread yet that could read the
    // environment meanwhile.
    unsafe { std::env::set_var("OPENSSL_ia32cap", NO_RDRAND) };
}

struct Arguments {
    plan: PathBuf,
    out: PathBuf,
    writable: Vec<PathBuf>,
}

fn serve() -> Result<()> {
    memory::get_in_large_pieces()?;
    let arguments = Arguments::read(std::env::args_os().skip(1).map(PathBuf::from))?;
    let plan = Plan::read(&arguments.plan)?;
    let mut writable = vec![arguments.out.as_path()];
    writable.extend(arguments.writable.iter().map(PathBuf::as_path));
    boot::prepare(&writable)?;
    for run in plan.runs {
        play_one(run, &arguments.out)?;
    }
    Ok(())
}

/// Plays a run and leaves its record; only a record that cannot be written ends the guest.
fn play_one(run: Run, out: &Path) -> Result<()> {
    let id = run.id.clone();
    let seed = run.seed;
    tell(&Event::Started { run: &id });
    let folder = record::Folder::create(out, &id)?;
    let place = folder.path().to_owned();
    // A thread of its own, so that a defect in one run is that run's failure and the next ones are still played.
    let played = std::thread::Builder::new()
        .name("run".into())
        .spawn(move || play::play(&run, &place))
        .map_err(|error| Failure::io("start the run's thread", &error))?
        .join()
        .unwrap_or_else(|_| Err(Failure::new("the run was ended by a defect of gauntlet-player (a panic)")));
    let record = played.unwrap_or_else(|failure| record::Record::failed(&id, seed, failure.to_string()));
    let (outcome, reason) = (record.outcome, record.reason.clone());
    folder.finish(&record)?;
    tell(&Event::Finished { run: &id, outcome, reason: reason.as_deref() });
    Ok(())
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = PathBuf>) -> Result<Arguments> {
        let (mut plan, mut out, mut writable) = (None, None, Vec::new());
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| Failure::new(USAGE));
            match word.to_str() {
                Some("--plan") => plan = Some(value()?),
                Some("--out") => out = Some(value()?),
                Some("--writable") => writable.push(value()?),
                // User-mode Linux adds this behind whatever it was given.
                Some(added) if added.starts_with("console=") => {}
                _ => return Err(Failure::new(format!("{} is not an argument; {USAGE}", word.display()))),
            }
        }
        let missing = || Failure::new(USAGE);
        Ok(Arguments { plan: plan.ok_or_else(missing)?, out: out.ok_or_else(missing)?, writable })
    }
}
