//! What the parameters of transports and applications have in common.

use serde::de::{self, DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use serde_json::{Map, Value};

use crate::error::SpecError;
use crate::transport::InitialWindow;

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
    serde_path_to_error::deserialize(Value::Object(params.clone())).map_err(|error| {
        let (place, wrong) = (error.path().to_string(), error.inner().to_string());
        // A missing parameter has no place of its own, and one that nobody knows is named as it is.
        if place == "." || wrong.contains(&format!("`{place}`")) {
            return SpecError::new(format!("`{key}` of `{owner}`: {wrong}"));
        }
        SpecError::new(format!("`{key}` of `{owner}`: `{place}`: {wrong}"))
    })
}

/// The names of the parameters that [`parse_params`] reads into `T`, as the type itself tells them.
pub fn parameters<'de, T: Deserialize<'de>>() -> Vec<&'static str> {
    let mut names = Vec::new();
    // Nothing is read: once it has told its fields the type hears that there are none.
    let _ = T::deserialize(Fields(&mut names));
    names
}

/// Asks a type for the names of its fields.
struct Fields<'a>(&'a mut Vec<&'static str>);

impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = de::value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.extend(fields);
        self.deserialize_any(visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(de::Error::custom("there is nothing to read"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Reads `initial_window_segments`, the initial window of a transport over TCP.
pub(crate) fn initial_window<'de, D: Deserializer<'de>>(from: D) -> Result<InitialWindow, D::Error> {
    match Option::<u32>::deserialize(from)? {
        None => Ok(InitialWindow::Default),
        Some(segments @ 1..=MOST_SEGMENTS) => Ok(InitialWindow::Segments(segments)),
        Some(segments) => Err(de::Error::custom(format_args!(
            "`initial_window_segments` is {segments}; it must be from 1 to {MOST_SEGMENTS}"
        ))),
    }
}

/// The longest initial window: what a receiver's first window, which is at most 65,535 bytes (that of a SYN is not scaled:
/// RFC 7323, section 2.2), has room for in segments of TCP's default size (RFC 9293, section 3.7.1).
const MOST_SEGMENTS: u32 = 65_535 / 536;

/// Refuses what is no DSCP (RFC 2474).
pub(crate) fn check_dscp(dscp: Option<u8>) -> Result<(), SpecError> {
    match dscp {
        Some(64..) => Err(SpecError::new("`dscp` must be from 0 to 63")),
        _ => Ok(()),
    }
}

/// Kernel buffer sizes of a socket, in bytes of data; the kernel's own choice when absent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Buffers {
    pub(crate) send_bytes: Option<u32>,
    pub(crate) receive_bytes: Option<u32>,
}

impl Buffers {
    /// Sizes that a plan gives.
    ///
    /// # Errors
    /// A sentence: one of them means nothing.
    pub(crate) fn new(send_bytes: Option<u32>, receive_bytes: Option<u32>) -> Result<Self, SpecError> {
        for (key, size) in [("send_buffer_bytes", send_bytes), ("receive_buffer_bytes", receive_bytes)] {
            if size.is_some_and(|bytes| bytes == 0 || bytes > 1 << 30) {
                return Err(SpecError::new(format!("`{key}` must be from 1 to 1073741824 bytes")));
            }
        }
        Ok(Self { send_bytes, receive_bytes })
    }
}
