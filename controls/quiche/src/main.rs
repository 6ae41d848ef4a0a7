//! A web server over HTTP/3 by quiche, for the attack laboratory: one source for two versions of the library, of which
//! the old one lacks bounds that the other has (`scripts/quiche.sh`). It listens on loopback and nowhere else.

mod connection;
mod site;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use connection::Connection;
use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token};
use quiche::{ConnectionId, Header, RecvInfo, Type};

/// Octets of a datagram that fit a path of 1,500 with every header.
const DATAGRAM_OCTETS: usize = 1350;
/// So many datagrams are read at most before answers are sent.
const BATCH: usize = 64;
/// As long as one may be silent.
const IDLE: Duration = Duration::from_secs(10);
const ID_OCTETS: usize = 16;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let served = match words[..] {
        ["--version"] => {
            println!("quiche {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        ["--listen", address, "--certificate", certificate, "--key", key] => {
            Server::new(address, certificate, key).and_then(Server::serve)
        }
        _ => Err("Usage: --listen ADDRESS:PORT --certificate PEM --key PEM, or --version".into()),
    };
    if let Err(error) = served {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

type Failure = Box<dyn std::error::Error>;

struct Server {
    poll: Poll,
    socket: UdpSocket,
    here: SocketAddr,
    quic: quiche::Config,
    http: quiche::h3::Config,
    connections: HashMap<u64, Connection>,
    /// Which connection an ID belongs to: that of a client's first packet, and that which this end gave it.
    ids: HashMap<Vec<u8>, u64>,
    opened: u64,
    random: RandomState,
}

impl Server {
    fn new(address: &str, certificate: &str, key: &str) -> Result<Self, Failure> {
        let here: SocketAddr = address.parse().map_err(|_| format!("{address} is no address with a port"))?;
        if !here.ip().is_loopback() {
            return Err(format!(
                "{address} is no address on loopback; this server is for attacks on this machine alone"
            )
            .into());
        }
        let mut quic = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
        quic.load_cert_chain_from_pem_file(certificate)?;
        quic.load_priv_key_from_pem_file(key)?;
        quic.set_application_protos(quiche::h3::APPLICATION_PROTOCOL)?;
        quic.set_max_idle_timeout(IDLE.as_millis() as u64);
        quic.set_max_recv_udp_payload_size(DATAGRAM_OCTETS);
        quic.set_max_send_udp_payload_size(DATAGRAM_OCTETS);
        quic.set_initial_max_data(10_000_000);
        quic.set_initial_max_stream_data_bidi_remote(1_000_000);
        quic.set_initial_max_stream_data_uni(1_000_000);
        quic.set_initial_max_streams_bidi(100);
        quic.set_initial_max_streams_uni(100);
        let poll = Poll::new()?;
        let mut socket = UdpSocket::bind(here)?;
        poll.registry().register(&mut socket, Token(0), Interest::READABLE)?;
        Ok(Self {
            poll,
            socket,
            here,
            quic,
            http: quiche::h3::Config::new()?,
            connections: HashMap::new(),
            ids: HashMap::new(),
            opened: 0,
            random: RandomState::new(),
        })
    }

    fn serve(mut self) -> Result<(), Failure> {
        let mut events = Events::with_capacity(1);
        let mut whole = false;
        loop {
            let due = self.connections.values().filter_map(|it| it.quic.timeout()).min();
            // The kernel tells of what has come once: what was left of it is not told of again.
            let wait = if whole { Some(Duration::ZERO) } else { due };
            match self.poll.poll(&mut events, wait) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error.into()),
                _ => {}
            }
            whole = self.read()?;
            self.write()?;
        }
    }

    /// Takes in what has come; whether there may be more.
    fn read(&mut self) -> io::Result<bool> {
        let mut datagram = [0; 65_535];
        for _ in 0..BATCH {
            match self.socket.recv_from(&mut datagram) {
                Ok((octets, from)) => self.take(&mut datagram[..octets], from),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// One datagram: for a connection that there is, or the first of another. What is neither is dropped.
    fn take(&mut self, datagram: &mut [u8], from: SocketAddr) {
        let Ok(header) = Header::from_slice(datagram, ID_OCTETS) else { return };
        let number = match self.ids.get(header.dcid.as_ref()) {
            Some(number) => *number,
            None => match self.accept(&header, from) {
                Some(number) => number,
                None => return,
            },
        };
        let Some(connection) = self.connections.get_mut(&number) else { return };
        // An error is the connection's: it tells the peer and ends.
        let _ = connection.quic.recv(datagram, RecvInfo { from, to: self.here });
        connection.answer(&self.http);
    }

    fn accept(&mut self, header: &Header, from: SocketAddr) -> Option<u64> {
        if header.ty != Type::Initial || !quiche::version_is_supported(header.version) {
            return None;
        }
        let number = self.opened;
        let mut id = [0; ID_OCTETS];
        id[..8].copy_from_slice(&number.to_be_bytes());
        id[8..].copy_from_slice(&self.random.hash_one(number).to_be_bytes());
        let quic =
            quiche::accept(&ConnectionId::from_ref(&id), None, self.here, from, &mut self.quic).ok()?;
        let ids = [header.dcid.to_vec(), id.to_vec()];
        for id in &ids {
            self.ids.insert(id.clone(), number);
        }
        self.connections.insert(number, Connection::new(quic, ids));
        self.opened += 1;
        Some(number)
    }

    /// Sends what connections have to send, and forgets those that are over.
    fn write(&mut self) -> io::Result<()> {
        let mut datagram = [0; DATAGRAM_OCTETS];
        for connection in self.connections.values_mut() {
            if connection.quic.timeout().is_some_and(|left| left.is_zero()) {
                connection.quic.on_timeout();
            }
            connection.go_on();
            while let Ok((octets, info)) = connection.quic.send(&mut datagram) {
                match self.socket.send_to(&datagram[..octets], info.to) {
                    Ok(_) => {}
                    // It is lost, as it would be in a queue on the way.
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
        }
        let ids = &mut self.ids;
        self.connections.retain(|_, connection| {
            let over = connection.quic.is_closed();
            if over {
                for id in &connection.ids {
                    ids.remove(id);
                }
            }
            !over
        });
        Ok(())
    }
}
