//! `stack_params` of a flow whose `stack` is "external", read and checked.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use transports::secure::Fault;
use workload::FlowSpec;

use super::role::Role;
use super::variables::is_reserved;
use crate::failure::{Failure, Result};

/// The name that a flow's `stack` has in a plan.
const STACK: &str = "external";

/// A stack of the user's own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// What it is called.
    pub name: String,
    /// Program and arguments of the end that opens the session.
    pub client: Vec<String>,
    /// Program and arguments of the end that waits for it.
    pub server: Vec<String>,
    /// Which node of the flow the client is in.
    #[serde(default)]
    client_at: Place,
    /// What the programs are told besides the application's parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// Further variables of their environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// What is wrong with their certificates on purpose.
    #[serde(default)]
    pub fault: Option<Fault>,
    /// Where they start.
    #[serde(default = "root_folder")]
    pub working_directory: PathBuf,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    /// The client sends.
    #[default]
    From,
    /// The client receives.
    To,
}

fn root_folder() -> PathBuf {
    PathBuf::from("/")
}

impl Stack {
    /// Whether programs of the user's own carry this flow.
    pub fn carries(spec: &FlowSpec) -> bool {
        spec.stack == STACK
    }

    /// Reads the parameters of such a flow.
    ///
    /// # Errors
    /// One sentence that names the flow, the key and what would be right.
    pub fn of(spec: &FlowSpec) -> Result<Stack> {
        let wrong = |sentence: String| Failure::new(format!("flow \"{}\": {sentence}", spec.id));
        let stack = Stack::deserialize(Value::Object(spec.stack_params.clone()))
            .map_err(|error| wrong(format!("`stack_params` of `{STACK}`: {error}")))?;
        for (key, argv) in [("client", &stack.client), ("server", &stack.server)] {
            if argv.is_empty() {
                return Err(wrong(format!("`{key}` of `stack_params` is empty; it names the program")));
            }
        }
        for key in stack.parameters.keys().chain(spec.app_params.keys()) {
            if is_reserved(key) {
                return Err(wrong(format!(
                    "the parameter \"{key}\" has the name of a variable that the programs get anyway; call it otherwise"
                )));
            }
        }
        if let Some(key) = stack.parameters.keys().find(|key| spec.app_params.contains_key(*key)) {
            return Err(wrong(format!(
                "the parameter \"{key}\" is one of the application \"{}\" too; call it otherwise",
                spec.app
            )));
        }
        if !spec.start_s.is_finite() || spec.start_s < 0.0 {
            return Err(wrong(format!("`start_s` is {}; it must be 0 or more", spec.start_s)));
        }
        Ok(stack)
    }

    /// The role of the end that sends.
    pub(super) fn sender(&self) -> Role {
        match self.client_at {
            Place::From => Role::Client,
            Place::To => Role::Server,
        }
    }

    /// The nodes of server and client.
    pub(super) fn nodes<'a>(&self, spec: &'a FlowSpec) -> (&'a str, &'a str) {
        match self.client_at {
            Place::From => (&spec.to, &spec.from),
            Place::To => (&spec.from, &spec.to),
        }
    }

    pub(super) fn argv(&self, role: Role) -> &[String] {
        match role {
            Role::Client => &self.client,
            Role::Server => &self.server,
        }
    }
}
