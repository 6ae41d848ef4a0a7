//! Datagrams over kernel sockets: what UDP and its like share.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

use socket2::Socket;

use crate::context::Context;
use crate::error::{Failure, OrFailure};
use crate::peers::broken;
use crate::session::{Guarded, LOOK_UP_NS, Session, bound_receive};
use crate::sys::batch::{self, LONGEST_BATCH, PerMessage, RecvBatch};
use crate::sys::{options, poll, reports};
use crate::transport::{Arrival, Connection, DeliveryInstants, Listener, Sampler, Take};

/// Directs what a bound socket sends to the destination of `session`. The kernel is to tell when the sender's own queue
/// drops a datagram.
pub(crate) fn connect(socket: &Socket, session: &Session) -> Result<(), Failure> {
    report_local_losses(socket, session.ctx.source)
        .or_failure("UDP error reports could not be switched on")?;
    let to = session.ctx.destination;
    socket.connect(&to.into()).or_failure(format_args!("{to} cannot be reached from this node"))
}

/// Without this a full queue goes unnoticed (udp(7), IP_RECVERR).
fn report_local_losses(socket: &Socket, local: SocketAddr) -> std::io::Result<()> {
    let fd = socket.as_fd();
    if local.is_ipv4() {
        options::enable(fd, libc::IPPROTO_IP, libc::IP_RECVERR)
    } else {
        options::enable(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
    }
}

/// Takes away what is reported of datagrams that were sent: it would end each further wait at once. That there is no way, or
/// none for a datagram so long, loses that one datagram; the kernel cuts the next ones to the length it was told.
///
/// # Errors
/// A sentence: nobody is there.
pub(crate) fn take_reports(socket: &Guarded) -> Result<(), Failure> {
    let read = || reports::take(socket.fd()).or_failure("reports of a UDP socket could not be read");
    while let Some(error) = read()? {
        if error.kind() == ErrorKind::ConnectionRefused {
            return Err(broken(socket.session(), "sending", &error));
        }
    }
    Ok(())
}

/// How far ahead a release time may lie. fq drops what lies beyond 10 s (its default horizon, tc-fq(8)).
const HORIZON_NS: i64 = 5_000_000_000;

/// A bound socket that serves one flow.
pub(crate) struct DatagramListener {
    socket: Option<Socket>,
    session: Arc<Session>,
    message_bytes: u32,
}

impl DatagramListener {
    /// Has the kernel stamp what arrives at a bound socket.
    pub(crate) fn boxed(
        socket: Socket,
        session: &Arc<Session>,
        message_bytes: u32,
    ) -> Result<Box<dyn Listener>, Failure> {
        options::enable(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS)
            .or_failure("receive stamps could not be switched on")?;
        Ok(Box::new(Self { socket: Some(socket), session: Arc::clone(session), message_bytes }))
    }
}

impl Listener for DatagramListener {
    fn accept(&mut self) -> Result<Box<dyn Connection>, Failure> {
        let socket = self.socket.take().ok_or_else(|| {
            Failure::new("a receiver of datagrams serves one flow and was asked for a second")
        })?;
        bound_receive(&socket, LOOK_UP_NS)?;
        let socket = Guarded::new(socket, &self.session)?;
        let batch = RecvBatch::new(LONGEST_BATCH, self.message_bytes as usize + 1);
        let wake_for_each = self.session.ctx.wake;
        Ok(Box::new(DatagramConnection {
            socket,
            releases: false,
            wake_for_each,
            batch,
            refused: 0,
            broken: None,
        }))
    }
}

/// One end of a flow of datagrams.
pub(crate) struct DatagramConnection {
    socket: Guarded,
    /// Whether the kernel holds messages until their release times.
    releases: bool,
    wake_for_each: bool,
    batch: RecvBatch,
    /// Datagrams that the sender's own kernel dropped.
    refused: u64,
    /// What broke the session behind datagrams that were taken: those are noted first, this comes with the next ones.
    broken: Option<Failure>,
}

impl DatagramConnection {
    /// The sender's end of a socket that [`connect`] has connected.
    pub(crate) fn boxed(
        socket: Socket,
        session: &Arc<Session>,
        releases: bool,
    ) -> Result<Box<dyn Connection>, Failure> {
        let (socket, batch) = (Guarded::new(socket, session)?, RecvBatch::new(0, 1));
        Ok(Box::new(Self { socket, releases, wake_for_each: false, batch, refused: 0, broken: None }))
    }

    /// Sends a batch. A datagram that the sender's own queue drops has been handed over all the same, and is counted.
    fn send(
        &mut self,
        block: &[u8],
        message_bytes: usize,
        extra: PerMessage<'_>,
        flags: libc::c_int,
    ) -> Result<usize, Failure> {
        if let Some(failure) = self.broken.take() {
            return Err(failure);
        }
        let mut taken = 0;
        let mut last_error = None;
        while taken * message_bytes < block.len() {
            let rest = &block[taken * message_bytes..];
            match batch::send(self.socket.fd(), rest, message_bytes, extra.from(taken), flags) {
                Ok(count) => taken += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::BrokenPipe) =>
                {
                    let failure = broken(self.socket.session(), "sending", &error);
                    if taken == 0 {
                        return Err(failure);
                    }
                    self.broken = Some(failure);
                    break;
                }
                // The second try of the same datagram tells its own fate from a report about an earlier one.
                Err(error) => {
                    let again = last_error.replace(taken) == Some(taken);
                    if again && error.raw_os_error() == Some(libc::EMSGSIZE) {
                        return Err(Failure::new(format!(
                            "a datagram of {message_bytes} bytes is too long for UDP on this path; \
                             choose a smaller `message_size_bytes`"
                        )));
                    }
                    if again || error.raw_os_error() == Some(libc::ENOBUFS) {
                        taken += 1;
                        self.refused += 1;
                    }
                }
            }
        }
        Ok((taken * message_bytes).min(block.len()))
    }
}

impl Connection for DatagramConnection {
    fn established_ns(&self) -> Option<i64> {
        None
    }

    fn offer(&mut self, block: &[u8], message_bytes: usize, _seq: u64) -> Result<usize, Failure> {
        self.send(block, message_bytes, PerMessage::Nothing, libc::MSG_DONTWAIT)
    }

    fn wait_until_writable(&mut self, now_ns: i64, until_ns: i64) -> Result<(), Failure> {
        // To ask for a report that is not there would be in vain, which takes time in a guest.
        if poll::has_error(self.socket.fd()).or_failure("a UDP socket could not be looked at")? {
            take_reports(&self.socket)?;
        }
        self.socket.wait_until_writable(now_ns, until_ns)
    }

    fn takes_release_times(&self) -> bool {
        self.releases
    }

    fn offer_released(
        &mut self,
        block: &[u8],
        message_bytes: usize,
        releases_ns: &[i64],
    ) -> Result<(usize, i64), Failure> {
        let Context { clock, limit_ns, .. } = &self.socket.session().ctx;
        let now_ns = clock.now_ns();
        if now_ns >= *limit_ns {
            return Err(self.socket.session().limit_reached("the sender was still sending"));
        }
        let near = releases_ns.iter().take_while(|at| **at < now_ns + HORIZON_NS).count();
        if near == 0 {
            clock.sleep_until((releases_ns[0] - HORIZON_NS).min(*limit_ns));
            return Ok((0, now_ns));
        }
        let block = &block[..block.len().min(near.min(LONGEST_BATCH) * message_bytes)];
        let instants: Vec<i64> = releases_ns.iter().map(|at| clock.monotonic_ns(*at)).collect();
        let taken = self.send(block, message_bytes, PerMessage::Releases(&instants), 0)?;
        Ok((taken, now_ns))
    }

    fn finish(&mut self) -> Result<Option<i64>, Failure> {
        Ok(None)
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
        let most = if self.wake_for_each { 1 } else { most_messages.min(LONGEST_BATCH as u64) as usize };
        let count = match self.batch.receive(self.socket.fd(), most, 0) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Arrival::Silence),
            Err(error) => return Err(broken(self.socket.session(), "receiving", &error)),
        };
        for index in 0..count {
            let message = self.batch.message(index);
            // A socket that was shut down because the flow failed brings nothing, again and again.
            if let Some(failure) = self.socket.session().failure().filter(|_| message.bytes.is_empty()) {
                return Err(failure);
            }
            let clock = &self.socket.session().ctx.clock;
            let t_ns = if self.wake_for_each {
                clock.now_ns()
            } else {
                clock.from_realtime_ns(message.realtime_ns.ok_or_else(no_stamp)?)
            };
            take(message.bytes, Some(t_ns))?;
        }
        Ok(Arrival::Data)
    }

    fn sender_dropped_messages(&mut self) -> Option<u64> {
        Some(self.refused)
    }

    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure> {
        Ok(None)
    }
}

/// The failure of a message without a receive stamp.
pub(crate) fn no_stamp() -> Failure {
    Failure::new("the kernel gave a message no receive stamp, so its instant is unknown")
}

#[cfg(test)]
mod tests {
    use socket2::{Protocol, Type};

    use super::*;
    use crate::kernel::socket;
    use crate::loopback;

    /// One more byte than IPv4 can carry: the kernel drops such a datagram, and reports that too.
    static TOO_LONG: [u8; 65_508] = [0; 65_508];

    fn connected(session: &Session) -> Socket {
        let socket = socket::open("udp", Type::DGRAM, Some(Protocol::UDP), session.ctx.source)
            .expect("nobody else has the port");
        connect(&socket, session).expect("there is a way");
        socket
    }

    #[test]
    fn a_report_of_the_kernel_ends_no_wait_for_room() {
        let session = loopback::session();
        let socket = connected(&session);
        let sent =
            batch::send(socket.as_fd(), &TOO_LONG, TOO_LONG.len(), PerMessage::Nothing, libc::MSG_DONTWAIT);
        assert_eq!(sent.err().and_then(|error| error.raw_os_error()), Some(libc::EMSGSIZE));
        // What is put together into one datagram stays in the socket (udp(7)): more than half of the least room.
        socket.set_send_buffer_size(1).expect("the kernel makes it its least");
        options::enable(socket.as_fd(), libc::IPPROTO_UDP, libc::UDP_CORK).expect("it is a UDP socket");
        assert_eq!(socket.send(&[0; 4000]).expect("there was room"), 4000);
        let mut connection =
            DatagramConnection::boxed(socket, &session, false).expect("descriptors are left");
        let now_ns = session.ctx.clock.now_ns();
        let until_ns = now_ns + 20_000_000;
        assert_eq!(connection.wait_until_writable(now_ns, until_ns), Ok(()));
        assert!(session.ctx.clock.now_ns() >= until_ns);
    }

    #[test]
    fn a_datagram_that_no_path_takes_is_a_sentence() {
        let session = loopback::session();
        let mut connection =
            DatagramConnection::boxed(connected(&session), &session, false).expect("descriptors are left");
        let found = connection.offer(&TOO_LONG, TOO_LONG.len(), 0).err().map(|error| error.to_string());
        assert!(found.as_deref().unwrap_or_default().contains("too long for UDP"), "{found:?}");
    }
}
