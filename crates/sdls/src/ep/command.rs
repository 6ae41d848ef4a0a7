//! What an initiator asks a recipient to do.

use alloc::vec::Vec;

use super::pdu::{Pdu, PduError, Procedure, Reader};
use crate::channel::{ChannelId, Gvcid};
use crate::crypto::{Algorithm, CryptoError, Engine, Shape};

/// Octets of the IV of rekeying and of key verification: both use AES-GCM.
pub(super) const IV_OCTETS: usize = 12;

/// Octets of the MAC of rekeying and of key verification.
pub(super) const MAC_OCTETS: usize = 16;

/// Octets of a challenge.
pub(super) const CHALLENGE_OCTETS: usize = 16;

/// Session keys for over-the-air rekeying, encrypted under a master key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBlock {
    /// Number of the master key.
    pub master: u16,
    /// Initialisation vector.
    pub iv: [u8; IV_OCTETS],
    /// Numbers and keys, encrypted.
    pub sealed: Vec<u8>,
    /// Their message authentication code.
    pub mac: [u8; MAC_OCTETS],
}

impl KeyBlock {
    /// Encrypts keys, all of one length, under a master key. The same IV must never be given twice with one master key.
    ///
    /// # Errors
    /// If the engine has no AES-GCM for a key of the master key's length.
    pub fn seal(
        engine: &dyn Engine,
        master: u16,
        master_key: &[u8],
        iv: [u8; IV_OCTETS],
        keys: &[(u16, &[u8])],
    ) -> Result<Self, CryptoError> {
        let shape = Shape { key: master_key.len(), iv: IV_OCTETS, mac: MAC_OCTETS };
        let prepared = engine.prepare(Algorithm::AesGcm, master_key, shape)?;
        let mut sealed = Vec::new();
        for (id, key) in keys {
            sealed.extend(id.to_be_bytes());
            sealed.extend_from_slice(key);
        }
        let mut mac = [0; MAC_OCTETS];
        prepared.seal(&iv, &[], &mut sealed, &mut mac)?;
        Ok(Self { master, iv, sealed, mac })
    }
}

/// Parameters of an association as a command carries them. Algorithms are numbers that both ends agree on: here those of
/// nasa/CryptoLib for keys of 256 bits, and the next free ones for keys of 128.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaCreate {
    /// Number of the association.
    pub spi: u16,
    /// Whether it encrypts.
    pub encrypts: bool,
    /// Whether it authenticates.
    pub authenticates: bool,
    /// Octets of the IV in the security header.
    pub iv_transmitted: u8,
    /// Octets of the sequence number in the security header.
    pub sequence_transmitted: u8,
    /// Octets of the pad length field.
    pub pad_length_octets: u8,
    /// Octets of the MAC.
    pub mac_octets: u8,
    /// Cipher suite.
    pub cipher: Vec<u8>,
    /// First IV.
    pub iv: Vec<u8>,
    /// Authentication suite.
    pub authentication: Vec<u8>,
    /// Authentication bit mask.
    pub mask: Vec<u8>,
    /// First sequence number.
    pub sequence: Vec<u8>,
    /// Window.
    pub window: Vec<u8>,
}

/// What an initiator asks a recipient to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Take session keys.
    Otar(KeyBlock),
    /// Activate keys.
    ActivateKeys(Vec<u16>),
    /// Deactivate keys.
    DeactivateKeys(Vec<u16>),
    /// Prove that keys are right, by encrypting a challenge with each.
    VerifyKeys(Vec<(u16, [u8; CHALLENGE_OCTETS])>),
    /// Erase keys.
    DestroyKeys(Vec<u16>),
    /// Tell the states of the keys from the first number to the last.
    KeyInventory {
        /// First number.
        first: u16,
        /// Last number.
        last: u16,
    },
    /// Make an association.
    Create(SaCreate),
    /// Give an association a key, and the IV that comes next (empty: as it is).
    Rekey {
        /// Association.
        spi: u16,
        /// Key.
        key: u16,
        /// Next IV.
        iv: Vec<u8>,
    },
    /// Let an association protect channels.
    Start {
        /// Association.
        spi: u16,
        /// Channels; of USLP and TC with an access point, or 0 for the first, which means all where there are none.
        channels: Vec<ChannelId>,
    },
    /// End its protection.
    Stop(u16),
    /// Take its key away.
    Expire(u16),
    /// Remove it.
    Delete(u16),
    /// Set the last accepted number.
    SetSequence {
        /// Association.
        spi: u16,
        /// Last number.
        last: Vec<u8>,
    },
    /// Set the window.
    SetWindow {
        /// Association.
        spi: u16,
        /// Window, big-endian, up to 8 octets.
        window: Vec<u8>,
    },
    /// Tell the last accepted number.
    ReadSequence(u16),
    /// Tell the last procedure that changed an association.
    Status(u16),
    /// Give a sign of life.
    Ping,
    /// Tell how full the log is.
    LogStatus,
    /// Send the log.
    DumpLog,
    /// Empty the log.
    EraseLog,
    /// Run known answers through the algorithms.
    SelfTest,
    /// Reset the alarm.
    ResetAlarm,
}

impl Command {
    /// The procedure.
    #[must_use]
    pub fn procedure(&self) -> Procedure {
        match self {
            Self::Otar(_) => Procedure::Otar,
            Self::ActivateKeys(_) => Procedure::KeyActivation,
            Self::DeactivateKeys(_) => Procedure::KeyDeactivation,
            Self::VerifyKeys(_) => Procedure::KeyVerification,
            Self::DestroyKeys(_) => Procedure::KeyDestruction,
            Self::KeyInventory { .. } => Procedure::KeyInventory,
            Self::Create(_) => Procedure::SaCreate,
            Self::Rekey { .. } => Procedure::SaRekey,
            Self::Start { .. } => Procedure::SaStart,
            Self::Stop(_) => Procedure::SaStop,
            Self::Expire(_) => Procedure::SaExpire,
            Self::Delete(_) => Procedure::SaDelete,
            Self::SetSequence { .. } => Procedure::SetSequence,
            Self::SetWindow { .. } => Procedure::SetWindow,
            Self::ReadSequence(_) => Procedure::ReadSequence,
            Self::Status(_) => Procedure::SaStatus,
            Self::Ping => Procedure::Ping,
            Self::LogStatus => Procedure::LogStatus,
            Self::DumpLog => Procedure::DumpLog,
            Self::EraseLog => Procedure::EraseLog,
            Self::SelfTest => Procedure::SelfTest,
            Self::ResetAlarm => Procedure::ResetAlarm,
        }
    }

    /// The association that the command is about.
    #[must_use]
    pub fn association(&self) -> Option<u16> {
        match self {
            Self::Create(SaCreate { spi, .. })
            | Self::Rekey { spi, .. }
            | Self::Start { spi, .. }
            | Self::SetSequence { spi, .. }
            | Self::SetWindow { spi, .. }
            | Self::Stop(spi)
            | Self::Expire(spi)
            | Self::Delete(spi)
            | Self::ReadSequence(spi)
            | Self::Status(spi) => Some(*spi),
            _ => None,
        }
    }

    /// Writes the command's data unit.
    ///
    /// # Errors
    /// If it is too long.
    pub fn encode(&self) -> Result<Vec<u8>, PduError> {
        Pdu { reply: false, procedure: self.procedure(), value: self.value() }.encode()
    }

    fn value(&self) -> Vec<u8> {
        match self {
            Self::Otar(block) => {
                let mut value = block.master.to_be_bytes().to_vec();
                value.extend(block.iv);
                value.extend_from_slice(&block.sealed);
                value.extend(block.mac);
                value
            }
            Self::ActivateKeys(keys) | Self::DeactivateKeys(keys) | Self::DestroyKeys(keys) => {
                keys.iter().flat_map(|key| key.to_be_bytes()).collect()
            }
            Self::VerifyKeys(keys) => keys
                .iter()
                .flat_map(|(key, challenge)| key.to_be_bytes().into_iter().chain(*challenge))
                .collect(),
            Self::KeyInventory { first, last } => [first.to_be_bytes(), last.to_be_bytes()].concat(),
            Self::Create(create) => create.value(),
            Self::Rekey { spi, key, iv } => [&spi.to_be_bytes()[..], &key.to_be_bytes(), iv].concat(),
            Self::Start { spi, channels } => {
                let mut value = spi.to_be_bytes().to_vec();
                value.extend(channels.iter().flat_map(channel_octets));
                value
            }
            Self::SetSequence { spi, last: tail } | Self::SetWindow { spi, window: tail } => {
                [&spi.to_be_bytes()[..], tail].concat()
            }
            Self::Stop(spi)
            | Self::Expire(spi)
            | Self::Delete(spi)
            | Self::ReadSequence(spi)
            | Self::Status(spi) => spi.to_be_bytes().to_vec(),
            Self::Ping
            | Self::LogStatus
            | Self::DumpLog
            | Self::EraseLog
            | Self::SelfTest
            | Self::ResetAlarm => Vec::new(),
        }
    }

    /// Reads the value of a command's data unit.
    ///
    /// # Errors
    /// If it does not fit the procedure.
    pub fn of(pdu: &Pdu) -> Result<Self, PduError> {
        let mut value = Reader::new(&pdu.value);
        let command = match pdu.procedure {
            Procedure::Otar => {
                let master = value.u16()?;
                let iv = value.chunk()?;
                let rest = value.rest();
                let (sealed, mac) =
                    rest.split_last_chunk::<MAC_OCTETS>().ok_or(value.bad("it ends too early"))?;
                Self::Otar(KeyBlock { master, iv, sealed: sealed.to_vec(), mac: *mac })
            }
            Procedure::KeyActivation => Self::ActivateKeys(keys(&mut value)?),
            Procedure::KeyDeactivation => Self::DeactivateKeys(keys(&mut value)?),
            Procedure::KeyDestruction => Self::DestroyKeys(keys(&mut value)?),
            Procedure::KeyVerification => {
                let mut challenges = Vec::new();
                while !value.is_empty() {
                    challenges.push((value.u16()?, value.chunk()?));
                }
                Self::VerifyKeys(challenges)
            }
            Procedure::KeyInventory => Self::KeyInventory { first: value.u16()?, last: value.u16()? },
            Procedure::SaCreate => Self::Create(SaCreate::of(&mut value)?),
            Procedure::SaRekey => {
                let (spi, key) = (value.u16()?, value.u16()?);
                Self::Rekey { spi, key, iv: value.rest().to_vec() }
            }
            Procedure::SaStart => {
                let spi = value.u16()?;
                let mut channels = Vec::new();
                while !value.is_empty() {
                    channels.push(channel(value.chunk()?));
                }
                Self::Start { spi, channels }
            }
            Procedure::SaStop => Self::Stop(value.u16()?),
            Procedure::SaExpire => Self::Expire(value.u16()?),
            Procedure::SaDelete => Self::Delete(value.u16()?),
            Procedure::SetSequence => Self::SetSequence { spi: value.u16()?, last: value.rest().to_vec() },
            Procedure::SetWindow => Self::SetWindow { spi: value.u16()?, window: value.rest().to_vec() },
            Procedure::ReadSequence => Self::ReadSequence(value.u16()?),
            Procedure::SaStatus => Self::Status(value.u16()?),
            Procedure::Ping => Self::Ping,
            Procedure::LogStatus => Self::LogStatus,
            Procedure::DumpLog => Self::DumpLog,
            Procedure::EraseLog => Self::EraseLog,
            Procedure::SelfTest => Self::SelfTest,
            Procedure::ResetAlarm => Self::ResetAlarm,
        };
        value.end()?;
        Ok(command)
    }
}

fn keys(value: &mut Reader<'_>) -> Result<Vec<u16>, PduError> {
    let mut keys = Vec::new();
    while !value.is_empty() {
        keys.push(value.u16()?);
    }
    Ok(keys)
}

/// Frame version (4 bits), spacecraft (16), virtual channel (6), access point (6).
fn channel_octets(channel: &ChannelId) -> [u8; 4] {
    let Gvcid { version, spacecraft, channel: virtual_channel } = channel.gvcid;
    let word = u32::from(version & 15) << 28
        | u32::from(spacecraft) << 12
        | u32::from(virtual_channel & 0x3F) << 6
        | u32::from(channel.map.unwrap_or(0) & 0x3F);
    word.to_be_bytes()
}

/// The access point 0 stands for all: channels without access points have that number too.
fn channel(octets: [u8; 4]) -> ChannelId {
    let word = u32::from_be_bytes(octets);
    let bits = |shift: u32, mask: u32| word >> shift & mask;
    let map = u8::try_from(bits(0, 0x3F)).unwrap_or(0);
    ChannelId {
        gvcid: Gvcid {
            version: octets[0] >> 4,
            spacecraft: u16::try_from(bits(12, 0xFFFF)).unwrap_or(0),
            channel: u8::try_from(bits(6, 0x3F)).unwrap_or(0),
        },
        map: (map != 0).then_some(map),
    }
}

impl SaCreate {
    fn value(&self) -> Vec<u8> {
        let mut value = self.spi.to_be_bytes().to_vec();
        value.push(
            u8::from(self.encrypts) << 7 | u8::from(self.authenticates) << 6 | self.iv_transmitted & 0x3F,
        );
        value.push(self.sequence_transmitted << 2 | self.pad_length_octets & 3);
        value.push(self.mac_octets);
        let mut counted = |octets: &[u8]| {
            value.push(u8::try_from(octets.len()).unwrap_or(u8::MAX));
            value.extend_from_slice(octets);
        };
        counted(&self.cipher);
        counted(&self.iv);
        counted(&self.authentication);
        value.extend(u16::try_from(self.mask.len()).unwrap_or(u16::MAX).to_be_bytes());
        value.extend_from_slice(&self.mask);
        let mut counted = |octets: &[u8]| {
            value.push(u8::try_from(octets.len()).unwrap_or(u8::MAX));
            value.extend_from_slice(octets);
        };
        counted(&self.sequence);
        counted(&self.window);
        value
    }

    fn of(value: &mut Reader<'_>) -> Result<Self, PduError> {
        let spi = value.u16()?;
        let [services, lengths, mac_octets] = value.chunk()?;
        let counted = |value: &mut Reader<'_>| {
            let octets = value.u8()?;
            value.take(octets.into()).map(<[u8]>::to_vec)
        };
        let (cipher, iv, authentication) = (counted(value)?, counted(value)?, counted(value)?);
        let mask_octets = value.u16()?;
        let mask = value.take(mask_octets.into())?.to_vec();
        Ok(Self {
            spi,
            encrypts: services >> 7 != 0,
            authenticates: services >> 6 & 1 != 0,
            iv_transmitted: services & 0x3F,
            sequence_transmitted: lengths >> 2,
            pad_length_octets: lengths & 3,
            mac_octets,
            cipher,
            iv,
            authentication,
            mask,
            sequence: counted(value)?,
            window: counted(value)?,
        })
    }
}
