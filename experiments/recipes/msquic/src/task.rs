//! What the contract of external stacks asks for, and how MsQuic is set up for it.

use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use msquic::{
    BufferRef, Configuration, CredentialConfig, Registration, RegistrationConfig, Settings, Status,
};
use serde_json::Value;

pub const SOFTWARE: &str = concat!("MsQuic ", env!("CARGO_PKG_VERSION"));

/// The application protocol that both ends name in the handshake.
pub const PROTOCOL: &str = "gauntlet-files";

/// The longest that MsQuic lets an end wait for an acknowledgement before it gives a connection up
/// (`QUIC_MAX_DISCONNECT_TIMEOUT` in its source).
const LONGEST_DISCONNECT: Duration = Duration::from_secs(600);

/// Why a program did not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// It never does that.
    Unsupported(String),
    /// It tried.
    Failed(String),
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(reason) | Self::Failed(reason) => formatter.write_str(reason),
        }
    }
}

/// A step of MsQuic's that failed, in a sentence.
pub fn failed(step: &str) -> impl FnOnce(Status) -> Failure {
    move |status| Failure::Failed(format!("{step}: {status}"))
}

/// What the client does.
pub enum Work {
    /// It fetches files (`files`): of each its name and its size in bytes.
    Fetch(Vec<(String, u64)>),
    /// It sends so many bytes (`bulk`).
    Upload(u64),
}

/// The variables of the contract that both ends need.
pub struct Task {
    pub is_client: bool,
    pub server: SocketAddr,
    pub work: Work,
    /// CUBIC or BBR, as MsQuic numbers them (`QUIC_CONGESTION_CONTROL_ALGORITHM`).
    congestion: u16,
    time_left: Duration,
}

impl Task {
    /// Errors: what this program cannot do, that is another application than `files` and `bulk`, `bulk` at a rate,
    /// or a parameter `congestion` other than `cubic` and `bbr`; a variable is missing or is not of its kind.
    pub fn from_environment() -> Result<Self, Failure> {
        let work = match variable("GAUNTLET_APP")?.as_str() {
            "files" => Work::Fetch(files()?),
            "bulk" if std::env::var_os("GAUNTLET_RATE_BPS").is_some() => {
                return Err(Failure::Unsupported("this program does not pace what it sends".to_owned()));
            }
            "bulk" => Work::Upload(parsed("GAUNTLET_SIZE_BYTES")?),
            other => {
                let reason = format!("this program has no application '{other}'; it has files and bulk");
                return Err(Failure::Unsupported(reason));
            }
        };
        let congestion = match variable("GAUNTLET_CONGESTION")?.as_str() {
            "cubic" => 0,
            "bbr" => 1,
            other => {
                let reason = format!("MsQuic has no congestion control '{other}'; it has cubic and bbr");
                return Err(Failure::Unsupported(reason));
            }
        };
        let address: IpAddr = parsed("GAUNTLET_SERVER_ADDRESS")?;
        Ok(Self {
            is_client: variable("GAUNTLET_ROLE")? == "client",
            server: SocketAddr::new(address, parsed("GAUNTLET_PORT")?),
            work,
            congestion,
            time_left: Duration::from_secs_f64(parsed("GAUNTLET_TIME_LEFT_S")?),
        })
    }

    /// MsQuic with the credentials of one end. No connection is given up for silence before the run is over, as far
    /// as MsQuic's bounds allow.
    pub fn msquic(&self, credentials: &CredentialConfig) -> Result<(Registration, Configuration), Failure> {
        let registration =
            Registration::new(&RegistrationConfig::new()).map_err(failed("MsQuic does not start"))?;
        let left_ms = milliseconds(self.time_left);
        let settings = Settings::new()
            .set_CongestionControlAlgorithm(self.congestion)
            .set_PeerBidiStreamCount(u16::MAX)
            .set_HandshakeIdleTimeoutMs(left_ms.into())
            .set_IdleTimeoutMs(left_ms.into())
            .set_DisconnectTimeoutMs(left_ms.min(milliseconds(LONGEST_DISCONNECT)));
        let configuration = Configuration::open(&registration, &[BufferRef::from(PROTOCOL)], Some(&settings))
            .map_err(failed("MsQuic does not take its settings"))?;
        configuration
            .load_credential(credentials)
            .map_err(failed("MsQuic does not take the certificates"))?;
        Ok((registration, configuration))
    }
}

fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX).max(1)
}

/// The files that the client is asked to fetch.
fn files() -> Result<Vec<(String, u64)>, Failure> {
    let name = "GAUNTLET_OBJECTS";
    let list: Vec<Value> = parsed::<Value>(name)?.as_array().cloned().unwrap_or_default();
    list.iter()
        .map(|file| Some((file["object"].as_str()?.to_owned(), file["size_bytes"].as_u64()?)))
        .collect::<Option<_>>()
        .ok_or_else(|| Failure::Failed(format!("{name}: a file without name or size")))
}

/// Write the result file: `told`, and what every result file has.
pub fn write_result(mut told: Value) -> Result<(), Failure> {
    told["format"] = "gauntlet-external-result".into();
    told["version"] = 1.into();
    told["clock"] = "realtime".into();
    told["software"] = SOFTWARE.into();
    let path = variable("GAUNTLET_RESULT")?;
    std::fs::write(&path, told.to_string()).map_err(|error| Failure::Failed(format!("{path}: {error}")))
}

/// Nanoseconds of CLOCK_REALTIME.
pub fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

pub fn variable(name: &str) -> Result<String, Failure> {
    std::env::var(name).map_err(|error| Failure::Failed(format!("{name}: {error}")))
}

fn parsed<T: std::str::FromStr<Err: Display>>(name: &str) -> Result<T, Failure> {
    variable(name)?.parse().map_err(|error| Failure::Failed(format!("{name}: {error}")))
}
