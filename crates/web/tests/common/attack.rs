//! The attackers of the crate `attackers` on a server of a test.

use attackers::attacks::Kind;
use clap::Parser;
use serde_json::Value;

use super::Server;

#[derive(Parser)]
struct CommandLine {
    #[command(subcommand)]
    kind: Kind,
}

/// Handshake data behind a hole, 4 MB in two seconds.
pub const LATE_CRYPTO: &str = "crypto-after-handshake --rate 2000 --seconds 2";

impl Server {
    /// What an attacker says at its end, started with these words.
    pub async fn attacked(&self, words: &str) -> Value {
        let target = self.address.to_string();
        let (kind, options) = words.split_once(' ').expect("a kind and its options");
        let words = ["gauntlet-attacker", kind, "--target", &target].into_iter().chain(options.split(' '));
        let line = CommandLine::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        let mut said = Vec::new();
        line.kind.run(&mut said).await.expect("it begins");
        let last = said.split(|octet| *octet == b'\n').rfind(|line| !line.is_empty()).expect("a last line");
        let mut last: Value = serde_json::from_slice(last).expect("JSON");
        last["done"].take()
    }
}
