//! Integers of one, two, four or eight octets (RFC 9000, section 16).

/// The largest integer.
pub const MOST: u64 = (1 << 62) - 1;

/// Appends an integer in as few octets as it takes. Above [`MOST`] it is cut to it.
pub fn put(out: &mut Vec<u8>, value: u64) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => put_2(out, value as u16),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value.min(MOST) | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// Appends an integer below 0x4000 in two octets, few or not.
pub fn put_2(out: &mut Vec<u8>, value: u16) {
    debug_assert!(value < 0x4000);
    out.extend_from_slice(&(value | 0x4000).to_be_bytes());
}

/// Reads what a peer wrote, from the front.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Of all these octets.
    #[must_use]
    pub fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets }
    }

    /// What is left.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// So many octets; none if there are fewer.
    pub fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(count).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    /// Passes over all octets of this value that come next.
    pub fn skip(&mut self, octet: u8) {
        let count = self.rest.iter().take_while(|next| **next == octet).count();
        self.rest = &self.rest[count..];
    }

    /// One octet.
    pub fn octet(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    /// An array.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N as u64)?.try_into().ok()
    }

    /// An integer.
    pub fn varint(&mut self) -> Option<u64> {
        let first = *self.rest.first()?;
        let octets = self.take(1 << (first >> 6))?;
        let mut value = u64::from(first & 0x3f);
        for octet in &octets[1..] {
            value = (value << 8) | u64::from(*octet);
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000, appendix A.1.
    const SAMPLES: [(u64, &[u8]); 4] = [
        (151_288_809_941_952_652, &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]),
        (494_878_333, &[0x9d, 0x7f, 0x3e, 0x7d]),
        (15_293, &[0x7b, 0xbd]),
        (37, &[0x25]),
    ];

    #[test]
    fn samples_of_the_standard() {
        for (value, octets) in SAMPLES {
            let mut out = Vec::new();
            put(&mut out, value);
            assert_eq!(out, octets);
            assert_eq!(Reader::new(octets).varint(), Some(value));
        }
        assert_eq!(Reader::new(&[0x40, 0x25]).varint(), Some(37), "two octets where one would do");
    }

    #[test]
    fn limits_of_each_length() {
        for (value, length) in
            [(63, 1), (64, 2), (16383, 2), (16384, 4), ((1 << 30) - 1, 4), (1 << 30, 8), (MOST, 8)]
        {
            let mut out = Vec::new();
            put(&mut out, value);
            assert_eq!((out.len(), Reader::new(&out).varint()), (length, Some(value)));
        }
    }

    #[test]
    fn what_is_cut_short_is_none() {
        assert_eq!(Reader::new(&[]).varint(), None);
        assert_eq!(Reader::new(&[0xc2, 0x19]).varint(), None);
        assert_eq!(Reader::new(&[1]).array::<2>(), None);
        let mut reader = Reader::new(&[0, 0, 7, 0]);
        reader.skip(0);
        assert_eq!(reader.rest(), [7, 0]);
    }
}
