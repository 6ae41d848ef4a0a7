//! Telemetry Output, as TO_LAB: messages of the bus become datagrams, once a command has said where to send them.
//!
//! Facts from nasa/to_lab 2d7e01c (`to_lab_dispatch.c`), 04b0af9 (`to_lab_cmds.c`) and 04689d7 (`tables/to_lab_sub.c`).

use std::net::Ipv4Addr;

use super::ingest::DEFAULT_LIMIT;
use crate::bus::{Bus, PipeId};
use crate::dictionary::{self, OutputHousekeeping, bus, ingest, output};
use crate::message::{Message, MessageId};
use crate::time::FlightTime;

/// Commands that wait (nasa/to_lab f763010, `TO_LAB_CMD_PIPE_DEPTH`).
const COMMAND_PIPE_DEPTH: usize = 8;

/// Telemetry that waits: `TO_LAB_TLM_PIPE_DEPTH` is the greatest depth of a queue, 50 as OSAL is delivered.
const TELEMETRY_PIPE_DEPTH: usize = 50;

/// The subscription table: of cFS's what this node has. Others come with [`output::ADD_PACKET`].
const TABLE: [MessageId; 3] = [output::HOUSEKEEPING, ingest::HOUSEKEEPING, bus::HOUSEKEEPING];

#[derive(Clone, Debug)]
pub(crate) struct Output {
    commands: PipeId,
    telemetry: PipeId,
    destination: Option<Ipv4Addr>,
    counters: OutputHousekeeping,
}

impl Output {
    pub(crate) fn new(on: &mut Bus) -> Self {
        let commands = on.pipe(COMMAND_PIPE_DEPTH);
        on.subscribe(commands, output::COMMAND, DEFAULT_LIMIT);
        on.subscribe(commands, output::SEND_HOUSEKEEPING, DEFAULT_LIMIT);
        let telemetry = on.pipe(TELEMETRY_PIPE_DEPTH);
        for id in TABLE {
            on.subscribe(telemetry, id, DEFAULT_LIMIT);
        }
        Self { commands, telemetry, destination: None, counters: OutputHousekeeping::default() }
    }

    /// Does what waits in its pipe of commands; whether there was something.
    pub(crate) fn run(&mut self, bus: &mut Bus, time: FlightTime) -> bool {
        let Some(octets) = bus.receive(self.commands) else { return false };
        let Ok(message) = Message::parse(&octets) else { return true };
        if message.id() == output::SEND_HOUSEKEEPING {
            // The id is a constant and the payload short.
            let _ = bus.publish(output::HOUSEKEEPING, time, &self.counters.encode());
        } else if let Ok(command) = message.command() {
            let counter = match self.execute(bus, command.code, command.payload) {
                Some(Done::Counted) => &mut self.counters.commands,
                Some(Done::NotCounted) => return true,
                None => &mut self.counters.command_errors,
            };
            *counter = counter.wrapping_add(1);
        }
        true
    }

    /// Does a command. Lengths are not checked but for what is needed: TO_LAB does not look at them, and reads what
    /// stood in its buffer before where a payload is too short, which here fails.
    fn execute(&mut self, bus: &mut Bus, code: u8, payload: &[u8]) -> Option<Done> {
        match code {
            output::NOOP => {}
            output::RESET_COUNTERS => {
                self.counters = OutputHousekeeping::default();
                return Some(Done::NotCounted);
            }
            output::ADD_PACKET => {
                let (id, limit) = (dictionary::stream(payload)?, dictionary::limit(payload)?);
                bus.subscribe(self.telemetry, id, limit.into());
            }
            output::REMOVE_PACKET => bus.unsubscribe(self.telemetry, dictionary::stream(payload)?),
            output::REMOVE_ALL => TABLE.into_iter().for_each(|id| bus.unsubscribe(self.telemetry, id)),
            output::ENABLE_OUTPUT => self.destination = Some(dictionary::destination(payload)?),
            _ => return None,
        }
        Some(Done::Counted)
    }

    /// The next datagram and where it goes. Telemetry before the output is enabled goes nowhere.
    pub(crate) fn poll(&mut self, bus: &mut Bus) -> Option<(Ipv4Addr, Vec<u8>)> {
        let Some(destination) = self.destination else {
            while bus.receive(self.telemetry).is_some() {}
            return None;
        };
        bus.receive(self.telemetry).map(|octets| (destination, octets))
    }
}

enum Done {
    Counted,
    NotCounted,
}
