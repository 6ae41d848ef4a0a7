//! What an application is to the rest of the program: what the two ends of a flow do over a transport.

use std::sync::Arc;

use transports::{Failure, Session, SpecError, Stack};

use crate::framing::{Messages, Numbered};
use crate::ledger::{ClientResult, ServerResult};

/// An application with its parameters.
pub trait Application: Send + Sync {
    /// The size of its messages; 0 where they have no common one.
    fn message_bytes(&self) -> u32;

    /// Where its messages begin in what its transport carries, for whoever looks at packets on their way; none if that
    /// cannot be told from their bytes. By default those of one size tell it.
    fn messages(&self) -> Option<Box<dyn Messages>> {
        let numbered = Numbered::of(self.message_bytes())?;
        Some(Box::new(numbered))
    }

    /// Whether it makes sense over this transport.
    ///
    /// # Errors
    /// A sentence that names the application, the transport and what would be right.
    fn suits(&self, stack: &dyn Stack) -> Result<(), SpecError>;

    /// Whether it opens a session for each of its messages or objects, from a port of the kernel's choosing.
    fn opens_many_sessions(&self) -> bool {
        false
    }

    /// Whether the receiving end opens the sessions and asks for what the sending end has, which listens meanwhile.
    fn receiver_asks(&self) -> bool {
        false
    }

    /// How many further sessions there may be, each behind one that broke.
    fn further_sessions(&self) -> u32 {
        0
    }

    /// How long before the flow's start its sending half is to be at work.
    fn lead_ns(&self) -> i64 {
        0
    }

    /// The whole of the sending half, from `start_ns` on; notes what it handed over, also when it fails.
    ///
    /// # Errors
    /// A sentence: no session came about, it broke or was called off.
    fn run_client(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        start_ns: i64,
        result: &mut ClientResult,
    ) -> Result<(), Failure>;

    /// The whole of the receiving half, until the sender ends; notes what arrived, also when it fails.
    ///
    /// # Errors
    /// A sentence: nobody came, the session broke, was called off, or brought what was never sent.
    fn run_server(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        result: &mut ServerResult,
    ) -> Result<(), Failure>;
}
