//! Every transport, one file or folder each. A new one is a file in this folder and a line in [`REGISTRY`].

mod dtls;
mod mptcp;
pub(crate) mod quic;
mod rasta;
mod restp;
pub(crate) mod sctp;
mod sdls;
pub(crate) mod tcp;
mod tls;
mod udp;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::SpecError;
use crate::params::parameters;
use crate::transport::Stack;

/// What is known of a transport without its parameters' values.
#[derive(Serialize)]
pub struct Entry {
    /// The name that a plan gives it.
    pub name: &'static str,
    /// The names of its parameters.
    #[serde(serialize_with = "called")]
    pub parameters: fn() -> Vec<&'static str>,
    /// What it can do beside carrying data, with the right parameters.
    pub features: &'static [Feature],
    #[serde(skip)]
    build: Build,
}

type Build = fn(&Map<String, Value>) -> Result<Box<dyn Stack>, SpecError>;

fn called<S: serde::Serializer>(names: &fn() -> Vec<&'static str>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(names())
}

/// What some transports can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Holds its sender back and delivers everything.
    Reliable,
    /// Carries HTTP/1.1 and HTTP/2.
    Http,
    /// Carries HTTP/3.
    #[serde(rename = "http3")]
    Http3,
    /// Messages stand in its packets as they are, so that rules of an in-path node can speak of them.
    InClear,
    /// The packets that open its sessions can be told from others, and be dropped by script.
    Opening,
    /// Releases messages one by one at given instants.
    ReleaseTimes,
    /// Uses several addresses of either end.
    SeveralAddresses,
    /// Tells the processor of its node what its listening end does.
    Processor,
}

use Feature::{Http, Http3, InClear, Opening, Processor, ReleaseTimes, Reliable, SeveralAddresses};

/// A line of the registry.
const fn entry(
    name: &'static str,
    parameters: fn() -> Vec<&'static str>,
    features: &'static [Feature],
    build: Build,
) -> Entry {
    Entry { name, parameters, features, build }
}

/// Every transport.
const REGISTRY: &[Entry] = &[
    entry("tcp", parameters::<tcp::Params>, &[Reliable, Http, InClear, Opening, Processor], tcp::build),
    entry(
        "sctp",
        parameters::<sctp::Params>,
        &[Reliable, Http, InClear, Opening, SeveralAddresses],
        sctp::build,
    ),
    entry("udp", parameters::<udp::Params>, &[InClear, ReleaseTimes], udp::build),
    entry("mptcp", parameters::<mptcp::Mptcp>, &[Reliable, Opening, SeveralAddresses], mptcp::build),
    entry("tls", tls::parameters, &[Reliable, Http, Opening, Processor], tls::build),
    entry("dtls", parameters::<dtls::Params>, &[Opening], dtls::build),
    entry(
        "quic-quinn",
        parameters::<quic::quinn::Params>,
        &[Reliable, Http3, SeveralAddresses, Processor],
        quic::quinn::build,
    ),
    entry(
        "quic-noq",
        parameters::<quic::noq::Params>,
        &[Reliable, SeveralAddresses, Processor],
        quic::noq::build,
    ),
    entry("quic-s2n", parameters::<quic::s2n::Params>, &[Reliable, Processor], quic::s2n::build),
    #[cfg(feature = "quiche")]
    entry("quic-quiche", parameters::<quic::quiche::Params>, &[Reliable, Processor], quic::quiche::build),
    entry("restp", parameters::<restp::Params>, &[Reliable, Opening, SeveralAddresses], restp::build),
    entry(
        "rasta",
        parameters::<rasta::Params>,
        &[Reliable, InClear, Opening, SeveralAddresses],
        rasta::build,
    ),
    entry("rasta-tls", rasta::parameters_over_tls, &[Reliable, Opening], rasta::build_over_tls),
    entry("sdls", parameters::<sdls::AloneParams>, &[], sdls::build_alone),
    entry("sdls-cop1", parameters::<sdls::ReliableParams>, &[Reliable], sdls::build_reliable),
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
    REGISTRY.iter().map(|entry| entry.name)
}

/// All that can be said of the transports before a flow uses one.
#[derive(Serialize)]
pub struct Description {
    transports: &'static [Entry],
    /// Why a transport that plans may name is not here.
    refusals: BTreeMap<&'static str, &'static str>,
    /// Versions of libraries.
    versions: BTreeMap<&'static str, &'static str>,
}

/// Describes the transports of this program.
pub fn describe() -> Description {
    Description {
        transports: REGISTRY,
        refusals: LEFT_OUT.iter().copied().collect(),
        versions: quic::LIBRARIES.iter().copied().collect(),
    }
}

/// The transport of this name with these parameters.
///
/// # Errors
/// A sentence: there is no such transport, it is not built in, or a parameter is wrong.
pub fn build(name: &str, params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    if let Some(entry) = REGISTRY.iter().find(|entry| entry.name == name) {
        return (entry.build)(params);
    }
    Err(match LEFT_OUT.iter().find(|(left_out, _)| *left_out == name) {
        Some((_, sentence)) => SpecError::LeftOut((*sentence).to_owned()),
        None => {
            let known: Vec<_> = names().collect();
            SpecError::Unknown(format!("unknown stack `{name}`; the stacks are {}", known.join(", ")))
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::transport::Service;

    /// With which parameters a transport does most.
    fn most(entry: &Entry) -> Box<dyn Stack> {
        let params = match entry.name {
            "tcp" | "tls" | "mptcp" => json!({"congestion_control": "cubic"}),
            "rasta-tls" => json!({"congestion_control": "cubic"}),
            "sctp" | "rasta" => json!({"homes": 2}),
            "quic-quinn" => json!({"migrate_after_s": 1.0}),
            "restp" => json!({"profile": "multipath"}),
            _ => json!({}),
        };
        let params = params.as_object().expect("an object").clone();
        build(entry.name, &params).unwrap_or_else(|error| panic!("{}: {error}", entry.name))
    }

    #[test]
    fn a_transport_has_the_features_that_its_line_names_and_no_others() {
        for entry in REGISTRY {
            let stack = most(entry);
            let http = stack.http().expect("no parameter is in the way").map(|carrier| carrier.is_quic());
            let found = [
                (Reliable, stack.service() != Service::Datagrams),
                (Http, http == Some(false)),
                (Http3, http == Some(true)),
                (InClear, stack.carriage().is_some()),
                (Opening, stack.opening().is_some()),
                (ReleaseTimes, stack.wants_release_times()),
                (SeveralAddresses, stack.homes() > 1),
                (Processor, stack.works_on_a_processor()),
            ];
            let found: Vec<_> =
                found.into_iter().filter_map(|(feature, has)| has.then_some(feature)).collect();
            assert_eq!(found, entry.features, "{}", entry.name);
            assert_eq!(stack.name(), entry.name);
        }
    }

    #[test]
    fn a_transport_takes_the_parameters_that_it_names_and_no_others() {
        for entry in REGISTRY {
            let refused = |key: &str| {
                let params = Map::from_iter([(key.to_owned(), Value::Null)]);
                let error = build(entry.name, &params).err().map(|error| error.to_string());
                error.is_some_and(|error| error.contains("unknown field"))
            };
            for name in (entry.parameters)() {
                assert!(!refused(name), "{} does not know its own `{name}`", entry.name);
            }
            assert!(refused("no_such_parameter"), "{}", entry.name);
        }
    }
}
