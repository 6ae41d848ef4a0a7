//! The program, as it is called.

use std::process::{Command, Output};

fn bursts(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bursts")).args(words).output().expect("the program starts")
}

const FEW: [&str; 9] =
    ["transfers", "--stacks", "kcp", "--at-most-bytes", "10000", "--rtt-ms", "10", "--tries", "1"];

#[test]
fn what_is_skipped_and_what_is_printed_after_it_are_the_whole() {
    let whole = String::from_utf8(bursts(&FEW).stdout).unwrap();
    let lines = whole.lines().count();
    assert_eq!(lines, 1 + 15, "a head, and five losses in three kinds of bursts");
    let rest = String::from_utf8(bursts(&[&FEW[..], &["--skip", "10"]].concat()).stdout).unwrap();
    let begun: String = whole.split_inclusive('\n').take(11).collect();
    assert_eq!(begun + &rest, whole);
}

#[test]
fn what_is_not_in_the_grid_and_a_table_that_cannot_be_written_are_told() {
    for (words, said) in [
        (&["transfers", "--stacks", "foo"][..], "no stack is called 'foo'; there are "),
        (&["transfers", "--bytes", "12345"], "nothing of the registered grid"),
        (&["messages", "--seeds", "99"], "nothing of the registered grid"),
        (&["transfers", "--every", "0"], "it takes a number from 1 on"),
    ] {
        let output = bursts(words);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && text.contains(said), "{words:?}: {text}");
        assert_eq!(output.stdout, b"");
    }
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_bursts")).args(FEW).stdout(full).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.starts_with("cannot write the table: "), "{text}");
}
