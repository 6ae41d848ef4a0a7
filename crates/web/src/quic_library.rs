//! The libraries of QUIC beneath HTTP/3, by the names of the command line.

use clap::ValueEnum;
use serde::Serialize;

/// What carries HTTP/3.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuicLibrary {
    /// quinn.
    #[default]
    Quinn,
    /// s2n-quic.
    #[value(name = "s2n-quic")]
    #[serde(rename = "s2n-quic")]
    S2nQuic,
}

impl QuicLibrary {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Quinn, Self::S2nQuic];

    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quinn => "quinn",
            Self::S2nQuic => "s2n-quic",
        }
    }
}
