//! Fuzz target of two ends and a network that a script rules: `cargo +nightly fuzz run connection`.
#![no_main]

#[path = "../bodies/connection.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::connection(data));
