//! `voip`: one direction of a telephone call with a codec of constant rate: a packet at a fixed interval.
//!
//! With a `codec` its packets are those of RTP. Without one they are the speech of G.711 alone, with Gauntlet's own numbers,
//! as in Nguyen's study of ResTP (2021, section 4.5), whose packets have no RTP header either.

use serde::Deserialize;
use serde_json::{Map, Value};
use transports::{SpecError, nanoseconds, parse_params};

use super::checks::SHORTEST_S;
use super::paced::{Amount, Paced};
use super::rtp::{HEADER_BYTES, MOST_PACKETS, Media, OverRtp, Packet, Source};
use crate::application::Application;

/// G.711 at 64 kbit/s in packets of 20 ms (ITU-T G.711; RFC 3551 section 4.2 for the packets).
const G711_PACKET_BYTES: u32 = 160;
const G711_INTERVAL_S: f64 = 0.02;

/// Every codec here makes a packet of as much speech.
const PACKET_NS: i64 = 20_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    duration_s: f64,
    codec: Option<Codec>,
    message_size_bytes: Option<u32>,
    interval_s: Option<f64>,
}

/// What makes packets of speech.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Codec {
    /// mu-law at 64 kbit/s.
    G711,
    /// At a constant 24 kbit/s, amid what RFC 6716 (section 2.1.1) names for speech in wideband and fullband.
    Opus,
}

impl Codec {
    /// Of each packet.
    fn payload_bytes(self) -> u32 {
        match self {
            Self::G711 => G711_PACKET_BYTES,
            Self::Opus => 60,
        }
    }

    /// PCMU has the number 0 (RFC 3551, table 4), Opus one of those whose meaning is not fixed (RFC 7587, section 7).
    fn payload_type(self) -> u8 {
        match self {
            Self::G711 => 0,
            Self::Opus => 97,
        }
    }

    /// Ticks a packet: at 8 kHz, and at Opus's 48 kHz whatever it was given (RFC 7587, section 4.1).
    fn ticks(self) -> u32 {
        match self {
            Self::G711 => 160,
            Self::Opus => 960,
        }
    }
}

struct Call {
    codec: Codec,
    duration_ns: i64,
}

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn Application>, SpecError> {
    let Params { duration_s, codec, message_size_bytes, interval_s } =
        parse_params("app_params", "voip", params)?;
    let duration_ns = nanoseconds("duration_s", duration_s, SHORTEST_S)?;
    let Some(codec) = codec else {
        let message_bytes = message_size_bytes.unwrap_or(G711_PACKET_BYTES);
        let interval_ns = nanoseconds("interval_s", interval_s.unwrap_or(G711_INTERVAL_S), SHORTEST_S)?;
        return Ok(Box::new(Paced {
            name: "voip",
            message_bytes,
            rate_bps: Some(f64::from(message_bytes) * 8e9 / interval_ns as f64),
            rate_key: "interval_s",
            amount: Amount::For { duration_ns, on_off: None },
        }));
    };
    let wrong = |what: String| Err(SpecError::new(format!("`app_params` of `voip`: {what}")));
    if message_size_bytes.is_some() || interval_s.is_some() {
        return wrong(
            "the `codec` says how long packets are and how often; leave `message_size_bytes` and `interval_s` out"
                .to_owned(),
        );
    }
    let call = Call { codec, duration_ns };
    if call.packets() > MOST_PACKETS {
        return wrong(format!("`duration_s` makes {} packets; there may be {MOST_PACKETS}", call.packets()));
    }
    Ok(Box::new(OverRtp { source: call }))
}

impl Call {
    fn packets(&self) -> u64 {
        (self.duration_ns as u64).div_ceil(PACKET_NS as u64)
    }
}

impl Source for Call {
    fn duration_ns(&self) -> i64 {
        self.duration_ns
    }

    fn longest_packet_bytes(&self) -> u32 {
        self.codec.payload_bytes() + HEADER_BYTES
    }

    /// Speech without pauses: nothing is left to chance.
    fn media(&self, _seed: u64) -> Media {
        let packet = |number: u64| Packet {
            ready_ns: number as i64 * PACKET_NS,
            payload_bytes: self.codec.payload_bytes(),
            // The 32 bits of a timestamp begin anew after a day with Opus.
            timestamp: (number * u64::from(self.codec.ticks())) as u32,
            marker: number == 0,
        };
        let packets = (0..self.packets()).map(packet).collect();
        Media { payload_type: self.codec.payload_type(), packets, frames: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_carry_twenty_milliseconds_each() {
        for (codec, bytes, ticks) in [(Codec::G711, 172, 160), (Codec::Opus, 72, 960)] {
            let call = Call { codec, duration_ns: 1_000_000_000 };
            let media = call.media(1);
            assert_eq!((call.longest_packet_bytes(), media.packets.len()), (bytes, 50));
            let Packet { ready_ns, timestamp, marker, .. } = media.packets[49];
            assert_eq!((ready_ns, timestamp, marker), (980_000_000, 49 * ticks, false));
            assert!(media.packets[0].marker, "a talk spurt begins");
        }
    }
}
