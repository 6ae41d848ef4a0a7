//! Fuzz target: `cargo +nightly fuzz run cop1`.
#![no_main]

#[path = "../bodies/cop1.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::cop1(data));
