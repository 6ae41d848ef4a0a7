//! When messages that came early could be read: with a transport that keeps their order, not before the earlier ones.

use transports::Service;

/// Turns the instants at which messages arrived into those at which they could be read.
pub(super) struct InOrder {
    /// The latest instant of each stream; none for a transport that holds nothing back, or that tells itself when
    /// something could be read.
    latest_ns: Vec<i64>,
}

impl InOrder {
    /// For what a transport promises. Message n goes on stream n modulo their number.
    pub(super) fn new(service: Service) -> Self {
        let streams = match service {
            Service::Messages { streams } => usize::from(streams),
            Service::Stream | Service::Datagrams => 0,
        };
        Self { latest_ns: vec![i64::MIN; streams] }
    }

    /// When message `seq` could be read, which arrived at `arrived_ns`. Messages of a stream are asked about in their
    /// order.
    pub(super) fn readable_ns(&mut self, seq: u32, arrived_ns: i64) -> i64 {
        let streams = self.latest_ns.len();
        if streams == 0 {
            return arrived_ns;
        }
        let latest_ns = &mut self.latest_ns[seq as usize % streams];
        *latest_ns = (*latest_ns).max(arrived_ns);
        *latest_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readable_ns(service: Service, arrived_ns: &[i64]) -> Vec<i64> {
        let mut order = InOrder::new(service);
        (0..).zip(arrived_ns).map(|(seq, at_ns)| order.readable_ns(seq, *at_ns)).collect()
    }

    #[test]
    fn messages_wait_for_the_earlier_ones_of_their_stream() {
        let arrived_ns = [10, 90, 12, 13, 14, 15];
        assert_eq!(readable_ns(Service::Messages { streams: 1 }, &arrived_ns), [10, 90, 90, 90, 90, 90]);
        assert_eq!(readable_ns(Service::Messages { streams: 2 }, &arrived_ns), [10, 90, 12, 90, 14, 90]);
    }

    #[test]
    fn what_has_no_order_waits_for_nothing() {
        let arrived_ns = [10, 90, 12];
        assert_eq!(readable_ns(Service::Datagrams, &arrived_ns), arrived_ns);
        assert_eq!(readable_ns(Service::Stream, &arrived_ns), arrived_ns);
    }
}
