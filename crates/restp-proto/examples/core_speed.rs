//! Cost of the protocol core: two endpoints in one thread, a transfer without any network in between.
//!
//! `cargo run --release --example core_speed -- [megabytes] [preset] [bytes of a message] [protected]`: 1000 MB of a file by
//! default. One thread does the work of both sides.

use std::time::{Duration, Instant as Clock};

use restp_proto::profile::Protection;
use restp_proto::protected::Keys;
use restp_proto::{ConnId, Ecn, Endpoint, EndpointConfig, EventKind, Instant, PathAddr, Profile, SendError};

const SEGMENTS: usize = 32;

/// Hands everything that `from` has to send to `to`; returns the packets.
fn carry(from: &mut Endpoint, to: &mut Endpoint, now: Instant, buffer: &mut Vec<u8>) -> u64 {
    let mut packets = 0;
    loop {
        buffer.clear();
        let Some(transmit) = from.poll_transmit(now, SEGMENTS, buffer) else { return packets };
        let path = PathAddr { local: transmit.path.remote, remote: transmit.path.local };
        for packet in buffer[..transmit.size_bytes].chunks(transmit.segment_size) {
            to.handle(now, path, Ecn::NotEct, packet);
            packets += 1;
        }
    }
}

fn accepted(server: &mut Endpoint) -> Option<ConnId> {
    let event = server.poll_event()?;
    matches!(event.kind, EventKind::Accepted { .. }).then_some(event.conn)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = |place| std::env::args().nth(place);
    let megabytes: usize = argument(1).map_or(Ok(1000), |text| text.parse())?;
    let mut profile = match argument(2) {
        Some(name) => Profile::preset(&name).ok_or("there is no such preset")?,
        None => Profile::file_arq(),
    };
    let message_bytes: usize = argument(3).map_or(Ok(64 * 1024), |text| text.parse())?;
    if argument(4).is_some() {
        profile.protection = Protection::Protected;
    }
    profile.tuning.max_packet_bytes = 1472;
    profile.tuning.ack_every = 10;
    let composition = profile.validate().map_err(|conflicts| format!("{conflicts:?}"))?;
    let config = || EndpointConfig { keys: Some(Keys::shared([3; 32])), ..EndpointConfig::default() };
    let mut client = Endpoint::new(config(), [1; 32]);
    let mut server = Endpoint::new(config(), [2; 32]);
    server.listen(1, composition.clone(), false)?;
    let path = PathAddr { local: "192.0.2.1:1".parse()?, remote: "192.0.2.2:1".parse()? };
    let conn = client.connect(Instant::ZERO, path, 2, 1, &composition)?;
    let piece = bytes::Bytes::from(vec![7; message_bytes]);
    let (mut now, mut buffer) = (Instant::ZERO, Vec::new());
    let (mut peer, mut received, mut packets) = (None, 0, 0);
    let start = Clock::now();
    while received < megabytes * 1_000_000 {
        now += Duration::from_micros(50);
        loop {
            match client.send(now, conn, piece.clone(), Default::default()) {
                Ok(()) => {}
                Err(SendError::Full(_)) => break,
                Err(error) => return Err(error.into()),
            }
        }
        client.handle_timeout(now);
        server.handle_timeout(now);
        packets += carry(&mut client, &mut server, now, &mut buffer);
        peer = peer.or_else(|| accepted(&mut server));
        if let Some(peer) = peer {
            while let Some(message) = server.recv(now, peer) {
                received += message.payload.len();
            }
        }
        packets += carry(&mut server, &mut client, now, &mut buffer);
    }
    let time = start.elapsed();
    println!(
        "{megabytes} MB, {packets} packets, {:.2} s: {:.2} Gbit/s, {:.0} ns a packet for both ends together",
        time.as_secs_f64(),
        received as f64 * 8.0 / time.as_secs_f64() / 1e9,
        time.as_nanos() as f64 / packets as f64
    );
    Ok(())
}
