//! `restp choose`: from what is needed to a profile, with the reason of every service and the options that make it.

use std::time::Duration;

use clap::{Args, ValueEnum};
use restp::profile::{Gain, Link, Losses, Requirements};

use crate::numbers::{MOST_MS, whole};
use crate::outcome::Outcome;
use crate::profile_args::sentences;
use crate::recipe::Recipe;

#[derive(Clone, Copy, ValueEnum)]
enum LossesArg {
    /// Nothing may be lost
    Never,
    /// What comes later than --useful-for-ms may be lost
    IfLate,
    /// Anything may be lost
    Tolerated,
}

#[derive(Clone, Copy, ValueEnum)]
enum GainArg {
    /// The sum of their rates
    Throughput,
    /// To go on when one fails
    Survival,
    /// To lose no time when one fails or loses a packet
    Continuity,
}

/// Name the services for what you need, say why, and how to ask for them.
#[derive(Args)]
pub struct Choose {
    /// What may be lost
    #[arg(long, value_enum, default_value = "never")]
    losses: LossesArg,
    /// Age in milliseconds after which data are of no use
    #[arg(long, value_parser = whole::<u64>(0..=MOST_MS))]
    useful_for_ms: Option<u64>,
    /// Data must be read in the order in which they were sent
    #[arg(long)]
    in_order: bool,
    /// Messages keep their boundaries
    #[arg(long)]
    messages: bool,
    /// The first request must not wait for a handshake
    #[arg(long)]
    quick_start: bool,
    /// Nobody on the path may read or change anything
    #[arg(long)]
    secret: bool,
    /// Use several paths
    #[arg(long, value_enum)]
    several_paths: Option<GainArg>,
    /// Round-trip time of the link in milliseconds
    #[arg(long, value_parser = whole::<u64>(0..=MOST_MS))]
    rtt_ms: Option<u64>,
    /// The link loses single packets to bit errors
    #[arg(long)]
    noisy: bool,
    /// The link is gone for seconds to minutes now and then
    #[arg(long)]
    goes_away: bool,
    /// The way back has much less capacity
    #[arg(long)]
    narrow_return: bool,
    /// Nobody else uses the link
    #[arg(long)]
    owned: bool,
}

impl Choose {
    fn requirements(&self) -> Requirements {
        Requirements {
            losses: match self.losses {
                LossesArg::Never => Losses::Never,
                LossesArg::IfLate => Losses::IfLate,
                LossesArg::Tolerated => Losses::Tolerated,
            },
            in_order: self.in_order,
            messages: self.messages,
            useful_for: self.useful_for_ms.map(Duration::from_millis),
            quick_start: self.quick_start,
            secret: self.secret,
            several_paths: self.several_paths.map(|gain| match gain {
                GainArg::Throughput => Gain::Throughput,
                GainArg::Survival => Gain::Survival,
                GainArg::Continuity => Gain::Continuity,
            }),
            link: Link {
                rtt: self.rtt_ms.map(Duration::from_millis),
                noisy: self.noisy,
                goes_away: self.goes_away,
                narrow_return: self.narrow_return,
                owned: self.owned,
            },
        }
    }

    /// Prints what was chosen and why, and how to make it.
    pub fn run(self) -> Outcome {
        let profile = self.requirements().choose().map_err(|conflicts| sentences(&conflicts))?;
        let composition = profile.validate().map_err(|conflicts| sentences(&conflicts))?;
        print!("{}", composition.explain());
        match Recipe::of(composition.profile()) {
            Some(recipe) => print!("{recipe}"),
            None => println!(
                "Options of this tool: none, as it needs a connection. In code: Endpoint::datagrams(port, \
                 Profile {{ crc: {}, ..Profile::datagram() }})",
                composition.profile().crc
            ),
        }
        Ok(())
    }
}
