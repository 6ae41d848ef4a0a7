//! COP-1 (CCSDS 232.1-B): a reliable telecommand service by going back to the frame that was missed.
//!
//! [`Fop`] is the sender, on ground, [`Farm`] the receiver, in space; its report travels back as CLCW in the OCF of
//! telemetry. Neither has a clock or a socket: the time goes into `Fop` with each call, frames come out of
//! [`Fop::poll_transmit`]. States, events and actions follow the tables of the book as two public implementations have
//! them (dariol83/ccsds, package `cop1`; AcubeSAT/ccsds-space-data-link-protocols, `FrameOperationProcedure.cpp`).

mod farm;
mod fop;
mod queue;

pub use farm::{Farm, FarmError, FarmState, Verdict};
pub use fop::{Alert, Directive, Fop, FopConfig, FopError, FopState, Notification, TimeoutType, Transmit};
