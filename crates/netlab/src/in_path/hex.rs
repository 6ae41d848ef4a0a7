//! Bytes as hexadecimal digits.

/// Reads pairs of digits; blanks between them do not count.
///
/// # Errors
/// The second half of a sentence.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let wrong =
        || format!("has \"{text}\" for bytes; write them as pairs of hexadecimal digits such as \"00ff\"");
    if digits.is_empty() || !digits.len().is_multiple_of(2) {
        return Err(wrong());
    }
    let pair = |pair: &[char]| Some((pair[0].to_digit(16)? * 16 + pair[1].to_digit(16)?) as u8);
    digits.chunks(2).map(|digits| pair(digits).ok_or_else(wrong)).collect()
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn pairs_of_digits_are_bytes_and_nothing_else_is() {
        assert_eq!(decode("00 fF1a"), Ok(vec![0, 0xff, 0x1a]));
        for wrong in ["", "0", "0g", "äö"] {
            assert!(decode(wrong).is_err(), "{wrong}");
        }
    }
}
