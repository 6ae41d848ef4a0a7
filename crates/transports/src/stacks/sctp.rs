//! SCTP, one-to-one style: an association that carries messages in order on one or more streams, between one or more
//! addresses of each end (*homes*). With several it sends over the first as long as that answers.
//!
//! With a lifetime it is partially reliable (the timed reliability of RFC 3758): a message that is older is sent no more, neither
//! for the first time nor again, and no message waits for an earlier one.

use std::io::ErrorKind;
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use socket2::{Protocol, Socket, Type};

use crate::clock::Clock;
use crate::error::{Failure, OrFailure, SpecError};
use crate::http::carrier::HttpCarrier;
use crate::http::stream::{StreamCarrier, TlsEnds};
use crate::kernel::datagram::no_stamp;
use crate::kernel::socket::{self, size_buffers};
use crate::opening::Opening;
use crate::params::{Buffers, nanoseconds, parse_params};
use crate::peers::{broken, ended_by_the_other_side};
use crate::sample::SocketSample;
use crate::session::{Guarded, Session, bound_receive, bound_send};
use crate::sys::batch::{self, LONGEST_BATCH, PerMessage, RecvBatch};
use crate::sys::clock;
use crate::sys::options::{self, Plain};
use crate::transport::DeliveryInstants;
use crate::transport::{Arrival, Carriage, Connection, Listener, Sampler, Service, Stack, Take};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    #[serde(default = "yes")]
    nodelay: bool,
    #[serde(default = "one")]
    streams: u16,
    #[serde(default = "one")]
    homes: u16,
    /// How old a message may be that is still sent; none: as old as it gets.
    lifetime_s: Option<f64>,
    send_buffer_bytes: Option<u32>,
    receive_buffer_bytes: Option<u32>,
}

fn yes() -> bool {
    true
}

fn one() -> u16 {
    1
}

/// SCTP with its parameters.
pub(crate) struct Sctp {
    nodelay: bool,
    streams: u16,
    homes: u16,
    lifetime_ms: Option<u32>,
    buffers: Buffers,
}

pub(crate) fn build(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    Ok(Box::new(Sctp::parse("sctp", params)?))
}

/// Most homes of one end: as many as MPTCP may have; more than any network here.
const MOST_HOMES: u16 = 8;

/// The shortest lifetime: the kernel counts them in milliseconds.
const SHORTEST_LIFETIME_S: f64 = 1e-3;

/// Socket options of linux/sctp.h.
const SCTP_INITMSG: libc::c_int = 2;
const SCTP_NODELAY: libc::c_int = 3;
const SCTP_STATUS: libc::c_int = 14;
const SCTP_DEFAULT_SNDINFO: libc::c_int = 34;
const SCTP_SOCKOPT_BINDX_ADD: libc::c_int = 100;
const SCTP_GET_ASSOC_STATS: libc::c_int = 112;
const SCTP_DEFAULT_PRINFO: libc::c_int = 114;

/// Of `snd_flags`: a message waits for no other.
const SCTP_UNORDERED: u16 = 1;
/// Of `pr_policy`: given up by its age, in milliseconds.
const SCTP_PR_SCTP_TTL: u16 = 0x10;

/// `struct sctp_sndinfo`.
#[repr(C)]
struct SendInfo {
    stream: u16,
    flags: u16,
    payload_protocol: u32,
    context: u32,
    association: i32,
}

/// `struct sctp_default_prinfo`.
#[repr(C)]
struct DefaultReliability {
    association: i32,
    value: u32,
    policy: u16,
    padding: u16,
}

/// `struct sctp_initmsg`.
#[repr(C)]
struct InitMessage {
    out_streams: u16,
    most_in_streams: u16,
    attempts: u16,
    most_timeout_ms: u16,
}

/// `struct sctp_status` with the `struct sctp_paddrinfo` of the primary path inside.
#[repr(C)]
struct Status {
    association: i32,
    state: i32,
    peer_window: u32,
    unacked_chunks: u16,
    pending_chunks: u16,
    in_streams: u16,
    out_streams: u16,
    fragmentation_point: u32,
    path_association: i32,
    path_address: [u32; 32],
    path_state: i32,
    path_cwnd: u32,
    path_srtt_ticks: u32,
    path_rto_ms: u32,
    path_mtu: u32,
}

/// `struct sctp_assoc_stats`; the address is a `sockaddr_storage` aligned to eight bytes.
#[repr(C)]
struct AssociationStats {
    association: i32,
    padding: i32,
    address: [u64; 16],
    longest_rto: u64,
    sacks_received: u64,
    sacks_sent: u64,
    packets_sent: u64,
    packets_received: u64,
    retransmitted_chunks: u64,
    rest: [u64; 9],
}

// SAFETY: `repr(C)` and integers only.
#[allow(unsafe_code)]
unsafe impl Plain for InitMessage {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Plain for SendInfo {}
// SAFETY: as above, with its padding spelt out.
#[allow(unsafe_code)]
unsafe impl Plain for DefaultReliability {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Plain for Status {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Plain for AssociationStats {}

impl Sctp {
    /// SCTP as `params` of the stack `owner` describe it.
    pub(crate) fn parse(owner: &str, params: &Map<String, Value>) -> Result<Self, SpecError> {
        let Params { nodelay, streams, homes, lifetime_s, send_buffer_bytes, receive_buffer_bytes } =
            parse_params("stack_params", owner, params)?;
        if streams == 0 {
            return Err(SpecError::new(format!("`stack_params` of `{owner}`: `streams` must be at least 1")));
        }
        if !(1..=MOST_HOMES).contains(&homes) {
            return Err(SpecError::new(format!(
                "`stack_params` of `{owner}`: `homes` is {homes}; it must be from 1 to {MOST_HOMES}"
            )));
        }
        let lifetime_ns =
            lifetime_s.map(|given| nanoseconds("lifetime_s", given, SHORTEST_LIFETIME_S)).transpose()?;
        if lifetime_ns.is_some() && streams > 1 {
            return Err(SpecError::new(format!(
                "`stack_params` of `{owner}`: with a `lifetime_s` no message waits for another, so `streams` must be 1"
            )));
        }
        let lifetime_ms = lifetime_ns.map(|ns| u32::try_from(ns / 1_000_000).unwrap_or(u32::MAX));
        let buffers = Buffers::new(send_buffer_bytes, receive_buffer_bytes)?;
        Ok(Self { nodelay, streams, homes, lifetime_ms, buffers })
    }

    /// Over how many streams messages are spread.
    pub(crate) fn streams(&self) -> u16 {
        self.streams
    }

    /// Adds as many of the node's `further` addresses to a socket that is bound to `at` as there are to be homes.
    fn add_homes(&self, socket: &Socket, at: SocketAddr, further: &[IpAddr]) -> Result<(), Failure> {
        let wanted = usize::from(self.homes) - 1;
        if further.len() < wanted {
            return Err(Failure::new(format!(
                "`homes` is {}, and the node of {at} has {} addresses; choose fewer homes or a network whose hosts \
                 have more addresses",
                self.homes,
                further.len() + 1
            )));
        }
        for ip in &further[..wanted] {
            let home = SocketAddr::new(*ip, at.port());
            options::add_address(socket.as_fd(), libc::IPPROTO_SCTP, SCTP_SOCKOPT_BINDX_ADD, &home.into())
                .or_failure(format_args!("the further address {ip} could not be bound for SCTP"))?;
        }
        Ok(())
    }

    /// A socket bound to `at`.
    fn open(&self, at: SocketAddr) -> Result<Socket, Failure> {
        let socket = socket::open("sctp", Type::STREAM, Some(Protocol::from(libc::IPPROTO_SCTP)), at)?;
        let init = InitMessage {
            out_streams: self.streams,
            most_in_streams: self.streams,
            attempts: 0,
            most_timeout_ms: 0,
        };
        let nodelay = libc::c_int::from(self.nodelay);
        options::set(socket.as_fd(), libc::IPPROTO_SCTP, SCTP_INITMSG, &init)
            .and_then(|()| options::set(socket.as_fd(), libc::IPPROTO_SCTP, SCTP_NODELAY, &nodelay))
            .or_failure("the SCTP socket could not be set up")?;
        if let Some(lifetime_ms) = self.lifetime_ms {
            give_up_after(&socket, lifetime_ms).or_failure("SCTP could not be made partially reliable")?;
        }
        size_buffers(&socket, self.buffers)?;
        Ok(socket)
    }
}

/// Has a socket's association send no message that is older, and none in its turn.
fn give_up_after(socket: &Socket, lifetime_ms: u32) -> std::io::Result<()> {
    let send = SendInfo { stream: 0, flags: SCTP_UNORDERED, payload_protocol: 0, context: 0, association: 0 };
    let reliability =
        DefaultReliability { association: 0, value: lifetime_ms, policy: SCTP_PR_SCTP_TTL, padding: 0 };
    options::set(socket.as_fd(), libc::IPPROTO_SCTP, SCTP_DEFAULT_SNDINFO, &send)?;
    options::set(socket.as_fd(), libc::IPPROTO_SCTP, SCTP_DEFAULT_PRINFO, &reliability)
}

impl Stack for Sctp {
    fn name(&self) -> &'static str {
        "sctp"
    }

    fn service(&self) -> Service {
        match self.lifetime_ms {
            None => Service::Messages { streams: self.streams },
            Some(_) => Service::Datagrams,
        }
    }

    fn carriage(&self) -> Option<Carriage> {
        Some(Carriage::Chunks)
    }

    fn opening(&self) -> Option<Opening> {
        Some(Opening::SCTP)
    }

    fn homes(&self) -> usize {
        usize::from(self.homes)
    }

    fn http(&self) -> Result<Option<&dyn HttpCarrier>, SpecError> {
        if self.streams > 1 || self.lifetime_ms.is_some() {
            return Err(SpecError::new(
                "`page` over `sctp` needs everything, and in order, so `streams` of `stack_params` must be 1 and \
                 `lifetime_s` left out",
            ));
        }
        Ok(Some(self))
    }

    fn listen(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let socket = self.at_destination(session)?;
        options::enable(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS)
            .or_failure("receive stamps could not be switched on")?;
        socket::listen(&socket)?;
        Ok(Box::new(SctpListener { socket, session: Arc::clone(session), message_bytes }))
    }

    fn connect(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let socket = self.at_source(session)?;
        let socket = socket::connect(socket, session)?;
        // From here on each call says whether it waits.
        socket.set_nonblocking(false).or_failure("a socket could not be set up")?;
        bound_send(&socket, session.ctx.limit_ns - session.ctx.clock.now_ns())?;
        let granted = status(socket.fd())
            .or_failure("the state of the SCTP association could not be read")?
            .out_streams;
        if granted < self.streams {
            return Err(Failure::new(format!(
                "{} streams were asked for and the receiver granted {granted}",
                self.streams
            )));
        }
        Ok(Box::new(SctpConnection::new(socket, self.streams, message_bytes, RecvBatch::new(0, 1))))
    }
}

/// Each hand-over is a message: the longest TLS record and what encryption adds to it (RFC 8446, section 5.2).
const LONGEST_MESSAGE_BYTES: usize = (1 << 14) + 256 + 5;

impl StreamCarrier for Sctp {
    fn at_source(&self, session: &Session) -> Result<Socket, Failure> {
        let source = session.source();
        let socket = self.open(source)?;
        self.add_homes(&socket, source, &session.ctx.source_further)?;
        Ok(socket)
    }

    fn at_destination(&self, session: &Session) -> Result<Socket, Failure> {
        let socket = self.open(session.ctx.destination)?;
        self.add_homes(&socket, session.ctx.destination, &session.ctx.destination_further)?;
        Ok(socket)
    }

    fn longest_write(&self) -> usize {
        LONGEST_MESSAGE_BYTES
    }

    fn tls(&self, _: &Session) -> Result<Option<TlsEnds>, Failure> {
        Ok(None)
    }
}

struct SctpListener {
    socket: Socket,
    session: Arc<Session>,
    message_bytes: u32,
}

impl Listener for SctpListener {
    fn accept(&mut self) -> Result<Box<dyn Connection>, Failure> {
        let socket = socket::accept(&self.socket, &self.session)?;
        let ctx = &self.session.ctx;
        bound_receive(&socket, ctx.limit_ns - ctx.clock.now_ns())?;
        // Not every kernel hands this option from the listening socket on.
        options::enable(socket.fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS)
            .or_failure("receive stamps could not be switched on")?;
        let batch = RecvBatch::new(LONGEST_BATCH, self.message_bytes as usize + 1);
        Ok(Box::new(SctpConnection::new(socket, 1, self.message_bytes, batch)))
    }
}

struct SctpConnection {
    socket: Guarded,
    established_ns: i64,
    streams: u16,
    message_bytes: u32,
    wake_for_each: bool,
    batch: RecvBatch,
}

impl SctpConnection {
    fn new(socket: Guarded, streams: u16, message_bytes: u32, batch: RecvBatch) -> Self {
        let established_ns = socket.session().ctx.clock.now_ns();
        // The stamp of a message in fragments is that of its first fragment, which is too early.
        let fragments = status(socket.fd()).is_ok_and(|status| message_bytes > status.fragmentation_point);
        let wake_for_each = fragments || socket.session().ctx.wake;
        Self { socket, established_ns, streams, message_bytes, wake_for_each, batch }
    }

    fn broken(&self, doing: &str, error: &std::io::Error) -> Failure {
        broken(self.socket.session(), doing, error)
    }

    fn send(
        &self,
        block: &[u8],
        message_bytes: usize,
        seq: u64,
        flags: libc::c_int,
    ) -> Result<usize, Failure> {
        let numbers: Vec<u16>;
        let extra = if self.streams > 1 {
            let count = block.len().div_ceil(message_bytes).min(LONGEST_BATCH) as u64;
            numbers = (seq..seq + count).map(|seq| (seq % u64::from(self.streams)) as u16).collect();
            PerMessage::Streams(&numbers)
        } else {
            PerMessage::Nothing
        };
        match batch::send(self.socket.fd(), block, message_bytes, extra, flags) {
            Ok(count) => Ok((count * message_bytes).min(block.len())),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => Err(Failure::new(format!(
                "a message of {message_bytes} bytes does not fit the SCTP send buffer; \
                 choose a smaller `message_size_bytes` or a larger `send_buffer_bytes`"
            ))),
            Err(error) => Err(self.broken("sending", &error)),
        }
    }

    /// Waits for `most_messages` (or as many as one call takes) or the end of the session, and passes on what came.
    fn take_batch(
        &mut self,
        most_messages: u64,
        instants: Instants,
        take: &mut Take<'_>,
    ) -> Result<Arrival, Failure> {
        let most = most_messages.min(LONGEST_BATCH as u64) as usize;
        let count = match self.batch.receive(self.socket.fd(), most, 0) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::NotConnected => 0,
            Err(error) => return Err(self.broken("receiving", &error)),
        };
        let session = self.socket.session();
        let now_ns = match instants {
            Instants::Stamps => None,
            Instants::Now => Some(session.ctx.clock.now_ns()),
            Instants::NowIfFull => {
                let full =
                    count == most && (0..count).all(|index| !self.batch.message(index).bytes.is_empty());
                full.then(|| session.ctx.clock.now_ns())
            }
        };
        for index in 0..count {
            let message = self.batch.message(index);
            if message.bytes.is_empty() {
                return session.failure().map_or(Ok(Arrival::End), Err);
            }
            let t_ns = match now_ns {
                Some(now_ns) => now_ns,
                None => session.ctx.clock.from_realtime_ns(message.realtime_ns.ok_or_else(no_stamp)?),
            };
            take(message.bytes, Some(t_ns))?;
        }
        if count == 0 { session.failure().map_or(Ok(Arrival::End), Err) } else { Ok(Arrival::Data) }
    }
}

/// Where the instants of a batch are from.
#[derive(Clone, Copy)]
enum Instants {
    /// The kernel's stamp of each message.
    Stamps,
    /// The clock.
    Now,
    /// The clock, if the batch is full and has thus ended with its last message; else the stamps, which are those of
    /// first fragments: the session broke off, and the call has ended later.
    NowIfFull,
}

impl Connection for SctpConnection {
    fn established_ns(&self) -> Option<i64> {
        Some(self.established_ns)
    }

    fn offer(&mut self, block: &[u8], message_bytes: usize, seq: u64) -> Result<usize, Failure> {
        self.send(block, message_bytes, seq, libc::MSG_DONTWAIT)
    }

    fn offer_all(&mut self, block: &[u8], message_bytes: usize, seq: u64) -> Result<usize, Failure> {
        // The kernel makes room by the packet: waking for each would be the greater part of the cost of a transfer.
        self.send(block, message_bytes, seq, 0)
    }

    fn wait_until_writable(&mut self, now_ns: i64, until_ns: i64) -> Result<(), Failure> {
        self.socket.wait_until_writable(now_ns, until_ns)
    }

    fn pause_watching(&mut self, clock: &Clock, instant_ns: i64) -> Result<i64, Failure> {
        socket::pause_watching(&self.socket, clock, instant_ns, |error| match error.kind() {
            ErrorKind::NotConnected => ended_by_the_other_side(),
            _ => self.broken(socket::BETWEEN_MESSAGES, error),
        })
    }

    fn finish(&mut self) -> Result<Option<i64>, Failure> {
        self.socket.shutdown(Shutdown::Write).map_err(|e| self.broken("ending the association", &e))?;
        let doing = "waiting for the receiver to get everything and end the association";
        // poll(2) does not tell that an association is gone; a blocked recv(2) does.
        let session = self.socket.session();
        bound_receive(&self.socket, session.ctx.limit_ns - session.ctx.clock.now_ns())?;
        let mut scrap = [0; 4096];
        loop {
            match batch::read(self.socket.fd(), &mut scrap, 0) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotConnected => break,
                Err(error) => return Err(self.broken(doing, &error)),
            }
        }
        let now_ns = session.ctx.clock.now_ns();
        session.failure().map_or(Ok(Some(now_ns)), Err)
    }

    fn instants(&self) -> DeliveryInstants {
        if self.wake_for_each { DeliveryInstants::Application } else { DeliveryInstants::Kernel }
    }

    fn receive(
        &mut self,
        most_messages: u64,
        _most_bytes: u64,
        take: &mut Take<'_>,
    ) -> Result<Arrival, Failure> {
        if self.wake_for_each {
            return self.take_batch(1, Instants::Now, take);
        }
        self.take_batch(most_messages, Instants::Stamps, take)
    }

    fn receive_all(&mut self, most_messages: u64, take: &mut Take<'_>) -> Result<Arrival, Failure> {
        if !self.wake_for_each || self.socket.session().ctx.wake {
            return self.receive(most_messages, u64::MAX, take);
        }
        self.take_batch(most_messages, Instants::NowIfFull, take)
    }

    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure> {
        let socket = self.socket.try_clone().or_failure("a socket could not be duplicated")?;
        Ok(Some(Box::new(SctpSampler { socket, message_bytes: self.message_bytes })))
    }
}

/// Reads the state of the association and of its primary path.
pub(crate) struct SctpSampler {
    pub(crate) socket: Socket,
    /// Size of the messages that are handed over.
    pub(crate) message_bytes: u32,
}

impl Sampler for SctpSampler {
    /// The kernel tells the smoothed RTT in its ticks (net/sctp/socket.c, although RFC 6458 says milliseconds) and the data in flight in chunks (here of one message each,
    /// or of one fragment); it does not tell the threshold, the variation nor the rates.
    fn sample(&self) -> Option<SocketSample> {
        let status = status(self.socket.as_fd()).ok()?;
        let mut stats = AssociationStats::zeroed();
        options::get(self.socket.as_fd(), libc::IPPROTO_SCTP, SCTP_GET_ASSOC_STATS, &mut stats).ok()?;
        let chunk_bytes = u64::from(self.message_bytes.min(status.fragmentation_point));
        Some(SocketSample {
            cwnd_bytes: u64::from(status.path_cwnd),
            srtt_ns: (status.path_srtt_ticks > 0)
                .then(|| i64::from(status.path_srtt_ticks) * clock::tick_ns()),
            in_flight_bytes: u64::from(status.unacked_chunks) * chunk_bytes,
            retransmitted_packets: stats.retransmitted_chunks,
            ..SocketSample::default()
        })
    }
}

fn status(socket: BorrowedFd<'_>) -> std::io::Result<Status> {
    let mut status = Status::zeroed();
    options::get(socket, libc::IPPROTO_SCTP, SCTP_STATUS, &mut status)?;
    Ok(status)
}
