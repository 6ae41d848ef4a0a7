//! What goes over a connection when a client does not do what a client should.

use std::net::SocketAddr;
use std::time::Duration;

use quinn::{Connecting, Endpoint};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UdpSocket;
use web::tls::SERVER_NAME;

/// How an HTTP/2 connection begins: the preface and empty SETTINGS (RFC 9113, section 3.4).
pub const H2_BEGIN: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// The head of a HEADERS frame on stream 1 with 1000 octets, which are not its end (RFC 9113, section 6.2).
pub const H2_HEADERS: &[u8] = b"\0\x03\xe8\x01\x01\0\0\0\x01";

/// The head of a HEADERS frame of HTTP/3 with so many octets (RFC 9114, section 7.2.2).
pub fn h3_frame(kind: u8, octets: u32) -> Vec<u8> {
    // The length is a variable-length integer of four octets (RFC 9000, section 16).
    [&[kind][..], &(octets | 0x8000_0000).to_be_bytes()].concat()
}

/// The field section of a GET for `path` with a field of so many octets, by RFC 9204 without a dynamic table.
pub fn h3_get(path: &str, field_octets: usize) -> Vec<u8> {
    h3_head(17, path, field_octets)
}

/// The field section of a POST for `path`.
pub fn h3_post(path: &str) -> Vec<u8> {
    h3_head(20, path, 0)
}

/// A field section with the method that is there in the static table (RFC 9204, appendix A).
fn h3_head(method: u8, path: &str, field_octets: usize) -> Vec<u8> {
    let mut fields = vec![0, 0];
    // Of the static table: the method, https; with a name of it: the path and the authority.
    fields.extend([0xc0 | method, 0xc0 | 23]);
    literal(&mut fields, 0x50 | 1, path.as_bytes());
    literal(&mut fields, 0x50, SERVER_NAME.as_bytes());
    if field_octets > 0 {
        fields.extend([0x21, b'x']);
        value(&mut fields, &vec![b'a'; field_octets]);
    }
    let mut frame = h3_frame(1, u32::try_from(fields.len()).expect("a short head"));
    frame.extend(fields);
    frame
}

fn literal(fields: &mut Vec<u8>, name: u8, text: &[u8]) {
    fields.push(name);
    value(fields, text);
}

/// A string without Huffman coding: a length with a prefix of seven bits (RFC 7541, section 5.1).
fn value(fields: &mut Vec<u8>, text: &[u8]) {
    if text.len() < 127 {
        fields.push(text.len() as u8);
    } else {
        fields.push(127);
        let mut left = text.len() - 127;
        while left >= 128 {
            fields.push((left % 128) as u8 | 128);
            left /= 128;
        }
        fields.push(left as u8);
    }
    fields.extend(text);
}

/// Sends one octet after the other until the other side ends the stream.
pub async fn drip(stream: impl AsyncRead + AsyncWrite) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let dripping = async {
        while writer.write_all(b"a").await.is_ok() && writer.flush().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let mut rest = Vec::new();
    tokio::select! {
        () = dripping => {}
        _ = reader.read_to_end(&mut rest) => {}
    }
}

/// The first datagram of a connection, sent from an address that hears no answer. What is returned keeps the ports.
pub async fn initial_only(endpoint: &Endpoint, server: SocketAddr) -> (UdpSocket, UdpSocket, Connecting) {
    let decoy = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let connecting = endpoint
        .connect(decoy.local_addr().expect("it is bound"), SERVER_NAME)
        .expect("a sound configuration");
    let mut datagram = [0; 2000];
    let octets = decoy.recv(&mut datagram).await.expect("the first datagram");
    let deaf = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    deaf.send_to(&datagram[..octets], server).await.expect("loopback takes it");
    (deaf, decoy, connecting)
}
