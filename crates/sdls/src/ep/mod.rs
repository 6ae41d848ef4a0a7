//! Extended procedures (CCSDS 355.1-B): keys and security associations managed over the link itself.
//!
//! The initiator, on ground, writes a [`Command`]; the recipient gives its octets to
//! [`Security::execute`](crate::security::Security::execute) and sends back the reply, which the initiator reads with
//! [`Reply::decode`]. Commands travel as data of protected frames.

mod command;
mod execute;
mod pdu;
mod reply;
mod self_test;

pub use command::{Command, KeyBlock, SaCreate};
pub use execute::EpError;
pub use pdu::{LengthUnit, Pdu, PduError, Procedure};
pub use reply::{KeyProof, Reply};
pub use self_test::SelfTest;
