//! Fuzz body of the cookie path: no cookie that was not granted to this address opens a connection.

use restp_proto::wire::{Arq, Cong, Cookie, ErrorBits, Flags, Flow, Header, Order, Packet, Sequence};
use restp_proto::{Ecn, Endpoint, EndpointConfig, Instant, PathAddr, Profile};

const PORT: u16 = 7;

fn path(client: u8) -> PathAddr {
    PathAddr { local: ([10, 0, 0, 1], 1).into(), remote: ([10, 0, 1, client], 1).into() }
}

fn syn<'a>(cookie: Option<Cookie>, sequence: u32, payload: &'a [u8]) -> Packet<'a> {
    let request = if cookie.is_none() { Flow::CKI } else { Flow::empty() };
    let header = Header {
        flags: Flags::SYN,
        order: Order::Full,
        flow: Flow::OPT | request,
        error: ErrorBits::ARQ | ErrorBits::CRC | ErrorBits::SAK,
        cong: Cong::CUBIC,
        k: 1,
        source_port: 9,
        destination_port: PORT,
        ..Header::default()
    };
    Packet {
        window: Some(10),
        cookie,
        sequence: Sequence::Arq(Arq { sequence, acknowledgement: 0 }),
        payload,
        ..Packet::new(header)
    }
}

fn send(server: &mut Endpoint, from: u8, packet: &Packet<'_>) {
    let mut bytes = Vec::new();
    if packet.encode(&mut bytes, None).is_ok() {
        server.handle(Instant::ZERO, path(from), Ecn::NotEct, &bytes);
    }
}

fn answer(server: &mut Endpoint) -> Vec<u8> {
    let mut out = Vec::new();
    server.poll_transmit(Instant::ZERO, 1, &mut out);
    out
}

/// Presents the cookies in `data`, alone and mixed with a genuine one, from the right and from a wrong address.
pub fn cookie(data: &[u8]) {
    let composition = Profile::web_opt().validate().expect("presets are valid");
    let mut server = Endpoint::new(EndpointConfig::default(), [3; 32]);
    server.listen(PORT, composition, false).expect("the port is free");
    send(&mut server, 1, &syn(None, 1, &[]));
    let granted = answer(&mut server);
    let genuine = Packet::decode(&granted, None).expect("a grant").packet.cookie.expect("a cookie");
    for (number, chunk) in data.chunks(17).take(64).enumerate() {
        let (mode, bytes) = (chunk[0], &chunk[1..]);
        let mut forged = *genuine.as_bytes().first_chunk::<16>().expect("four words");
        for (octet, change) in forged.iter_mut().zip(bytes) {
            *octet = if mode & 1 == 0 { *change } else { *octet ^ change };
        }
        let length = [4, 8, 12, 16][usize::from(mode >> 6)];
        let Some(cookie) = Cookie::new(&forged[..length]) else { continue };
        let from = 1 + (mode >> 1 & 1);
        let before = server.connections();
        send(&mut server, from, &syn(Some(cookie), number as u32 * 10, bytes));
        let opened = server.connections() > before;
        assert!(!opened || (cookie == genuine && from == 1), "a forged cookie opened a connection");
        while !answer(&mut server).is_empty() {}
    }
}
