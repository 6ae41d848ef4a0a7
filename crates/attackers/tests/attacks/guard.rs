//! Nothing leaves this machine: no file but the gate makes a socket.

use std::fs;
use std::path::Path;

/// Ways to a socket, and from one to somebody whom the gate has not let through.
const SOCKETS: [&str; 15] = [
    ".connect(",
    "send_to(",
    "sendto(",
    "sendmsg",
    "sendmmsg",
    "libc::socket",
    "from_raw_fd",
    "Socket::new",
    "UdpSocket::bind",
    "TcpStream::connect",
    "TcpSocket::new",
    "TcpListener",
    "lookup_host",
    "ToSocketAddrs",
    "socket::socket",
];

fn search(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path, found);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            let hits = SOCKETS.iter().filter(|name| text.contains(**name));
            found.extend(hits.map(|name| format!("{}: {name}", path.file_name().unwrap().display())));
        }
    }
}

#[test]
fn no_file_but_the_gate_makes_a_socket() {
    let mut found = Vec::new();
    search(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    found.sort();
    let gate = [".connect(", "Socket::new", "TcpSocket::new", "send_to("];
    assert_eq!(found, gate.map(|name| format!("guard.rs: {name}")));
}
