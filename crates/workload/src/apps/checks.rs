//! What parameters of applications have to keep to, as sentences.

use transports::{Service, SpecError, Stack};

use crate::payload::HEADER_BYTES;

/// Longest message on a byte stream: beyond it, one message would be more than one hand-over.
pub(super) const LONGEST_STREAM_MESSAGE: u32 = 1 << 20;
/// Longest datagram: the 16-bit length of UDP less its header and that of IPv4 (RFC 768, RFC 791).
pub(super) const LONGEST_DATAGRAM: u32 = 65_507;

/// A nanosecond: the shortest duration that can be told from none.
pub(super) const SHORTEST_S: f64 = 1e-9;
/// Rates that a flow may ask for: from a bit in a quarter of an hour to a terabit per second.
pub(super) const RATES_BPS: std::ops::RangeInclusive<f64> = 1e-3..=1e12;

/// Checks a rate that a plan gives under `key`.
pub(super) fn check_rate(app: &str, key: &str, rate_bps: Option<f64>) -> Result<(), SpecError> {
    match rate_bps.filter(|rate| !RATES_BPS.contains(rate)) {
        None => Ok(()),
        Some(rate) => Err(SpecError::new(format!(
            "`app_params` of `{app}`: `{key}` is {rate}; it must be from 0.001 to 1e12, or null for greedy"
        ))),
    }
}

/// Checks that who sends as much as is taken does so over a transport that holds the sender back.
pub(super) fn check_greedy(
    app: &str,
    key: &str,
    rate_bps: Option<f64>,
    stack: &dyn Stack,
) -> Result<(), SpecError> {
    if rate_bps.is_some() || stack.service() != Service::Datagrams {
        return Ok(());
    }
    Err(SpecError::new(format!(
        "`{app}` over `{}` needs a `{key}`: nothing slows a greedy sender of datagrams down",
        stack.name()
    )))
}

/// Checks that messages can be numbered with 32 bits; `key` is what makes them so many.
pub(super) fn check_count(app: &str, key: &str, messages: u64) -> Result<(), SpecError> {
    if (1..=u64::from(u32::MAX)).contains(&messages) {
        return Ok(());
    }
    Err(SpecError::new(format!(
        "`app_params` of `{app}`: `{key}` makes {messages} messages; there must be from 1 to {}",
        u32::MAX
    )))
}

/// Checks a message size against what the transport carries.
pub(super) fn check_message_size(app: &str, bytes: u32, stack: &dyn Stack) -> Result<(), SpecError> {
    let longest = match stack.service() {
        Service::Stream => LONGEST_STREAM_MESSAGE,
        Service::Messages { .. } | Service::Datagrams => LONGEST_DATAGRAM,
    };
    if (HEADER_BYTES..=longest).contains(&bytes) {
        return Ok(());
    }
    Err(SpecError::new(format!(
        "`app_params` of `{app}`: `message_size_bytes` is {bytes}; over `{}` it must be from {HEADER_BYTES} to {longest}",
        stack.name()
    )))
}
