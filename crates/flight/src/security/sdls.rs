//! SDLS (CCSDS 355.0-B) by the crate `sdls`: TC frames up, TM frames down, a datagram for each frame. Every direction
//! has a security association and a key of its own.
//!
//! Telecommands are of type BD: without COP-1 nothing is sent again. A message that one TC frame cannot hold is cut into
//! segments; where a frame is missing between two of them, which its number tells, the message is dropped whole. COP-1
//! would have kept segments together, and the library relies on it. Telemetry packets lie in TM frames one behind the other, and an idle packet fills what is left, so that no
//! packet waits for the next.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use sdls::channel::{ChannelId, Gvcid};
use sdls::crypto::{Engine, default_engine};
use sdls::frame::{DataStatus, SequenceFlags, TcFrame, TcParameters, TcService, TmFrame, TmParameters};
use sdls::packet::{Reassembler, packet_octets, segment};
use sdls::security::{ApplyError, KeyError, KeyKind, ProcessError, SaError, SaParameters, Security};
use sdls::stream::{PacketSink, PacketStream};

use super::{LinkSecurity, Output, Refusal};
use crate::message::{LARGEST_OCTETS, Message};

/// Octets of a counter in security headers: twelve of an IV, and as many of a sequence number.
const COUNTER_OCTETS: usize = 12;

/// How far above the last accepted number a frame may be: far enough for any loss. What is not above it is refused.
const WINDOW: u64 = u64::MAX;

/// The security associations, and the keys with the same numbers.
const UP: u16 = 1;
const DOWN: u16 = 2;

/// Octets of a TC frame around its data: header, segment header and FECF.
const TC_OVERHEAD: usize = 5 + 1 + 2;

/// Octets of a TM frame around its data: header and FECF.
const TM_OVERHEAD: usize = 6 + 2;

/// Octets of the longest TM frame whose pointer names every octet of its data field.
const LARGEST_TM: usize = 2048;

/// By what frames are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Authenticated encryption with AES-256-GCM.
    Gcm,
    /// Authentication with AES-256-CMAC; whoever listens can read.
    Cmac,
}

impl Algorithm {
    fn parameters(self, first: u64) -> SaParameters {
        let mut counter = vec![0; COUNTER_OCTETS - 8];
        counter.extend(first.to_be_bytes());
        let window = WINDOW;
        match self {
            Self::Gcm => SaParameters { iv: counter, window, ..SaParameters::aes_gcm(32) },
            Self::Cmac => SaParameters {
                sequence: counter,
                sequence_transmitted: COUNTER_OCTETS,
                window,
                ..SaParameters::aes_cmac(32)
            },
        }
    }
}

/// The keys of both directions, 32 octets each. They must differ: no two senders may share a key.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// From ground to space.
    pub up: [u8; 32],
    /// From space to ground.
    pub down: [u8; 32],
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys { .. }")
    }
}

/// Which end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Sends telecommands, takes telemetry.
    Ground,
    /// Takes telecommands, sends telemetry.
    Space,
}

/// What both ends agree on, but for the first number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SdlsConfig {
    /// By what frames are protected.
    pub algorithm: Algorithm,
    /// The keys.
    pub keys: Keys,
    /// The number of the first frame that this end sends. **It must be above all that were ever sent under the key**:
    /// with GCM, a number that comes twice gives the key away. A receiver takes any number above the last one it took.
    pub first_number: u64,
    /// Spacecraft identifier, ten bits.
    pub spacecraft: u16,
    /// Octets of every TM frame, at most 2,048.
    pub tm_frame_octets: usize,
}

impl SdlsConfig {
    /// With these keys: first number 0, spacecraft 1, TM frames of 1,115 octets (what five interleaved Reed-Solomon
    /// blocks hold).
    #[must_use]
    pub fn new(algorithm: Algorithm, keys: Keys) -> Self {
        Self { algorithm, keys, first_number: 0, spacecraft: 1, tm_frame_octets: 1115 }
    }
}

/// Why an end cannot be as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SdlsError {
    /// Both directions have one key.
    #[error("both directions have the same key; each needs one of its own")]
    SameKey,
    /// TM frames are too short or too long.
    #[error("a TM frame has {smallest} to {LARGEST_TM} octets here, not {octets}")]
    TmFrame {
        /// Octets asked for.
        octets: usize,
        /// The fewest that leave room for data.
        smallest: usize,
    },
    /// More than ten bits.
    #[error("the spacecraft identifier {spacecraft} does not fit ten bits: the greatest is 1,023")]
    Spacecraft {
        /// Identifier asked for.
        spacecraft: u16,
    },
    /// The library refused a key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The library refused an association.
    #[error(transparent)]
    Association(#[from] SaError),
}

/// One end of a link that SDLS protects.
pub struct Sdls {
    end: End,
    name: &'static str,
    spacecraft: u16,
    security: Security,
    tc: TcParameters,
    /// Octets of data in the longest TC frame.
    segment_octets: usize,
    tm: TmParameters,
    /// Octets of a TM frame's data field.
    field_octets: usize,
    reassembler: Reassembler,
    /// The number of the last TC frame taken, and whether it left a message half done.
    last: Option<u128>,
    half_done: bool,
    /// Messages dropped half done.
    dropped: u64,
    stream: PacketStream,
    sink: PacketSink,
    /// Count of the TM frames sent; master and virtual channel are one.
    tm_count: u8,
    outputs: VecDeque<Output>,
}

impl Sdls {
    /// An end that has sent and taken nothing.
    ///
    /// # Errors
    /// If the configuration is impossible.
    pub fn new(end: End, config: &SdlsConfig) -> Result<Self, SdlsError> {
        Self::with_engine(end, config, default_engine())
    }

    /// An end that has sent and taken nothing, whose cryptography another library or unit does.
    ///
    /// # Errors
    /// If the configuration is impossible, or the engine does not have the algorithm.
    pub fn with_engine(end: End, config: &SdlsConfig, engine: Box<dyn Engine>) -> Result<Self, SdlsError> {
        let SdlsConfig { algorithm, keys, first_number, spacecraft, tm_frame_octets } = config;
        if keys.up == keys.down {
            return Err(SdlsError::SameKey);
        }
        if *spacecraft > 0x3FF {
            return Err(SdlsError::Spacecraft { spacecraft: *spacecraft });
        }
        let (sends, takes) = (algorithm.parameters(*first_number), algorithm.parameters(0));
        let around = sends.overhead(0);
        // A data field has room for an idle packet of seven octets.
        let smallest = TM_OVERHEAD + around + 7;
        if !(smallest..=LARGEST_TM).contains(tm_frame_octets) {
            return Err(SdlsError::TmFrame { octets: *tm_frame_octets, smallest });
        }
        let (tc, tm) = (TcParameters::default(), TmParameters { frame: *tm_frame_octets, fecf: true });
        let field_octets = tm.frame - TM_OVERHEAD - around;

        let mut security = Security::new(engine);
        let channel = Gvcid { version: 0, spacecraft: *spacecraft, channel: 0 };
        let kind = sends.key_kind();
        let (up, down) = match end {
            End::Ground => (sends, takes),
            End::Space => (takes, sends),
        };
        for (spi, parameters, key) in [(UP, up, &keys.up), (DOWN, down, &keys.down)] {
            load(&mut security, spi, kind, key, parameters, channel)?;
        }
        Ok(Self {
            end,
            name: match algorithm {
                Algorithm::Gcm => "sdls-gcm",
                Algorithm::Cmac => "sdls-cmac",
            },
            spacecraft: *spacecraft,
            security,
            segment_octets: tc.largest - TC_OVERHEAD - around,
            tc,
            tm,
            field_octets,
            reassembler: Reassembler::new(LARGEST_OCTETS),
            last: None,
            half_done: false,
            dropped: 0,
            stream: PacketStream::new(field_octets),
            sink: PacketSink::new(),
            tm_count: 0,
            outputs: VecDeque::new(),
        })
    }

    fn send_commands(&mut self, message: &[u8]) -> Result<(), ApplyError> {
        let mut frames = Vec::new();
        for (header, data) in segment(message, 0, self.segment_octets) {
            let frame = TcFrame {
                service: TcService::Expedited,
                spacecraft: self.spacecraft,
                channel: 0,
                sequence: 0,
                segment: Some(header),
                data,
            };
            frames.push(Output::Datagram(self.security.apply(UP, &frame, &self.tc)?));
        }
        self.outputs.extend(frames);
        Ok(())
    }

    fn send_telemetry(&mut self, message: &[u8]) -> Result<(), ApplyError> {
        self.stream.push(message);
        let mut left = self.stream.waiting();
        while left > 0 {
            let (first_header, data) = self.stream.next_field();
            left = left.saturating_sub(data.len());
            let frame = TmFrame {
                spacecraft: self.spacecraft,
                channel: 0,
                master_count: self.tm_count,
                channel_count: self.tm_count,
                status: DataStatus::Packets { first_header },
                secondary: None,
                data,
                ocf: None,
            };
            self.tm_count = self.tm_count.wrapping_add(1);
            self.outputs.push_back(Output::Datagram(self.security.apply(DOWN, &frame, &self.tm)?));
        }
        Ok(())
    }

    fn take_commands(&mut self, datagram: &[u8]) -> Result<(), Refusal> {
        let processed =
            self.security.process::<TcFrame>(datagram, &self.tc).map_err(|error| opened(&error))?;
        let follows = self.last.zip(processed.number).is_some_and(|(last, number)| number == last + 1);
        self.last = processed.number;
        let Some(header) = processed.frame.segment else { return Ok(()) };
        let begins = matches!(header.flags, SequenceFlags::First | SequenceFlags::Unsegmented);
        if self.half_done && (begins || !follows) {
            self.dropped += 1;
            self.reassembler = Reassembler::new(LARGEST_OCTETS);
        }
        let taken = self.reassembler.take(header, &processed.frame.data);
        self.half_done = taken == Ok(None);
        let whole = taken.map_err(|error| Refusal { code: "segment", reason: error.to_string() })?;
        self.outputs.extend(whole.map(Output::Message));
        Ok(())
    }

    fn take_telemetry(&mut self, datagram: &[u8]) -> Result<(), Refusal> {
        let frame =
            self.security.process::<TmFrame>(datagram, &self.tm).map_err(|error| opened(&error))?.frame;
        let DataStatus::Packets { first_header } = frame.status else {
            let reason = "a TM frame of this channel carries packets, this one does not".to_owned();
            return Err(Refusal { code: "no-packets", reason });
        };
        let packets = self.sink.take(frame.channel_count.into(), u8::MAX.into(), first_header, &frame.data);
        self.outputs.extend(packets.into_iter().map(Output::Message));
        Ok(())
    }

    /// Octets of data in each TM frame.
    #[must_use]
    pub fn tm_field_octets(&self) -> usize {
        self.field_octets
    }
}

impl LinkSecurity for Sdls {
    fn name(&self) -> &'static str {
        self.name
    }

    fn apply(&mut self, message: &[u8], _now: Duration) -> Result<(), Refusal> {
        if packet_octets(message) != Some(message.len()) {
            let reason = format!("{} octets are not just one space packet", message.len());
            return Err(Refusal { code: "no-packet", reason });
        }
        let sent = match self.end {
            End::Ground => self.send_commands(message),
            End::Space => self.send_telemetry(message),
        };
        sent.map_err(|error| Refusal { code: error.code(), reason: error.to_string() })
    }

    fn process(&mut self, datagram: &[u8], _now: Duration) -> Result<(), Refusal> {
        let taken = match self.end {
            End::Ground => self.take_telemetry(datagram),
            End::Space => self.take_commands(datagram),
        };
        taken.map_err(|refusal| match is_plain(datagram) {
            true => Refusal { reason: format!("{}; {PLAIN}", refusal.reason), ..refusal },
            false => refusal,
        })
    }

    fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn incomplete(&self) -> u64 {
        self.dropped + self.sink.lost_packets()
    }
}

fn load(
    security: &mut Security,
    spi: u16,
    kind: KeyKind,
    key: &[u8; 32],
    parameters: SaParameters,
    channel: Gvcid,
) -> Result<(), SdlsError> {
    security.load_active_key(spi, kind, key)?;
    security.create(spi, parameters)?;
    security.rekey(spi, spi, None)?;
    security.start(spi, &[ChannelId::whole(channel)])?;
    Ok(())
}

/// What is said besides where a datagram was refused that nothing protects.
const PLAIN: &str = "it is a whole message without protection: is it sent without --security?";

/// Whether a datagram is just one message, as an end without protection sends it. No frame of this link looks so: a TC
/// frame has its bypass flag in the version's place, a TM frame in the length's its status, which is above any length here.
fn is_plain(datagram: &[u8]) -> bool {
    Message::parse(datagram).is_ok_and(|message| {
        let id = message.id();
        id.is_valid() && (id.is_command() || id.is_telemetry()) && message.octets() == datagram
    })
}

fn opened(error: &ProcessError) -> Refusal {
    Refusal { code: error.code(), reason: error.to_string() }
}
