//! `gauntlet-player`: reads a plan (`docs/formats/plan.md`), plays its runs one after the other on its ground, writes a
//! record of each (`docs/formats/record.md`) and reports on its console. On the virtual ground it is the first process of
//! the guest kernel and powers that off at the end; on the host ground it is an ordinary program.

mod describe;
mod descriptors;
mod drains;
mod ends;
mod events;
mod external;
mod failure;
mod files;
mod flows;
mod gate;
mod ground;
mod hosts;
mod in_path;
mod kernel_counters;
mod plan;
mod play;
mod processor;
mod programs;
mod record;
mod rerouted;
mod terminal;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use descriptors::Descriptors;
use events::{Event, tell};
use failure::{Failure, Result};
use ground::host::{Host, Rights, report};
use ground::{Ground, virtual_time};
use plan::{Plan, Run};

const USAGE: &str = "usage: init=gauntlet-player -- --plan FILE --out FOLDER [--writable FOLDER]..., or \
                     gauntlet-player --ground host --plan FILE (--out FOLDER | --check), or \
                     gauntlet-player --ground host --doctor, or gauntlet-player --describe";

fn main() -> ExitCode {
    if std::env::args().skip(1).eq(["--describe"]) {
        println!("{}", describe::text());
        return ExitCode::SUCCESS;
    }
    let on_ground = std::env::args().any(|word| word == "--ground");
    // In a container this may be the first process too.
    if virtual_time::is_here() && !on_ground {
        virtual_time::prepare_the_process();
        if let Err(failure) = serve_in_the_guest() {
            tell(&Event::Refused { reason: &failure.to_string() });
        }
        virtual_time::power_off()
    }
    if !on_ground {
        eprintln!(
            "gauntlet-player is neither the first process of the guest kernel, as which `gauntlet run` boots it, nor was \
             it asked to play on the host ground; {USAGE}"
        );
        return ExitCode::from(2);
    }
    match serve_on_the_host() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tell(&Event::Refused { reason: &failure.to_string() });
            ExitCode::FAILURE
        }
    }
}

fn serve_in_the_guest() -> Result<()> {
    virtual_time::get_memory_in_large_pieces()?;
    let arguments = Arguments::read(std::env::args_os().skip(1).map(PathBuf::from))?;
    let plan = Plan::read(&arguments.plan()?)?;
    virtual_time::suit_memory_to(plan.runs.iter().map(|run| run.flows.len()).max().unwrap_or(0))?;
    let out = arguments.out()?;
    let mut writable = vec![out.as_path()];
    writable.extend(arguments.writable.iter().map(PathBuf::as_path));
    let mut ground = virtual_time::boot(&writable)?;
    for run in plan.runs {
        play_one(&mut ground, run, &out)?;
    }
    Ok(())
}

fn serve_on_the_host() -> Result<()> {
    let arguments = Arguments::read(std::env::args_os().skip(1).map(PathBuf::from))?;
    let plan = arguments.plan.as_deref().map(Plan::read).transpose()?;
    let settings = plan.as_ref().map(report::HostSettings::read).unwrap_or_default();
    let rights = Rights::acquire()?;
    match plan {
        None if arguments.doctor => println!("{}", report::doctor(rights)),
        Some(plan) if arguments.check => println!("{}", report::check(&plan, &settings)),
        Some(plan) => {
            let out = arguments.out()?;
            let descriptors = Descriptors::now();
            for run in plan.runs {
                // A ground for each run: nothing of one is left for the next.
                play_one(&mut Host::new(rights, settings.clone(), &out, descriptors), run, &out)?;
            }
        }
        None => return Err(Failure::new(USAGE)),
    }
    Ok(())
}

/// Plays a run and leaves its record; only a record that cannot be written ends the guest.
fn play_one(ground: &mut dyn Ground, run: Run, out: &Path) -> Result<()> {
    let id = run.id.clone();
    let seed = run.seed;
    tell(&Event::Started { run: &id });
    let folder = record::Folder::create(out, &id)?;
    let place = folder.path().to_owned();
    // A thread of its own, so that a defect in one run is that run's failure and the next ones are still played.
    let played = std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("run".into())
            .spawn_scoped(scope, || play::play(ground, &run, &place))
            .map_err(|error| Failure::io("start the run's thread", &error))?
            .join()
            .unwrap_or_else(|_| {
                Err(Failure::new("the run was ended by a defect of gauntlet-player (a panic)"))
            })
    });
    let mut record = played.unwrap_or_else(|failure| record::Record::failed(&id, seed, failure.to_string()));
    record.guest.ground = ground.name();
    let (outcome, reason) = (record.outcome, record.reason.clone());
    folder.finish(&record)?;
    tell(&Event::Finished { run: &id, outcome, reason: reason.as_deref() });
    Ok(())
}

#[derive(Default)]
struct Arguments {
    plan: Option<PathBuf>,
    out: Option<PathBuf>,
    writable: Vec<PathBuf>,
    check: bool,
    doctor: bool,
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = PathBuf>) -> Result<Arguments> {
        let mut arguments = Arguments::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| Failure::new(USAGE));
            match word.to_str() {
                Some("--plan") => arguments.plan = Some(value()?),
                Some("--out") => arguments.out = Some(value()?),
                Some("--writable") => arguments.writable.push(value()?),
                Some("--ground") if value()? == Path::new("host") => {}
                Some("--check") => arguments.check = true,
                Some("--doctor") => arguments.doctor = true,
                // User-mode Linux adds this behind whatever it was given.
                Some(added) if added.starts_with("console=") => {}
                _ => return Err(Failure::new(format!("{} is not an argument; {USAGE}", word.display()))),
            }
        }
        Ok(arguments)
    }

    fn plan(&self) -> Result<PathBuf> {
        self.plan.clone().ok_or_else(|| Failure::new(USAGE))
    }

    fn out(&self) -> Result<PathBuf> {
        self.out.clone().ok_or_else(|| Failure::new(USAGE))
    }
}
