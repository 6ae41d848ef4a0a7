//! What a recipient answers.

use alloc::vec::Vec;

use super::command::{CHALLENGE_OCTETS, IV_OCTETS, MAC_OCTETS};
use super::pdu::{LengthUnit, Pdu, PduError, Procedure, Reader};
use crate::crypto::{Algorithm, CryptoError, Engine, Shape};
use crate::security::LogEntry;

/// A recipient's proof that it has a key: the challenge, encrypted with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyProof {
    /// Number of the key.
    pub key: u16,
    /// Initialisation vector, of the recipient's choice.
    pub iv: [u8; IV_OCTETS],
    /// The challenge, encrypted.
    pub sealed: [u8; CHALLENGE_OCTETS],
    /// Its message authentication code.
    pub mac: [u8; MAC_OCTETS],
}

impl KeyProof {
    /// Whether the proof is that of `key` for `challenge`.
    ///
    /// # Errors
    /// If the engine has no AES-GCM for a key of that length.
    pub fn holds(
        &self,
        engine: &dyn Engine,
        key: &[u8],
        challenge: [u8; CHALLENGE_OCTETS],
    ) -> Result<bool, CryptoError> {
        let shape = Shape { key: key.len(), iv: IV_OCTETS, mac: MAC_OCTETS };
        let prepared = engine.prepare(Algorithm::AesGcm, key, shape)?;
        let mut text = self.sealed;
        Ok(prepared.open(&self.iv, &[], &mut text, &self.mac).is_ok() && text == challenge)
    }
}

/// What a recipient answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Proofs of keys.
    KeyProofs(Vec<KeyProof>),
    /// Keys with the numbers of their states: 1 pre-active, 2 active, 3 deactivated, 4 destroyed.
    KeyInventory(Vec<(u16, u8)>),
    /// Last accepted number of an association.
    Sequence {
        /// Association.
        spi: u16,
        /// Last number.
        last: Vec<u8>,
    },
    /// The tag of the procedure that changed an association last, 0 if none did.
    Status {
        /// Association.
        spi: u16,
        /// Tag.
        tag: u8,
    },
    /// A sign of life.
    Ping,
    /// How full the log is.
    LogStatus {
        /// Entries in it.
        entries: u16,
        /// Entries that still fit.
        room: u16,
    },
    /// How full the log is after it was emptied.
    LogErased {
        /// Entries in it.
        entries: u16,
        /// Entries that still fit.
        room: u16,
    },
    /// The log.
    Log(Vec<LogEntry>),
    /// Whether every known answer came out: 0 for yes.
    SelfTest(u8),
}

impl Reply {
    fn procedure(&self) -> Procedure {
        match self {
            Self::KeyProofs(_) => Procedure::KeyVerification,
            Self::KeyInventory(_) => Procedure::KeyInventory,
            Self::Sequence { .. } => Procedure::ReadSequence,
            Self::Status { .. } => Procedure::SaStatus,
            Self::Ping => Procedure::Ping,
            Self::LogStatus { .. } => Procedure::LogStatus,
            Self::LogErased { .. } => Procedure::EraseLog,
            Self::Log(_) => Procedure::DumpLog,
            Self::SelfTest(_) => Procedure::SelfTest,
        }
    }

    /// Writes the reply's data unit.
    ///
    /// # Errors
    /// If it is too long.
    pub fn encode(&self) -> Result<Vec<u8>, PduError> {
        let value = match self {
            Self::KeyProofs(proofs) => proofs
                .iter()
                .flat_map(|proof| {
                    [&proof.key.to_be_bytes()[..], &proof.iv, &proof.sealed, &proof.mac].concat()
                })
                .collect(),
            Self::KeyInventory(keys) => {
                let mut value = u16::try_from(keys.len()).unwrap_or(u16::MAX).to_be_bytes().to_vec();
                for (key, state) in keys {
                    value.extend(key.to_be_bytes());
                    value.push(*state);
                }
                value
            }
            Self::Sequence { spi, last } => [&spi.to_be_bytes()[..], last].concat(),
            Self::Status { spi, tag } => [&spi.to_be_bytes()[..], &[*tag]].concat(),
            Self::Ping => Vec::new(),
            Self::LogStatus { entries, room } | Self::LogErased { entries, room } => {
                [entries.to_be_bytes(), room.to_be_bytes()].concat()
            }
            Self::Log(entries) => entries.iter().flat_map(entry_octets).collect(),
            Self::SelfTest(result) => alloc::vec![*result],
        };
        Pdu { reply: true, procedure: self.procedure(), value }.encode()
    }

    /// Reads a reply.
    ///
    /// # Errors
    /// If the octets are no data unit, or none of a reply.
    pub fn decode(octets: &[u8], unit: LengthUnit) -> Result<Self, PduError> {
        let pdu = Pdu::decode(octets, unit)?;
        let mut value = Reader::new(&pdu.value);
        if !pdu.reply {
            return Err(PduError::Tag { tag: pdu.procedure.number() });
        }
        let reply = match pdu.procedure {
            Procedure::KeyVerification => {
                let mut proofs = Vec::new();
                while !value.is_empty() {
                    let key = value.u16()?;
                    proofs.push(KeyProof {
                        key,
                        iv: value.chunk()?,
                        sealed: value.chunk()?,
                        mac: value.chunk()?,
                    });
                }
                Self::KeyProofs(proofs)
            }
            Procedure::KeyInventory => {
                let count = value.u16()?;
                let mut keys = Vec::new();
                for _ in 0..count {
                    keys.push((value.u16()?, value.u8()?));
                }
                Self::KeyInventory(keys)
            }
            Procedure::ReadSequence => {
                let spi = value.u16()?;
                Self::Sequence { spi, last: value.rest().to_vec() }
            }
            Procedure::SaStatus => Self::Status { spi: value.u16()?, tag: value.u8()? },
            Procedure::Ping => Self::Ping,
            Procedure::LogStatus => Self::LogStatus { entries: value.u16()?, room: value.u16()? },
            Procedure::EraseLog => Self::LogErased { entries: value.u16()?, room: value.u16()? },
            Procedure::DumpLog => {
                let mut entries = Vec::new();
                while !value.is_empty() {
                    let [tag, _, _, high, low] = value.chunk()?;
                    entries.push(LogEntry { tag, spi: u16::from_be_bytes([high, low]) });
                }
                Self::Log(entries)
            }
            Procedure::SelfTest => Self::SelfTest(value.u8()?),
            procedure => return Err(PduError::Tag { tag: 0x80 | procedure.number() }),
        };
        value.end()?;
        Ok(reply)
    }
}

/// A tag, the length of what follows (2, in two octets), and the association.
fn entry_octets(entry: &LogEntry) -> [u8; 5] {
    let [high, low] = entry.spi.to_be_bytes();
    [entry.tag, 0, 2, high, low]
}
