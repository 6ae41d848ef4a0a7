//! Fuzz target of the decoders: `cargo +nightly fuzz run decode`.
#![no_main]

#[path = "../bodies/decode.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::decode(data));
