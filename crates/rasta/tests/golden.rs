//! What is on the wire today was on it yesterday: the frames of `examples/vectors.rs` are kept in a file, which decoders
//! of other make are held against.

#[path = "../examples/vectors.rs"]
#[allow(dead_code, reason = "the example's own main")]
mod vectors;

#[test]
fn frames_are_what_they_were() {
    let kept = include_str!("vectors/frames.jsonl");
    let lines = vectors::lines();
    assert_eq!(kept.lines().collect::<Vec<_>>(), lines, "cargo run -p rasta --example vectors writes them");
    assert_eq!(lines.len(), 85);
}
