//! A ResTP connection as the applications use it: a byte stream, messages, or datagrams.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use restp_proto::profile::{Framing, Management};
use restp_proto::{CloseReason, ConnId, Datagram, Endpoint, Instant, PathAddr, SendError, SendOptions};

use super::engine::{Leased, Shared, State, lock};
use crate::clock::Clock;
use crate::error::Failure;
use crate::sample::SocketSample;
use crate::session::{LOOK_UP_NS, next_look_ns};
use crate::transport::DeliveryInstants;
use crate::transport::{Arrival, Connection, Sampler, Take};

/// Least amount that waits here for its first transmission before `offer` takes no more: the kernel's own first send
/// buffer (net.ipv4.tcp_wmem, tcp(7)).
const LEAST_WAITING_BYTES: usize = 16 << 10;

const SENDING: &str = "the sender was still sending";

/// One end of a connection (or of a flow of connectionless messages).
pub(super) struct RestpConnection {
    engine: Leased,
    conn: Option<ConnId>,
    established_ns: i64,
    /// Handed over, and not yet taken by the protocol, with the instant of the handing over.
    waiting: VecDeque<(Bytes, i64)>,
    waiting_bytes: usize,
    /// Bytes that may wait; `None` for as many as the congestion window holds.
    send_buffer_bytes: Option<usize>,
    lifetime: Option<Duration>,
    framing: Framing,
    /// Where messages without a connection go.
    peer: Option<Peer>,
}

/// The other end of a flow of connectionless messages.
#[derive(Clone, Copy)]
pub(super) struct Peer {
    pub(super) path: PathAddr,
    pub(super) local_port: u16,
    pub(super) remote_port: u16,
}

/// What a connection is told by its flow.
pub(super) struct Options {
    pub(super) management: Management,
    pub(super) framing: Framing,
    pub(super) send_buffer_bytes: Option<usize>,
    pub(super) lifetime: Option<Duration>,
    pub(super) peer: Peer,
}

impl RestpConnection {
    /// The connection `conn` of `engine`; without one, messages that stand alone. What is sent from now on may leave.
    pub(super) fn new(mut engine: Leased, conn: Option<ConnId>, options: &Options) -> Self {
        let connectionless = options.management == Management::Connectionless;
        Self {
            established_ns: engine.look_at_clock(),
            engine,
            conn,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            send_buffer_bytes: options.send_buffer_bytes,
            lifetime: options.lifetime,
            framing: options.framing,
            peer: connectionless.then_some(options.peer),
        }
    }

    fn state(&self) -> State {
        self.engine.state(self.conn)
    }

    /// Bytes that may wait here: what was asked for, or a congestion window, as the kernel lets the send buffer of TCP
    /// grow with the window (tcp_sndbuf_expand in net/ipv4/tcp_input.c).
    fn room_bytes(&self) -> usize {
        let allowed = self.send_buffer_bytes.unwrap_or_else(|| {
            let proto = lock(&self.engine.proto);
            window_bytes(&proto, self.conn).max(LEAST_WAITING_BYTES)
        });
        allowed.saturating_sub(self.waiting_bytes)
    }

    /// Gives the protocol what waits, as far as it takes it, and sends.
    fn feed(&mut self) -> Result<(), Failure> {
        loop {
            let fed = self.feed_once()?;
            self.engine.flush()?;
            if !fed {
                return Ok(());
            }
        }
    }

    fn feed_once(&mut self) -> Result<bool, Failure> {
        let mut fed = false;
        while let Some((payload, since_ns)) = self.waiting.pop_front() {
            let size_bytes = payload.len();
            match self.hand_over(payload, since_ns) {
                Ok(()) => {
                    self.waiting_bytes -= size_bytes;
                    fed = true;
                }
                Err(SendError::Full(payload)) => {
                    self.waiting.push_front((payload, since_ns));
                    return Ok(fed);
                }
                Err(SendError::TooLong { size_bytes, limit_bytes }) => {
                    return Err(Failure::new(format!(
                        "a message of {size_bytes} bytes does not fit a ResTP packet on this path, which carries \
                         {limit_bytes}; choose a smaller message"
                    )));
                }
                Err(error) => return Err(self.broken_or(&error)),
            }
        }
        Ok(fed)
    }

    fn hand_over(&mut self, payload: Bytes, since_ns: i64) -> Result<(), SendError> {
        let waited = Duration::from_nanos((self.engine.now_ns() - since_ns).max(0) as u64);
        let options =
            SendOptions { lifetime: self.lifetime.map(|life| life.saturating_sub(waited)), push: false };
        match (self.peer, self.conn) {
            (Some(Peer { path, local_port, remote_port }), _) => {
                let datagram = Datagram { path, local_port, remote_port, payload };
                self.engine.with(|proto, _| proto.send_datagram(&datagram))
            }
            (None, Some(conn)) => self.engine.with(|proto, now| proto.send(now, conn, payload, options)),
            (None, None) => Err(SendError::Unknown),
        }
    }

    fn broken_or(&self, error: &SendError) -> Failure {
        match self.state().closed {
            Some(reason) => self.engine.broken(reason, "sending"),
            None => Failure::new(format!("ResTP took no message: {error}")),
        }
    }

    /// Lets time pass until `until_ns` at the latest, then gives the protocol what it has room for.
    fn turn(&mut self, until_ns: i64, doing: &str) -> Result<(), Failure> {
        self.engine.turn(until_ns, doing)?;
        if self.waiting.is_empty() { Ok(()) } else { self.feed() }
    }

    /// Fails if the connection ended before it should have.
    fn check_open(&self, doing: &str) -> Result<(), Failure> {
        self.state().closed.map_or(Ok(()), |reason| Err(self.engine.broken(reason, doing)))
    }

    /// The next message, or piece of the stream.
    fn next(proto: &mut Endpoint, now: Instant, conn: Option<ConnId>, port: Option<u16>) -> Option<Bytes> {
        match (port, conn) {
            (Some(port), _) => proto.recv_datagram(port).map(|datagram| datagram.payload),
            (None, Some(conn)) => proto.recv(now, conn).map(|message| message.payload),
            (None, None) => None,
        }
    }

    /// Ends this direction and waits until the connection is over, or the sender says that it is.
    fn farewell(&mut self) -> Result<(), Failure> {
        let Some(conn) = self.conn else { return Ok(()) };
        self.engine.with(|proto, now| proto.close(now, conn));
        let since_ns = self.engine.now_ns();
        loop {
            self.engine.flush()?;
            let now_ns = self.engine.look_at_clock();
            if self.state().closed.is_some() || !self.engine.session.sender_runs_until(now_ns) {
                return Ok(());
            }
            self.engine.turn(next_look_ns(since_ns, now_ns), "the connection was not ended")?;
            // Who closes throws away what still comes, so that the end is reached.
            self.engine.with(|proto, now| while proto.recv(now, conn).is_some() {});
        }
    }
}

/// The congestion windows of all paths of a connection.
fn window_bytes(proto: &Endpoint, conn: Option<ConnId>) -> usize {
    let Some(conn) = conn else { return 0 };
    let packet_bytes = proto.max_message_bytes(conn).unwrap_or(0);
    proto.path_stats(conn).iter().map(|(_, path)| path.window_packets as usize * packet_bytes).sum()
}

impl Connection for RestpConnection {
    fn established_ns(&self) -> Option<i64> {
        Some(self.established_ns)
    }

    fn offer(&mut self, block: &[u8], message_bytes: usize, _seq: u64) -> Result<usize, Failure> {
        self.check_open("sending")?;
        let room = if self.peer.is_some() { block.len() } else { self.room_bytes().min(block.len()) };
        let piece = match self.framing {
            Framing::Coalesce => room.max(1),
            Framing::Fixed => message_bytes,
        };
        let now_ns = self.engine.now_ns();
        let mut taken = 0;
        while taken < room {
            let rest = &block[taken..];
            let payload = Bytes::copy_from_slice(&rest[..piece.min(rest.len())]);
            taken += payload.len();
            self.waiting_bytes += payload.len();
            self.waiting.push_back((payload, now_ns));
        }
        self.feed()?;
        Ok(taken)
    }

    fn wait_until_writable(&mut self, now_ns: i64, until_ns: i64) -> Result<(), Failure> {
        let mut now_ns = now_ns;
        // A stretch at a time: waking for each packet that leaves would change nothing but the cost.
        while now_ns < until_ns && self.room_bytes() <= self.waiting_bytes {
            self.turn(until_ns, SENDING)?;
            self.check_open("sending")?;
            now_ns = self.engine.now_ns();
        }
        Ok(())
    }

    fn pause(&mut self, _: &Clock, instant_ns: i64) -> Result<i64, Failure> {
        let mut now_ns = self.engine.now_ns();
        while now_ns < instant_ns {
            if now_ns >= self.engine.session.ctx.limit_ns {
                return Ok(now_ns);
            }
            // An application that pauses is not yet in trouble: what ended the connection shows when it goes on.
            self.turn(instant_ns, SENDING)?;
            now_ns = self.engine.now_ns();
        }
        Ok(now_ns)
    }

    fn finish(&mut self) -> Result<Option<i64>, Failure> {
        let doing = "waiting for the receiver to get everything and close";
        if self.peer.is_some() {
            self.engine.flush()?;
            return Ok(None);
        }
        while !self.waiting.is_empty() {
            self.feed()?;
            self.check_open(doing)?;
            self.turn(i64::MAX, doing)?;
        }
        if let Some(conn) = self.conn {
            self.engine.with(|proto, now| proto.close(now, conn));
        }
        loop {
            match self.state().closed {
                Some(CloseReason::Graceful) => return Ok(Some(self.engine.now_ns())),
                Some(reason) => return Err(self.engine.broken(reason, doing)),
                None => self.engine.turn(i64::MAX, doing)?,
            }
            if let Some(conn) = self.conn {
                self.engine.with(|proto, now| while proto.recv(now, conn).is_some() {});
            }
        }
    }

    fn instants(&self) -> DeliveryInstants {
        DeliveryInstants::Application
    }

    fn receive(
        &mut self,
        most_messages: u64,
        most_bytes: u64,
        take: &mut Take<'_>,
    ) -> Result<Arrival, Failure> {
        let port = self.peer.map(|peer| peer.local_port);
        let look_up_ns = self.engine.now_ns() + LOOK_UP_NS;
        loop {
            let now_ns = self.engine.now_ns();
            let (mut messages, mut bytes) = (0, 0);
            while messages < most_messages && bytes < most_bytes.max(1) {
                let conn = self.conn;
                let Some(payload) = self.engine.with(|proto, now| Self::next(proto, now, conn, port)) else {
                    break;
                };
                messages += 1;
                bytes += payload.len() as u64;
                take(&payload, Some(now_ns))?;
            }
            if messages > 0 {
                return Ok(Arrival::Data);
            }
            if self.state().finished || self.state().closed == Some(CloseReason::Graceful) {
                return Ok(Arrival::End);
            }
            self.check_open("receiving")?;
            if now_ns >= look_up_ns {
                return Ok(Arrival::Silence);
            }
            self.turn(look_up_ns, "the receiver was still receiving")?;
        }
    }

    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure> {
        let conn = self.conn;
        Ok(conn.map(|conn| -> Box<dyn Sampler> {
            Box::new(RestpSampler { proto: self.engine.proto.clone(), conn })
        }))
    }
}

impl Drop for RestpConnection {
    /// Ends the connection in order, as the kernel does for its own sockets when the last descriptor is closed. What goes
    /// wrong then is no failure of the flow: everything that it promised has been delivered, or its own end said why not.
    fn drop(&mut self) {
        if self.state().closed.is_none() && !std::thread::panicking() {
            let _ = self.farewell();
        }
        self.engine.forget(self.conn);
    }
}

/// Reads the state of a connection and of its paths.
struct RestpSampler {
    proto: Shared,
    conn: ConnId,
}

impl Sampler for RestpSampler {
    /// Windows, thresholds, flights and rates are those of all paths together, counted in full packets; round-trip times
    /// are those of the first path. The protocol estimates no delivery rate.
    fn sample(&self) -> Option<SocketSample> {
        let proto = lock(&self.proto);
        let paths = proto.path_stats(self.conn);
        let (_, first) = paths.first()?;
        let packet_bytes = proto.max_message_bytes(self.conn)? as u64;
        let packets = |count: fn(&restp_proto::PathStats) -> u32| {
            paths.iter().map(|(_, path)| u64::from(count(path))).sum::<u64>()
        };
        let thresholds =
            paths.iter().filter_map(|(_, path)| path.slow_start_threshold_packets).map(u64::from);
        let pace_pps = paths.iter().filter_map(|(_, path)| path.pacing_rate_pps).reduce(|a, b| a + b);
        let nanoseconds = |time: Duration| time.as_nanos() as i64;
        Some(SocketSample {
            cwnd_bytes: packets(|path| path.window_packets) * packet_bytes,
            ssthresh_bytes: thresholds.reduce(|a, b| a + b).map(|packets| packets * packet_bytes),
            srtt_ns: first.srtt.map(nanoseconds),
            rttvar_ns: first.rttvar.map(nanoseconds),
            min_rtt_ns: first.min_rtt.map(nanoseconds),
            in_flight_bytes: packets(|path| path.in_flight_packets) * packet_bytes,
            delivered_bytes: Some(paths.iter().map(|(_, path)| path.delivered_bytes).sum()),
            pacing_rate_bps: pace_pps.map(|pps| pps * packet_bytes as f64 * 8.0),
            retransmitted_packets: proto.conn_stats(self.conn)?.retransmitted,
            ..SocketSample::default()
        })
    }
}
