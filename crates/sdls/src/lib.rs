//! Space data link security without sockets and clocks: transfer frames of telecommand (TC), telemetry (TM), AOS and
//! USLP; the security protocol that protects them (SDLS, CCSDS 355.0-B) with its extended procedures for keys and
//! associations (CCSDS 355.1-B); and COP-1, which makes telecommands reliable (CCSDS 232.1-B).
//!
//! Ground and spacecraft share a key and the parameters of a *security association*. Ground protects a telecommand; the
//! spacecraft opens it once, and refuses it the second time:
//!
//! ```
//! # #[cfg(feature = "rustcrypto")] {
//! use sdls::channel::ChannelId;
//! use sdls::frame::{SegmentHeader, SequenceFlags, TcFrame, TcParameters, TcService, TransferFrame};
//! use sdls::security::{KeyKind, ProcessError, SaParameters, Security};
//!
//! let command = TcFrame {
//!     service: TcService::SequenceControlled,
//!     spacecraft: 44,
//!     channel: 1,
//!     sequence: 0,
//!     segment: Some(SegmentHeader { flags: SequenceFlags::Unsegmented, map: 0 }),
//!     data: b"open the valve".to_vec(),
//! };
//!
//! let mut ends = [Security::default(), Security::default()];
//! for end in &mut ends {
//!     end.load_active_key(130, KeyKind::Cipher, &[7; 32])?;
//!     end.create(4, SaParameters::aes_gcm(32))?;
//!     end.rekey(4, 130, None)?;
//!     end.start(4, &[ChannelId::whole(command.channel().0)])?;
//! }
//! let [mut ground, mut spacecraft] = ends;
//!
//! let channel = TcParameters::default();
//! let octets = ground.apply(4, &command, &channel)?;
//! assert!(!octets.windows(5).any(|part| part == b"valve"));
//! assert_eq!(spacecraft.process::<TcFrame>(&octets, &channel)?.frame, command);
//!
//! let again = spacecraft.process::<TcFrame>(&octets, &channel);
//! assert!(matches!(again, Err(ProcessError::Replay { spi: 4, .. })));
//! assert!(spacecraft.report().alarm, "telemetry will tell ground of it");
//! # }
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | [`frame`] | transfer frames of the four protocols, segment headers, control commands |
//! | [`packet`], [`stream`] | space packets, segments of packets, packets over frames of fixed length |
//! | [`ocf`], [`check`] | the operational control field (CLCW, frame security report); FECF and header error control |
//! | [`security`] | keys, associations, ApplySecurity and ProcessSecurity |
//! | [`ep`] | the extended procedures: commands, replies, and who does them |
//! | [`cop1`] | sender and receiver of COP-1 |
//! | [`crypto`] | algorithms, and how another library is put behind them |
//!
//! | feature | what it adds |
//! |---|---|
//! | `rustcrypto` (default) | every algorithm in pure Rust |
//! | `aws-lc` | AWS-LC as an engine; needs the standard library and a C compiler |
//!
//! The books themselves are not quoted here: what is said of them rests on public implementations, which are named
//! where a fact was taken from them, and on their published test frames, in the folder `vectors`.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

pub mod channel;
pub mod check;
pub mod cop1;
pub mod crypto;
pub mod ep;
pub mod frame;
pub mod ocf;
pub mod packet;
pub mod security;
pub mod stream;
