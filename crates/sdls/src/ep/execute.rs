//! The recipient: does what commands ask for, or says why not. A command is done whole or not at all.

use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::command::{Command, IV_OCTETS, KeyBlock, MAC_OCTETS, SaCreate};
use super::pdu::{LengthUnit, Pdu, PduError};
use super::reply::{KeyProof, Reply};
use super::self_test::SelfTest;
use crate::crypto::{Algorithm, CryptoError, Shape};
use crate::security::{AuthMask, KeyError, KeyKind, KeyState, SaError, SaParameters, Security, Service};

/// Why a command was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EpError {
    /// The octets are no command.
    #[error(transparent)]
    Pdu(#[from] PduError),
    /// A reply was given where a command is due.
    #[error("the data unit is a reply, not a command")]
    NotACommand,
    /// The association refused.
    #[error(transparent)]
    Association(#[from] SaError),
    /// The key refused.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The keys under a master key do not hold: changed on their way, or made with another master key.
    #[error("the keys under master key {master} do not hold")]
    BadKeyBlock {
        /// The master key.
        master: u16,
    },
    /// The upload has a key twice, or not a whole number of keys, or none.
    #[error("key {id} is not uploaded: the upload has it twice, or not a whole number of keys")]
    KeyBlockContents {
        /// The key.
        id: u16,
    },
    /// Algorithm numbers that this recipient does not know.
    #[error("this recipient knows no cipher suite {cipher:?} with authentication suite {authentication:?}")]
    Suite {
        /// Cipher suite.
        cipher: Vec<u8>,
        /// Authentication suite.
        authentication: Vec<u8>,
    },
    /// The engine refused.
    #[error(transparent)]
    Crypto(#[from] CryptoError),
}

impl EpError {
    /// A short name that does not change, for logs and test vectors.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Pdu(error) => error.code(),
            Self::NotACommand => "pdu-reply",
            Self::Association(error) => error.code(),
            Self::Key(error) => error.code(),
            Self::BadKeyBlock { .. } => "otar-mac",
            Self::KeyBlockContents { .. } => "otar-contents",
            Self::Suite { .. } => "sa-suite",
            Self::Crypto(_) => "engine",
        }
    }
}

/// Cipher suites by number: GCM and CCM with 256 bits as in nasa/CryptoLib, with 128 bits this library's own.
const CIPHERS: [(u8, Algorithm, usize); 4] = [
    (1, Algorithm::AesGcm, 32),
    (4, Algorithm::AesCcm, 32),
    (0x81, Algorithm::AesGcm, 16),
    (0x84, Algorithm::AesCcm, 16),
];

/// Authentication suites by number: CMAC and HMAC as in nasa/CryptoLib, CMAC with 128 bits this library's own.
const CODES: [(u8, Algorithm, usize); 3] =
    [(1, Algorithm::AesCmac, 32), (2, Algorithm::HmacSha256, 32), (0x81, Algorithm::AesCmac, 16)];

impl Security {
    /// Does what a command asks for. `carried_by` is the association of the frame it came in: no command changes that one.
    ///
    /// # Errors
    /// If it is not done; then nothing has changed.
    pub fn execute(
        &mut self,
        octets: &[u8],
        unit: LengthUnit,
        carried_by: Option<u16>,
    ) -> Result<Option<Reply>, EpError> {
        let pdu = Pdu::decode(octets, unit)?;
        if pdu.reply {
            return Err(EpError::NotACommand);
        }
        let command = Command::of(&pdu)?;
        if let Some(spi) = command.association()
            && carried_by == Some(spi)
            && !matches!(command, Command::ReadSequence(_) | Command::Status(_))
        {
            return Err(SaError::CarriesCommand { spi }.into());
        }
        let reply = self.obey(&command)?;
        if let Some(spi) = command.association()
            && reply.is_none()
            && let Some(association) = self.associations.get_mut(&spi)
        {
            association.last_procedure = command.procedure().number();
        }
        Ok(reply)
    }

    fn obey(&mut self, command: &Command) -> Result<Option<Reply>, EpError> {
        match command {
            Command::Otar(block) => self.take_keys(block)?,
            Command::ActivateKeys(keys) => {
                check_each(keys, |id| self.keys.check_activate(id))?;
                for id in keys {
                    self.activate_key(*id)?;
                }
            }
            Command::DeactivateKeys(keys) => {
                check_each(keys, |id| self.keys.check_deactivate(id))?;
                for id in keys {
                    self.deactivate_key(*id)?;
                }
            }
            Command::DestroyKeys(keys) => {
                check_each(keys, |id| self.check_destroy(id))?;
                for id in keys {
                    self.destroy_key(*id)?;
                }
            }
            Command::VerifyKeys(challenges) => return self.prove(challenges).map(Some),
            Command::KeyInventory { first, last } => {
                if first > last {
                    return Err(
                        PduError::Value { octets: 4, reason: "the last number is below the first" }.into()
                    );
                }
                let keys = self.keys.range(*first..=*last);
                return Ok(Some(Reply::KeyInventory(
                    keys.map(|(id, key)| (id, key.state().number())).collect(),
                )));
            }
            Command::Create(create) => self.create(create.spi, create.parameters()?)?,
            Command::Rekey { spi, key, iv } => {
                self.rekey(*spi, *key, Some(iv).filter(|iv| !iv.is_empty()).map(Vec::as_slice))?;
            }
            Command::Start { spi, channels } => self.start(*spi, channels)?,
            Command::Stop(spi) => self.stop(*spi)?,
            Command::Expire(spi) => self.expire(*spi)?,
            Command::Delete(spi) => self.delete(*spi)?,
            Command::SetSequence { spi, last } => self.set_last(*spi, last)?,
            Command::SetWindow { spi, window } => {
                let octets = window.len();
                if !(1..=8).contains(&octets) {
                    return Err(PduError::Value { octets, reason: "a window has 1 to 8 octets" }.into());
                }
                self.set_window(
                    *spi,
                    window.iter().fold(0, |number, octet| number << 8 | u64::from(*octet)),
                )?;
            }
            Command::ReadSequence(spi) => {
                let guard = self.association(*spi)?.guard();
                let last = guard.last()[16 - guard.octets()..].to_vec();
                return Ok(Some(Reply::Sequence { spi: *spi, last }));
            }
            Command::Status(spi) => {
                let tag = self.association(*spi)?.last_procedure;
                return Ok(Some(Reply::Status { spi: *spi, tag }));
            }
            Command::Ping => return Ok(Some(Reply::Ping)),
            Command::LogStatus => {
                let (entries, room) = self.log_counts();
                return Ok(Some(Reply::LogStatus { entries, room }));
            }
            Command::EraseLog => {
                self.log.erase();
                let (entries, room) = self.log_counts();
                return Ok(Some(Reply::LogErased { entries, room }));
            }
            Command::DumpLog => return Ok(Some(Reply::Log(self.log.entries().to_vec()))),
            Command::SelfTest => {
                return Ok(Some(Reply::SelfTest(SelfTest::run(&*self.engine).failed)));
            }
            Command::ResetAlarm => self.reset_alarm(),
        }
        Ok(None)
    }

    /// Entries of the log, and those that still fit.
    fn log_counts(&self) -> (u16, u16) {
        let count = |entries| u16::try_from(entries).unwrap_or(u16::MAX);
        (count(self.log.entries().len()), count(self.log.room()))
    }

    /// Over-the-air rekeying: session keys, each as long as the master key.
    fn take_keys(&mut self, block: &KeyBlock) -> Result<(), EpError> {
        let master = self.keys.usable(block.master, KeyKind::Master)?;
        let shape = Shape { key: master.octets().len(), iv: IV_OCTETS, mac: MAC_OCTETS };
        let prepared = self.engine.prepare(Algorithm::AesGcm, master.octets(), shape)?;
        let mut text = Zeroizing::new(block.sealed.clone());
        prepared
            .open(&block.iv, &[], &mut text, &block.mac)
            .map_err(|_| EpError::BadKeyBlock { master: block.master })?;
        let key_octets = master.octets().len();
        let entries = text.chunks_exact(2 + key_octets);
        let id_of = |entry: &[u8]| u16::from_be_bytes([entry[0], entry[1]]);
        if text.is_empty() || !entries.remainder().is_empty() {
            return Err(EpError::KeyBlockContents { id: block.master });
        }
        let mut seen = alloc::collections::BTreeSet::new();
        for entry in entries.clone() {
            let id = id_of(entry);
            if let Ok(key) = self.keys.get(id)
                && key.state() != KeyState::Destroyed
            {
                return Err(KeyError::Exists { id, state: key.state() }.into());
            }
            if !seen.insert(id) {
                return Err(EpError::KeyBlockContents { id });
            }
        }
        for entry in entries {
            let id = id_of(entry);
            self.keys.load(id, KeyKind::Session, &entry[2..])?;
        }
        Ok(())
    }

    /// Encrypts each challenge with its key. The IV counts through all proofs of this end; it is all ones in its first
    /// octets, where the counters of associations do not come (nasa/CryptoLib begins at one with each reply).
    fn prove(&mut self, challenges: &[(u16, [u8; 16])]) -> Result<Reply, EpError> {
        let mut proofs = Vec::new();
        for (place, (id, challenge)) in challenges.iter().enumerate() {
            let key = self.keys.get(*id)?;
            if !matches!(key.state(), KeyState::PreActive | KeyState::Active) {
                let state = key.state();
                return Err(KeyError::State { id: *id, state, needed: "pre-active or active" }.into());
            }
            let shape = Shape { key: key.octets().len(), iv: IV_OCTETS, mac: MAC_OCTETS };
            let prepared = self.engine.prepare(Algorithm::AesGcm, key.octets(), shape)?;
            let number = self.proofs.wrapping_add(place as u64).wrapping_add(1);
            let mut iv = [0xFF; IV_OCTETS];
            iv[4..].copy_from_slice(&number.to_be_bytes());
            let mut proof = KeyProof { key: *id, iv, sealed: *challenge, mac: [0; MAC_OCTETS] };
            prepared.seal(&iv, &[], &mut proof.sealed, &mut proof.mac)?;
            proofs.push(proof);
        }
        self.proofs = self.proofs.wrapping_add(challenges.len() as u64);
        Ok(Reply::KeyProofs(proofs))
    }
}

/// An error if one of `keys` fails, or stands there twice.
fn check_each(keys: &[u16], check: impl Fn(u16) -> Result<(), KeyError>) -> Result<(), EpError> {
    for (place, id) in keys.iter().enumerate() {
        check(*id)?;
        if keys[..place].contains(id) {
            return Err(PduError::Value { octets: keys.len() * 2, reason: "a key stands there twice" }.into());
        }
    }
    Ok(())
}

impl SaCreate {
    /// The parameters, with the algorithms of their numbers.
    fn parameters(&self) -> Result<SaParameters, EpError> {
        let suite =
            || EpError::Suite { cipher: self.cipher.clone(), authentication: self.authentication.clone() };
        let find = |suites: &[(u8, Algorithm, usize)], number: &[u8]| match number {
            [number] => suites.iter().find(|(known, ..)| known == number).copied(),
            _ => None,
        };
        let (service, (_, algorithm, key_octets)) = match (self.encrypts, self.authenticates) {
            (true, true) => {
                (Service::AuthenticatedEncryption, find(&CIPHERS, &self.cipher).ok_or_else(suite)?)
            }
            (true, false) => (Service::Encryption, find(&CIPHERS, &self.cipher).ok_or_else(suite)?),
            (false, true) => (Service::Authentication, find(&CODES, &self.authentication).ok_or_else(suite)?),
            (false, false) => return Err(suite()),
        };
        let window = self.window.iter().fold(0, |number: u64, octet| number << 8 | u64::from(*octet));
        Ok(SaParameters {
            service,
            algorithm,
            key_octets,
            mac_octets: self.mac_octets.into(),
            iv: self.iv.clone(),
            iv_transmitted: self.iv_transmitted.into(),
            sequence: self.sequence.clone(),
            sequence_transmitted: self.sequence_transmitted.into(),
            padding_block: if self.pad_length_octets > 0 { 16 } else { 1 },
            pad_length_octets: self.pad_length_octets.into(),
            mask: if self.mask.is_empty() { AuthMask::Standard } else { AuthMask::Octets(self.mask.clone()) },
            window,
            reserved_spi: false,
        })
    }
}
