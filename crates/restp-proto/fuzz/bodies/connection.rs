//! Fuzz body of connections in clear text.

use restp_proto::{EndpointConfig, Profile};

use super::world;

/// Plays the script in `data`; its first octet chooses the preset.
pub fn connection(data: &[u8]) {
    let Some((choice, script)) = data.split_first() else { return };
    let names = Profile::PRESETS;
    let name = names[1 + usize::from(*choice) % (names.len() - 1)];
    let profile = Profile::preset(name).expect("the name comes from the list");
    world::play(profile, [EndpointConfig::default(), EndpointConfig::default()], script);
}
