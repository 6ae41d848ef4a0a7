//! The endpoint, and the provider of input and output that hands it over.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use s2n_quic::provider::io::Provider;
use s2n_quic_core::endpoint::Endpoint as Protocol;
use s2n_quic_core::inet::SocketAddress;
use s2n_quic_core::path::{LocalAddress, Tuple, mtu};
use s2n_quic_core::time::{Clock as _, StdClock, Timestamp};

use crate::datagrams::{Datagram, Outlet};
use crate::queues::{Inbox, Outbox};

/// Octets of the headers of IPv4 and UDP, which the library counts to a path's MTU.
const HEADER_OCTETS: u16 = 28;

/// What is asked of an endpoint, whatever its type.
trait Drive: Send {
    fn receive(&mut self, inbox: &mut Inbox<'_, '_>, now: Timestamp);
    fn transmit(&mut self, outbox: &mut Outbox<'_>, now: Timestamp);
    fn timeout(&self) -> Option<Timestamp>;
}

struct Driven<E>(E);

impl<E: Protocol<PathHandle = Tuple>> Drive for Driven<E> {
    fn receive(&mut self, inbox: &mut Inbox<'_, '_>, now: Timestamp) {
        self.0.receive(inbox, &now);
    }

    fn transmit(&mut self, outbox: &mut Outbox<'_>, now: Timestamp) {
        // What the application did is taken up first. An endpoint that is closed has nothing to take up.
        let _ = self.0.poll_wakeups(&mut Context::from_waker(Waker::noop()), &now);
        self.0.transmit(outbox, &now);
    }

    fn timeout(&self) -> Option<Timestamp> {
        self.0.timeout()
    }
}

/// Where an endpoint is put when it is started.
#[derive(Clone)]
pub struct Slot {
    driven: Arc<Mutex<Option<Box<dyn Drive>>>>,
    local: SocketAddr,
    datagram_octets: Option<u16>,
}

impl Slot {
    /// For an endpoint at an address of IPv4, which searches for the longest datagrams that the path takes.
    #[must_use]
    pub fn new(local: SocketAddr) -> Self {
        Self { driven: Arc::default(), local, datagram_octets: None }
    }

    /// The same, but datagrams have so many octets at most, from 1,200 to [`LONGEST_OCTETS`](crate::LONGEST_OCTETS), and it does not search.
    #[must_use]
    pub fn with_datagrams_of(self, octets: u16) -> Self {
        Self { datagram_octets: Some(octets), ..self }
    }

    /// Takes the endpoint that was started. `None` when none was.
    #[must_use]
    pub fn take(&self) -> Option<Endpoint> {
        let driven = self.driven.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Endpoint {
            driven,
            local: SocketAddress::from(self.local).into(),
            zero: StdClock::default().get_time(),
            buffer: Vec::new(),
        })
    }

    fn mtu(&self) -> Result<mtu::Config, mtu::MtuError> {
        let search = mtu::Config::builder();
        let Some(octets) = self.datagram_octets else { return search.build() };
        let octets = octets.saturating_add(HEADER_OCTETS);
        search.with_max_mtu(octets)?.with_initial_mtu(octets)?.with_base_mtu(octets)?.build()
    }
}

impl Provider for Slot {
    type PathHandle = Tuple;
    type Error = String;

    fn start<E: Protocol<PathHandle = Tuple>>(self, mut endpoint: E) -> Result<SocketAddress, String> {
        endpoint.set_mtu_config(self.mtu().map_err(|error| error.to_string())?);
        *self.driven.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(Driven(endpoint)));
        Ok(self.local.into())
    }
}

/// An endpoint. It is told the time since it was taken, and never asks a clock.
pub struct Endpoint {
    driven: Box<dyn Drive>,
    local: LocalAddress,
    zero: Timestamp,
    /// Where datagrams are put together.
    buffer: Vec<u8>,
}

impl Endpoint {
    /// Handles datagrams that arrived.
    pub fn receive(&mut self, datagrams: &mut [Datagram<'_>], now: Duration) {
        let mut inbox = Inbox { datagrams, local: self.local };
        self.driven.receive(&mut inbox, self.zero + now);
    }

    /// Handles the timers that are due and what the application did, and sends what is to be sent now. Tells whether
    /// there may be more, because a turn has an end.
    pub fn transmit(&mut self, outlet: &mut dyn Outlet, now: Duration) -> bool {
        let mut outbox = Outbox::new(outlet, &mut self.buffer);
        self.driven.transmit(&mut outbox, self.zero + now);
        outbox.end()
    }

    /// When the next timer is due, if there is one.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.driven.timeout().map(|due| due.saturating_duration_since(self.zero))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1234);

    #[test]
    fn a_length_of_datagrams_is_taken_if_quic_can_have_it() {
        for octets in [1200, 1452, 1472] {
            let mtu = Slot::new(AT).with_datagrams_of(octets).mtu().unwrap();
            let each = [u16::from(mtu.base_mtu()), mtu.initial_mtu().into(), mtu.max_mtu().into()];
            assert_eq!(each, [octets + 28; 3]);
        }
        assert!(Slot::new(AT).with_datagrams_of(1199).mtu().is_err());
        assert!(u16::from(Slot::new(AT).mtu().unwrap().max_mtu()) > 1228, "it searches");
    }

    #[test]
    fn nothing_is_taken_where_nothing_was_started() {
        assert!(Slot::new(AT).take().is_none());
    }
}
