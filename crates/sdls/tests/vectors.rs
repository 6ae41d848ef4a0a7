//! The published vectors, played with the library: its own and those of other implementations.
//!
//! tests/sdls plays the same files with an implementation in Python (src/gauntlet/space/sdls) that shares no code with
//! this one.

#[path = "../examples/vectors/convert.rs"]
mod convert;
#[path = "../examples/vectors/format.rs"]
mod format;
#[path = "../examples/vectors/fresh.rs"]
mod fresh;
#[path = "../examples/vectors/own.rs"]
mod own;
#[path = "../examples/vectors/procedures.rs"]
mod procedures;
#[path = "../examples/vectors/runner.rs"]
mod runner;
#[path = "../examples/vectors/suites.rs"]
mod suites;

use format::{File, Source};

fn play(text: &str) -> (File, Vec<String>) {
    let mut file: File = serde_json::from_str(text).expect("the format of vector files");
    let differences = file.vectors.iter_mut().flat_map(runner::play).collect();
    (file, differences)
}

#[test]
fn other_implementations_vectors_come_out() {
    let (file, differences) = play(include_str!("../vectors/foreign.json"));
    assert_eq!(differences, Vec::<String>::new());
    assert!(file.vectors.len() >= 15);
    assert!(file.vectors.iter().all(|vector| matches!(vector.source, Source::Foreign { .. })));
}

#[test]
fn own_vectors_come_out_and_are_those_that_the_example_makes() {
    let text = include_str!("../vectors/own.json");
    let (file, differences) = play(text);
    assert_eq!(differences, Vec::<String>::new());
    assert!(file.vectors.len() >= 60);
    let made = serde_json::to_string_pretty(&own::file()).expect("a file");
    assert!(
        made == text.trim_end(),
        "run `cargo run -p sdls --example vectors -- own > crates/sdls/vectors/own.json`"
    );
}

#[test]
fn a_changed_vector_is_noticed() {
    let (mut file, _) = play(include_str!("../vectors/own.json"));
    let vector = &mut file.vectors[0];
    vector.keys[0].octets.replace_range(0..1, "f");
    assert!(!runner::play(vector).is_empty());
}

#[test]
fn vectors_by_chance_open_what_was_protected() {
    for seed in 0..4 {
        let mut file = fresh::file(seed, 60);
        let differences: Vec<String> = file.vectors.iter_mut().flat_map(runner::play).collect();
        assert_eq!(differences, Vec::<String>::new(), "seed {seed}");
    }
}
