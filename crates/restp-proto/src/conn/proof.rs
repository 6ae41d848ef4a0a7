//! The proof that a peer which speaks from another address owes.

use std::time::Duration;

use crate::path::PathAddr;
use crate::time::Instant;
use crate::wire::Cookie;

/// Least time between two challenges to the same address.
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(100);
/// Addresses that are asked within that time, at most: the peer is at one of them, and who repeats its packets under
/// many names gets no more challenges for it.
const MAX_ASKED: usize = 4;

/// What the ends of a path owe each other since one of them moved, or seems to have.
#[derive(Debug, Default)]
pub(crate) struct Moving {
    /// Addresses from which the peer seems to speak and has not proven to.
    asked: Vec<Asked>,
    /// Proof of our own address that the peer asked for.
    pub answer: Option<Cookie>,
    /// When our own address changed, until the peer is known to have followed.
    pub left_at: Option<Instant>,
}

#[derive(Debug)]
struct Asked {
    addr: PathAddr,
    challenge: Cookie,
    at: Instant,
    /// The challenge has not left yet.
    due: bool,
}

impl Moving {
    /// Our own address has changed.
    pub fn from_here(now: Instant) -> Self {
        Self { left_at: Some(now), ..Self::default() }
    }

    /// Asks at `addr`, unless that was done too lately, or too many others were asked.
    // R-ENCAP-3
    pub fn ask(&mut self, addr: PathAddr, challenge: Cookie, now: Instant) {
        self.asked.retain(|asked| now.saturating_since(asked.at) < CHALLENGE_INTERVAL);
        let known = self.asked.iter().any(|asked| asked.addr == addr);
        if !known && self.asked.len() < MAX_ASKED {
            self.asked.push(Asked { addr, challenge, at: now, due: true });
        }
    }

    /// When the address was asked last.
    pub fn asked_at(&self, addr: &PathAddr) -> Option<Instant> {
        self.asked.iter().find(|asked| asked.addr == *addr).map(|asked| asked.at)
    }

    /// The next challenge that is to leave, and where to.
    pub fn take(&mut self) -> Option<(PathAddr, Cookie)> {
        let next = self.asked.iter_mut().find(|asked| asked.due)?;
        next.due = false;
        Some((next.addr, next.challenge))
    }

    /// The peer has proven where it is: who has not been asked yet is not asked for what came before. When others were
    /// is kept, for a peer that is at two addresses could otherwise move to and fro and have a third one asked each time.
    pub fn settle(&mut self) {
        self.asked.retain(|asked| !asked.due);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stranger(number: u8) -> PathAddr {
        PathAddr { local: ([10, 0, 0, 1], 1).into(), remote: ([203, 0, 113, number], 4000).into() }
    }

    /// Whom `moving` asks when packets from `from` come at `millisecond`.
    fn asked(moving: &mut Moving, from: std::ops::Range<u8>, millisecond: u64) -> Vec<PathAddr> {
        let challenge = Cookie::new(&[7; 16]).unwrap();
        let now = Instant::ZERO + Duration::from_millis(millisecond);
        from.for_each(|number| moving.ask(stranger(number), challenge, now));
        std::iter::from_fn(|| moving.take()).map(|(addr, _)| addr).collect()
    }

    // R-ENCAP-3
    #[test]
    fn a_few_addresses_are_asked_and_each_once_in_an_interval_though_the_path_moves() {
        let mut moving = Moving::default();
        assert_eq!(asked(&mut moving, 0..2, 0), [0, 1].map(stranger));
        moving.settle();
        assert_eq!(
            asked(&mut moving, 0..9, 99),
            [2, 3].map(stranger),
            "not those again, and no more than four"
        );
        assert_eq!(asked(&mut moving, 0..9, 100), [0, 1].map(stranger), "two were asked 100 ms ago");
        moving.ask(stranger(9), Cookie::new(&[7; 16]).unwrap(), Instant::ZERO + CHALLENGE_INTERVAL * 4);
        moving.settle();
        assert_eq!(moving.take(), None, "the peer is known to be elsewhere");
    }

    // R-ENCAP-3
    #[test]
    fn who_was_not_asked_before_the_path_moved_may_be_asked_at_once() {
        let mut moving = Moving::default();
        moving.ask(stranger(0), Cookie::new(&[7; 16]).unwrap(), Instant::ZERO);
        moving.settle();
        assert_eq!(asked(&mut moving, 0..1, 1), [stranger(0)]);
    }
}
