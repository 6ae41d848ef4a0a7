//! Frames of one end: messages to protected TC frames and back, reports (CLCW) in protected TM frames.

use std::collections::BTreeMap;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sdls::channel::{ChannelId, Gvcid};
use sdls::frame::{
    DataStatus, SegmentHeader, SequenceFlags, TcFrame, TcParameters, TcService, TmFrame, TmParameters,
};
use sdls::ocf::{Clcw, Ocf};
use sdls::packet::spacepackets::{PacketId, PacketSequenceControl, SpHeader};
use sdls::packet::{HEADER_OCTETS, Reassembler, parse, segment};
use sdls::security::{KeyKind, Processed, SaParameters, Security};
use sdls::stream::ONLY_IDLE;
use serde::Deserialize;

use crate::error::Failure;

/// The virtual channel of telecommands.
pub(super) const CHANNEL: u8 = 0;

const SPACECRAFT: u16 = 1;

/// The first half of a space packet's header but for its version: a telecommand without secondary header for application
/// 1; and the flags of a packet that is whole, beside a count of 14 bits (CCSDS 133.0-B).
const TELECOMMAND: u16 = 1 << 12 | 1;
const UNSEGMENTED: u16 = 0b11 << 14;
const LARGEST_COUNT: u16 = (1 << 14) - 1;

/// The security associations, and the keys with the same numbers.
const UP: u16 = 1;
const DOWN: u16 = 2;

/// Tells the keys apart from everything else that follows from a flow's seed.
const KEY_SALT: u64 = 0x5D15;

/// Octets of a TC frame around its data: header, segment header and error control.
const TC_OVERHEAD: usize = 5 + 1 + 2;

/// Octets of a TM frame around its data: header, report and error control.
const TM_OVERHEAD: usize = 6 + 4 + 2;

/// Data of a TM frame that carries nothing but a report: as many idle octets as the shortest packet has.
const IDLE_OCTETS: usize = 7;

/// Octets of a counter in security headers.
const COUNTER_OCTETS: usize = 12;

/// How far above the last accepted number a frame may be: far enough for any loss. What is not above it is refused.
const WINDOW: u64 = u64::MAX;

/// The longest message: what a space packet holds (CCSDS 133.0-B, a length field of 16 bits).
pub(super) const LONGEST_MESSAGE: u32 = 1 << 16;

/// By what frames are protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) enum Cipher {
    /// Authenticated encryption.
    #[default]
    #[serde(rename = "aes-256-gcm")]
    Aes256Gcm,
    /// The same with the shorter key of the standard's baseline.
    #[serde(rename = "aes-128-gcm")]
    Aes128Gcm,
    /// Authentication only.
    #[serde(rename = "aes-256-cmac")]
    Aes256Cmac,
}

impl Cipher {
    fn key_octets(self) -> usize {
        if self == Self::Aes128Gcm { 16 } else { 32 }
    }

    fn parameters(self) -> SaParameters {
        let window = WINDOW;
        match self {
            Self::Aes256Gcm | Self::Aes128Gcm => {
                SaParameters { window, ..SaParameters::aes_gcm(self.key_octets()) }
            }
            Self::Aes256Cmac => SaParameters {
                sequence: vec![0; COUNTER_OCTETS],
                sequence_transmitted: COUNTER_OCTETS,
                window,
                ..SaParameters::aes_cmac(self.key_octets())
            },
        }
    }
}

/// Which end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Sends telecommands, takes reports.
    Ground,
    /// Takes telecommands, sends reports.
    Space,
}

/// A part of a message on its way into a frame.
pub(super) type Segment = (SegmentHeader, Vec<u8>);

/// The names under which an end counts what it did.
pub(super) mod counts {
    pub(crate) const SENT: &str = "frames_sent";
    pub(crate) const AGAIN: &str = "frames_sent_again";
    pub(crate) const RECEIVED: &str = "frames_received";
    pub(crate) const LOST: &str = "frames_missing";
    pub(crate) const REPORTS: &str = "reports_sent";
    pub(crate) const REPORTS_TAKEN: &str = "reports_received";
    pub(crate) const INCOMPLETE: &str = "messages_incomplete";
    /// In front of the reason of a refusal.
    pub(crate) const REFUSED: &str = "refused_";
}

/// One end's frames.
pub(super) struct Frames {
    security: Security,
    tc: TcParameters,
    tm: TmParameters,
    segment_octets: usize,
    packets: u16,
    reports: u8,
    /// The number of the last TC frame taken.
    last: Option<u128>,
    /// Whether numbers are missing in front of it.
    gap: bool,
    half_done: bool,
    reassembler: Reassembler,
    counts: BTreeMap<String, u64>,
}

impl Frames {
    /// An end whose keys follow from `seed`, for messages of `message_bytes`.
    pub(super) fn new(
        seed: u64,
        end: End,
        cipher: Cipher,
        frame_octets: usize,
        message_bytes: u32,
    ) -> Result<Self, Failure> {
        if message_bytes > LONGEST_MESSAGE {
            return Err(Failure::new(format!(
                "a message of {message_bytes} bytes does not fit a space packet, which holds {LONGEST_MESSAGE}; \
                 choose a smaller message"
            )));
        }
        let parameters = cipher.parameters();
        let around = parameters.overhead(0);
        let mut security = Security::default();
        let gvcid = Gvcid { version: 0, spacecraft: SPACECRAFT, channel: CHANNEL };
        let mut draw = Xoshiro256PlusPlus::seed_from_u64(seed.rotate_left(8) ^ KEY_SALT);
        for spi in [UP, DOWN] {
            let mut key = [0; 32];
            draw.fill_bytes(&mut key);
            let key = &key[..cipher.key_octets()];
            start(&mut security, spi, parameters.key_kind(), key, &parameters, gvcid)
                .map_err(|error| Failure::new(format!("link security could not be set up: {error}")))?;
        }
        let counted = match end {
            End::Ground => [counts::SENT, counts::REPORTS_TAKEN],
            End::Space => [counts::RECEIVED, counts::LOST],
        };
        Ok(Self {
            security,
            tc: TcParameters { largest: frame_octets, ..TcParameters::default() },
            tm: TmParameters { frame: TM_OVERHEAD + around + IDLE_OCTETS, fecf: true },
            segment_octets: frame_octets - TC_OVERHEAD - around,
            packets: 0,
            reports: 0,
            last: None,
            gap: false,
            half_done: false,
            reassembler: reassembler(),
            counts: counted.into_iter().map(|name| (name.to_owned(), 0)).collect(),
        })
    }

    /// What was done and refused, by name.
    pub(super) fn counts(&self) -> BTreeMap<String, u64> {
        self.counts.clone()
    }

    pub(super) fn count(&mut self, name: &str) {
        self.count_many(name, 1);
    }

    fn count_many(&mut self, name: &str, many: u64) {
        *self.counts.entry(name.to_owned()).or_default() += many;
    }

    /// A message as a space packet, in the segments that its frames hold.
    pub(super) fn segments(&mut self, message: &[u8]) -> Result<Vec<Segment>, Failure> {
        let length = message.len().checked_sub(1).and_then(|length| u16::try_from(length).ok());
        let length = length.ok_or_else(|| {
            Failure::new(format!(
                "a space packet holds 1 to {LONGEST_MESSAGE} bytes, and not a message of {}",
                message.len()
            ))
        })?;
        let control = PacketSequenceControl::from(UNSEGMENTED | self.packets);
        self.packets = (self.packets + 1) & LARGEST_COUNT;
        let mut packet = SpHeader::new(PacketId::from(TELECOMMAND), control, length).to_vec();
        packet.extend_from_slice(message);
        Ok(segment(&packet, 0, self.segment_octets))
    }

    /// A protected TC frame with a segment.
    pub(super) fn command(
        &mut self,
        service: TcService,
        number: u8,
        (header, data): Segment,
    ) -> Result<Vec<u8>, Failure> {
        let frame = TcFrame {
            service,
            spacecraft: SPACECRAFT,
            channel: CHANNEL,
            sequence: number,
            segment: Some(header),
            data,
        };
        self.count(counts::SENT);
        self.security
            .apply(UP, &frame, &self.tc)
            .map_err(|error| Failure::new(format!("a frame could not be protected: {error}")))
    }

    /// Opens a TC frame; `None` for what is refused, which is counted.
    pub(super) fn open_command(&mut self, octets: &[u8]) -> Option<Processed<TcFrame>> {
        match self.security.process::<TcFrame>(octets, &self.tc) {
            Ok(processed) => {
                self.count(counts::RECEIVED);
                let number = processed.number.unwrap_or(0);
                let due = self.last.map_or(0, |last| last + 1);
                self.count_many(counts::LOST, u64::try_from(number.saturating_sub(due)).unwrap_or(u64::MAX));
                self.last = Some(number);
                self.gap = number != due;
                Some(processed)
            }
            Err(error) => {
                self.count(&format!("{}{}", counts::REFUSED, error.code()));
                None
            }
        }
    }

    fn drop_half(&mut self) {
        self.count(counts::INCOMPLETE);
        self.half_done = false;
        self.reassembler = reassembler();
    }

    /// Takes the segment of a frame where nothing is sent again: what was half done before a gap stays so for ever.
    pub(super) fn take_once(&mut self, frame: &TcFrame) -> Option<Vec<u8>> {
        if self.gap && self.half_done {
            self.drop_half();
        }
        self.take(frame)
    }

    /// Takes the segment of a frame that was accepted; a message comes out with its last one.
    pub(super) fn take(&mut self, frame: &TcFrame) -> Option<Vec<u8>> {
        let header = frame.segment?;
        let begins = matches!(header.flags, SequenceFlags::First | SequenceFlags::Unsegmented);
        if self.half_done && begins {
            self.drop_half();
        }
        let taken = self.reassembler.take(header, &frame.data);
        self.half_done = taken == Ok(None);
        match taken {
            Ok(None) => None,
            Ok(Some(packet)) => match parse(&packet) {
                Some((_, message)) => Some(message.to_vec()),
                None => {
                    self.count(&format!("{}no-packet", counts::REFUSED));
                    None
                }
            },
            Err(_) => {
                self.count(&format!("{}segment", counts::REFUSED));
                None
            }
        }
    }

    /// A protected TM frame with a report and nothing else.
    pub(super) fn report(&mut self, clcw: &Clcw) -> Result<Vec<u8>, Failure> {
        let frame = TmFrame {
            spacecraft: SPACECRAFT,
            channel: CHANNEL,
            master_count: self.reports,
            channel_count: self.reports,
            status: DataStatus::Packets { first_header: ONLY_IDLE },
            secondary: None,
            data: vec![0; IDLE_OCTETS],
            ocf: Some(clcw.encode()),
        };
        self.reports = self.reports.wrapping_add(1);
        self.count(counts::REPORTS);
        self.security
            .apply(DOWN, &frame, &self.tm)
            .map_err(|error| Failure::new(format!("a report could not be protected: {error}")))
    }

    /// Opens a TM frame; `None` for what is refused, which is counted, and for one without a report. Reports that come
    /// late are refused too: their numbers are not above the last one.
    pub(super) fn open_report(&mut self, octets: &[u8]) -> Option<Clcw> {
        match self.security.process::<TmFrame>(octets, &self.tm) {
            Ok(processed) => match processed.frame.ocf.map(Ocf::decode) {
                Some(Ok(Ocf::Clcw(clcw))) => {
                    self.count(counts::REPORTS_TAKEN);
                    Some(clcw)
                }
                _ => None,
            },
            Err(error) => {
                self.count(&format!("{}{}", counts::REFUSED, error.code()));
                None
            }
        }
    }
}

fn reassembler() -> Reassembler {
    Reassembler::new(HEADER_OCTETS + LONGEST_MESSAGE as usize)
}

fn start(
    security: &mut Security,
    spi: u16,
    kind: KeyKind,
    key: &[u8],
    parameters: &SaParameters,
    gvcid: Gvcid,
) -> Result<(), Box<dyn std::error::Error>> {
    security.load_active_key(spi, kind, key)?;
    security.create(spi, parameters.clone())?;
    security.rekey(spi, spi, None)?;
    security.start(spi, &[ChannelId::whole(gvcid)])?;
    Ok(())
}
