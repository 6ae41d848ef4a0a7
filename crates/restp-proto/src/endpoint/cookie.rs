//! Cookies of the opportunistic handshake: granted and checked without state, cached by clients, guarded from replay.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::crypto::{Purpose, Secret, equal};
use crate::time::Instant;
use crate::wire::Cookie;

/// Length of one tick of the coarse time inside a cookie.
const TICK: Duration = Duration::from_secs(60);
/// Octets of the MAC; the other four hold the time.
const MAC_BYTES: usize = 12;

/// Grants and checks cookies (answer D8): 4 octets of coarse time, 12 octets of MAC over it and the client's address.
///
/// The time selects the key: keys are derived from the endpoint's secret for every cookie lifetime, so that they change
/// without being stored.
// R-OPT-6
pub(crate) struct CookieJar {
    secret: Secret,
    lifetime: Duration,
}

fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

impl CookieJar {
    pub fn new(secret: Secret, lifetime: Duration) -> Self {
        Self { secret, lifetime: lifetime.max(TICK) }
    }

    fn ticks(now: Instant) -> u32 {
        (now.as_nanos() / TICK.as_nanos() as u64) as u32
    }

    fn mac(&self, ticks: u32, client: IpAddr) -> [u8; MAC_BYTES] {
        let period = (self.lifetime.as_secs() / TICK.as_secs()) as u32;
        let key_id = ticks / period.max(1);
        let parts: [&[u8]; 3] = [&key_id.to_be_bytes(), &ticks.to_be_bytes(), &octets(client)];
        let full = self.secret.derive(Purpose::Cookie, &parts).to_be_bytes();
        let mut mac = [0; MAC_BYTES];
        mac.copy_from_slice(&full[..MAC_BYTES]);
        mac
    }

    /// A cookie for `client`.
    pub fn grant(&self, now: Instant, client: IpAddr) -> Option<Cookie> {
        let ticks = Self::ticks(now);
        let mut bytes = [0; 4 + MAC_BYTES];
        bytes[..4].copy_from_slice(&ticks.to_be_bytes());
        bytes[4..].copy_from_slice(&self.mac(ticks, client));
        Cookie::new(&bytes)
    }

    /// True if `cookie` was granted to `client` and is still good.
    pub fn check(&self, now: Instant, client: IpAddr, cookie: &Cookie) -> bool {
        self.age(now, client, cookie).is_some()
    }

    /// True if `cookie` was granted to `client` so short a while ago that the address needs no further proof.
    pub fn is_fresh(&self, now: Instant, client: IpAddr, cookie: &Cookie) -> bool {
        self.age(now, client, cookie).is_some_and(|ticks| ticks <= 1)
    }

    /// What an end that seems to have moved must send back from where it is now; `end` names the connection and the place.
    // R-ENCAP-3
    pub fn challenge(&self, now: Instant, end: &[u8]) -> Option<Cookie> {
        Cookie::new(&self.challenge_octets(Self::ticks(now), end))
    }

    /// True if `cookie` is the answer to a challenge that went to `end` a short while ago.
    pub fn is_answer(&self, now: Instant, end: &[u8], cookie: &Cookie) -> bool {
        let ticks = Self::ticks(now);
        [ticks, ticks.wrapping_sub(1)].into_iter().any(|granted| {
            let asked = Cookie::new(&self.challenge_octets(granted, end));
            asked.and_then(Cookie::answered).is_some_and(|answer| equal(answer.as_bytes(), cookie.as_bytes()))
        })
    }

    fn challenge_octets(&self, ticks: u32, end: &[u8]) -> [u8; 4 + MAC_BYTES] {
        // The first bit tells challenge and answer apart.
        let time = (ticks & (u32::MAX >> 1)).to_be_bytes();
        let mac = self.secret.derive(Purpose::Challenge, &[&time, end]).to_be_bytes();
        let mut octets = [0; 4 + MAC_BYTES];
        octets[..4].copy_from_slice(&time);
        octets[4..].copy_from_slice(&mac[..MAC_BYTES]);
        octets
    }

    /// Age in ticks of a good cookie.
    fn age(&self, now: Instant, client: IpAddr, cookie: &Cookie) -> Option<u32> {
        let (time, mac) = cookie.as_bytes().split_first_chunk::<4>()?;
        let granted = u32::from_be_bytes(*time);
        let age = Self::ticks(now).wrapping_sub(granted);
        let fresh = u64::from(age) * TICK.as_secs() <= self.lifetime.as_secs();
        (equal(mac, &self.mac(granted, client)) && fresh).then_some(age)
    }
}

/// Openings that were seen, so that a copied first flight is not executed twice (answer D9).
// R-OPT-7
pub(crate) struct ReplaySet {
    seen: HashSet<u128>,
    order: VecDeque<(Instant, u128)>,
    limit: usize,
    lifetime: Duration,
}

impl ReplaySet {
    pub fn new(limit: usize, lifetime: Duration) -> Self {
        Self { seen: HashSet::new(), order: VecDeque::new(), limit, lifetime }
    }

    /// True if `opening` was noted and not forgotten since.
    pub fn contains(&self, opening: u128) -> bool {
        self.seen.contains(&opening)
    }

    /// True if there is no room for another opening.
    pub fn is_full(&self) -> bool {
        self.seen.len() >= self.limit
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.seen.clear();
        self.order.clear();
    }

    fn forget_old(&mut self, now: Instant) {
        while self.order.front().is_some_and(|(at, _)| now.saturating_since(*at) > self.lifetime + TICK) {
            if let Some((_, old)) = self.order.pop_front() {
                self.seen.remove(&old);
            }
        }
    }

    /// True if `opening` is new and was noted. A full set refuses: it fails closed.
    pub fn admit(&mut self, now: Instant, opening: u128) -> bool {
        self.forget_old(now);
        if self.seen.len() >= self.limit || !self.seen.insert(opening) {
            return false;
        }
        self.order.push_back((now, opening));
        true
    }
}

/// First messages of protected handshakes that were answered, and the ends that sent them: a copy from elsewhere must
/// show a cookie. It only saves slots, so the oldest may be forgotten.
// R-PROT-9
pub(crate) struct FirstMessages {
    ends: BTreeMap<u128, u128>,
    order: VecDeque<u128>,
    limit: usize,
}

impl FirstMessages {
    pub fn new(limit: usize) -> Self {
        Self { ends: BTreeMap::new(), order: VecDeque::new(), limit }
    }

    /// True if `message` came before, from other ends.
    pub fn is_copy(&self, message: u128, ends: u128) -> bool {
        self.ends.get(&message).is_some_and(|known| *known != ends)
    }

    pub fn note(&mut self, message: u128, ends: u128) {
        if self.ends.insert(message, ends).is_none() {
            self.order.push_back(message);
        }
        while self.order.len() > self.limit
            && let Some(oldest) = self.order.pop_front()
        {
            self.ends.remove(&oldest);
        }
    }
}

/// Cookies that a client was granted.
pub(crate) struct CookieCache {
    cookies: BTreeMap<SocketAddr, (u64, Cookie)>,
    uses: u64,
    limit: usize,
}

impl CookieCache {
    pub fn new(limit: usize) -> Self {
        Self { cookies: BTreeMap::new(), uses: 0, limit }
    }

    pub fn get(&mut self, server: SocketAddr) -> Option<Cookie> {
        self.uses += 1;
        let entry = self.cookies.get_mut(&server)?;
        entry.0 = self.uses;
        Some(entry.1)
    }

    /// Remembers a cookie and forgets the one that was used longest ago if there are too many.
    pub fn put(&mut self, server: SocketAddr, cookie: Cookie) {
        self.uses += 1;
        self.cookies.insert(server, (self.uses, cookie));
        if self.cookies.len() > self.limit
            && let Some(oldest) =
                self.cookies.iter().min_by_key(|(_, (used, _))| *used).map(|(server, _)| *server)
        {
            self.cookies.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn jar() -> CookieJar {
        CookieJar::new(Secret::new([1; 16]), DAY)
    }

    fn client(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, last))
    }

    // R-OPT-6
    #[test]
    fn d8_a_cookie_is_good_for_its_address_and_lifetime_only() {
        let start = Instant::ZERO + DAY * 100;
        let cookie = jar().grant(start, client(1)).unwrap();
        assert!(jar().check(start + DAY - TICK, client(1), &cookie));
        assert!(!jar().check(start, client(2), &cookie));
        assert!(!jar().check(start + DAY + TICK * 2, client(1), &cookie));
        assert!(!CookieJar::new(Secret::new([2; 16]), DAY).check(start, client(1), &cookie));
    }

    #[test]
    fn every_changed_bit_and_every_other_length_is_refused() {
        let start = Instant::ZERO + DAY;
        let cookie = jar().grant(start, client(1)).unwrap();
        for bit in 0..128 {
            let mut bytes = cookie.as_bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(!jar().check(start, client(1), &Cookie::new(&bytes).unwrap()), "bit {bit}");
        }
        for length in [4, 8, 12] {
            let short = Cookie::new(&cookie.as_bytes()[..length]).unwrap();
            assert!(!jar().check(start, client(1), &short), "{length} octets");
        }
    }

    // R-PROT-9
    #[test]
    fn a_cookie_saves_a_key_agreement_for_two_minutes_only() {
        let start = Instant::ZERO + DAY * 100;
        let cookie = jar().grant(start, client(1)).unwrap();
        assert!(jar().is_fresh(start + TICK, client(1), &cookie));
        assert!(!jar().is_fresh(start + TICK * 2, client(1), &cookie));
        assert!(!jar().is_fresh(start, client(2), &cookie));
    }

    // R-ENCAP-3
    #[test]
    fn an_answer_is_good_for_its_end_and_a_short_while_only() {
        let start = Instant::ZERO + DAY * 100;
        let challenge = jar().challenge(start, b"here").unwrap();
        let answer = challenge.answered().unwrap();
        assert!(jar().is_answer(start + TICK, b"here", &answer));
        assert!(!jar().is_answer(start, b"there", &answer));
        assert!(!jar().is_answer(start + TICK * 2, b"here", &answer));
        assert!(!jar().is_answer(start, b"here", &challenge), "a challenge is no answer");
        assert_eq!(answer.answered(), None, "and an answer no challenge");
    }

    // R-OPT-7
    #[test]
    fn d9_the_replay_set_is_bounded_and_fails_closed() {
        let mut set = ReplaySet::new(2, DAY);
        assert!(set.admit(Instant::ZERO, 1));
        assert!(!set.admit(Instant::ZERO, 1), "a replay");
        assert!(set.admit(Instant::ZERO, 2));
        assert!(!set.admit(Instant::ZERO, 3), "full");
        assert!(set.admit(Instant::ZERO + DAY * 2, 3), "old openings made room");
    }

    // R-PROT-9
    #[test]
    fn a_first_message_belongs_to_the_ends_that_sent_it_first() {
        let mut messages = FirstMessages::new(2);
        messages.note(1, 10);
        assert!(messages.is_copy(1, 11) && !messages.is_copy(1, 10) && !messages.is_copy(2, 10));
        messages.note(2, 10);
        messages.note(3, 10);
        assert!(!messages.is_copy(1, 11), "forgotten");
        assert_eq!((messages.ends.len(), messages.order.len()), (2, 2));
    }

    #[test]
    fn the_cache_forgets_what_was_used_longest_ago() {
        let server = |port| SocketAddr::new(client(1), port);
        let cookie = jar().grant(Instant::ZERO, client(1)).unwrap();
        let mut cache = CookieCache::new(2);
        cache.put(server(1), cookie);
        cache.put(server(2), cookie);
        cache.get(server(1));
        cache.put(server(3), cookie);
        assert!(cache.get(server(1)).is_some() && cache.get(server(2)).is_none());
    }
}
