//! A RaSTA connection as the applications use it: messages in order.

use std::collections::BTreeMap;

use rasta::{DisconnectReason, Disconnection, Ending, SendError};

use super::engine::Engine;
use crate::clock::Clock;
use crate::error::Failure;
use crate::session::LOOK_UP_NS;
use crate::transport::{Arrival, Connection, DeliveryInstants, Sampler, Signal, Take};

const SENDING: &str = "the sender was still sending";
const FINISHING: &str = "waiting for the confirmation of everything";

/// One end of a connection that is up.
pub(super) struct RastaConnection {
    engine: Engine,
    established_ns: i64,
    /// Messages that were not confirmed when there was no place for another one.
    full_at: Option<usize>,
}

impl RastaConnection {
    pub(super) fn new(engine: Engine) -> Self {
        let established_ns = engine.now_ns();
        Self { engine, established_ns, full_at: None }
    }

    /// Fails if the connection ended before it should have.
    fn check_open(&self, doing: &str) -> Result<(), Failure> {
        if self.engine.ending().is_some() { Err(self.engine.broken(doing)) } else { Ok(()) }
    }

    /// Whether there may be place for another message.
    fn has_place(&self) -> bool {
        self.full_at.is_none_or(|full| self.engine.endpoint.unconfirmed() < full)
    }

    /// Whether the connection is over, all went well, and nothing more is to come.
    ///
    /// # Errors
    /// A sentence: it ended before its time.
    fn is_over(&mut self) -> Result<bool, Failure> {
        let Some(ending) = self.engine.ending() else { return Ok(false) };
        match ending {
            Ending::There(Disconnection { reason: DisconnectReason::UserRequest, .. })
                if self.engine.session.failure().is_none() =>
            {
                self.engine.end_channels();
                Ok(true)
            }
            // Nobody confirms the end: the request that says it was lost, and everything before it was confirmed.
            Ending::Here(Disconnection { reason: DisconnectReason::Timeout, .. })
                if !self.engine.session.sender_runs_until(0) && self.engine.session.failure().is_none() =>
            {
                self.engine.tell("timed out: RaSTA was not told of the connection's end".to_owned());
                Ok(true)
            }
            _ => Err(self.engine.broken("receiving")),
        }
    }
}

impl Connection for RastaConnection {
    fn established_ns(&self) -> Option<i64> {
        Some(self.established_ns)
    }

    fn transport_established_ns(&self) -> Option<i64> {
        self.engine.transport_established_ns().or(Some(self.established_ns))
    }

    fn offer(&mut self, block: &[u8], message_bytes: usize, _seq: u64) -> Result<usize, Failure> {
        self.check_open("sending")?;
        let now = self.engine.look_at_clock();
        let mut taken = 0;
        for message in block.chunks(message_bytes) {
            match self.engine.endpoint.send(now, message) {
                Ok(()) => taken += message.len(),
                Err(SendError::Full(_)) => {
                    self.full_at = Some(self.engine.endpoint.unconfirmed());
                    break;
                }
                Err(SendError::State(_)) => {
                    self.engine.flush()?;
                    return Err(self.engine.broken("sending"));
                }
                Err(error) => return Err(Failure::new(format!("RaSTA took no message: {error}"))),
            }
        }
        self.engine.flush()?;
        Ok(taken)
    }

    fn wait_until_writable(&mut self, _: i64, until_ns: i64) -> Result<(), Failure> {
        self.engine.look_at_clock();
        while !self.has_place() && self.engine.now_ns() < until_ns {
            self.engine.turn(until_ns, SENDING)?;
            self.check_open("sending")?;
        }
        self.full_at = None;
        Ok(())
    }

    /// An end that comes meanwhile is told at once.
    fn pause(&mut self, _: &Clock, instant_ns: i64) -> Result<i64, Failure> {
        let until_ns = instant_ns.min(self.engine.session.ctx.limit_ns);
        self.engine.look_at_clock();
        while self.engine.now_ns() < until_ns {
            self.check_open("sending")?;
            self.engine.turn(until_ns, SENDING)?;
        }
        Ok(self.engine.now_ns())
    }

    /// RaSTA has no way to end one direction, and nobody confirms the end of a connection: it is ended when everything
    /// has been confirmed.
    fn finish(&mut self) -> Result<Option<i64>, Failure> {
        self.engine.look_at_clock();
        self.engine.flush()?;
        while self.engine.endpoint.unconfirmed() > 0 {
            self.check_open(FINISHING)?;
            self.engine.turn(i64::MAX, FINISHING)?;
        }
        self.check_open(FINISHING)?;
        let finished_ns = self.engine.now_ns();
        let now = self.engine.now();
        self.engine.endpoint.close(now, 0);
        self.engine.flush()?;
        self.engine.end_channels();
        Ok(Some(finished_ns))
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
        self.engine.look_at_clock();
        let look_up_ns = self.engine.now_ns() + LOOK_UP_NS;
        loop {
            let (mut messages, mut bytes) = (0, 0);
            while messages < most_messages && bytes < most_bytes.max(1) {
                let Some((message, t_ns)) = self.engine.next_message() else { break };
                messages += 1;
                bytes += message.len() as u64;
                take(&message, Some(t_ns))?;
            }
            if messages > 0 {
                return Ok(Arrival::Data);
            }
            if self.is_over()? {
                return Ok(Arrival::End);
            }
            if self.engine.now_ns() >= look_up_ns {
                return Ok(Arrival::Silence);
            }
            self.engine.turn(look_up_ns, "the receiver was still receiving")?;
        }
    }

    fn counts(&self) -> BTreeMap<String, u64> {
        self.engine.counts()
    }

    fn signals(&mut self) -> Vec<Signal> {
        self.engine.take_signals()
    }

    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure> {
        Ok(None)
    }
}
