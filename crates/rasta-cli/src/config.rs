//! From options to a configuration and channels.

use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use rasta::net::Channel;
use rasta::{CheckCode, CodeLength, Config, MD4_INITIAL_VALUE, Role, SafetyCode, Seeds};

use crate::tls::Tls;

/// What both commands have.
#[derive(Args)]
pub struct Common {
    /// Identification of this end
    #[arg(long, value_name = "NUMBER")]
    id: u32,
    /// Identification of the other end
    #[arg(long, value_name = "NUMBER")]
    peer: u32,
    /// A transport channel, udp:HOST:PORT, tcp:HOST:PORT or tls:HOST:PORT; give one for each, in the same order on both sides
    #[arg(short, long = "channel", value_name = "KIND:HOST:PORT", required = true)]
    channels: Vec<Place>,
    /// Safety code, the same on both sides
    #[arg(long, value_enum, default_value = "md4-half")]
    safety_code: Code,
    /// Initial value of MD4: four words, hexadecimal, with commas between (default: RFC 1320's)
    #[arg(long, value_name = "A,B,C,D", value_parser = words)]
    md4_initial_value: Option<[u32; 4]>,
    /// Key of BLAKE2b (1 to 64 octets) or SipHash (16), hexadecimal
    #[arg(long, value_name = "HEX", value_parser = octets)]
    safety_key: Option<Octets>,
    /// Check code of the redundancy layer, option a to e, the same on both sides
    #[arg(long, value_enum, default_value = "a")]
    check_code: Check,
    /// Greatest age of a message
    #[arg(long, value_name = "MS", default_value_t = 1800)]
    t_max: u64,
    /// Period of heartbeats
    #[arg(long, value_name = "MS", default_value_t = 300)]
    t_h: u64,
    /// How long a frame waits for those before it
    #[arg(long, value_name = "MS", default_value_t = 100)]
    t_seq: u64,
    /// Messages that may be under way unconfirmed
    #[arg(long, value_name = "MESSAGES", default_value_t = 20)]
    n_send_max: u16,
    /// Messages that are taken before they are confirmed
    #[arg(long, value_name = "MESSAGES", default_value_t = 10)]
    mwa: u16,
    /// Sequence numbers and time stamps from this seed instead of the system's random numbers
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Everything that happens as a JSON object a line, on standard output
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    tls: Tls,
}

#[derive(Clone, Copy, ValueEnum)]
enum Code {
    Md4Half,
    Md4Full,
    Blake2bHalf,
    Blake2bFull,
    SiphashHalf,
    SiphashFull,
    /// No safety code: damaged messages are taken for good ones
    None,
}

#[derive(Clone, Copy, ValueEnum)]
enum Check {
    A,
    B,
    C,
    D,
    E,
}

#[derive(Clone)]
struct Octets(Vec<u8>);

fn octets(text: &str) -> Result<Octets, String> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => {
            Ok(Octets(digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()))
        }
        _ => Err("two hexadecimal digits for each octet".into()),
    }
}

fn words(text: &str) -> Result<[u32; 4], String> {
    let words: Result<Vec<u32>, _> =
        text.split(',').map(|word| u32::from_str_radix(word.trim().trim_start_matches("0x"), 16)).collect();
    words.ok().and_then(|words| words.try_into().ok()).ok_or_else(|| {
        "four hexadecimal words with commas between, as 67452301,efcdab89,98badcfe,10325476".into()
    })
}

/// What a channel runs over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Udp,
    Tcp,
    Tls,
}

/// A channel as it is given.
#[derive(Clone)]
struct Place {
    kind: Kind,
    address: SocketAddr,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("«{text}» is no channel: udp:HOST:PORT, tcp:HOST:PORT or tls:HOST:PORT");
        let (kind, place) = text.split_once(':').ok_or_else(form)?;
        let kind = match kind {
            "udp" => Kind::Udp,
            "tcp" => Kind::Tcp,
            "tls" => Kind::Tls,
            _ => return Err(form()),
        };
        let mut found = place.to_socket_addrs().map_err(|error| format!("{place}: {error}"))?;
        let address = found.next().ok_or_else(|| format!("{place}: no address has this name"))?;
        Ok(Self { kind, address })
    }
}

impl Common {
    /// The configuration for this role.
    ///
    /// # Errors
    /// What does not go together, as a sentence.
    pub fn config(&self, role: Role) -> Result<Config, String> {
        Ok(Config {
            role,
            safety_code: self.safety_code()?,
            check_code: match self.check_code {
                Check::A => CheckCode::A,
                Check::B => CheckCode::B,
                Check::C => CheckCode::C,
                Check::D => CheckCode::D,
                Check::E => CheckCode::E,
            },
            t_max: Duration::from_millis(self.t_max),
            t_h: Duration::from_millis(self.t_h),
            t_seq: Duration::from_millis(self.t_seq),
            n_send_max: self.n_send_max,
            mwa: self.mwa,
            channels: self.channels.len(),
            ..Config::new(self.id, self.peer)
        })
    }

    fn safety_code(&self) -> Result<SafetyCode, String> {
        let key = self.safety_key.as_ref().map(|key| key.0.clone());
        let is_md4 = matches!(self.safety_code, Code::Md4Half | Code::Md4Full);
        if self.md4_initial_value.is_some() && !is_md4 {
            return Err("--md4-initial-value goes with --safety-code md4-half or md4-full".into());
        }
        if key.is_some() && (is_md4 || matches!(self.safety_code, Code::None)) {
            return Err(
                "--safety-key goes with the BLAKE2b and SipHash codes; MD4 has --md4-initial-value".into()
            );
        }
        let needed = || key.clone().ok_or("this safety code needs --safety-key");
        let initial_value = self.md4_initial_value.unwrap_or(MD4_INITIAL_VALUE);
        let siphash = |length| -> Result<SafetyCode, String> {
            let key = needed()?.try_into().map_err(|key: Vec<u8>| {
                format!("--safety-key of SipHash has 16 octets, this one {}", key.len())
            })?;
            Ok(SafetyCode::SipHash24 { length, key })
        };
        Ok(match self.safety_code {
            Code::Md4Half => SafetyCode::Md4 { length: CodeLength::Half, initial_value },
            Code::Md4Full => SafetyCode::Md4 { length: CodeLength::Full, initial_value },
            Code::Blake2bHalf => SafetyCode::Blake2b { length: CodeLength::Half, key: needed()? },
            Code::Blake2bFull => SafetyCode::Blake2b { length: CodeLength::Full, key: needed()? },
            Code::SiphashHalf => siphash(CodeLength::Half)?,
            Code::SiphashFull => siphash(CodeLength::Full)?,
            Code::None => SafetyCode::Unprotected,
        })
    }

    /// The channels for this role.
    ///
    /// # Errors
    /// What is wrong with certificates and keys, as a sentence.
    pub fn channels(&self, role: Role) -> Result<Vec<Channel>, String> {
        let channel = |place: &Place| -> Result<Channel, String> {
            let (local, remote) = (place.address, place.address);
            Ok(match (place.kind, role) {
                (Kind::Udp, Role::Server) => Channel::udp_server(local),
                (Kind::Udp, Role::Client) => Channel::udp_client(remote),
                (Kind::Tcp, Role::Server) => Channel::TcpListen { local },
                (Kind::Tcp, Role::Client) => Channel::TcpConnect { remote },
                (Kind::Tls, Role::Server) => Channel::TlsListen { local, config: self.tls.server()? },
                (Kind::Tls, Role::Client) => {
                    let (name, config) = self.tls.client()?;
                    Channel::TlsConnect { remote, name, config }
                }
            })
        };
        self.channels.iter().map(channel).collect()
    }

    /// What to say of the channels: their kinds.
    pub fn kinds(&self) -> Vec<&'static str> {
        let name = |place: &Place| match place.kind {
            Kind::Udp => "udp",
            Kind::Tcp => "tcp",
            Kind::Tls => "tls",
        };
        self.channels.iter().map(name).collect()
    }

    /// Where numbers come from.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn seeds(&self) -> Result<Seeds, String> {
        let seed = match self.seed {
            Some(seed) => seed,
            None => getrandom::u64().map_err(|error| format!("no random numbers: {error}"))?,
        };
        Ok(Seeds::from_u64(seed))
    }
}
