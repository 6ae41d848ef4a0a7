//! KCP (crate `kcp`) under test, in its fastest setting with the window that `tokio_kcp` gives it: no handshake, no
//! congestion control, 256 packets.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use kcp::Kcp;
use restp_proto::{Ecn, Instant};
use restp_sim::pair::{client_ip, pattern, server_ip};
use restp_sim::{Host, HostId, Network, Outgoing, Packet};

use crate::attempt::{Try, message, message_number};
use crate::grid::Messages;

const PORT: u16 = 6000;
const CONVERSATION: u32 = 7;
const WINDOW_PACKETS: u16 = 256;
/// Between two looks of its clock, in milliseconds; the least that KCP accepts.
const INTERVAL_MS: i32 = 10;
/// Duplicates after which a packet is repeated.
const FAST_RESEND: i32 = 2;
/// Pieces in which a file is handed over: longer ones would be more fragments than a window has.
const PIECE_BYTES: usize = 16 << 10;

/// Where KCP writes its packets.
#[derive(Clone, Default)]
struct Outbox(Rc<RefCell<VecDeque<Vec<u8>>>>);

impl io::Write for Outbox {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().push_back(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct KcpHost {
    own: SocketAddr,
    peer: SocketAddr,
    kcp: Kcp<Outbox>,
    outbox: Outbox,
    queue: VecDeque<Bytes>,
    arrived: Vec<u8>,
    buffer: Vec<u8>,
}

fn ms(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

impl KcpHost {
    fn new(own: SocketAddr, peer: SocketAddr, stream: bool) -> Self {
        let outbox = Outbox::default();
        let mut kcp = if stream {
            Kcp::new_stream(CONVERSATION, outbox.clone())
        } else {
            Kcp::new(CONVERSATION, outbox.clone())
        };
        kcp.set_nodelay(true, INTERVAL_MS, FAST_RESEND, true);
        kcp.set_wndsize(WINDOW_PACKETS, WINDOW_PACKETS);
        // Otherwise a packet that was repeated twenty times ends the conversation.
        kcp.set_maximum_resend_times(u32::MAX);
        Self {
            own,
            peer,
            kcp,
            outbox,
            queue: VecDeque::new(),
            arrived: Vec::new(),
            buffer: vec![0; 64 << 10],
        }
    }

    /// Hands over what there is, up to two windows, and takes what came.
    fn turn(&mut self) {
        while self.kcp.wait_snd() < usize::from(WINDOW_PACKETS) * 2
            && let Some(bytes) = self.queue.pop_front()
        {
            self.kcp.send(&bytes).expect("a piece fits a window");
        }
        while let Ok(length) = self.kcp.recv(&mut self.buffer) {
            if length == 0 {
                break;
            }
            self.arrived.extend_from_slice(&self.buffer[..length]);
        }
    }

    fn update(&mut self, now: Instant) {
        self.turn();
        self.kcp.update(ms(now)).expect("the outbox takes everything");
    }

    fn flush(&mut self, now: Instant) {
        self.update(now);
        self.kcp.flush().expect("the outbox takes everything");
    }
}

impl Host for KcpHost {
    fn receive(&mut self, now: Instant, packet: &Packet) {
        self.kcp.update(ms(now)).expect("the outbox takes everything");
        // A packet of another conversation would be an error; there is none.
        let _ = self.kcp.input(&packet.data);
        self.flush(now);
        self.turn();
    }

    fn transmit(&mut self, now: Instant) -> Option<Outgoing> {
        let data = self.outbox.0.borrow_mut().pop_front()?;
        let packet = Packet { source: self.own, destination: self.peer, ecn: Ecn::NotEct, data };
        Some(Outgoing { packet, release_at: now })
    }

    fn deadline(&mut self) -> Option<Instant> {
        None
    }

    fn wake(&mut self, now: Instant) {
        self.update(now);
    }
}

type KcpNetwork = (Network<KcpHost>, HostId, HostId);

fn pair(attempt: &Try, stream: bool) -> KcpNetwork {
    let mut net = Network::new(attempt.seed);
    let (a, b) = (SocketAddr::new(client_ip(0), PORT), SocketAddr::new(server_ip(0), PORT));
    let client = net.add_host(KcpHost::new(a, b, stream), &[a.ip()]);
    let server = net.add_host(KcpHost::new(b, a, stream), &[b.ip()]);
    net.connect(a.ip(), b.ip(), attempt.link.clone(), attempt.link.clone());
    (net, client, server)
}

/// KCP's clock ticks on both sides; then its interval passes, or less if the server has got `enough` bytes.
fn tick((net, client, server): &mut KcpNetwork, enough: usize) {
    for host in [*client, *server] {
        net.with(host, |host, now| host.update(now));
    }
    let due = net.now() + Duration::from_millis(INTERVAL_MS as u64);
    while net.host(*server).arrived.len() < enough {
        if net.next_event().is_none_or(|at| at > due) {
            net.run_until(due);
            break;
        }
        net.step();
    }
}

pub fn transfer(attempt: &Try, size_bytes: usize, limit: Duration) -> Option<f64> {
    let mut network = pair(attempt, true);
    let (client, server) = (network.1, network.2);
    let start = network.0.now();
    let data: Bytes = (0..size_bytes).map(pattern).collect();
    network.0.with(client, |host, now| {
        host.queue = (0..size_bytes)
            .step_by(PIECE_BYTES)
            .map(|at| data.slice(at..(at + PIECE_BYTES).min(size_bytes)))
            .collect();
        host.flush(now);
    });
    while network.0.host(server).arrived.len() < size_bytes {
        if network.0.now() > start + limit {
            return None;
        }
        tick(&mut network, size_bytes);
    }
    Some((network.0.now() - start).as_secs_f64())
}

pub fn messages(attempt: &Try, flow: &Messages) -> Vec<f64> {
    let mut network = pair(attempt, false);
    let (client, server) = (network.1, network.2);
    let start = network.0.now();
    let end = start + flow.interval() * flow.count as u32 + flow.patience();
    let (mut sent, mut delays_s) = (0, Vec::new());
    while delays_s.len() < flow.count && network.0.now() < end {
        let now = network.0.now();
        if sent < flow.count && now >= start + flow.interval() * sent as u32 {
            let bytes = Bytes::from(message(sent, flow.size_bytes));
            network.0.with(client, |host, now| {
                host.queue.push_back(bytes);
                host.flush(now);
            });
            sent += 1;
        }
        tick(&mut network, 1);
        let now = network.0.now();
        let arrived = network.0.with(server, |host, _| std::mem::take(&mut host.arrived));
        for number in arrived.chunks(flow.size_bytes).filter_map(message_number) {
            delays_s.push((now - (start + flow.interval() * number as u32)).as_secs_f64());
        }
    }
    delays_s
}
