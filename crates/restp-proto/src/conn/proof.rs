//! The proof that a peer which speaks from another address owes.

use std::time::Duration;

use crate::path::PathAddr;
use crate::time::Instant;
use crate::wire::Cookie;

/// Least time between two challenges to the same address.
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(100);

/// An address that the peer has not proven to be at.
#[derive(Debug)]
pub(crate) struct Moving {
    addr: PathAddr,
    challenge: Cookie,
    asked_at: Instant,
    /// The challenge has not left yet.
    due: bool,
}

impl Moving {
    pub fn new(addr: PathAddr, challenge: Cookie, now: Instant) -> Self {
        Self { addr, challenge, asked_at: now, due: true }
    }

    /// `addr` was asked too lately to be asked again.
    // R-ENCAP-3
    pub fn was_asked(&self, addr: PathAddr, now: Instant) -> bool {
        self.addr == addr && now.saturating_since(self.asked_at) < CHALLENGE_INTERVAL
    }

    /// The challenge that is to leave, and where to.
    pub fn take(&mut self) -> Option<(PathAddr, Cookie)> {
        std::mem::take(&mut self.due).then_some((self.addr, self.challenge))
    }
}
