//! What there is to ask for: a page at `/`, and any number of octets up to `MOST_OCTETS` at `/bytes/NUMBER`.

const PAGE_OCTETS: usize = 1000;
const MOST_OCTETS: usize = 16 << 20;

/// What answers are made of.
pub static PIECE: [u8; 16_384] = [b'.'; 16_384];

/// How long the answer at a path is; none where nothing is.
pub fn octets(path: &[u8]) -> Option<usize> {
    if path == b"/" {
        return Some(PAGE_OCTETS);
    }
    let number = std::str::from_utf8(path.strip_prefix(b"/bytes/")?).ok()?;
    number.parse().ok().filter(|octets| *octets <= MOST_OCTETS)
}

#[cfg(test)]
mod tests {
    use super::octets;

    #[test]
    fn a_page_and_octets_by_number() {
        assert_eq!(octets(b"/"), Some(1000));
        assert_eq!(octets(b"/bytes/1048576"), Some(1 << 20));
        assert_eq!(octets(b"/bytes/16777217"), None);
        assert_eq!(octets(b"/bytes/-1"), None);
        assert_eq!(octets(b"/index"), None);
    }
}
