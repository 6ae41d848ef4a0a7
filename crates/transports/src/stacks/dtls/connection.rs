//! A DTLS session as the applications use it: messages that arrive whole or not at all.

use std::collections::BTreeMap;

use super::engine::Engine;
use crate::clock::Clock;
use crate::error::Failure;
use crate::session::LOOK_UP_NS;
use crate::transport::{Arrival, Connection, DeliveryInstants, Sampler, Take};

const SENDING: &str = "the sender was still sending";
const FINISHING: &str = "the last flight of the DTLS handshake was not acknowledged";

/// One end of a session that is open.
pub(super) struct DtlsConnection {
    engine: Engine,
    established_ns: i64,
}

impl DtlsConnection {
    pub(super) fn new(engine: Engine) -> Self {
        let established_ns = engine.now_ns();
        Self { engine, established_ns }
    }
}

impl Connection for DtlsConnection {
    fn established_ns(&self) -> Option<i64> {
        Some(self.established_ns)
    }

    fn offer(&mut self, block: &[u8], message_bytes: usize, _seq: u64) -> Result<usize, Failure> {
        self.engine.look_at_clock();
        let mut taken = 0;
        for message in block.chunks(message_bytes) {
            if self.engine.is_full() {
                break;
            }
            self.engine.send(message)?;
            taken += message.len();
        }
        Ok(taken)
    }

    fn wait_until_writable(&mut self, _: i64, until_ns: i64) -> Result<(), Failure> {
        self.engine.look_at_clock();
        while self.engine.is_full() && self.engine.now_ns() < until_ns {
            self.engine.turn(until_ns, SENDING)?;
        }
        Ok(())
    }

    /// The handshake's last flight may have to be sent again meanwhile.
    fn pause(&mut self, _: &Clock, instant_ns: i64) -> Result<i64, Failure> {
        let until_ns = instant_ns.min(self.engine.session.ctx.limit_ns);
        self.engine.look_at_clock();
        while self.engine.now_ns() < until_ns {
            self.engine.turn(until_ns, SENDING)?;
        }
        Ok(self.engine.now_ns())
    }

    /// Without the last flight of its handshake the receiver could read nothing.
    fn finish(&mut self) -> Result<Option<i64>, Failure> {
        self.engine.look_at_clock();
        while !self.engine.is_settled() {
            self.engine.turn(i64::MAX, FINISHING)?;
        }
        Ok(None)
    }

    fn instants(&self) -> DeliveryInstants {
        if self.engine.session.ctx.wake { DeliveryInstants::Application } else { DeliveryInstants::Kernel }
    }

    fn receive(
        &mut self,
        most_messages: u64,
        _most_bytes: u64,
        take: &mut Take<'_>,
    ) -> Result<Arrival, Failure> {
        let look_up_ns = self.engine.look_at_clock() + LOOK_UP_NS;
        loop {
            let mut messages = 0;
            while messages < most_messages {
                let Some((message, t_ns)) = self.engine.next_message() else { break };
                messages += 1;
                take(&message, Some(t_ns))?;
            }
            if messages > 0 {
                return Ok(Arrival::Data);
            }
            if self.engine.now_ns() >= look_up_ns {
                return Ok(Arrival::Silence);
            }
            self.engine.turn(look_up_ns, "the receiver was still receiving")?;
        }
    }

    fn sender_dropped_messages(&mut self) -> Option<u64> {
        Some(self.engine.dropped())
    }

    fn counts(&self) -> BTreeMap<String, u64> {
        let counts = self.engine.counts();
        let named = [
            ("datagrams_sent", counts.datagrams_sent),
            ("datagrams_received", counts.datagrams_received),
            ("datagrams_ignored", counts.datagrams_ignored),
        ];
        named.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
    }

    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure> {
        Ok(None)
    }
}
