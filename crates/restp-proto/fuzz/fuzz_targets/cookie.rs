//! Fuzz target of the cookie path: `cargo +nightly fuzz run cookie`.
#![no_main]

#[path = "../bodies/cookie.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::cookie(data));
