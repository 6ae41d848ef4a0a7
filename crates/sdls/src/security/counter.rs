//! Counters in security headers: initialisation vectors and sequence numbers. The sender never uses a value twice; the
//! receiver takes a value only if it is above all before it and within the window.

/// A counter of up to 16 octets, of which the lower ones are transmitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    octets: u8,
    transmitted: u8,
    next: Option<u128>,
}

/// Why a counter was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CounterError {
    /// More octets are to be transmitted than there are, or more than 16 are asked for.
    #[error(
        "a counter has at most 16 octets and transmits no more than it has; here {transmitted} of {octets}"
    )]
    Octets {
        /// Octets of the counter.
        octets: usize,
        /// Octets of the transmitted part.
        transmitted: usize,
    },
    /// A value has another length than the counter.
    #[error("a value of {found} octets was given for a counter of {octets}")]
    Length {
        /// Octets of the counter.
        octets: usize,
        /// Octets given.
        found: usize,
    },
}

impl Counter {
    /// A counter whose first value is `first`, which has as many octets as the counter; its lower `transmitted` octets
    /// stand in security headers, the others are known to both ends.
    ///
    /// # Errors
    /// If it has more than 16 octets, or more are to be transmitted than it has.
    pub fn new(first: &[u8], transmitted: usize) -> Result<Self, CounterError> {
        let error = CounterError::Octets { octets: first.len(), transmitted };
        if first.len() > 16 || transmitted > first.len() {
            return Err(error);
        }
        Ok(Self {
            octets: u8::try_from(first.len()).map_err(|_| error)?,
            transmitted: u8::try_from(transmitted).map_err(|_| error)?,
            next: Some(number(first)),
        })
    }

    /// A field that is not there.
    #[must_use]
    pub fn none() -> Self {
        Self { octets: 0, transmitted: 0, next: None }
    }

    /// Octets of the whole counter.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.octets.into()
    }

    /// Octets of it in the security header.
    #[must_use]
    pub fn transmitted(&self) -> usize {
        self.transmitted.into()
    }

    /// The value that comes next, or none when all are used.
    #[must_use]
    pub fn next(&self) -> Option<u128> {
        self.next
    }

    /// Sets the value that comes next.
    ///
    /// # Errors
    /// If `value` has another length than the counter.
    pub fn set_next(&mut self, value: &[u8]) -> Result<(), CounterError> {
        if value.len() != self.octets() {
            return Err(CounterError::Length { octets: self.octets(), found: value.len() });
        }
        self.next = Some(number(value));
        Ok(())
    }

    /// Sets the last value that was used or accepted: the next one is one above it. All ones mean that none was: the
    /// next one is zero.
    ///
    /// # Errors
    /// If `value` has another length than the counter.
    pub fn set_last(&mut self, value: &[u8]) -> Result<(), CounterError> {
        self.set_next(value)?;
        let last = number(value);
        self.next = Some(if last == self.largest() { 0 } else { last + 1 });
        Ok(())
    }

    /// The last value as octets, as [`set_last`](Self::set_last) takes it.
    #[must_use]
    pub fn last(&self) -> [u8; 16] {
        let last = match self.next {
            None | Some(0) => self.largest(),
            Some(next) => next - 1,
        };
        last.to_be_bytes()
    }

    /// The greatest value.
    fn largest(&self) -> u128 {
        match self.octets {
            0 => 0,
            octets => u128::MAX >> (128 - 8 * u32::from(octets)),
        }
    }

    /// The value as the counter's octets.
    #[must_use]
    pub fn write(&self, value: u128) -> ([u8; 16], usize) {
        (value.to_be_bytes(), 16 - self.octets())
    }

    /// Takes the next value for sending: none when all are used, for none may come twice.
    pub(crate) fn take(&mut self) -> Option<u128> {
        let value = self.next?;
        self.next = (value < self.largest()).then(|| value + 1);
        Some(value)
    }

    /// The whole value of which `field` is the transmitted part: the smallest that is not below the next one. None if
    /// there is no such value.
    #[must_use]
    pub fn whole(&self, field: &[u8]) -> Option<u128> {
        let next = self.next?;
        if self.transmitted == self.octets {
            return Some(number(field));
        }
        let span = 1_u128 << (8 * u32::from(self.transmitted));
        let candidate = next & !(span - 1) | number(field);
        if candidate >= next {
            return Some(candidate);
        }
        candidate.checked_add(span).filter(|value| *value <= self.largest())
    }

    /// Whether a receiver may take `value`: not below the next one, and less than `window` above it.
    #[must_use]
    pub fn in_window(&self, value: u128, window: u64) -> bool {
        self.next.is_some_and(|next| value >= next && value - next < u128::from(window))
    }

    /// Records that a receiver took `value`.
    pub(crate) fn accept(&mut self, value: u128) {
        self.next = (value < self.largest()).then(|| value + 1);
    }
}

fn number(octets: &[u8]) -> u128 {
    octets.iter().fold(0, |number, octet| number << 8 | u128::from(*octet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_stops_at_the_last_value() {
        let mut counter = Counter::new(&[0xFF, 0xFE], 2).unwrap();
        assert_eq!([counter.take(), counter.take(), counter.take()], [Some(0xFFFE), Some(0xFFFF), None]);
    }

    #[test]
    fn the_part_that_is_not_transmitted_carries_over() {
        let mut counter = Counter::new(&[0, 0xFF], 1).unwrap();
        assert_eq!(counter.whole(&[0xFF]), Some(0xFF));
        assert_eq!(counter.whole(&[0]), Some(0x100));
        counter.accept(0x100);
        assert_eq!(counter.whole(&[0]), Some(0x200), "a replay seems to come from the next round");
        let full = Counter::new(&[0xFF, 0xFF], 1).unwrap();
        assert_eq!(full.whole(&[0]), None, "there is no round after the last");
    }

    #[test]
    fn the_window_holds_its_number_of_values() {
        let counter = Counter::new(&[10], 1).unwrap();
        assert_eq!((0..=255).filter(|value| counter.in_window(*value, 5)).count(), 5);
        assert!(counter.in_window(10, 5) && counter.in_window(14, 5));
        assert!(!counter.in_window(9, 5) && !counter.in_window(15, 5));
    }

    #[test]
    fn all_ones_as_last_value_mean_none() {
        let mut counter = Counter::new(&[7; 16], 16).unwrap();
        counter.set_last(&[0xFF; 16]).unwrap();
        assert_eq!((counter.next(), counter.last()), (Some(0), [0xFF; 16]));
        counter.accept(u128::MAX);
        assert_eq!(counter.next(), None);
        assert!(Counter::new(&[0; 17], 1).is_err() && Counter::new(&[0], 2).is_err());
    }
}
