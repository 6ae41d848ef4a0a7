//! Names of channels: a spacecraft's virtual channels and the multiplexer access points in them.

use core::fmt;

/// A virtual channel of a spacecraft: global virtual channel identifier (GVCID).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvcid {
    /// Transfer frame version number as it stands in the first bits: 0 (TC, TM), 1 (AOS), 12 (USLP).
    pub version: u8,
    /// Spacecraft identifier.
    pub spacecraft: u16,
    /// Virtual channel identifier.
    pub channel: u8,
}

impl fmt::Display for Gvcid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "virtual channel {} of spacecraft {} (frame version {})",
            self.channel, self.spacecraft, self.version
        )
    }
}

/// What a security association serves: a whole virtual channel, or one multiplexer access point (MAP) of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId {
    /// The virtual channel.
    pub gvcid: Gvcid,
    /// The access point, or none for all of them.
    pub map: Option<u8>,
}

impl ChannelId {
    /// All of a virtual channel.
    #[must_use]
    pub fn whole(gvcid: Gvcid) -> Self {
        Self { gvcid, map: None }
    }

    /// Whether a frame of `gvcid` and `map` belongs to this channel.
    #[must_use]
    pub fn covers(&self, gvcid: Gvcid, map: Option<u8>) -> bool {
        self.gvcid == gvcid && (self.map.is_none() || self.map == map)
    }
}
