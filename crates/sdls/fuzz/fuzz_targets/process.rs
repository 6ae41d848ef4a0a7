//! Fuzz target: `cargo +nightly fuzz run process`.
#![no_main]

#[path = "../bodies/process.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::process(data));
