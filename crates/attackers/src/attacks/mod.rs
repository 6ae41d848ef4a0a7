//! The kinds of attack, a file each. A new one takes a file and a line in [`kinds!`](self).

mod datagrams;
mod feed;
mod request;
mod start;

pub mod amplification;
pub mod cid_exhaustion;
pub mod coalesced_initials;
pub mod crypto_after_handshake;
pub mod flood;
pub mod header_expansion;
pub mod long_settings;
pub mod optimistic_ack;
pub mod path_challenge;
pub mod rapid_reset;
pub mod slow;
pub mod syn_flood;
pub mod zero_length;

use std::io::Write;

use clap::Subcommand;

use crate::context::SetupError;

macro_rules! kinds {
    ($($kind:ident: $options:ty,)*) => {
        /// A kind of attack and what it is told.
        #[derive(Clone, Debug, Subcommand)]
        #[allow(missing_docs, reason = "each is described where its options are")]
        pub enum Kind {
            $($kind($options),)*
        }

        impl Kind {
            /// Runs it: a line a second, then the last line.
            ///
            /// # Errors
            /// If it cannot begin, or a line cannot be written.
            pub async fn run(&self, out: &mut dyn Write) -> Result<(), SetupError> {
                let local = tokio::task::LocalSet::new();
                match self {
                    $(Self::$kind(options) => local.run_until(options.run(out)).await,)*
                }
            }
        }
    };
}

kinds! {
    Flood: flood::Flood,
    Slow: slow::Slow,
    RapidReset: rapid_reset::RapidReset,
    OptimisticAck: optimistic_ack::OptimisticAck,
    CidExhaustion: cid_exhaustion::CidExhaustion,
    PathChallenge: path_challenge::PathChallenge,
    CryptoAfterHandshake: crypto_after_handshake::CryptoAfterHandshake,
    HeaderExpansion: header_expansion::HeaderExpansion,
    LongSettings: long_settings::LongSettings,
    Amplification: amplification::Amplification,
    CoalescedInitials: coalesced_initials::CoalescedInitials,
    ZeroLength: zero_length::ZeroLength,
    SynFlood: syn_flood::SynFlood,
}
