//! Packet numbers: 32 bits on the wire, 64 bits inside, so that no comparison inside can wrap.

/// Wire number of the packet `index` places after the initial number `isn`.
#[must_use]
pub fn to_wire(isn: u32, index: u64) -> u32 {
    isn.wrapping_add(index as u32)
}

/// The index nearest to `near` whose wire number is `wire`; `None` if it would lie before the first packet.
///
/// The answer is exact while peers disagree by less than 2^31 packets (answer E8).
#[must_use]
// R-NUM-1
pub fn from_wire(isn: u32, wire: u32, near: u64) -> Option<u64> {
    let step = wire.wrapping_sub(to_wire(isn, near)) as i32;
    near.checked_add_signed(i64::from(step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        // R-NUM-1
        fn round_trips_within_half_the_circle(isn: u32, near in 0u64..1 << 40, step in -(1i64 << 31) + 1..1i64 << 31) {
            let index = near.checked_add_signed(step);
            prop_assume!(index.is_some());
            let index = index.unwrap();
            prop_assert_eq!(from_wire(isn, to_wire(isn, index), near), Some(index));
        }
    }

    // R-NUM-1
    #[test]
    fn every_number_around_the_wrap_is_read_as_it_was_written() {
        let wrap = 1_u64 << 32;
        for isn in [0, 1, u32::MAX / 2, u32::MAX / 2 + 1, u32::MAX - 1, u32::MAX] {
            for near in wrap - 300..wrap + 300 {
                for index in near - 300..near + 300 {
                    assert_eq!(from_wire(isn, to_wire(isn, index), near), Some(index), "{isn} {near}");
                }
            }
        }
    }

    #[test]
    fn numbers_before_the_first_packet_are_refused() {
        assert_eq!(from_wire(100, 99, 0), None);
        assert_eq!(from_wire(u32::MAX, 0, 0), Some(1));
    }
}
