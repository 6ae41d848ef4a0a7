//! Fuzz target of streams: `cargo +nightly fuzz run streams`.
#![no_main]

#[path = "../bodies/streams.rs"]
mod body;
#[path = "../bodies/world.rs"]
mod world;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::streams(data));
