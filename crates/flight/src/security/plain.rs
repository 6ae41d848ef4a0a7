//! No security: a message is a datagram, as CI_LAB and TO_LAB have it.

use std::collections::VecDeque;
use std::time::Duration;

use super::{LinkSecurity, Output, Refusal};

/// A link that protects nothing.
#[derive(Clone, Debug, Default)]
pub struct Plain {
    outputs: VecDeque<Output>,
}

impl LinkSecurity for Plain {
    fn name(&self) -> &'static str {
        "none"
    }

    fn apply(&mut self, message: &[u8], _now: Duration) -> Result<(), Refusal> {
        self.outputs.push_back(Output::Datagram(message.to_vec()));
        Ok(())
    }

    fn process(&mut self, datagram: &[u8], _now: Duration) -> Result<(), Refusal> {
        self.outputs.push_back(Output::Message(datagram.to_vec()));
        Ok(())
    }

    fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }
}
