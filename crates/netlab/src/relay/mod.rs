//! A node in the middle of a link that delays and loses packets in user space, for kernels without netem.
//!
//! ```text
//!   a ──veth──[packet socket]─ Line a>b ─[packet socket]──veth── b
//!             [packet socket]─ Line b>a ─[packet socket]
//! ```
//!
//! It has a namespace of its own, whose kernel does nothing with the frames, and a thread for each direction. The delay
//! counts from the kernel's stamp of a frame's arrival, so that waking late for it costs nothing; a frame goes on as late
//! as the thread wakes for that (`late_ns`, some tens of microseconds on a machine with nothing else to do).

mod line;

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkFlags, LinkMessage};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

use crate::Error;
use crate::background::Background;
use crate::clock::{Alarm, Woken};
use crate::error::Attempt;
use crate::namespace::Namespace;
use crate::netlink::{Netlink, Request};
use crate::node::lock;
use crate::packet_socket;
use crate::qdisc::Netem;
use crate::random::Random;
use crate::sysctl;
use line::{Counts, Line};

/// Numbers of a relay's interfaces begin here, above those of nodes.
pub(crate) const FIRST_INTERFACE: u32 = 1 << 20;

/// Longest IP packet and Ethernet header.
const LONGEST_FRAME_BYTES: usize = (1 << 16) + 14;

/// What may wait in a socket while its thread sleeps: thousands of packets.
const BUFFER_BYTES: usize = 16 << 20;

/// Frames that are taken from a socket before those that are due go on.
const FRAMES_A_TURN: usize = 64;

/// The namespace of a relay, before its links are made.
pub(crate) struct Place {
    namespace: Namespace,
}

/// A relay on a link; dropping it ends it.
pub(crate) struct Relay {
    directions: [Arc<Mutex<Line>>; 2],
    missed: [Arc<AtomicU64>; 2],
    /// Why it came to its end before its time, if it did: since then nothing passes.
    broken: Arc<OnceLock<Error>>,
    _threads: Vec<Background<()>>,
    /// The relay's ends of both links go with it, after the threads.
    _namespace: Namespace,
}

impl Place {
    /// A namespace in which nothing is said of its own accord.
    pub fn new() -> Result<Self, Error> {
        let namespace = Namespace::new()?;
        namespace.enter(|| {
            for name in ["net.ipv6.conf.all.disable_ipv6", "net.ipv6.conf.default.disable_ipv6"] {
                sysctl::set_in_namespace(name, "1")?;
            }
            Ok::<(), Error>(())
        })??;
        Ok(Place { namespace })
    }

    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Brings the relay's ends of both links up and starts it. `random` is that of the direction from the first end to the
    /// second and of the one back.
    pub fn start(self, interfaces: [u32; 2], random: [Random; 2]) -> Result<Relay, Error> {
        let sockets = self.namespace.enter(|| {
            Netlink::open()?.run(interfaces.iter().map(|&index| up(index)).collect())?;
            let opened = interfaces.iter().map(|&index| opened(index));
            opened.collect::<Result<Vec<_>, Error>>()
        })??;
        let ports: Vec<Arc<Port>> = sockets
            .into_iter()
            .zip(interfaces)
            .map(|(socket, interface)| Arc::new(Port { socket, interface }))
            .collect();
        let directions = random.map(|random| Arc::new(Mutex::new(Line::new(random))));
        let missed = [Arc::default(), Arc::default()];
        let broken: Arc<OnceLock<Error>> = Arc::default();
        let mut threads = Vec::with_capacity(2);
        for (number, (line, missed)) in directions.iter().zip(&missed).enumerate() {
            let (from, to) = (Arc::clone(&ports[number]), Arc::clone(&ports[1 - number]));
            let (line, missed, broken) = (Arc::clone(line), Arc::clone(missed), Arc::clone(&broken));
            threads.push(Background::start("relay", move |alarm| {
                if let Err(error) = carry(&from, &to, &line, &missed, alarm) {
                    let _ = broken.set(error);
                }
            })?);
        }
        Ok(Relay { directions, missed, broken, _threads: threads, _namespace: self.namespace })
    }
}

impl Relay {
    /// Asks something else of a direction from now on: 0 from the link's first end to the second, 1 back.
    pub fn ask(&self, direction: usize, asked: Netem) {
        lock(&self.directions[direction]).ask(asked);
    }

    /// What a direction has counted since the first change of its link.
    pub fn counts(&self, direction: usize) -> Counts {
        lock(&self.directions[direction]).counts()
    }

    /// Why it came to its end before its time, if it did.
    pub fn broken(&self) -> Option<&Error> {
        self.broken.get()
    }

    /// Frames of a direction that it could not take in or pass on.
    pub fn missed_packets(&self, direction: usize) -> u64 {
        self.missed[direction].load(Ordering::Relaxed)
    }
}

/// One end of a relay.
struct Port {
    socket: OwnedFd,
    interface: u32,
}

/// Opens the socket of an interface of the calling thread's namespace.
fn opened(interface: u32) -> Result<OwnedFd, Error> {
    let open = || {
        let socket = packet_socket::open_raw()?;
        packet_socket::stamp(&socket, BUFFER_BYTES)?;
        packet_socket::bind(&socket, interface)?;
        Ok::<_, std::io::Error>(socket)
    };
    open().attempt(|| "cannot open the sockets of a relay".into())
}

fn up(index: u32) -> Request {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    Request {
        what: "cannot bring an interface of a relay up".into(),
        flags: 0,
        message: RouteNetlinkMessage::SetLink(message),
    }
}

/// A direction's thread: takes frames in, lets those go on that are due, sleeps until either.
fn carry(from: &Port, to: &Port, line: &Mutex<Line>, missed: &AtomicU64, alarm: &Alarm) -> Result<(), Error> {
    let ahead_ns = realtime_ahead_ns()?;
    let mut buffer = vec![0; LONGEST_FRAME_BYTES];
    loop {
        let next_due_ns = lock(line).next_due_ns();
        if alarm.sleep_until_monotonic_or_readable(next_due_ns, &from.socket)? == Woken::Called {
            return Ok(());
        }
        for _ in 0..FRAMES_A_TURN {
            let arrived = packet_socket::receive(&from.socket, &mut buffer);
            let Some(arrived) = arrived.attempt(|| "cannot receive at a relay".into())? else { break };
            lock(line).arrive(arrived.realtime_ns - ahead_ns, &buffer[..arrived.length_bytes]);
        }
        let now_ns = monotonic_ns()?;
        loop {
            let Some(frame) = lock(line).leave(now_ns) else { break };
            // A frame that the other end has no room for is lost there, as on any wire.
            if packet_socket::send(&to.socket, to.interface, &frame).is_err() {
                missed.fetch_add(1, Ordering::Relaxed);
            }
        }
        let full = packet_socket::missed_packets(&from.socket);
        let full = full.attempt(|| "cannot read the counters of a relay".into())?;
        missed.fetch_add(full, Ordering::Relaxed);
    }
}

fn monotonic_ns() -> Result<i64, Error> {
    read(ClockId::CLOCK_MONOTONIC)
}

/// `CLOCK_REALTIME` less `CLOCK_MONOTONIC`. A run with a relay lasts minutes; a host that sets its clock by a step
/// meanwhile spoils every stamp, the capture's too.
fn realtime_ahead_ns() -> Result<i64, Error> {
    let before_ns = monotonic_ns()?;
    let realtime_ns = read(ClockId::CLOCK_REALTIME)?;
    Ok(realtime_ns - (before_ns + monotonic_ns()?) / 2)
}

fn read(clock: ClockId) -> Result<i64, Error> {
    Ok(clock_gettime(clock).attempt(|| "cannot read the clock".into())?.num_nanoseconds())
}
