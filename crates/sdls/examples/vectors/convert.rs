//! Between the format's frames and those of the library.

use sdls::channel::{ChannelId, Gvcid};
use sdls::crypto::Algorithm;
use sdls::frame::{
    AosFrame, AosParameters, DataStatus, SegmentHeader, SequenceFlags, SourceOrDestination, TcFrame,
    TcParameters, TcService, TmFrame, TmParameters, TransferFrame, UslpFrame, UslpHeader, UslpLength,
    UslpParameters,
};
use sdls::security::{AuthMask, KeyKind, SaParameters, Service};

use super::format::{Aos, Association, Channel, Frame, Link, Tc, Tm, Uslp};

pub fn octets(hex: &str) -> Vec<u8> {
    assert!(hex.is_ascii() && hex.len().is_multiple_of(2), "{hex} is not hexadecimal");
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits"))
        .collect()
}

pub fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn word(hex: &str) -> [u8; 4] {
    octets(hex).try_into().expect("an OCF has four octets")
}

/// A kind of frame of the library with its counterpart in the format.
pub trait Convert: TransferFrame {
    fn parameters(link: &Link) -> Option<Self::Parameters>;
    fn of(frame: &Frame) -> Option<Self>;
    fn shown(&self) -> Frame;
}

const FLAGS: [SequenceFlags; 4] =
    [SequenceFlags::Continuing, SequenceFlags::First, SequenceFlags::Last, SequenceFlags::Unsegmented];
const SERVICES: [(&str, TcService); 3] =
    [("ad", TcService::SequenceControlled), ("bd", TcService::Expedited), ("bc", TcService::Control)];

impl Convert for TcFrame {
    fn parameters(link: &Link) -> Option<TcParameters> {
        let Link::Tc { segment_header, fecf, largest } = *link else { return None };
        Some(TcParameters { segment_header, fecf, largest })
    }

    fn of(frame: &Frame) -> Option<Self> {
        let Frame::Tc(tc) = frame else { return None };
        Some(Self {
            service: SERVICES.iter().find(|(name, _)| *name == tc.service).expect("ad, bd or bc").1,
            spacecraft: tc.spacecraft,
            channel: tc.channel,
            sequence: tc.sequence,
            segment: tc.segment.map(|(flags, map)| SegmentHeader { flags: FLAGS[usize::from(flags)], map }),
            data: octets(&tc.data),
        })
    }

    fn shown(&self) -> Frame {
        let flags =
            |flags| FLAGS.iter().position(|known| *known == flags).and_then(|at| u8::try_from(at).ok());
        Frame::Tc(Tc {
            service: SERVICES.iter().find(|(_, known)| *known == self.service).expect("a name").0.into(),
            spacecraft: self.spacecraft,
            channel: self.channel,
            sequence: self.sequence,
            segment: self.segment.map(|segment| (flags(segment.flags).expect("flags"), segment.map)),
            data: hex(&self.data),
        })
    }
}

impl Convert for TmFrame {
    fn parameters(link: &Link) -> Option<TmParameters> {
        let Link::Tm { frame, fecf } = *link else { return None };
        Some(TmParameters { frame, fecf })
    }

    fn of(frame: &Frame) -> Option<Self> {
        let Frame::Tm(tm) = frame else { return None };
        let status = if tm.status >> 14 & 1 == 0 {
            DataStatus::Packets { first_header: tm.status & 0x7FF }
        } else {
            DataStatus::Access { bits: tm.status & 0x3FFF }
        };
        Some(Self {
            spacecraft: tm.spacecraft,
            channel: tm.channel,
            master_count: tm.master_count,
            channel_count: tm.channel_count,
            status,
            secondary: tm.secondary.as_deref().map(octets),
            data: octets(&tm.data),
            ocf: tm.ocf.as_deref().map(word),
        })
    }

    fn shown(&self) -> Frame {
        Frame::Tm(Tm {
            spacecraft: self.spacecraft,
            channel: self.channel,
            master_count: self.master_count,
            channel_count: self.channel_count,
            status: match self.status {
                DataStatus::Packets { first_header } => 0x1800 | first_header,
                DataStatus::Access { bits } => 0x4000 | bits,
            },
            secondary: self.secondary.as_deref().map(hex),
            data: hex(&self.data),
            ocf: self.ocf.map(|ocf| hex(&ocf)),
        })
    }
}

impl Convert for AosFrame {
    fn parameters(link: &Link) -> Option<AosParameters> {
        let Link::Aos { frame, fhec, insert_zone, ocf, fecf } = *link else { return None };
        Some(AosParameters { frame, fhec, insert_zone, ocf, fecf })
    }

    fn of(frame: &Frame) -> Option<Self> {
        let Frame::Aos(aos) = frame else { return None };
        Some(Self {
            spacecraft: aos.spacecraft,
            channel: aos.channel,
            count: aos.count,
            replay: aos.replay,
            cycle: aos.cycle,
            insert: octets(&aos.insert),
            data: octets(&aos.data),
            ocf: aos.ocf.as_deref().map(word),
        })
    }

    fn shown(&self) -> Frame {
        Frame::Aos(Aos {
            spacecraft: self.spacecraft,
            channel: self.channel,
            count: self.count,
            replay: self.replay,
            cycle: self.cycle,
            insert: hex(&self.insert),
            data: hex(&self.data),
            ocf: self.ocf.map(|ocf| hex(&ocf)),
        })
    }
}

impl Convert for UslpFrame {
    fn parameters(link: &Link) -> Option<UslpParameters> {
        let Link::Uslp { fixed, largest, insert_zone, fecf, truncated } = *link else { return None };
        let length = fixed.map_or(UslpLength::UpTo(largest.unwrap_or(65_536)), UslpLength::Fixed);
        Some(UslpParameters { length, insert_zone, fecf, truncated })
    }

    fn of(frame: &Frame) -> Option<Self> {
        let Frame::Uslp(uslp) = frame else { return None };
        let header = if uslp.truncated {
            UslpHeader::Truncated
        } else {
            UslpHeader::Full {
                expedited: uslp.expedited,
                control: uslp.control,
                count_octets: uslp.count_octets,
                count: uslp.count,
            }
        };
        Some(Self {
            spacecraft: uslp.spacecraft,
            identifies: if uslp.destination {
                SourceOrDestination::Destination
            } else {
                SourceOrDestination::Source
            },
            channel: uslp.channel,
            map: uslp.map,
            header,
            insert: octets(&uslp.insert),
            data: octets(&uslp.data),
            ocf: uslp.ocf.as_deref().map(word),
        })
    }

    fn shown(&self) -> Frame {
        let (truncated, expedited, control, count_octets, count) = match self.header {
            UslpHeader::Truncated => (true, false, false, 0, 0),
            UslpHeader::Full { expedited, control, count_octets, count } => {
                (false, expedited, control, count_octets, count)
            }
        };
        Frame::Uslp(Uslp {
            spacecraft: self.spacecraft,
            destination: self.identifies == SourceOrDestination::Destination,
            channel: self.channel,
            map: self.map,
            truncated,
            expedited,
            control,
            count_octets,
            count,
            insert: hex(&self.insert),
            data: hex(&self.data),
            ocf: self.ocf.map(|ocf| hex(&ocf)),
        })
    }
}

pub fn channel(channel: &Channel) -> ChannelId {
    let Channel { version, spacecraft, channel, map } = *channel;
    ChannelId { gvcid: Gvcid { version, spacecraft, channel }, map }
}

pub fn key_kind(name: &str) -> KeyKind {
    match name {
        "master" => KeyKind::Master,
        "cipher" => KeyKind::Cipher,
        "mac" => KeyKind::Mac,
        "session" => KeyKind::Session,
        _ => panic!("no kind of key is called {name}"),
    }
}

pub fn parameters(association: &Association) -> SaParameters {
    SaParameters {
        service: match association.service.as_str() {
            "authentication" => Service::Authentication,
            "encryption" => Service::Encryption,
            "authenticated-encryption" => Service::AuthenticatedEncryption,
            name => panic!("no service is called {name}"),
        },
        algorithm: match association.algorithm.as_str() {
            "aes-gcm" => Algorithm::AesGcm,
            "aes-ccm" => Algorithm::AesCcm,
            "aes-cmac" => Algorithm::AesCmac,
            "hmac-sha-256" => Algorithm::HmacSha256,
            name => panic!("no algorithm is called {name}"),
        },
        key_octets: association.key_octets,
        mac_octets: association.mac_octets,
        iv: octets(&association.iv),
        iv_transmitted: association.iv_transmitted,
        sequence: octets(&association.sequence),
        sequence_transmitted: association.sequence_transmitted,
        padding_block: association.padding_block,
        pad_length_octets: association.pad_length_octets,
        mask: match association.mask.as_str() {
            "standard" => AuthMask::Standard,
            "all" => AuthMask::All,
            mask => AuthMask::Octets(octets(mask)),
        },
        window: association.window,
        reserved_spi: association.reserved_spi,
    }
}
