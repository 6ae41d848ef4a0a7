//! Fuzz body of streams: scripts for both ends, and payloads that no honest peer sends.

use restp_proto::wire::Frame;
use restp_proto::{EndpointConfig, Profile};

use super::world;

/// Plays the script in `data`; its first octet chooses the reliability and whether payloads are checked, so that damage on
/// the way reaches the frames.
pub fn streams(data: &[u8]) {
    let Some((choice, script)) = data.split_first() else { return };
    let mut rest = script;
    while let Ok(frame) = Frame::decode(&mut rest) {
        let mut again = Vec::new();
        frame.encode(&mut again);
        assert_eq!(again.len(), frame.encoded_len(), "{frame:?}");
    }
    let profile = if choice & 1 == 0 { Profile::file_arq() } else { Profile::file_harq() };
    let profile = Profile { crc: choice & 2 != 0, ..profile.with_streams() };
    world::play(profile, [EndpointConfig::default(), EndpointConfig::default()], script);
}
