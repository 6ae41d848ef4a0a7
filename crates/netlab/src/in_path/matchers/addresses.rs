//! `source`, `destination`: addresses of the innermost IP header.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

use crate::in_path::matcher::{Found, Kind, Matcher, Seen, read};
use crate::in_path::packet::Headers;

pub(super) const SOURCE: Kind =
    Kind { key: "source", build: |value, _, _| build(value, |headers| headers.source) };
pub(super) const DESTINATION: Kind =
    Kind { key: "destination", build: |value, _, _| build(value, |headers| headers.destination) };

fn build(value: &Value, end: fn(&Headers) -> IpAddr) -> Result<Box<dyn Matcher>, String> {
    let right = "an address such as \"10.0.1.1\" or a prefix such as \"10.0.1.0/24\"";
    let text: String = read(value, right)?;
    let net = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    let net: IpNet = net.map_err(|_| format!("is {value}; it must be {right}"))?;
    Ok(Box::new(Address { net, end }))
}

struct Address {
    net: IpNet,
    end: fn(&Headers) -> IpAddr,
}

impl Matcher for Address {
    fn holds(&mut self, seen: &Seen<'_>, _: &mut Found) -> bool {
        seen.headers.is_some_and(|headers| self.net.contains(&(self.end)(headers)))
    }
}
