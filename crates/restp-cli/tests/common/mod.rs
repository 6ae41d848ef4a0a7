//! Content that shows where it was damaged, and what is said of a test that cannot run here.

/// Says that a test could not run here. Not through `eprintln`, which test programs hold back when a test passes.
pub fn skipped(test: &str, why: &str) {
    use std::io::Write;
    writeln!(std::io::stderr(), "SKIPPED {test}: {why}").expect("standard error is open");
}

/// `size_bytes` bytes that differ from place to place.
pub fn content(size_bytes: usize) -> Vec<u8> {
    (0..size_bytes.div_ceil(8) as u64)
        .flat_map(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23).to_le_bytes())
        .take(size_bytes)
        .collect()
}
