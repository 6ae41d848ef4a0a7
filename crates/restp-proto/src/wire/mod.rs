//! ResTP wire format: typed packets to bytes and back.
//!
//! The layout is the one of `docs/restp-spec.md`; requirement ids (`R-HDR-3`) and the ids of settled questions
//! (`A1` … `L8`) beside the code point into that document. Decoding borrows from the datagram, never allocates and
//! never panics; which extensions are present follows from header bits and lengths alone, so no connection state is
//! needed (B12).
//!
//! ```
//! use restp_proto::wire::{Arq, Cong, ErrorBits, Flags, Flow, Header, Packet, PayloadCheck, Sequence};
//!
//! let header = Header {
//!     flags: Flags::ACK,
//!     flow: Flow::CON,
//!     error: ErrorBits::ARQ | ErrorBits::CRC,
//!     cong: Cong::NEW_RENO,
//!     source_port: 4000,
//!     destination_port: 80,
//!     ..Header::default()
//! };
//! let packet = Packet {
//!     sequence: Sequence::Arq(Arq { sequence: 17, acknowledgement: 5 }),
//!     payload: b"hello",
//!     ..Packet::new(header)
//! };
//! let mut datagram = Vec::new();
//! packet.encode(&mut datagram, None)?;
//!
//! let decoded = Packet::decode(&datagram, None)?;
//! assert_eq!(decoded.packet, packet);
//! assert_eq!(decoded.payload_check, PayloadCheck::Good);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod acknowledge;
mod bits;
mod crc;
mod decode;
mod encode;
mod error;
mod extension;
mod frame;
mod header;
mod multipath;
mod packet;
mod presence;
#[cfg(test)]
mod properties;
mod protected;
#[cfg(test)]
mod tests;

pub use acknowledge::{Hole, Missing, Report, SackBlock, SackBlocks, Snack, SnackBuilder};
pub use bits::{Cong, ErrorBits, Flags, Flow, Order, PathMode, Scheduler, Version};
pub use crc::PseudoHeader;
pub use error::{DecodeError, EncodeError, Extension};
pub use extension::{Arq, COOKIE_MAX_BYTES, COOKIE_MIN_BYTES, Cookie, Fec, Sequence};
pub use frame::{Frame, FrameError, MAX_NUMBER, number_bytes};
pub use header::Header;
pub use multipath::{CapableFlags, Dss, DssMapping, JoinStep, MpCapable, MpJoin, MpPriority, Multipath};
pub use packet::{Decoded, Packet, PayloadCheck};
pub use protected::{Protection, TAG_BYTES};

/// Bytes of one header word.
pub const WORD_BYTES: usize = 4;
/// Words of the base header (layout W0, A1).
pub const BASE_WORDS: usize = 3;
/// Largest header in words: HLX·16 + HL with both fields full (A5).
pub const MAX_HEADER_WORDS: usize = 255;
/// Largest header in bytes.
pub const MAX_HEADER_BYTES: usize = MAX_HEADER_WORDS * WORD_BYTES;
/// Largest header in words while HLX is zero, the dissertation's own limit (A5).
pub const STRICT_HEADER_WORDS: usize = 15;
/// Most paths of a connection: k has 4 bits (answer A10).
pub(crate) const MAX_PATHS: usize = 15;
/// IP protocol number of raw ResTP: 253, "use for experimentation and testing" (RFC 3692, K1).
// R-ENCAP-2
pub const IP_PROTOCOL: u8 = 253;
/// Default UDP port of the encapsulation (K2): in the dynamic range of RFC 6335, so IANA never assigns it, and above
/// the range from which Linux takes the ports of clients.
// R-ENCAP-1
pub const UDP_PORT: u16 = 61_253;
