//! Both ends in threads of their own, over real sockets of the loopback.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use flight::dictionary::benchmark;
use flight::message::command;
use flight::security::Output;
use flight_links::arrangement::Arrangement;
use flight_links::link::Link;
use flight_links::suite::{Security, Suite};

const MESSAGES: usize = 20;

/// Longer than any of it takes on a machine that works; whoever waits so long fails.
const LIMIT: Duration = Duration::from_secs(60);

/// A socket of either kind that gives up waiting after a while.
trait Socket: Send {
    fn send(&mut self, octets: &[u8]);
    /// What came within `wait`; nothing is no octets.
    fn receive(&mut self, wait: Duration) -> Vec<u8>;
}

impl Socket for UdpSocket {
    fn send(&mut self, octets: &[u8]) {
        // Nobody may listen yet, or any more.
        let _ = UdpSocket::send(self, octets);
    }

    fn receive(&mut self, wait: Duration) -> Vec<u8> {
        self.set_read_timeout(Some(wait)).expect("a time-out above zero");
        let mut octets = vec![0; 65_535];
        let length = self.recv(&mut octets).unwrap_or(0);
        octets.truncate(length);
        octets
    }
}

impl Socket for TcpStream {
    fn send(&mut self, octets: &[u8]) {
        let _ = self.write_all(octets);
    }

    fn receive(&mut self, wait: Duration) -> Vec<u8> {
        self.set_read_timeout(Some(wait)).expect("a time-out above zero");
        // Seven at a time: records are cut wherever it happens.
        let mut octets = vec![0; 7];
        let length = self.read(&mut octets).unwrap_or(0);
        octets.truncate(length);
        octets
    }
}

/// Sends `messages`, answers what comes if it is space, until as many came.
fn drive(
    mut link: Box<dyn Link>,
    mut socket: impl Socket,
    messages: Vec<Vec<u8>>,
    answers: bool,
) -> Vec<Vec<u8>> {
    let begin = Instant::now();
    for message in messages {
        link.apply(&message, begin.elapsed()).expect("it waits");
    }
    let mut came = Vec::new();
    let mut last_words = false;
    while begin.elapsed() < LIMIT {
        let mut to_answer = Vec::new();
        while let Some(output) = link.poll() {
            match output {
                Output::Datagram(datagram) => socket.send(&datagram),
                Output::Message(message) => {
                    to_answer.extend(answers.then(|| message.clone()));
                    came.push(message);
                }
            }
        }
        for message in to_answer {
            link.apply(&message, begin.elapsed()).expect("it fits");
        }
        if last_words && came.len() == MESSAGES {
            return came;
        }
        last_words = came.len() == MESSAGES;
        if last_words {
            continue;
        }
        let due =
            link.next_timeout().map_or(Duration::from_millis(50), |due| due.saturating_sub(begin.elapsed()));
        let octets = socket.receive(due.clamp(Duration::from_millis(1), Duration::from_millis(50)));
        if !octets.is_empty() {
            // An answer to the first packet of a handshake that was sent again is none to the last.
            let _ = link.process(&octets, begin.elapsed());
        }
        if link.next_timeout().is_some_and(|due| due <= begin.elapsed()) {
            link.handle_timeout(begin.elapsed());
        }
    }
    came
}

fn both(security: Security, ground: impl Socket + 'static, space: impl Socket + 'static) {
    let pair = Arrangement::new(security, Suite::of(security), false)
        .and_then(|arrangement| arrangement.open(&mut ()))
        .expect("both ends can be made");
    let sent: Vec<_> = (0..MESSAGES)
        .map(|place| {
            let payload = vec![place as u8; 1 + 40 * place];
            command(benchmark::COMMAND, place as u16, benchmark::TAKE_DATA, &payload).expect("short enough")
        })
        .collect();
    let there = thread::spawn(move || drive(pair.space, space, Vec::new(), true));
    let back = drive(pair.ground, ground, sent.clone(), false);
    assert_eq!(there.join().expect("space ends well"), sent, "{security}: to space");
    assert_eq!(back, sent, "{security}: back to ground");
}

#[test]
fn messages_go_to_space_and_back_over_udp() {
    let securities = [
        Security::None,
        Security::SdlsGcmAwsLc,
        Security::QuicStream,
        Security::QuicDatagram,
        Security::Restp,
        Security::Dtls,
        Security::S2nStream,
        Security::S2nDatagram,
    ];
    for security in securities {
        let bind = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let (ground, space) = (bind(), bind());
        ground.connect(space.local_addr().expect("bound")).expect("it is there");
        space.connect(ground.local_addr().expect("bound")).expect("it is there");
        both(security, ground, space);
    }
}

#[test]
fn messages_go_to_space_and_back_over_tcp() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let ground = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
    let (space, _) = listener.accept().expect("it connects");
    both(Security::Tls, ground, space);
}
