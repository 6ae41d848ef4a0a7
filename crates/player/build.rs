//! Has the program linked to a fixed address.

fn main() {
    // A program that may lie anywhere writes its own place into a hundred pages when it starts, and in a guest the
    // first write to a page costs 50 microseconds.
    println!("cargo::rustc-link-arg-bins=-no-pie");
    println!("cargo::rerun-if-changed=build.rs");
}
