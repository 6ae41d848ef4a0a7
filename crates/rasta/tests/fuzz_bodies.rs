//! The bodies of the fuzz targets over their corpus and over random scripts, so that they cannot rot.

use proptest::prelude::*;

#[path = "../fuzz/bodies/connection.rs"]
mod connection;
#[path = "../fuzz/bodies/decode.rs"]
mod decode;

fn play(name: &str, body: fn(&[u8])) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let files: Vec<_> =
        std::fs::read_dir(&folder).expect("the corpus").map(|file| file.expect("a file").path()).collect();
    assert!(!files.is_empty(), "{}", folder.display());
    for file in files {
        body(&std::fs::read(&file).expect("a file"));
    }
}

#[test]
fn the_corpus_of_the_decoders() {
    play("decode", decode::decode);
}

#[test]
fn the_corpus_of_connections() {
    play("connection", connection::connection);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn decoders_take_anything(data in proptest::collection::vec(any::<u8>(), 0..120)) {
        decode::decode(&data);
    }

    #[test]
    fn connections_take_any_script(data in proptest::collection::vec(any::<u8>(), 2..300)) {
        connection::connection(&data);
    }
}
