//! What each attacker puts on the wire, against small servers that write down what they see.

mod command_line;
mod datagrams;
mod flood;
mod frames;
mod guard;
mod peers;
mod quic;
mod slow;
mod syn_flood;

use std::net::SocketAddr;

use attackers::attacks::Kind;
use clap::Parser;
use serde_json::Value;

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    kind: Kind,
}

/// What an attacker said.
struct Log {
    seconds: Vec<Value>,
    done: Value,
}

impl Log {
    /// A count of the last line.
    fn count(&self, name: &str) -> u64 {
        self.done[name].as_u64().unwrap_or_else(|| panic!("no count {name}: {}", self.done))
    }

    /// Ends of starts of this kind.
    fn ended(&self, outcome: &str) -> u64 {
        self.done["by_outcome"][outcome].as_u64().unwrap_or_default()
    }
}

/// Runs an attacker as from the command line, in this process, and minds what it says of itself.
///
/// That it was late or busy may be the doing of servers and tests that share this process.
///
/// # Panics
/// If it lacked ports, descriptors or memory: then the log tells of this machine.
async fn attack(kind: &str, target: SocketAddr, options: &str) -> Log {
    let target = target.to_string();
    let mut words = vec!["gauntlet-attacker", kind, "--target", target.as_str()];
    words.extend(options.split_whitespace());
    let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
    let mut out = Vec::new();
    cli.kind.run(&mut out).await.unwrap();
    let mut lines: Vec<Value> = out
        .split(|octet| *octet == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let done = lines.pop().unwrap()["done"].take();
    let why = done["why"].as_str().unwrap();
    assert_eq!(done["saturated"], !why.is_empty(), "{done}");
    let busy = [" ms late (", " % of a core", " starts were made in time"];
    assert!(why.is_empty() || busy.iter().any(|words| why.contains(words)), "{why}");
    Log { seconds: lines.into_iter().map(|mut line| line["second"].take()).collect(), done }
}
