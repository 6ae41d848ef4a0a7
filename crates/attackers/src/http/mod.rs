//! The least of HTTP that requests and their answers need: no field is decoded but the status.

pub mod h1;
pub mod h2;
pub mod h3;

use crate::outcome::Outcome;

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is not whole yet.
    Pending,
    /// It is over.
    Over(Outcome),
}

/// Appends a field as HPACK and QPACK write it besides the first octet: an integer whose first bits share an octet with
/// flags (RFC 7541, section 5.1).
pub(crate) fn put_integer(out: &mut Vec<u8>, flags: u8, bits: u32, value: usize) {
    let most = (1_usize << bits) - 1;
    if value < most {
        out.push(flags | value as u8);
        return;
    }
    out.push(flags | most as u8);
    let mut rest = value - most;
    while rest >= 128 {
        out.push(rest as u8 | 128);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends a string that is not compressed; its length shares an octet with flags.
pub(crate) fn put_string(out: &mut Vec<u8>, flags: u8, bits: u32, text: &[u8]) {
    put_integer(out, flags, bits, text.len());
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_the_standard() {
        // RFC 7541, appendix C.1.
        for (bits, value, octets) in [(5, 10, &[10][..]), (5, 1337, &[31, 154, 10]), (8, 42, &[42])] {
            let mut out = Vec::new();
            put_integer(&mut out, 0, bits, value);
            assert_eq!(out, octets);
        }
    }
}
