//! Parameters of RaSTA as a plan names them; what it leaves out is what the crate `rasta` takes by default
//! ([`Config::new`]).

use std::fmt::Display;
use std::time::Duration;

use rasta::{CheckCode, CodeLength, Config, SafetyCode};
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

use super::end::End;
use crate::error::SpecError;
use crate::params::{nanoseconds, parameters};
use crate::stacks::tls;

/// The most channels: more addresses than any network of ours gives a host.
const MOST_CHANNELS: usize = 8;

/// The shortest time: the resolution of RaSTA's time stamps.
const SHORTEST_S: f64 = 1e-3;

/// What the TLS below `rasta-tls` does not take: one session for each connection, over TCP, opened in full.
const NOT_BELOW: [&str; 4] = ["transport", "resumption", "early_data", "fast_open"];

/// What `rasta-tls` has no use for: it has one channel.
const OF_UDP: &str = "homes";

/// The safety code, by the names of the crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Code {
    Md4Half,
    Md4Full,
    Blake2bHalf,
    Blake2bFull,
    SiphashHalf,
    SiphashFull,
    /// None: damaged messages are taken for good ones.
    None,
}

/// The check code of the redundancy layer, by the standard's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Check {
    A,
    B,
    C,
    D,
    E,
}

/// The parameters.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// T_max.
    #[serde(default, deserialize_with = "t_max")]
    t_max_s: Option<Duration>,
    /// T_h.
    #[serde(default, deserialize_with = "t_h")]
    t_h_s: Option<Duration>,
    /// T_seq.
    #[serde(default, deserialize_with = "t_seq")]
    t_seq_s: Option<Duration>,
    n_send_max: Option<u16>,
    mwa: Option<u16>,
    n_max_packet: Option<u16>,
    n_diag_window: Option<u32>,
    n_diagnosis: Option<u32>,
    n_defer_queue: Option<usize>,
    safety_code: Option<Code>,
    check_code: Option<Check>,
    /// Channels, each between an address of the sender's node and one of the receiver's.
    #[serde(default, deserialize_with = "homes")]
    homes: Option<usize>,
}

impl Params {
    pub(super) fn channels(&self) -> usize {
        self.homes.unwrap_or(1)
    }
}

fn homes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<usize>, D::Error> {
    match Option::<usize>::deserialize(from)? {
        Some(homes) if !(1..=MOST_CHANNELS).contains(&homes) => Err(de::Error::custom(format_args!(
            "`homes` is {homes}; RaSTA has from 1 to {MOST_CHANNELS} channels here"
        ))),
        homes => Ok(homes),
    }
}

fn t_max<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    duration("t_max_s", from)
}

fn t_h<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    duration("t_h_s", from)
}

fn t_seq<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    duration("t_seq_s", from)
}

fn duration<'de, D: Deserializer<'de>>(key: &str, from: D) -> Result<Option<Duration>, D::Error> {
    let Some(value_s) = Option::<f64>::deserialize(from)? else { return Ok(None) };
    let value_ns = nanoseconds(key, value_s, SHORTEST_S).map_err(de::Error::custom)?;
    Ok(Some(Duration::from_nanos(value_ns as u64)))
}

pub(super) fn wrong(stack: &str, sentence: impl Display) -> SpecError {
    SpecError::new(format!("`stack_params` of `{stack}`: {sentence}"))
}

/// The configuration of one end for messages of at most `message_bytes`; `key` is for safety codes that have one.
pub(super) fn config(params: &Params, end: End, message_bytes: usize, key: &[u8; 32]) -> Config {
    let usual = Config::new(end as u32, end.other() as u32);
    Config {
        t_max: params.t_max_s.unwrap_or(usual.t_max),
        t_h: params.t_h_s.unwrap_or(usual.t_h),
        t_seq: params.t_seq_s.unwrap_or(usual.t_seq),
        n_send_max: params.n_send_max.unwrap_or(usual.n_send_max),
        mwa: params.mwa.unwrap_or(usual.mwa),
        n_max_packet: params.n_max_packet.unwrap_or(usual.n_max_packet),
        n_diag_window: params.n_diag_window.unwrap_or(usual.n_diag_window),
        n_diagnosis: params.n_diagnosis.unwrap_or(usual.n_diagnosis),
        n_defer_queue: params.n_defer_queue.unwrap_or(usual.n_defer_queue),
        safety_code: params.safety_code.map_or_else(|| usual.safety_code.clone(), |code| code.with(key)),
        check_code: params.check_code.map_or(usual.check_code, Check::option),
        channels: params.channels(),
        max_message_bytes: usual.max_message_bytes.max(message_bytes),
        ..usual
    }
}

impl Code {
    fn with(self, key: &[u8; 32]) -> SafetyCode {
        let blake2b = |length| SafetyCode::Blake2b { length, key: key.to_vec() };
        let siphash = |length| {
            let mut half = [0; 16];
            half.copy_from_slice(&key[..16]);
            SafetyCode::SipHash24 { length, key: half }
        };
        match self {
            Self::Md4Half => SafetyCode::md4(CodeLength::Half),
            Self::Md4Full => SafetyCode::md4(CodeLength::Full),
            Self::Blake2bHalf => blake2b(CodeLength::Half),
            Self::Blake2bFull => blake2b(CodeLength::Full),
            Self::SiphashHalf => siphash(CodeLength::Half),
            Self::SiphashFull => siphash(CodeLength::Full),
            Self::None => SafetyCode::Unprotected,
        }
    }
}

impl Check {
    const fn option(self) -> CheckCode {
        match self {
            Self::A => CheckCode::A,
            Self::B => CheckCode::B,
            Self::C => CheckCode::C,
            Self::D => CheckCode::D,
            Self::E => CheckCode::E,
        }
    }
}

fn own() -> impl Iterator<Item = &'static str> {
    parameters::<Params>().into_iter().filter(|name| *name != OF_UDP)
}

fn below() -> impl Iterator<Item = &'static str> {
    tls::parameters().into_iter().filter(|name| !NOT_BELOW.contains(name))
}

/// Parameters as a plan has them.
type Named = Map<String, Value>;

/// The names of the parameters of `rasta-tls`: RaSTA's and those of TLS below it.
pub(crate) fn parameters_over_tls() -> Vec<&'static str> {
    own().chain(below()).collect()
}

/// The parameters of RaSTA and those of TLS below it.
///
/// # Errors
/// A sentence: neither knows one of them.
pub(super) fn over_tls(stack: &str, params: &Named) -> Result<(Named, Named), SpecError> {
    let known = parameters_over_tls();
    if let Some(stranger) = params.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(wrong(
            stack,
            format_args!("unknown field `{stranger}`, expected one of {}", known.join(", ")),
        ));
    }
    Ok(params.clone().into_iter().partition(|(key, _)| own().any(|name| name == key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_what_the_crate_has_and_ends_fit_each_other() {
        let [sender, receiver] =
            [End::Sender, End::Receiver].map(|end| config(&Params::default(), end, 160, &[0; 32]));
        let usual = Config::new(sender.local_id, sender.remote_id);
        assert_eq!(format!("{sender:?}"), format!("{usual:?}"));
        assert_eq!((sender.local_id, sender.remote_id), (receiver.remote_id, receiver.local_id));
        assert_ne!(sender.role, receiver.role);
    }

    #[test]
    fn longer_messages_find_room() {
        let config = config(&Params::default(), End::Sender, 1448, &[0; 32]);
        assert_eq!((config.max_message_bytes, config.validate()), (1448, Ok(())));
    }
}
