//! Fuzz target: `cargo +nightly fuzz run procedures`.
#![no_main]

#[path = "../bodies/procedures.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::procedures(data));
