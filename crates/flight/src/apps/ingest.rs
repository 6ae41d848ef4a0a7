//! Command Ingest, as CI_LAB: datagrams become messages on the bus.
//!
//! Facts from nasa/ci_lab 9be2cbe (`ci_lab_passthru_decode.c`), 2c398c0 (`ci_lab_dispatch.c`) and 60626f1
//! (`ci_lab_cmds.c`).

use crate::bus::{Bus, PipeId};
use crate::dictionary::{IngestHousekeeping, ingest};
use crate::message::{COMMAND_HEADER_OCTETS, Message};
use crate::time::FlightTime;

/// Messages that wait in its pipe (nasa/ci_lab 04e089e, `CI_LAB_PIPE_DEPTH`).
const PIPE_DEPTH: usize = 32;

/// Messages of one id that wait in a pipe, unless a subscription says otherwise (nasa/cFE,
/// `CFE_PLATFORM_SB_DEFAULT_MSG_LIMIT`).
pub(crate) const DEFAULT_LIMIT: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct Ingest {
    pipe: PipeId,
    largest_octets: usize,
    counters: IngestHousekeeping,
}

impl Ingest {
    pub(crate) fn new(bus: &mut Bus, largest_octets: usize) -> Self {
        let pipe = bus.pipe(PIPE_DEPTH);
        bus.subscribe(pipe, ingest::COMMAND, DEFAULT_LIMIT);
        bus.subscribe(pipe, ingest::SEND_HOUSEKEEPING, DEFAULT_LIMIT);
        let counters = IngestHousekeeping { socket_connected: true, ..IngestHousekeeping::default() };
        Self { pipe, largest_octets, counters }
    }

    /// Takes a datagram. As with CI_LAB what does not fit its buffer is cut off, what follows the message is left out,
    /// and a message that is not whole is dropped and counted.
    pub(crate) fn datagram_in(&mut self, bus: &mut Bus, octets: &[u8]) {
        let octets = &octets[..octets.len().min(self.largest_octets)];
        match Message::parse(octets) {
            Ok(message) if octets.len() >= COMMAND_HEADER_OCTETS => {
                self.counters.ingest_packets = self.counters.ingest_packets.wrapping_add(1);
                bus.pass(message.octets());
            }
            _ => self.counters.ingest_errors = self.counters.ingest_errors.wrapping_add(1),
        }
    }

    /// Does what waits in its pipe; whether there was something.
    pub(crate) fn run(&mut self, bus: &mut Bus, time: FlightTime) -> bool {
        let Some(octets) = bus.receive(self.pipe) else { return false };
        let Ok(message) = Message::parse(&octets) else { return true };
        if message.id() == ingest::SEND_HOUSEKEEPING {
            // The id is a constant and the payload short.
            let _ = bus.publish(ingest::HOUSEKEEPING, time, &self.counters.encode());
        } else if let Ok(command) = message.command() {
            match (command.code, command.payload.is_empty()) {
                (ingest::NOOP, true) => self.counters.commands = self.counters.commands.wrapping_add(1),
                (ingest::RESET_COUNTERS, true) => {
                    self.counters = IngestHousekeeping { socket_connected: true, ..Default::default() };
                }
                (ingest::NOOP | ingest::RESET_COUNTERS, false) => {
                    self.counters.command_errors = self.counters.command_errors.wrapping_add(1);
                }
                // CI_LAB does not count codes it does not know.
                _ => {}
            }
        }
        true
    }
}
