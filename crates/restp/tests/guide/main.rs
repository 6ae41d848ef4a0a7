//! The program that docs/guide/restp.md shows is the one in `file.rs`, and it brings the file over.

// Its `main` is called below.
include!("file.rs");

#[test]
fn the_program_of_the_guide_moves_a_file() {
    let folder = std::env::temp_dir().join(format!("restp-guide-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // The program names its files without a folder; no other test of this process names any.
    std::env::set_current_dir(&folder).unwrap();
    let content: Vec<u8> = (0..3_000_000_u32).map(|place| (place % 251) as u8).collect();
    std::fs::write("big.bin", &content).unwrap();
    main().unwrap();
    assert!(std::fs::read("received.bin").unwrap() == content, "another file arrived");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_guide_shows_that_program() {
    let guide = include_str!("../../../../docs/guide/restp.md");
    let program = include_str!("file.rs");
    assert!(guide.contains(&format!("```rust\n{program}```\n")), "crates/restp/tests/guide/file.rs differs");
}
