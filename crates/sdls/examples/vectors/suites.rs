//! Cipher suites, and the protocols that carry them, of which vectors are made.

use serde_json::json;

use super::convert::hex;
use super::format::{Association, Channel, Frame, Key, Link};

/// Cipher suites: name, algorithm, octets of the key, of the MAC and of the IV, service.
pub const SUITES: [(&str, &str, usize, usize, usize, &str); 11] = [
    ("gcm-128", "aes-gcm", 16, 16, 12, "authenticated-encryption"),
    ("gcm-256", "aes-gcm", 32, 16, 12, "authenticated-encryption"),
    ("gcm-256-iv16", "aes-gcm", 32, 16, 16, "authenticated-encryption"),
    ("ccm-128", "aes-ccm", 16, 16, 12, "authenticated-encryption"),
    ("ccm-256-mac8", "aes-ccm", 32, 8, 13, "authenticated-encryption"),
    ("gmac-256", "aes-gcm", 32, 16, 12, "authentication"),
    ("cmac-128", "aes-cmac", 16, 16, 0, "authentication"),
    ("cmac-256-mac8", "aes-cmac", 32, 8, 0, "authentication"),
    ("hmac", "hmac-sha-256", 32, 32, 0, "authentication"),
    ("gcm-128-encryption", "aes-gcm", 16, 0, 12, "encryption"),
    ("ccm-256-encryption", "aes-ccm", 32, 0, 13, "encryption"),
];

pub const SPI: u16 = 4;
pub const KEY: u16 = 130;

/// A key that counts up from `first`.
pub fn key_of(id: u16, kind: &str, octets: usize, first: u8) -> Key {
    let octets: Vec<u8> = (0..octets).map(|place| first.wrapping_add(place.to_le_bytes()[0])).collect();
    Key { id, kind: kind.into(), octets: hex(&octets), state: "active".into() }
}

/// The association of a suite, on `channel`.
pub fn association(suite: usize, channel: Channel) -> Association {
    let (_, algorithm, key_octets, mac_octets, iv, service) = SUITES[suite];
    let sequence = if iv == 0 { 4 } else { 0 };
    Association {
        spi: SPI,
        service: service.into(),
        algorithm: algorithm.into(),
        key_octets,
        mac_octets,
        iv: "00".repeat(iv),
        iv_transmitted: iv,
        sequence: "00".repeat(sequence),
        sequence_transmitted: sequence,
        padding_block: 1,
        pad_length_octets: 0,
        mask: "standard".into(),
        window: 5,
        reserved_spi: false,
        key: Some(KEY),
        state: "operational".into(),
        channels: vec![channel],
    }
}

/// The key that a suite takes.
pub fn suite_key(suite: usize, first: u8) -> Key {
    let encrypts = SUITES[suite].4 > 0;
    key_of(KEY, if encrypts { "cipher" } else { "mac" }, SUITES[suite].2, first)
}

/// Octets that protection adds.
pub fn overhead(association: &Association) -> usize {
    2 + association.iv_transmitted
        + association.sequence_transmitted
        + association.pad_length_octets
        + association.mac_octets
}

pub fn frame(value: serde_json::Value) -> Frame {
    serde_json::from_value(value).expect("a frame of the format")
}

/// The four protocols with a link, a channel and a frame with `data`.
pub fn protocol(kind: usize, data: &[u8], overhead: usize, fecf: bool) -> (Link, Channel, Frame) {
    let tail = usize::from(fecf) * 2;
    let data_hex = hex(data);
    match kind {
        0 => (
            Link::Tc { segment_header: true, fecf, largest: 1024 },
            Channel { version: 0, spacecraft: 44, channel: 1, map: None },
            frame(
                json!({"service": "ad", "spacecraft": 44, "channel": 1, "sequence": 9, "segment": [3, 5], "data": data_hex}),
            ),
        ),
        1 => (
            Link::Tm { frame: 6 + 3 + data.len() + overhead + 4 + tail, fecf },
            Channel { version: 0, spacecraft: 1000, channel: 6, map: None },
            frame(
                json!({"spacecraft": 1000, "channel": 6, "master_count": 200, "channel_count": 3, "status": 0x1800,
                "secondary": "c1c2", "data": data_hex, "ocf": "01040000"}),
            ),
        ),
        2 => (
            Link::Aos {
                frame: 8 + 2 + data.len() + overhead + 4 + tail,
                fhec: true,
                insert_zone: 2,
                ocf: true,
                fecf,
            },
            Channel { version: 1, spacecraft: 171, channel: 33, map: None },
            frame(json!({"spacecraft": 171, "channel": 33, "count": 70000, "replay": false, "cycle": 2,
                "insert": "1122", "data": data_hex, "ocf": "c0000400"})),
        ),
        _ => (
            Link::Uslp { fixed: None, largest: Some(2000), insert_zone: 3, fecf, truncated: None },
            Channel { version: 12, spacecraft: 50_000, channel: 40, map: Some(7) },
            frame(
                json!({"spacecraft": 50000, "destination": true, "channel": 40, "map": 7, "truncated": false,
                "expedited": false, "control": false, "count_octets": 2, "count": 513, "insert": "aabbcc",
                "data": data_hex, "ocf": "01040000"}),
            ),
        ),
    }
}

pub const KINDS: [&str; 4] = ["tc", "tm", "aos", "uslp"];
