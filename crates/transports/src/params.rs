//! What the parameters of transports and applications have in common.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::SpecError;

/// The longest duration or latest instant that a flow may name: a year, far inside 64 bits of nanoseconds.
const LONGEST_S: f64 = 366.0 * 86_400.0;

/// `value_s` in nanoseconds, when it is a number from `least_s` to a year.
///
/// # Errors
/// A sentence: it is not.
pub fn nanoseconds(key: &str, value_s: f64, least_s: f64) -> Result<i64, SpecError> {
    if !(least_s..=LONGEST_S).contains(&value_s) {
        return Err(SpecError::new(format!(
            "`{key}` is {value_s}; it must be a number of seconds from {least_s} to {LONGEST_S}"
        )));
    }
    Ok((value_s * 1e9).round() as i64)
}

/// Reads the parameters of one stack or application into its own type.
///
/// # Errors
/// A sentence with what does not fit.
pub fn parse_params<T: DeserializeOwned>(
    key: &str,
    owner: &str,
    params: &Map<String, Value>,
) -> Result<T, SpecError> {
    T::deserialize(Value::Object(params.clone()))
        .map_err(|error| SpecError::new(format!("`{key}` of `{owner}`: {error}")))
}

/// Kernel buffer sizes of a socket, in bytes of data; the kernel's own choice when absent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Buffers {
    pub(crate) send_bytes: Option<u32>,
    pub(crate) receive_bytes: Option<u32>,
}

impl Buffers {
    /// Refuses sizes that mean nothing.
    pub(crate) fn check(self) -> Result<Self, SpecError> {
        for (key, size) in
            [("send_buffer_bytes", self.send_bytes), ("receive_buffer_bytes", self.receive_bytes)]
        {
            if size.is_some_and(|bytes| bytes == 0 || bytes > 1 << 30) {
                return Err(SpecError::new(format!("`{key}` must be from 1 to 1073741824 bytes")));
            }
        }
        Ok(self)
    }
}
