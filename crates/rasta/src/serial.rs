//! Numbers modulo 2^32: sequence numbers and time stamps wrap around.

/// How far `to` lies after `from`.
pub(crate) const fn distance(from: u32, to: u32) -> u32 {
    to.wrapping_sub(from)
}

/// Whether `number` lies before `reference`, by less than half of the circle.
pub(crate) const fn is_before(number: u32, reference: u32) -> bool {
    let behind = distance(number, reference);
    behind != 0 && behind <= u32::MAX / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_and_order_survive_the_wrap_around() {
        assert_eq!(distance(u32::MAX, 2), 3);
        assert!(is_before(u32::MAX, 0));
        assert!(!is_before(0, u32::MAX));
        assert!(!is_before(5, 5));
    }
}
