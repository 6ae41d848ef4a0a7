//! The library's sockets and loop, with a count of what passes between them and its endpoint.
//!
//! Its events leave out datagrams that it answers with Retry. Empty datagrams it drops before they are counted.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::task::{Context, Poll};

use s2n_quic::provider::io::Provider;
use s2n_quic::provider::io::tokio::Provider as Library;
use s2n_quic_core::endpoint::{CloseError, Endpoint, Type};
use s2n_quic_core::inet::SocketAddress;
use s2n_quic_core::inet::datagram::Header;
use s2n_quic_core::io::{rx, tx};
use s2n_quic_core::path::mtu;
use s2n_quic_core::time::{Clock, Timestamp};

use crate::counters::Counters;

/// The library's input and output.
pub(super) struct Metered {
    inner: Library,
    counters: Arc<Counters>,
}

impl Metered {
    /// Over a socket that is bound.
    ///
    /// # Errors
    /// The library's.
    pub(super) fn new(socket: UdpSocket, counters: &Arc<Counters>) -> io::Result<Self> {
        let inner = Library::builder().with_rx_socket(socket)?.build()?;
        Ok(Self { inner, counters: Arc::clone(counters) })
    }
}

impl Provider for Metered {
    type PathHandle = <Library as Provider>::PathHandle;
    type Error = io::Error;

    fn start<E: Endpoint<PathHandle = Self::PathHandle>>(self, endpoint: E) -> io::Result<SocketAddress> {
        Provider::start(self.inner, Counted { endpoint, counters: self.counters })
    }
}

/// An endpoint whose datagrams are counted.
struct Counted<E> {
    endpoint: E,
    counters: Arc<Counters>,
}

impl<E: Endpoint> Endpoint for Counted<E> {
    type PathHandle = E::PathHandle;
    type Subscriber = E::Subscriber;

    const ENDPOINT_TYPE: Type = E::ENDPOINT_TYPE;

    fn receive<Q, C>(&mut self, queue: &mut Q, clock: &C)
    where
        Q: rx::Queue<Handle = Self::PathHandle>,
        C: Clock,
    {
        self.endpoint.receive(&mut Queue { queue, counters: &self.counters }, clock);
    }

    fn transmit<Q, C>(&mut self, queue: &mut Q, clock: &C)
    where
        Q: tx::Queue<Handle = Self::PathHandle>,
        C: Clock,
    {
        self.endpoint.transmit(&mut Queue { queue, counters: &self.counters }, clock);
    }

    fn poll_wakeups<C: Clock>(
        &mut self,
        context: &mut Context<'_>,
        clock: &C,
    ) -> Poll<Result<usize, CloseError>> {
        self.endpoint.poll_wakeups(context, clock)
    }

    fn timeout(&self) -> Option<Timestamp> {
        self.endpoint.timeout()
    }

    fn set_mtu_config(&mut self, config: mtu::Config) {
        self.endpoint.set_mtu_config(config);
    }

    fn subscriber(&mut self) -> &mut Self::Subscriber {
        self.endpoint.subscriber()
    }
}

/// Datagrams that go one way.
struct Queue<'a, Q> {
    queue: &'a mut Q,
    counters: &'a Counters,
}

impl<Q: rx::Queue> rx::Queue for Queue<'_, Q> {
    type Handle = Q::Handle;

    fn for_each<F: FnMut(Header<Q::Handle>, &mut [u8])>(&mut self, mut take: F) {
        let counters = self.counters;
        self.queue.for_each(|header, octets| {
            counters.octets_in.add(octets.len() as u64);
            counters.datagrams.one();
            take(header, octets);
        });
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

impl<Q: tx::Queue> tx::Queue for Queue<'_, Q> {
    type Handle = Q::Handle;

    const SUPPORTS_ECN: bool = Q::SUPPORTS_ECN;
    const SUPPORTS_PACING: bool = Q::SUPPORTS_PACING;
    const SUPPORTS_FLOW_LABELS: bool = Q::SUPPORTS_FLOW_LABELS;

    fn push<M: tx::Message<Handle = Q::Handle>>(&mut self, message: M) -> Result<tx::Outcome, tx::Error> {
        let pushed = self.queue.push(message)?;
        self.counters.octets_out.add(pushed.len as u64);
        Ok(pushed)
    }

    fn flush(&mut self) {
        self.queue.flush();
    }

    fn capacity(&self) -> usize {
        self.queue.capacity()
    }

    fn has_capacity(&self) -> bool {
        self.queue.has_capacity()
    }
}
