//! The protected profile in a build without it: no keys can exist, so no connection can ask for it.

use std::sync::Arc;
use std::time::Duration;

use crate::time::Instant;
use crate::wire::Protection;

/// Key material; there is none in this build.
#[derive(Clone, Debug)]
pub enum Keys {}

/// The public key of a peer; there is none in this build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicKey {}

impl std::fmt::Display for PublicKey {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

impl Keys {
    pub(crate) fn can_connect(&self) -> bool {
        match *self {}
    }

    pub(crate) fn can_listen(&self) -> bool {
        match *self {}
    }
}

/// What a message of the handshake led to.
#[derive(Debug)]
#[expect(dead_code, reason = "no handshake leads to anything in this build")]
pub(crate) enum Advance {
    /// It was taken.
    Good,
    /// It was not what is due.
    Wrong,
    /// It proved a key that is not taken.
    Stranger,
}

/// Has no values, so that nothing that holds one can exist.
enum Impossible {}

/// The protection of a connection; there is none in this build.
pub(crate) struct Seal {
    impossible: Impossible,
    pub message: Vec<u8>,
    pub third: Option<Vec<u8>>,
}

impl Seal {
    pub fn initiator(keys: &Arc<Keys>, _syn: &[u8], _seed: [u8; 32]) -> Option<Self> {
        match **keys {}
    }

    pub fn responder(keys: &Arc<Keys>, _syn: &[u8], _first: &[u8], _seed: [u8; 32]) -> Option<Self> {
        match **keys {}
    }

    pub fn advance(&mut self, _message: &[u8]) -> Advance {
        match self.impossible {}
    }

    pub fn retire(&mut self) -> Option<Self> {
        match self.impossible {}
    }

    pub fn peer(&self) -> Option<PublicKey> {
        match self.impossible {}
    }

    pub fn is_ready(&self) -> bool {
        match self.impossible {}
    }

    pub fn next_packet(&mut self, _subflow: u8) -> Option<Protection> {
        match self.impossible {}
    }

    pub fn seal(
        &mut self,
        _protection: &Protection,
        _datagram: &mut [u8],
        _header_bytes: usize,
    ) -> Option<()> {
        match self.impossible {}
    }

    pub fn is_worn_out(&mut self) -> bool {
        match self.impossible {}
    }

    pub fn open(
        &mut self,
        _now: Instant,
        _rto: Duration,
        _: &Protection,
        _datagram: &[u8],
        _header_bytes: usize,
        _plain: &mut Vec<u8>,
    ) -> bool {
        match self.impossible {}
    }
}
