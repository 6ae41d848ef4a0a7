//! The command and telemetry dictionary: message ids, function codes and payloads of CI_LAB, TO_LAB, the software bus
//! and the Benchmark module. Payloads are little-endian, as on the processors that cFS is built for here.

use std::net::Ipv4Addr;

use crate::message::{self, MessageError, MessageId};

/// The UDP port of Command Ingest on the first processor (nasa/ci_lab 4b65271, `ci_lab_app.c`: base port + processor id
/// - 1; base port in `ci_lab_app.h`).
pub const COMMAND_PORT: u16 = 1234;

/// The UDP port that Telemetry Output sends to (`cfgTLM_PORT`, nasa/to_lab 01485fb, `to_lab_app.h`).
pub const TELEMETRY_PORT: u16 = 1235;

/// Command Ingest (nasa/ci_lab 04e089e, `config/default_ci_lab_msgids.h`, `default_ci_lab_fcncodes.h`).
pub mod ingest {
    use super::MessageId;

    /// Its commands.
    pub const COMMAND: MessageId = MessageId(0x1884);
    /// Asks for its housekeeping telemetry.
    pub const SEND_HOUSEKEEPING: MessageId = MessageId(0x1885);
    /// Its housekeeping telemetry.
    pub const HOUSEKEEPING: MessageId = MessageId(0x0884);
    /// Function code: count this command, do nothing else.
    pub const NOOP: u8 = 0;
    /// Function code: all counters to zero.
    pub const RESET_COUNTERS: u8 = 1;
}

/// Telemetry Output (nasa/to_lab f763010, `config/default_to_lab_msgids.h`; function codes 041f66f, `to_lab_msg.h`).
pub mod output {
    use super::MessageId;

    /// Its commands.
    pub const COMMAND: MessageId = MessageId(0x1880);
    /// Asks for its housekeeping telemetry.
    pub const SEND_HOUSEKEEPING: MessageId = MessageId(0x1881);
    /// Its housekeeping telemetry.
    pub const HOUSEKEEPING: MessageId = MessageId(0x0880);
    /// Function code: count this command, do nothing else.
    pub const NOOP: u8 = 0;
    /// Function code: all counters to zero.
    pub const RESET_COUNTERS: u8 = 1;
    /// Function code: send telemetry of one more message id.
    pub const ADD_PACKET: u8 = 2;
    /// Function code: send telemetry of one message id no longer.
    pub const REMOVE_PACKET: u8 = 4;
    /// Function code: send no telemetry of the subscription table any longer.
    pub const REMOVE_ALL: u8 = 5;
    /// Function code: send telemetry to an address.
    pub const ENABLE_OUTPUT: u8 = 6;
}

/// The software bus (nasa/cFE 48101c8, `modules/sb/config/default_cfe_sb_msgids.h`).
pub mod bus {
    use super::MessageId;

    /// Asks for its housekeeping telemetry.
    pub const SEND_HOUSEKEEPING: MessageId = MessageId(0x180B);
    /// Its housekeeping telemetry.
    pub const HOUSEKEEPING: MessageId = MessageId(0x0803);
}

/// The Benchmark module of the study "QUIC and SDLS in cFS" (ssloxford/spaceQUIC f479321, `benchmark_app_msgids.h`,
/// `benchmark_app_msg.h`). Its housekeeping is an addition: the study's module had none.
pub mod benchmark {
    use super::MessageId;

    /// Its commands.
    pub const COMMAND: MessageId = MessageId(0x1899);
    /// Asks for its housekeeping telemetry.
    pub const SEND_HOUSEKEEPING: MessageId = MessageId(0x189A);
    /// The packets that it publishes.
    pub const DATA: MessageId = MessageId(0x0888);
    /// Its housekeeping telemetry.
    pub const HOUSEKEEPING: MessageId = MessageId(0x0889);
    /// Function code: count this command, do nothing else.
    pub const NOOP: u8 = 0;
    /// Function code: publish the agreed number of packets.
    pub const START: u8 = 1;
    /// Function code: take a payload.
    pub const TAKE_DATA: u8 = 2;
    /// Octets of the study's payload, unless a table says otherwise (`PAYLOAD_SIZE`, `space_quic.h`).
    pub const PAYLOAD_OCTETS: usize = 128;
    /// Packets of a series in the study (`PACKETS_TO_SEND`, `space_quic.h`).
    pub const PACKETS: u32 = 20;
}

/// Octets of the text with the destination's address in [`output::ENABLE_OUTPUT`] (nasa/to_lab c54bee8,
/// `config/default_to_lab_msgdefs.h`).
pub const DESTINATION_OCTETS: usize = 16;

/// The command with which TO_LAB begins to send telemetry to `destination`.
#[must_use]
pub fn enable_output(destination: Ipv4Addr) -> Vec<u8> {
    let mut payload = destination.to_string().into_bytes();
    payload.resize(DESTINATION_OCTETS, 0);
    built(message::command(output::COMMAND, 0, output::ENABLE_OUTPUT, &payload))
}

/// The address in the payload of [`output::ENABLE_OUTPUT`]: text up to its first zero octet.
#[must_use]
pub fn destination(payload: &[u8]) -> Option<Ipv4Addr> {
    let text = payload.get(..DESTINATION_OCTETS)?.split(|octet| *octet == 0).next()?;
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The command with which TO_LAB subscribes to `id`; at most `limit` messages of it wait in its pipe. Message id, two
/// octets of quality of service that cFE does not use, limit and an octet of padding (`TO_LAB_AddPacket_Payload_t` of
/// nasa/to_lab c54bee8, `CFE_SB_MsgId_t` of nasa/cFE 29226a6).
#[must_use]
pub fn add_packet(id: MessageId, limit: u8) -> Vec<u8> {
    let [low, high] = id.0.to_le_bytes();
    built(message::command(output::COMMAND, 0, output::ADD_PACKET, &[low, high, 0, 0, 0, 0, limit, 0]))
}

/// The command with which TO_LAB ends its subscription to `id`.
#[must_use]
pub fn remove_packet(id: MessageId) -> Vec<u8> {
    let [low, high] = id.0.to_le_bytes();
    built(message::command(output::COMMAND, 0, output::REMOVE_PACKET, &[low, high, 0, 0]))
}

/// The message id in the payload of [`output::ADD_PACKET`] or [`output::REMOVE_PACKET`].
#[must_use]
pub fn stream(payload: &[u8]) -> Option<MessageId> {
    let value = u32::from_le_bytes(*payload.first_chunk()?);
    u16::try_from(value).ok().map(MessageId)
}

/// The limit in the payload of [`output::ADD_PACKET`].
#[must_use]
pub fn limit(payload: &[u8]) -> Option<u8> {
    payload.get(6).copied()
}

/// A command without payload; with code 0 also the message that asks for an application's housekeeping telemetry.
///
/// # Errors
/// If `id` is not a command's, or `code` has more than seven bits.
pub fn bare(id: MessageId, code: u8) -> Result<Vec<u8>, MessageError> {
    message::command(id, 0, code, &[])
}

/// Housekeeping of Command Ingest (nasa/ci_lab 2930b94, `config/default_ci_lab_msgdefs.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngestHousekeeping {
    /// Commands that failed.
    pub command_errors: u8,
    /// Commands that were done.
    pub commands: u8,
    /// Whether the socket is bound.
    pub socket_connected: bool,
    /// Datagrams that became messages.
    pub ingest_packets: u32,
    /// Datagrams that did not.
    pub ingest_errors: u32,
}

impl IngestHousekeeping {
    /// Octets of the payload.
    pub const OCTETS: usize = 24;

    /// The payload: 4 octets, 8 spare ones, three words.
    #[must_use]
    pub fn encode(self) -> Vec<u8> {
        let mut payload = vec![self.command_errors, self.commands, 0, u8::from(self.socket_connected)];
        payload.extend([0; 8]);
        payload.extend(self.ingest_packets.to_le_bytes());
        payload.extend(self.ingest_errors.to_le_bytes());
        payload.resize(Self::OCTETS, 0);
        payload
    }

    /// Reads it; none if the payload is too short.
    #[must_use]
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let &[command_errors, commands, _, connected, ..] = payload.first_chunk::<{ Self::OCTETS }>()?;
        Some(Self {
            command_errors,
            commands,
            socket_connected: connected != 0,
            ingest_packets: word(payload, 12)?,
            ingest_errors: word(payload, 16)?,
        })
    }
}

/// Housekeeping of Telemetry Output. Two octets, and two spare ones in releases up to 7.0 (nasa/to_lab 041f66f,
/// `to_lab_msg.h`), which newer ones leave out (c54bee8); here they are written, and may be missing when read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputHousekeeping {
    /// Commands that were done.
    pub commands: u8,
    /// Commands that failed.
    pub command_errors: u8,
}

impl OutputHousekeeping {
    /// The payload.
    #[must_use]
    pub fn encode(self) -> Vec<u8> {
        vec![self.commands, self.command_errors, 0, 0]
    }

    /// Reads it; none if the payload is too short.
    #[must_use]
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let &[commands, command_errors] = payload.first_chunk()?;
        Some(Self { commands, command_errors })
    }
}

/// Housekeeping of the software bus (nasa/cFE 0e364e0, `modules/sb/config/default_cfe_sb_msgdefs.h`): of its 28 octets
/// those that mean something here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusHousekeeping {
    /// Messages nobody had subscribed to.
    pub no_subscribers: u8,
    /// Messages that were not sent: their ids are not valid.
    pub send_errors: u8,
    /// Subscriptions that were there already.
    pub duplicate_subscriptions: u8,
    /// Messages that a full pipe did not take.
    pub pipe_overflows: u16,
    /// Messages of which a pipe had as many as its subscription allows.
    pub message_limits: u16,
}

impl BusHousekeeping {
    /// Octets of the payload.
    pub const OCTETS: usize = 28;

    /// The payload: twelve octets, two half words, three words on memory, which are zero.
    #[must_use]
    pub fn encode(self) -> Vec<u8> {
        let mut payload = vec![0, 0, self.no_subscribers, self.send_errors];
        payload.extend([0; 5]);
        payload.extend([self.duplicate_subscriptions, 0, 0]);
        payload.extend(self.pipe_overflows.to_le_bytes());
        payload.extend(self.message_limits.to_le_bytes());
        payload.resize(Self::OCTETS, 0);
        payload
    }

    /// Reads it; none if the payload is too short.
    #[must_use]
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let payload = payload.first_chunk::<{ Self::OCTETS }>()?;
        let half = |from: usize| u16::from_le_bytes([payload[from], payload[from + 1]]);
        Some(Self {
            no_subscribers: payload[2],
            send_errors: payload[3],
            duplicate_subscriptions: payload[9],
            pipe_overflows: half(12),
            message_limits: half(14),
        })
    }
}

/// Housekeeping of the Benchmark module: two octets as CI_LAB's, two spare ones, three words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BenchmarkHousekeeping {
    /// Commands that failed.
    pub command_errors: u8,
    /// Commands that were done.
    pub commands: u8,
    /// Payloads taken.
    pub payloads: u32,
    /// Their octets.
    pub payload_octets: u32,
    /// Packets published.
    pub packets: u32,
}

impl BenchmarkHousekeeping {
    /// Octets of the payload.
    pub const OCTETS: usize = 16;

    /// The payload.
    #[must_use]
    pub fn encode(self) -> Vec<u8> {
        let mut payload = vec![self.command_errors, self.commands, 0, 0];
        payload.extend(self.payloads.to_le_bytes());
        payload.extend(self.payload_octets.to_le_bytes());
        payload.extend(self.packets.to_le_bytes());
        payload
    }

    /// Reads it; none if the payload is too short.
    #[must_use]
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let &[command_errors, commands, ..] = payload.first_chunk::<{ Self::OCTETS }>()?;
        Some(Self {
            command_errors,
            commands,
            payloads: word(payload, 4)?,
            payload_octets: word(payload, 8)?,
            packets: word(payload, 12)?,
        })
    }
}

fn word(payload: &[u8], from: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*payload.get(from..)?.first_chunk()?))
}

/// A command of this dictionary: its id and code are constants that fit, its payload is short.
fn built(command: Result<Vec<u8>, MessageError>) -> Vec<u8> {
    command.expect("constants of this file")
}
