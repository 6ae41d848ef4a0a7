//! The file with the keys of a protected link: two lines, `up` and `down`, each with 64 hexadecimal digits.

use std::path::Path;

use crate::security::Keys;

/// Reads keys.
///
/// # Errors
/// If the file cannot be read, or is not as it must be; no error shows a key.
pub fn read_keys(path: &Path) -> Result<Keys, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Whether every user of this machine may read the file; never where the system has no modes of Unix.
#[must_use]
pub fn everybody_reads(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path).is_ok_and(|about| about.mode() & 0o004 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

fn parse(text: &str) -> Result<Keys, String> {
    let (mut up, mut down) = (None, None);
    for (number, line) in text.lines().enumerate() {
        let words: Vec<_> = line.split_whitespace().collect();
        let (slot, digits) = match words[..] {
            [] => continue,
            ["up", digits] => (&mut up, digits),
            ["down", digits] => (&mut down, digits),
            _ => return Err(format!("line {}: wanted «up» or «down» and a key", number + 1)),
        };
        let key = hexadecimal(digits)
            .ok_or_else(|| format!("line {}: a key has 64 hexadecimal digits", number + 1))?;
        if slot.replace(key).is_some() {
            return Err(format!("line {}: a second key «{}»", number + 1, words[0]));
        }
    }
    match (up, down) {
        (Some(up), Some(down)) => Ok(Keys { up, down }),
        (None, _) => Err("there is no line «up KEY»".to_owned()),
        (_, None) => Err("there is no line «down KEY»".to_owned()),
    }
}

fn hexadecimal(digits: &str) -> Option<[u8; 32]> {
    let digits = digits.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut key = [0; 32];
    for (octet, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        let value = |digit: u8| char::from(digit).to_digit(16);
        *octet = (value(pair[0])? << 4 | value(pair[1])?) as u8;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lines_are_read_and_mistakes_named() {
        let (one, two) = ("0f".repeat(32), "A0".repeat(32));
        let keys = parse(&format!("up {one}\n\n  down {two}\n")).unwrap();
        assert_eq!(keys, Keys { up: [0x0F; 32], down: [0xA0; 32] });
        for (text, says) in [
            (format!("up {one}"), "there is no line «down KEY»"),
            (format!("down {one}"), "there is no line «up KEY»"),
            (format!("up {one}\nup {two}"), "line 2: a second key «up»"),
            (format!("up {one}0"), "line 1: a key has 64 hexadecimal digits"),
            (format!("up {}g", &one[1..]), "line 1: a key has 64 hexadecimal digits"),
            ("sideways 00".to_owned(), "line 1: wanted «up» or «down» and a key"),
        ] {
            assert_eq!(parse(&text).unwrap_err(), says);
        }
    }
}
