//! Messages of the safety and retransmission layer: 28 octets of header, a body by type, the safety code.
//!
//! The layout is that of `srmsg_sr_messages.c` in SBB's stack and `rastamodule.c` in Railway-CCS/rasta-protocol.

use crate::reason::DisconnectReason;
use crate::safety_code::SafetyCode;

/// Octets of the header.
pub const MESSAGE_HEADER_BYTES: usize = 28;

/// Octets of the parameters of a connection request or response: version (4), N_sendMax (2), reserve (8).
const PARAMETERS_BYTES: usize = 14;

/// What is the same in every message. All numbers have their lowest octet first on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Header {
    /// Who is to get it.
    pub receiver_id: u32,
    /// Who sent it.
    pub sender_id: u32,
    /// Counts the sender's messages (SN).
    pub sequence_number: u32,
    /// The last sequence number that the sender processed (CS).
    pub confirmed_sequence_number: u32,
    /// The sender's clock when it sent (TS), in milliseconds.
    pub time_stamp_ms: u32,
    /// The time stamp of the last message that the sender processed (CTS), in milliseconds of the receiver's clock.
    pub confirmed_time_stamp_ms: u32,
}

/// A version of the protocol: four decimal digits, two of the major and two of the minor version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version([u8; 4]);

impl Version {
    /// 03.03, which SBB's stack and librasta announce.
    pub const CURRENT: Self = Self(*b"0303");

    /// From four ASCII digits, or `None` if one of them is none.
    #[must_use]
    pub fn new(digits: [u8; 4]) -> Option<Self> {
        digits.iter().all(u8::is_ascii_digit).then_some(Self(digits))
    }

    /// The four digits.
    #[must_use]
    pub const fn digits(self) -> [u8; 4] {
        self.0
    }
}

/// What both ends tell of themselves when a connection opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// The sender's version.
    pub version: Version,
    /// Messages that the sender can take without having confirmed any (N_sendMax).
    pub n_send_max: u16,
}

/// Why a connection ends, as the message says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Disconnection {
    /// Detail that the application chooses; 0 if it says nothing.
    pub detail: u16,
    /// The reason.
    pub reason: DisconnectReason,
}

/// The type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Kind {
    /// ConnReq.
    ConnectionRequest = 6200,
    /// ConnResp.
    ConnectionResponse = 6201,
    /// RetrReq.
    RetransmissionRequest = 6212,
    /// RetrResp.
    RetransmissionResponse = 6213,
    /// DiscReq.
    DisconnectionRequest = 6216,
    /// HB.
    Heartbeat = 6220,
    /// Data.
    Data = 6240,
    /// RetrData.
    RetransmittedData = 6241,
}

impl Kind {
    /// All types.
    pub const ALL: [Self; 8] = [
        Self::ConnectionRequest,
        Self::ConnectionResponse,
        Self::RetransmissionRequest,
        Self::RetransmissionResponse,
        Self::DisconnectionRequest,
        Self::Heartbeat,
        Self::Data,
        Self::RetransmittedData,
    ];

    fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u16 == number)
    }
}

/// What follows the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Opens a connection; confirms nothing.
    ConnectionRequest(Parameters),
    /// Answers a connection request.
    ConnectionResponse(Parameters),
    /// Asks for everything after the confirmed sequence number.
    RetransmissionRequest,
    /// Says that what follows is retransmitted.
    RetransmissionResponse,
    /// Ends the connection.
    DisconnectionRequest(Disconnection),
    /// Says that the sender is alive, and confirms.
    Heartbeat,
    /// Application messages.
    Data(Vec<Vec<u8>>),
    /// Application messages that were sent before.
    RetransmittedData(Vec<Vec<u8>>),
}

impl Body {
    /// The type that the message says.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::ConnectionRequest(_) => Kind::ConnectionRequest,
            Self::ConnectionResponse(_) => Kind::ConnectionResponse,
            Self::RetransmissionRequest => Kind::RetransmissionRequest,
            Self::RetransmissionResponse => Kind::RetransmissionResponse,
            Self::DisconnectionRequest(_) => Kind::DisconnectionRequest,
            Self::Heartbeat => Kind::Heartbeat,
            Self::Data(_) => Kind::Data,
            Self::RetransmittedData(_) => Kind::RetransmittedData,
        }
    }
}

/// A message of the safety and retransmission layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The header.
    pub header: Header,
    /// The rest.
    pub body: Body,
}

/// Why octets are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Fewer octets than header and safety code take.
    #[error("{bytes} octets are too few for a message: at least {needed}")]
    Short {
        /// Octets that there are.
        bytes: usize,
        /// Octets of the shortest message.
        needed: usize,
    },
    /// The length field says something else than what came.
    #[error("the length field says {declared} octets, {bytes} came")]
    Length {
        /// What the field says.
        declared: usize,
        /// What came.
        bytes: usize,
    },
    /// The safety code is not that of the octets.
    #[error("the safety code is wrong")]
    SafetyCode,
    /// No message has this type.
    #[error("no message has type {0}")]
    Type(u16),
    /// The body has not the size that its type asks for.
    #[error("a body of {bytes} octets is none of type {kind:?}")]
    Body {
        /// The type.
        kind: Kind,
        /// Octets between header and safety code.
        bytes: usize,
    },
    /// The version is not four decimal digits.
    #[error("the version {0:?} is not four decimal digits")]
    Version([u8; 4]),
}

impl Message {
    /// The octets of the message with its safety code.
    ///
    /// # Panics
    /// If it takes more than 65,535 octets, which the length field cannot say; messages that
    /// [`Config`](crate::Config) allows are shorter.
    #[must_use]
    pub fn encode(&self, safety_code: &SafetyCode) -> Vec<u8> {
        let mut octets = vec![0; 2];
        let header = &self.header;
        octets.extend_from_slice(&(self.body.kind() as u16).to_le_bytes());
        for number in [
            header.receiver_id,
            header.sender_id,
            header.sequence_number,
            header.confirmed_sequence_number,
            header.time_stamp_ms,
            header.confirmed_time_stamp_ms,
        ] {
            octets.extend_from_slice(&number.to_le_bytes());
        }
        match &self.body {
            Body::ConnectionRequest(parameters) | Body::ConnectionResponse(parameters) => {
                octets.extend_from_slice(&parameters.version.0);
                octets.extend_from_slice(&parameters.n_send_max.to_le_bytes());
                octets.extend_from_slice(&[0; 8]);
            }
            Body::DisconnectionRequest(disconnection) => {
                octets.extend_from_slice(&disconnection.detail.to_le_bytes());
                octets.extend_from_slice(&disconnection.reason.number().to_le_bytes());
            }
            Body::Data(messages) | Body::RetransmittedData(messages) => {
                for message in messages {
                    let bytes = u16::try_from(message.len()).expect("the configuration bounds a message");
                    octets.extend_from_slice(&bytes.to_le_bytes());
                    octets.extend_from_slice(message);
                }
            }
            Body::RetransmissionRequest | Body::RetransmissionResponse | Body::Heartbeat => {}
        }
        let length =
            u16::try_from(octets.len() + safety_code.bytes()).expect("the configuration bounds a message");
        octets[..2].copy_from_slice(&length.to_le_bytes());
        safety_code.append(&mut octets);
        octets
    }

    /// Reads a message that fills `octets`. Reserves are not looked at.
    ///
    /// # Errors
    /// What makes it none, in this order: length, safety code, type, body.
    pub fn decode(octets: &[u8], safety_code: &SafetyCode) -> Result<Self, MessageError> {
        let bytes = octets.len();
        let needed = MESSAGE_HEADER_BYTES + safety_code.bytes();
        if bytes < needed {
            return Err(MessageError::Short { bytes, needed });
        }
        let declared = usize::from(u16_at(octets, 0));
        if declared != bytes {
            return Err(MessageError::Length { declared, bytes });
        }
        let (data, code) = octets.split_at(bytes - safety_code.bytes());
        if !safety_code.verify(data, code) {
            return Err(MessageError::SafetyCode);
        }
        let number = u16_at(data, 2);
        let kind = Kind::from_number(number).ok_or(MessageError::Type(number))?;
        let header = Header {
            receiver_id: u32_at(data, 4),
            sender_id: u32_at(data, 8),
            sequence_number: u32_at(data, 12),
            confirmed_sequence_number: u32_at(data, 16),
            time_stamp_ms: u32_at(data, 20),
            confirmed_time_stamp_ms: u32_at(data, 24),
        };
        Ok(Self { header, body: read_body(kind, &data[MESSAGE_HEADER_BYTES..])? })
    }
}

fn read_body(kind: Kind, body: &[u8]) -> Result<Body, MessageError> {
    let wrong = MessageError::Body { kind, bytes: body.len() };
    let exactly = |bytes: usize| if body.len() == bytes { Ok(()) } else { Err(wrong) };
    match kind {
        Kind::ConnectionRequest => Ok(Body::ConnectionRequest(read_parameters(body, wrong)?)),
        Kind::ConnectionResponse => Ok(Body::ConnectionResponse(read_parameters(body, wrong)?)),
        Kind::RetransmissionRequest => exactly(0).map(|()| Body::RetransmissionRequest),
        Kind::RetransmissionResponse => exactly(0).map(|()| Body::RetransmissionResponse),
        Kind::DisconnectionRequest => exactly(4).map(|()| {
            Body::DisconnectionRequest(Disconnection {
                detail: u16_at(body, 0),
                reason: DisconnectReason::from_number(u16_at(body, 2)),
            })
        }),
        Kind::Heartbeat => exactly(0).map(|()| Body::Heartbeat),
        Kind::Data => Ok(Body::Data(read_messages(body).ok_or(wrong)?)),
        Kind::RetransmittedData => Ok(Body::RetransmittedData(read_messages(body).ok_or(wrong)?)),
    }
}

fn read_parameters(body: &[u8], wrong: MessageError) -> Result<Parameters, MessageError> {
    if body.len() != PARAMETERS_BYTES {
        return Err(wrong);
    }
    let digits = [body[0], body[1], body[2], body[3]];
    let version = Version::new(digits).ok_or(MessageError::Version(digits))?;
    Ok(Parameters { version, n_send_max: u16_at(body, 4) })
}

/// The application messages, or `None` if there is none or their lengths do not fill the body exactly.
fn read_messages(mut body: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut messages = Vec::new();
    while !body.is_empty() {
        let (length, rest) = body.split_first_chunk::<2>()?;
        let (message, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        messages.push(message.to_vec());
        body = rest;
    }
    (!messages.is_empty()).then_some(messages)
}

fn u16_at(octets: &[u8], place: usize) -> u16 {
    u16::from_le_bytes([octets[place], octets[place + 1]])
}

fn u32_at(octets: &[u8], place: usize) -> u32 {
    u32::from_le_bytes([octets[place], octets[place + 1], octets[place + 2], octets[place + 3]])
}
