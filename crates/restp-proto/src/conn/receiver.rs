//! Which packets of one path have arrived: the cumulative number, holes, and the reports about them.

use std::collections::VecDeque;

use crate::seq;
use crate::wire::SackBlock;

const BITS: u64 = 64;

/// The numbers received on one path.
#[derive(Debug)]
pub(crate) struct ReceiveWindow {
    next: u64,
    /// Bit `i` of word `w` stands for number `base + 64 w + i`; `base` is `next` rounded down.
    words: VecDeque<u64>,
    /// One past the highest number received.
    end: u64,
    held: u32,
    latest: u64,
    limit: u64,
}

impl ReceiveWindow {
    /// The first number expected is `first`; numbers `limit` or more ahead of the next expected are refused.
    pub fn new(first: u64, limit: u32) -> Self {
        Self { next: first, words: VecDeque::new(), end: first, held: 0, latest: first, limit: limit.into() }
    }

    /// The next number expected.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// One past the highest number received.
    pub fn end(&self) -> u64 {
        self.end
    }

    pub fn has_hole(&self) -> bool {
        self.held > 0
    }

    /// Packets received beyond the first hole.
    pub fn held(&self) -> u32 {
        self.held
    }

    pub fn contains(&self, number: u64) -> bool {
        number < self.next || (number < self.end && self.bit(number))
    }

    /// True if `number` is new and near enough to be kept.
    pub fn accepts(&self, number: u64) -> bool {
        number < self.next + self.limit && !self.contains(number)
    }

    fn bit(&self, number: u64) -> bool {
        let offset = number - (self.next & !(BITS - 1));
        self.words.get((offset / BITS) as usize).is_some_and(|word| word >> (offset % BITS) & 1 == 1)
    }

    /// Takes an accepted number.
    pub fn insert(&mut self, number: u64) {
        debug_assert!(self.accepts(number));
        self.latest = number;
        self.end = self.end.max(number + 1);
        if number == self.next && self.held == 0 {
            self.next += 1;
            self.words.clear();
            return;
        }
        let offset = number - (self.next & !(BITS - 1));
        let word = (offset / BITS) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (offset % BITS);
        self.held += 1;
        if number == self.next {
            self.advance();
        }
    }

    fn step(&mut self) {
        self.next += 1;
        if self.next.is_multiple_of(BITS) {
            self.words.pop_front();
        }
    }

    fn advance(&mut self) {
        while self.held > 0 && self.bit(self.next) {
            self.held -= 1;
            self.step();
        }
        if self.held == 0 {
            self.words.clear();
        }
    }

    /// Passes over everything below `number`; returns how many missing packets that gave up.
    pub fn skip_to(&mut self, number: u64) -> u64 {
        let mut given_up = 0;
        let number = number.min(self.end);
        while self.next < number {
            if self.bit(self.next) {
                self.held -= 1;
            } else {
                given_up += 1;
            }
            self.step();
        }
        self.advance();
        given_up
    }

    /// The first number received beyond the first hole.
    pub fn after_hole(&self) -> Option<u64> {
        (self.held > 0).then(|| self.find(self.next, true))
    }

    /// First number from `from` on whose state is `received`; at the latest `end`.
    fn find(&self, from: u64, received: bool) -> u64 {
        let base = self.next & !(BITS - 1);
        let mut number = from;
        while number < self.end {
            let offset = number - base;
            let word = self.words.get((offset / BITS) as usize).copied().unwrap_or(0);
            let word = if received { word } else { !word } >> (offset % BITS);
            if word != 0 {
                return (number + u64::from(word.trailing_zeros())).min(self.end);
            }
            number += BITS - offset % BITS;
        }
        self.end
    }

    fn block(&self, isn: u32, left: u64, right_end: u64) -> [u8; 8] {
        SackBlock { left: seq::to_wire(isn, left), right: seq::to_wire(isn, right_end - 1) }.to_wire()
    }

    /// Writes at most `out.len()` SACK blocks, the one with the latest arrival first (answer F1), then the oldest.
    ///
    /// The oldest blocks bound the holes that hold up the receiver, and a repeated report survives the loss of an ACK.
    // R-SACK-1, R-ACK-5
    pub fn sack(&self, isn: u32, out: &mut [[u8; 8]]) -> usize {
        if self.held == 0 || out.is_empty() {
            return 0;
        }
        let mut count = 0;
        let latest_block = (self.latest >= self.next && self.bit(self.latest)).then(|| {
            let mut left = self.latest;
            while left > self.next && self.bit(left - 1) {
                left -= 1;
            }
            (left, self.find(self.latest, false))
        });
        if let Some((left, end)) = latest_block {
            out[0] = self.block(isn, left, end);
            count = 1;
        }
        let mut from = self.next;
        while count < out.len() {
            let left = self.find(from, true);
            if left >= self.end {
                break;
            }
            let end = self.find(left, false);
            if latest_block != Some((left, end)) {
                out[count] = self.block(isn, left, end);
                count += 1;
            }
            from = end;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn blocks(window: &ReceiveWindow, most: usize) -> Vec<(u32, u32)> {
        let mut wire = vec![[0; 8]; most];
        let count = window.sack(0, &mut wire);
        crate::wire::SackBlocks::new(&wire[..count]).iter().map(|b| (b.left, b.right)).collect()
    }

    #[test]
    fn f4_sack_after_packet_17() {
        let mut window = ReceiveWindow::new(10, 1000);
        for number in [14, 15, 17] {
            window.insert(number);
        }
        assert_eq!(blocks(&window, 4), [(17, 17), (14, 15)]);
        assert_eq!((window.next(), window.after_hole(), window.held()), (10, Some(14), 3));
    }

    #[test]
    fn passing_over_a_hole_counts_only_what_is_missing() {
        let mut window = ReceiveWindow::new(10, 1000);
        for number in [12, 14, 15] {
            window.insert(number);
        }
        assert_eq!(window.skip_to(14), 3);
        assert_eq!((window.next(), window.has_hole()), (16, false));
    }

    #[test]
    fn numbers_too_far_ahead_are_refused() {
        let window = ReceiveWindow::new(10, 100);
        assert!(window.accepts(109));
        assert!(!window.accepts(110));
        assert!(!window.accepts(9));
    }

    proptest! {
        #[test]
        fn agrees_with_a_set_of_numbers(steps in prop::collection::vec((0u64..200, any::<bool>()), 1..300)) {
            let mut window = ReceiveWindow::new(5, 150);
            let mut next = 5u64;
            let mut set = BTreeSet::new();
            for (ahead, skip) in steps {
                let number = next + ahead;
                if skip && ahead < 3 {
                    let target = number.min(window.end());
                    window.skip_to(number);
                    next = next.max(target);
                } else {
                    let ok = ahead < 150 && !set.contains(&number);
                    prop_assert_eq!(window.accepts(number), ok);
                    if ok {
                        window.insert(number);
                        set.insert(number);
                    }
                }
                while set.contains(&next) {
                    next += 1;
                }
                set = set.split_off(&next);
                prop_assert_eq!(window.next(), next);
                prop_assert_eq!(window.held() as usize, set.len());
                prop_assert_eq!(window.after_hole(), set.first().copied());
                let reported: u32 = blocks(&window, 64).iter().map(|(l, r)| r - l + 1).sum();
                let runs = set.iter().filter(|n| !set.contains(&(*n + 1))).count();
                if runs <= 64 {
                    prop_assert_eq!(reported as usize, set.len());
                }
            }
        }
    }
}
