//! Fuzz body of protected connections: every handshake, ends that fit and ends that do not.

use restp_proto::profile::Protection;
use restp_proto::protected::{Aead, Keys, Peers, PrivateKey};
use restp_proto::{EndpointConfig, Profile};

use super::world;

fn private(start: u8) -> PrivateKey {
    PrivateKey::from_random(std::array::from_fn(|place| start ^ place as u8)).expect("the octets differ")
}

/// Keys of client and server by the bits of `choice`.
fn keys(choice: u8) -> [Keys; 2] {
    let (client, server) = (private(2), private(3));
    let (client_public, server_public) = (client.public(), server.public());
    let peers = |key| if choice & 0x40 == 0 { Peers::Any } else { Peers::only([key]) };
    // Now and then they expect somebody else.
    let expected = if choice & 0x20 == 0 { server_public } else { client_public };
    let keys = match choice & 3 {
        0 => [Keys::shared([1; 32]), Keys::shared([1 + (choice >> 5 & 1); 32])],
        1 => [Keys::ik_client(client, expected), Keys::ik_server(server, peers(client_public))],
        _ => [Keys::xx(client, peers(expected)), Keys::xx(server, peers(client_public))],
    };
    let aead = if choice & 0x10 == 0 { Aead::AesGcm } else { Aead::ChaChaPoly };
    keys.map(|keys| keys.with_aead(aead))
}

/// Plays the script in `data`; its first two octets choose preset and keys.
pub fn protected(data: &[u8]) {
    let [preset, choice, script @ ..] = data else { return };
    // Early data are never protected, datagrams cannot be.
    let names = ["file_arq", "file_harq", "voice", "satellite_outage", "multipath"];
    let profile =
        Profile::preset(names[usize::from(*preset) % names.len()]).expect("the name comes from the list");
    let profile = Profile { protection: Protection::Protected, ..profile };
    // With few slots cookies are soon asked for.
    let max_half_open = if choice & 0x80 == 0 { 1024 } else { 0 };
    let config = |keys| EndpointConfig { keys: Some(keys), max_half_open, ..EndpointConfig::default() };
    world::play(profile, keys(*choice).map(config), script);
}
