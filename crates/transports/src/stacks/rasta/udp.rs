//! Channels over UDP: a frame a datagram, a socket for each address of this end.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use socket2::{Protocol, Type};

use super::channel::Channels;
use super::end::End;
use crate::error::Failure;
use crate::kernel::socket;
use crate::peers::same_end;
use crate::session::{Guarded, Session};
use crate::sys::batch::{self, RecvBatch};

/// What a plan calls RaSTA over UDP.
pub(super) const OVER_UDP: &str = "rasta";

/// Datagrams taken with one call.
const RECEIVE_DATAGRAMS: usize = 32;

/// One channel.
struct Channel {
    socket: Guarded,
    /// Where the other end is said to be; port 0: any.
    peer: SocketAddr,
    /// Where frames go.
    to: Option<SocketAddr>,
}

/// The channels of one end.
pub(super) struct Datagrams {
    session: Arc<Session>,
    channels: Vec<Channel>,
    inbound: RecvBatch,
}

impl Datagrams {
    /// Binds the sockets of so many `homes` of an end, whose frames have at most so many bytes.
    pub(super) fn open(
        session: &Arc<Session>,
        end: End,
        homes: usize,
        max_frame_bytes: usize,
    ) -> Result<Self, Failure> {
        let ctx = &session.ctx;
        let own_source = match end {
            End::Sender => session.source(),
            End::Receiver => session.expected_source(),
        };
        let source = (own_source, ctx.source_further.as_slice());
        let destination = (ctx.destination, ctx.destination_further.as_slice());
        let (own, other) = match end {
            End::Sender => (source, destination),
            End::Receiver => (destination, source),
        };
        let (own, other) = (addresses(own.0, own.1, homes)?, addresses(other.0, other.1, homes)?);
        let open = |(own, peer): (SocketAddr, SocketAddr)| {
            let socket = socket::open(OVER_UDP, Type::DGRAM, Some(Protocol::UDP), own)?;
            // Only the sender's may not be known.
            let to = (peer.port() != 0).then_some(peer);
            Ok(Channel { socket: Guarded::new(socket, session)?, peer, to })
        };
        let channels: Result<Vec<_>, Failure> = own.into_iter().zip(other).map(open).collect();
        let inbound = RecvBatch::new(RECEIVE_DATAGRAMS, max_frame_bytes + 1);
        Ok(Self { session: Arc::clone(session), channels: channels?, inbound })
    }
}

/// The first address of a node and as many of its further ones as there are to be channels.
fn addresses(first: SocketAddr, further: &[IpAddr], homes: usize) -> Result<Vec<SocketAddr>, Failure> {
    if further.len() + 1 < homes {
        return Err(Failure::new(format!(
            "`homes` is {homes}, and the node of {first} has {} addresses; choose fewer homes or a network whose hosts \
             have more addresses",
            further.len() + 1
        )));
    }
    let further = further.iter().map(|ip| SocketAddr::new(*ip, first.port()));
    Ok(std::iter::once(first).chain(further).take(homes).collect())
}

impl Channels for Datagrams {
    fn waits(&self) -> (Vec<BorrowedFd<'_>>, libc::c_short) {
        (self.channels.iter().map(|channel| channel.socket.fd()).collect(), libc::POLLIN)
    }

    /// What the kernel refuses is lost, as on the way.
    fn send(&mut self, channel: usize, frame: &[u8]) -> Result<(), Failure> {
        let channel = &self.channels[channel];
        if let Some(to) = channel.to {
            let _ = batch::send_to(channel.socket.fd(), to, frame, frame.len());
        }
        Ok(())
    }

    fn receive(&mut self, take: &mut dyn FnMut(usize, &[u8])) -> Result<(), Failure> {
        for (number, channel) in self.channels.iter_mut().enumerate() {
            loop {
                let socket = channel.socket.fd();
                let count = match self.inbound.receive(socket, RECEIVE_DATAGRAMS, libc::MSG_DONTWAIT) {
                    Ok(count) => count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                    Err(error) => return Err(Failure::system("receiving frames of RaSTA failed", &error)),
                };
                for index in 0..count {
                    let datagram = self.inbound.message(index);
                    // A socket that was shut down brings nothing, again and again.
                    if let Some(failure) = self.session.failure().filter(|_| datagram.bytes.is_empty()) {
                        return Err(failure);
                    }
                    let peer = channel.peer;
                    // What is left of a session before comes from where the channel no longer is.
                    let to = channel.to;
                    let present = |from: &SocketAddr| {
                        to.is_none_or(|to| self.session.is_as_late(from.port(), to.port()))
                    };
                    let ours = datagram.from.filter(|from| same_end(&(*from).into(), peer));
                    if let Some(from) = ours.filter(present) {
                        channel.to = Some(from);
                        take(number, datagram.bytes);
                    }
                }
                if count < RECEIVE_DATAGRAMS {
                    break;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_for_each_address_and_a_sentence_where_there_are_too_few() {
        let first: SocketAddr = ([10, 0, 1, 1], 5000).into();
        let further = [IpAddr::from([10, 0, 3, 1]), IpAddr::from([10, 0, 4, 1])];
        let found = addresses(first, &further, 2).expect("there are three");
        assert_eq!(found, [first, ([10, 0, 3, 1], 5000).into()]);
        let error = addresses(first, &further[..1], 3).expect_err("there are two").to_string();
        assert!(error.starts_with("`homes` is 3, and the node of 10.0.1.1:5000 has 2 addresses"), "{error}");
    }
}
