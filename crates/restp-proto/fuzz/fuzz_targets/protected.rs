//! Fuzz target of protected connections: `cargo +nightly fuzz run protected`.
#![no_main]

#[path = "../bodies/protected.rs"]
mod body;
#[path = "../bodies/world.rs"]
mod world;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::protected(data));
