//! The way back: from a profile to the options that make it.

use std::fmt::{self, Display};

use restp::Profile;
use restp::profile::{Dispensable, Management, Paths, Protection, names};

use crate::profile_args::SWITCH;

/// Presets to start from. `file_harq` has timers of its own, which no option takes back.
const STARTS: [&str; 6] = ["file_arq", "web_opt", "voice", "satellite_outage", "multipath", "copies"];
/// So many options are as good as one line of code.
const OPTIONS_FOR_CODE: usize = 4;

/// How to make a profile: from a preset, by options, and by code where there is no option.
pub struct Recipe<'a> {
    wanted: &'a Profile,
    preset: Profile,
    options: Vec<String>,
    numbers: Vec<String>,
    code: Vec<String>,
}

impl<'a> Recipe<'a> {
    /// The shortest one; `None` for what needs no connection, which no option makes.
    pub fn of(wanted: &'a Profile) -> Option<Self> {
        if wanted.management == Management::Connectionless {
            return None;
        }
        let presets = STARTS.into_iter().filter_map(Profile::preset);
        presets
            .map(|preset| Self::from(preset, wanted))
            .min_by_key(|recipe| recipe.options.len() + recipe.code.len() * OPTIONS_FOR_CODE)
    }

    fn from(preset: Profile, wanted: &'a Profile) -> Self {
        let options = vec![format!("--profile {}", preset.name)];
        let mut recipe = Self { wanted, preset, options, numbers: Vec::new(), code: Vec::new() };
        recipe.service("--management", names::MANAGEMENT, |p| p.management);
        recipe.service("--flow-control", names::FLOW_CONTROL, |p| p.flow_control);
        recipe.service("--congestion", names::CONGESTION, |p| p.congestion);
        recipe.service("--ordering", names::ORDERING, |p| p.ordering);
        recipe.service("--reliability", names::RELIABILITY, |p| p.reliability);
        recipe.service("--ack", names::ACK_TIMING, |p| p.ack_timing);
        recipe.service("--ack-report", names::ACK_REPORT, |p| p.ack_report);
        recipe.service("--framing", names::FRAMING, |p| p.framing);
        recipe.service("--paths", names::PATHS, |p| p.paths);
        recipe.service("--loss-cause", names::LOSS_CAUSE, |p| p.loss_cause);
        recipe.service("--crc", SWITCH, |p| p.crc);
        recipe.service("--ecn", SWITCH, |p| p.tuning.ecn);
        recipe.service("--pacing", SWITCH, |p| p.tuning.pacing);
        if wanted.i_own_the_path {
            recipe.options.push("--i-own-the-path".into());
        }
        if wanted.protection == Protection::Protected {
            recipe.options.push("--own-key FILE --peer-keys FILE".into());
        }
        recipe.number("--window-packets", |p| p.tuning.receive_window_packets.into());
        recipe.number("--hold-ms", |p| p.tuning.hold.as_millis());
        recipe.field("tuning.send_buffer_packets", |p| p.tuning.send_buffer_packets);
        recipe.field("tuning.ack_every", |p| p.tuning.ack_every);
        recipe.field("dispensable.several_paths", |p| in_force(p).several_paths);
        recipe.field("dispensable.ack_report", |p| in_force(p).ack_report);
        recipe.field("dispensable.fec", |p| in_force(p).fec);
        recipe
    }

    fn service<T: PartialEq>(&mut self, option: &str, table: names::Table<T>, of: impl Fn(&Profile) -> T) {
        let wanted = of(self.wanted);
        if wanted != of(&self.preset) {
            let name = table.iter().find(|(_, choice)| *choice == wanted).map(|(name, _)| name);
            self.options.extend(name.map(|name| format!("{option} {name}")));
        }
    }

    fn number(&mut self, option: &str, of: impl Fn(&Profile) -> u128) {
        let (wanted, given) = (of(self.wanted), of(&self.preset));
        if wanted != given {
            self.options.push(format!("{option} {wanted}"));
            self.numbers.push(format!("{option} {wanted} (there {given})"));
        }
    }

    fn field<T: PartialEq + Display>(&mut self, name: &str, of: impl Fn(&Profile) -> T) {
        let (wanted, given) = (of(self.wanted), of(&self.preset));
        if wanted != given {
            self.code.push(format!("profile.{name} = {wanted} (there {given})"));
        }
    }
}

/// What may be left out of those services that there are.
fn in_force(profile: &Profile) -> Dispensable {
    Dispensable {
        several_paths: profile.dispensable.several_paths && profile.paths != Paths::Single,
        ack_report: profile.dispensable.ack_report && profile.reliability.retransmits(),
        fec: profile.dispensable.fec && profile.reliability.fec().is_some(),
    }
}

impl Display for Recipe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Options of this tool: {}", self.options.join(" "))?;
        for (title, entries) in [
            ("Numbers other than in", &self.numbers),
            ("Without an option, in code, other than in", &self.code),
        ] {
            if !entries.is_empty() {
                writeln!(f, "{title} {}: {}", self.preset.name, entries.join(", "))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;
    use restp::profile::{Gain, Link, Losses, Requirements};

    use super::*;
    use crate::profile_args::ProfileArgs;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        profile: ProfileArgs,
    }

    fn needs() -> impl Iterator<Item = Requirements> {
        (0..3 * 4 * 128_u32).map(|code| {
            let bit = |place: u32| (code / 12) >> place & 1 == 1;
            let losses = [Losses::Never, Losses::IfLate, Losses::Tolerated][(code % 3) as usize];
            Requirements {
                losses,
                several_paths: [None, Some(Gain::Throughput), Some(Gain::Survival), Some(Gain::Continuity)]
                    [(code / 3 % 4) as usize],
                useful_for: (losses == Losses::IfLate).then_some(Duration::from_millis(150)),
                in_order: bit(0),
                messages: bit(1),
                quick_start: bit(2),
                secret: !bit(2) && bit(3),
                link: Link {
                    rtt: bit(3).then_some(Duration::from_millis(600)),
                    noisy: bit(4),
                    goes_away: bit(5),
                    narrow_return: bit(6),
                    owned: bit(3),
                },
            }
        })
    }

    #[test]
    fn the_options_and_the_code_make_what_was_chosen_and_nothing_else_is_missing() {
        let mut connections = 0;
        for needs in needs() {
            let chosen = needs.choose().unwrap();
            let Some(recipe) = Recipe::of(&chosen) else {
                assert_eq!(chosen.management, Management::Connectionless);
                continue;
            };
            connections += 1;
            let words = recipe.options.iter().flat_map(|option| option.split(' '));
            let keys = words.clone().any(|word| word == "--own-key");
            assert_eq!(keys, needs.secret);
            let words = words.filter(|word| !matches!(*word, "--own-key" | "--peer-keys" | "FILE"));
            let mut line = Line::try_parse_from(["restp"].into_iter().chain(words)).unwrap();
            line.profile.protected = keys;
            let mut made = line.profile.compose().unwrap().profile().clone();
            for line in &recipe.code {
                let (name, value) = line.strip_prefix("profile.").unwrap().split_once(" = ").unwrap();
                let value = value.split(' ').next().unwrap();
                match name {
                    "tuning.send_buffer_packets" => made.tuning.send_buffer_packets = value.parse().unwrap(),
                    "tuning.ack_every" => made.tuning.ack_every = value.parse().unwrap(),
                    "dispensable.several_paths" => made.dispensable.several_paths = value.parse().unwrap(),
                    "dispensable.ack_report" => made.dispensable.ack_report = value.parse().unwrap(),
                    "dispensable.fec" => made.dispensable.fec = value.parse().unwrap(),
                    other => panic!("{other}"),
                }
            }
            assert_eq!(in_force(&made), in_force(&chosen), "{recipe}");
            let made = Profile {
                name: chosen.name.clone(),
                reasons: chosen.reasons.clone(),
                dispensable: chosen.dispensable,
                ..made
            };
            assert_eq!(made, chosen, "{recipe}");
        }
        assert!(connections > 1000, "{connections}");
    }

    #[test]
    fn a_preset_is_its_own_recipe() {
        for name in STARTS {
            let preset = Profile::preset(name).unwrap();
            assert_eq!(
                Recipe::of(&preset).unwrap().to_string(),
                format!("Options of this tool: --profile {name}\n")
            );
        }
        assert!(Recipe::of(&Profile::datagram()).is_none());
    }
}
