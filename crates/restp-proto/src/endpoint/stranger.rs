//! What came from nobody who is known.

use super::table::Key;
use crate::path::Ecn;
use crate::time::Instant;
use crate::wire::Decoded;

/// A datagram that belongs to no connection yet.
pub(super) struct Stranger<'a> {
    pub now: Instant,
    pub key: Key,
    pub ecn: Ecn,
    pub decoded: &'a Decoded<'a>,
    pub datagram: &'a [u8],
}
