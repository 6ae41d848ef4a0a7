//! The description of one flow, as it stands in a plan (`docs/formats/plan.md`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use transports::{InitialWindow, Opening, SpecError, Stack, nanoseconds};

use crate::application::Application;
use crate::apps;
use crate::framing::Framing;

/// Who sends what to whom, over which transport. Every key is that of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Name of the flow, unique in its run.
    pub id: String,
    /// Name of the transport, one of [`transports::names`].
    pub stack: String,
    /// Parameters of the transport.
    #[serde(default)]
    pub stack_params: Map<String, Value>,
    /// Name of the application, one of [`apps::names`].
    pub app: String,
    /// Parameters of the application.
    #[serde(default)]
    pub app_params: Map<String, Value>,
    /// Node that sends.
    pub from: String,
    /// Node that receives.
    pub to: String,
    /// Instant at which the sender opens its connection, in seconds from the start of the run.
    pub start_s: f64,
    /// Port at the receiver; the caller chooses one when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// A flow whose names and parameters have all been checked.
pub struct Flow {
    pub(crate) spec: FlowSpec,
    pub(crate) start_ns: i64,
    pub(crate) stack: Box<dyn Stack>,
    pub(crate) app: Box<dyn Application>,
}

impl Flow {
    /// Whether its messages are released one by one at given instants, which needs fq on the sender's interface.
    pub fn wants_release_times(&self) -> bool {
        self.stack.wants_release_times()
    }

    /// What its first flight is bounded by.
    pub fn initial_window(&self) -> InitialWindow {
        self.stack.initial_window()
    }

    /// How the packets that open its sessions are told from others, if they can be.
    pub fn opening(&self) -> Option<Opening> {
        self.stack.opening()
    }

    /// How its messages lie in its packets.
    ///
    /// # Errors
    /// Why they cannot be told there, as the second half of a sentence.
    pub fn framing(&self) -> Result<Framing, String> {
        let carriage = self.stack.carriage().ok_or_else(|| {
            format!(
                "`{}` does not carry them in the clear; `udp`, `tcp`, `sctp` and `rasta` do",
                self.spec.stack
            )
        })?;
        let messages = self.app.messages();
        let messages =
            messages.ok_or_else(|| format!("`{}` does not tell where its messages begin", self.spec.app))?;
        Ok(Framing { carriage, many_sessions: self.app.opens_many_sessions(), messages })
    }

    /// Whether its sender listens and its receiver opens the sessions, the other way round than is usual.
    pub fn sender_listens(&self) -> bool {
        self.app.receiver_asks()
    }

    /// How many further sessions there may be, each behind one that broke and from a port of its own.
    pub fn further_sessions(&self) -> u32 {
        self.app.further_sessions()
    }

    /// Whether its listening end tells the processor of its node what it does.
    pub fn works_on_a_processor(&self) -> bool {
        self.stack.works_on_a_processor()
    }

    /// How many further addresses of its nodes it uses at most, beside the first ones.
    pub fn further_addresses(&self) -> usize {
        self.stack.homes() - 1
    }
}

impl FlowSpec {
    /// Checks every name and parameter.
    ///
    /// # Errors
    /// One sentence that names the flow, the key and what would be right.
    pub fn check(&self) -> Result<Flow, SpecError> {
        self.build().map_err(|error| error.in_flow(&self.id))
    }

    fn build(&self) -> Result<Flow, SpecError> {
        let start_ns = nanoseconds("start_s", self.start_s, 0.0)?;
        let stack = transports::build(&self.stack, &self.stack_params)?;
        let app = apps::build(&self.app, &self.app_params)?;
        app.suits(stack.as_ref())?;
        Ok(Flow { spec: self.clone(), start_ns, stack, app })
    }
}
