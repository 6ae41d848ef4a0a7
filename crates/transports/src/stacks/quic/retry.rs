//! The seal of Retry packets, for whoever makes one on the way: its key is no secret (RFC 9001, section 5.8).

use std::sync::{Arc, OnceLock};

use quinn_proto::ConnectionId;
use quinn_proto::crypto::ServerConfig as _;
use quinn_proto::crypto::rustls::QuicServerConfig;
use rustls::ServerConfig;
use rustls::server::ResolvesServerCertUsingSni;
use rustls::version::TLS13;

use crate::secure::provider;

/// Version 1 (RFC 9000).
const VERSION_1: u32 = 1;

/// The integrity tag of a Retry packet of version 1 that has none yet. `original`: the connection ID, of at most 20 bytes,
/// that the client's first packet was sent to.
pub fn retry_tag(original: &[u8], packet: &[u8]) -> [u8; 16] {
    static SEALER: OnceLock<QuicServerConfig> = OnceLock::new();
    SEALER.get_or_init(sealer).retry_tag(VERSION_1, &ConnectionId::new(original), packet)
}

/// The library seals for servers; this one has no certificate and never serves.
fn sealer() -> QuicServerConfig {
    let config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .expect("the provider has TLS 1.3")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(ResolvesServerCertUsingSni::new()));
    QuicServerConfig::try_from(config).expect("the provider has the suite of first packets")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_is_that_of_the_standards_example() {
        // RFC 9001, appendix A.4.
        let original = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];
        let packet = [
            0xff, 0x00, 0x00, 0x00, 0x01, 0x00, 0x08, 0xf0, 0x67, 0xa5, 0x50, 0x2a, 0x42, 0x62, 0xb5, 0x74,
            0x6f, 0x6b, 0x65, 0x6e,
        ];
        let tag =
            [0x04, 0xa2, 0x65, 0xba, 0x2e, 0xff, 0x4d, 0x82, 0x90, 0x58, 0xfb, 0x3f, 0x0f, 0x24, 0x96, 0xba];
        assert_eq!(retry_tag(&original, &packet), tag);
    }
}
