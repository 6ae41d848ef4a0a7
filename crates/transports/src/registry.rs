//! Every transport. A new one is a file or a folder and a line in [`REGISTRY`].

use serde_json::{Map, Value};

use crate::error::SpecError;
use crate::transport::Stack;
use crate::{kernel, quic, restp, tls};

type Build = fn(&Map<String, Value>) -> Result<Box<dyn Stack>, SpecError>;

/// Every transport by the name that a plan gives it.
const REGISTRY: &[(&str, Build)] = &[
    ("tcp", kernel::tcp::build),
    ("sctp", kernel::sctp::build),
    ("udp", kernel::udp::build),
    ("mptcp", kernel::mptcp::build),
    ("tls", tls::build),
    ("quic-quinn", quic::quinn::build),
    ("quic-s2n", quic::s2n::build),
    #[cfg(feature = "quiche")]
    ("quic-quiche", quic::quiche::build),
    ("restp", restp::build),
];

/// Transports that are optional and not in this program, with what to do about it.
const LEFT_OUT: &[(&str, &str)] = &[
    #[cfg(not(feature = "quiche"))]
    (
        "quic-quiche",
        "this guest was built without quiche; build it with `GAUNTLET_FEATURES=quiche make setup`",
    ),
];

/// The names of all transports.
pub fn names() -> impl Iterator<Item = &'static str> {
    REGISTRY.iter().map(|(name, _)| *name)
}

/// The transport of this name with these parameters.
/// # Errors
/// A sentence: there is no such transport, it is not built in, or a parameter is wrong.
pub fn build(name: &str, params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    if let Some((_, build)) = REGISTRY.iter().find(|(known, _)| *known == name) {
        return build(params);
    }
    Err(match LEFT_OUT.iter().find(|(left_out, _)| *left_out == name) {
        Some((_, sentence)) => SpecError::new(*sentence),
        None => {
            let known: Vec<_> = names().collect();
            SpecError::new(format!("unknown stack `{name}`; the stacks are {}", known.join(", ")))
        }
    })
}
