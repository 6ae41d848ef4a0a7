//! The extensions of several paths: MP_CAPABLE, MP_JOIN, subflow priority and the data sequence signal.

use bitflags::bitflags;

use super::presence::MultipathForm;

bitflags! {
    /// Flags of MP_CAPABLE, most significant bit first (H1). B, 0x40, is for future use and always 0.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct CapableFlags: u8 {
        /// A: integrity checks are required.
        const CHECKS = 0x80;
        /// C: algorithm not assigned.
        const C = 0x20;
        /// D: algorithm not assigned.
        const D = 0x10;
        /// E: algorithm not assigned.
        const E = 0x08;
        /// F: algorithm not assigned.
        const F = 0x04;
        /// G: HMAC-SHA-256 (H3).
        const HMAC_SHA256 = 0x02;
        /// H: HMAC-SHA-1, for conformity with the dissertation.
        const HMAC_SHA1 = 0x01;
    }
}

/// MP_CAPABLE; which keys it carries follows from the packet's flags (H1, H6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MpCapable {
    /// On a SYN, a SYN-ACK or an RST: one key. On SYN and SYN-ACK the sender's own, on RST the receiver's as proof
    /// that the sender may abort the whole connection.
    OneKey {
        /// Checks and algorithms.
        flags: CapableFlags,
        /// The key.
        key: u64,
    },
    /// On other packets with ACK: both keys.
    BothKeys {
        /// Checks and algorithms.
        flags: CapableFlags,
        /// Key of the initiator of the connection.
        initiator_key: u64,
        /// Key of the responder.
        responder_key: u64,
    },
}

/// The part of MP_JOIN that differs between the three steps of a join (H2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinStep {
    /// SYN.
    Syn {
        /// Token of the connection to join, from the receiver's key.
        token: u32,
        /// Random number of the sender.
        nonce: u32,
    },
    /// SYN-ACK.
    SynAck {
        /// Leftmost 64 bits of the responder's HMAC.
        mac: [u8; 8],
        /// Random number of the sender.
        nonce: u32,
    },
    /// Third packet: leftmost 160 bits of the initiator's HMAC.
    Ack {
        /// The HMAC.
        mac: [u8; 20],
    },
}

/// MP_JOIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MpJoin {
    /// B: use this subflow only as a backup.
    pub backup: bool,
    /// Identifier of the sender's address (H4).
    pub address_id: u8,
    /// Token, nonce or MAC.
    pub step: JoinStep,
}

/// A change of a subflow's priority after it was joined (H6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MpPriority {
    /// B: from now on use the subflow only as a backup.
    pub backup: bool,
    /// Identifier of the sender's address on that subflow.
    pub address_id: u8,
}

/// The multipath extension of a packet, selected by MPT (B2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Multipath {
    /// MPT 1.
    Capable(MpCapable),
    /// MPT 2.
    Join(MpJoin),
    /// MPT 3.
    Priority(MpPriority),
}

impl Multipath {
    pub(super) fn form(&self) -> MultipathForm {
        match self {
            Self::Capable(MpCapable::OneKey { .. }) => MultipathForm::CapableOneKey,
            Self::Capable(MpCapable::BothKeys { .. }) => MultipathForm::CapableBothKeys,
            Self::Join(join) => match join.step {
                JoinStep::Syn { .. } => MultipathForm::JoinSyn,
                JoinStep::SynAck { .. } => MultipathForm::JoinSynAck,
                JoinStep::Ack { .. } => MultipathForm::JoinAck,
            },
            Self::Priority(_) => MultipathForm::Priority,
        }
    }
}

/// The mapping part of a data sequence signal (M).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DssMapping {
    /// DSN: connection-level number of the first mapped packet.
    pub data_sequence: u32,
    /// SSN: subflow-level number of the first mapped packet.
    pub subflow_sequence: u32,
    /// Length of the mapping in packets; 0 only on a DATA_FIN without data.
    pub length: u16,
    /// F: the connection's data ends with this mapping (DATA_FIN).
    pub data_fin: bool,
    /// C: CRC-32C of this packet's payload, only where the CRC extension is not in use (C4).
    pub payload_crc: Option<u32>,
}

/// The data sequence signal (H12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dss {
    /// A: connection-level acknowledgement.
    pub data_ack: Option<u32>,
    /// M: where this packet's data belong in the connection.
    pub mapping: Option<DssMapping>,
}

impl Dss {
    pub(super) fn words(&self) -> usize {
        let mapping = self.mapping.map_or(0, |mapping| 2 + usize::from(mapping.payload_crc.is_some()));
        1 + usize::from(self.data_ack.is_some()) + mapping
    }
}
