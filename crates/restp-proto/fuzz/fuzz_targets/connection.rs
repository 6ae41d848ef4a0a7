//! Fuzz target of the whole connection: `cargo +nightly fuzz run connection`.
#![no_main]

#[path = "../bodies/connection.rs"]
mod body;
#[path = "../bodies/world.rs"]
mod world;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::connection(data));
