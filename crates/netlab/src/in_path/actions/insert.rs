//! `capture`: the packet is remembered. `insert`: a packet leaves that is a copy of this one, a remembered one, or made.

use std::net::IpAddr;

use serde::Deserialize;

use crate::in_path::action::{Action, Checksums, Extra, Hand, Kind, Store, duration_ns, one};
use crate::in_path::fields::{Fields, made};
use crate::in_path::frame::Frame;
use crate::in_path::hex;
use crate::in_path::place::Within;
use crate::random::Random;

pub(super) const CAPTURE: Kind = Kind {
    name: "capture",
    parameters: &["as", "most"],
    without_packet: false,
    build: |params, _, _| {
        let CaptureParams { name, most } = params.read()?;
        if most == 0 {
            return Err("has 0 for `most`; it must be at least 1".into());
        }
        Ok(Box::new(Capture { name, most }))
    },
};

#[derive(Deserialize)]
struct CaptureParams {
    #[serde(rename = "as")]
    name: String,
    /// How many are remembered; further ones are not.
    #[serde(default = "many")]
    most: usize,
}

fn many() -> usize {
    1000
}

struct Capture {
    name: String,
    most: usize,
}

impl Action for Capture {
    fn act(&mut self, hand: &mut Hand<'_>) -> bool {
        let Some(frame) = &hand.frame else { return false };
        let known = hand.stores.captured.entry(self.name.clone()).or_default();
        if known.len() < self.most {
            known.push(frame);
        }
        true
    }

    fn store(&self) -> Option<Store<'_>> {
        Some(Store::Captures(&self.name))
    }
}

pub(super) const INSERT: Kind = Kind {
    name: "insert",
    parameters: &["packet", "set", "checksums", "towards", "times", "interval_s", "after_s", "before"],
    without_packet: true,
    build: |params, names, random| {
        let params: InsertParams = params.read()?;
        if params.times == 0 {
            return Err("has 0 for `times`; it must be at least 1".into());
        }
        let towards = params.towards.map(|node| names.side(&node)).transpose();
        let towards = towards.map_err(|wrong| format!("has a `towards` that {wrong}"))?;
        let set = params.set.map(Fields::checked).transpose()?;
        if set.as_ref().is_some_and(Fields::in_message) {
            match &params.packet {
                // Where a message is, is known of the packet that matched alone.
                Written::Named(name) if name == "matched" => Within::Message.known(names)?,
                _ => {
                    return Err(
                        "has `within` \"message\" in `set`; that is for the packet \"matched\"".into()
                    );
                }
            }
        }
        let source = match params.packet {
            Written::Named(name) if name == "matched" => Source::Matched,
            Written::Captured { captured, pick, same_connection } => {
                Source::Captured { name: captured, pick, same_connection }
            }
            Written::Hex { hex } => Source::Made(hex::decode(&hex)?),
            Written::Made { made: protocol } => {
                let (source, destination) = set.as_ref().and_then(Fields::addresses).ok_or(
                    "makes a packet; its `set` must have `source` and `destination`, of one IP version",
                )?;
                Source::Made(template(&protocol, source, destination)?)
            }
            Written::Named(name) => {
                return Err(format!("has \"{name}\" for `packet`; it must be \"matched\", {KINDS}"));
            }
        };
        if matches!(source, Source::Made(_)) && towards.is_none() {
            return Err("makes a packet and needs `towards`, the node that it goes to".into());
        }
        Ok(Box::new(Insert {
            source,
            set,
            checksums: params.checksums,
            towards,
            times: params.times,
            interval_ns: duration_ns("interval_s", params.interval_s)?,
            after_ns: duration_ns("after_s", params.after_s)?,
            before: params.before,
            random,
        }))
    },
};

const KINDS: &str = "{\"captured\": name}, {\"hex\": digits} or {\"made\": \"udp\", \"tcp\" or \"icmp\"}";

#[derive(Deserialize)]
struct InsertParams {
    packet: Written,
    #[serde(default)]
    set: Option<Fields>,
    #[serde(default)]
    checksums: Checksums,
    towards: Option<String>,
    #[serde(default = "one")]
    times: u16,
    #[serde(default)]
    interval_s: f64,
    #[serde(default)]
    after_s: f64,
    /// Ahead of the packet that the rule looks at.
    #[serde(default)]
    before: bool,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Written {
    Named(String),
    Captured {
        captured: String,
        #[serde(default)]
        pick: Pick,
        /// Only those of the connection of the packet that matched.
        #[serde(default)]
        same_connection: bool,
    },
    Hex {
        hex: String,
    },
    Made {
        made: String,
    },
}

/// Which of the remembered packets.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Pick {
    First,
    #[default]
    Last,
    Random,
}

enum Source {
    Matched,
    Captured { name: String, pick: Pick, same_connection: bool },
    Made(Vec<u8>),
}

struct Insert {
    source: Source,
    set: Option<Fields>,
    checksums: Checksums,
    towards: Option<usize>,
    times: u16,
    interval_ns: i64,
    after_ns: i64,
    before: bool,
    random: Random,
}

impl Insert {
    fn next(&mut self, hand: &Hand<'_>) -> Option<Frame> {
        let mut frame = match &self.source {
            Source::Matched => hand.frame.clone()?,
            Source::Captured { name, pick, same_connection } => {
                let known = hand.stores.captured.get(name)?;
                // The clock's call is of no connection.
                let own = same_connection
                    .then(|| hand.frame.as_ref().map_or(&[][..], |frame| known.of_connection(frame)));
                let number = own.map_or(known.len(), <[usize]>::len);
                let chosen = match pick {
                    Pick::First => 0,
                    Pick::Last => number.checked_sub(1)?,
                    Pick::Random if number == 0 => return None,
                    Pick::Random => self.random.below(number),
                };
                let place = own.map_or(Some(chosen), |own| own.get(chosen).copied())?;
                known.get(place)?.clone()
            }
            Source::Made(bytes) => {
                let towards = self.towards?;
                let mut ethernet = hand.ethernet[towards];
                let version: [u8; 2] = if bytes[0] >> 4 == 6 { [0x86, 0xdd] } else { [0x08, 0] };
                ethernet[12..].copy_from_slice(&version);
                Frame { ethernet, towards, bytes: bytes.clone() }
            }
        };
        if let Some(towards) = self.towards {
            frame.turn(towards);
        }
        Some(frame)
    }
}

impl Action for Insert {
    fn act(&mut self, hand: &mut Hand<'_>) -> bool {
        let mut fits = true;
        // Where a message is, is known of the packet that matched alone.
        let part = hand.part.clone().filter(|_| matches!(self.source, Source::Matched));
        for number in 0..self.times {
            let Some(mut frame) = self.next(hand) else { return false };
            if let Some(set) = &self.set {
                fits &= set.write(&mut frame.bytes, part.as_ref());
            }
            // What is left alone stays as it was caught, with whatever checksums it had.
            if self.set.is_some() {
                self.checksums.settle(&mut frame.bytes);
            }
            let after_ns = self.after_ns + i64::from(number) * self.interval_ns;
            hand.extra.push(Extra { frame, after_ns, before: self.before, copy: false });
        }
        fits
    }

    fn store(&self) -> Option<Store<'_>> {
        match &self.source {
            Source::Captured { name, .. } => Some(Store::TakesCaptured(name)),
            Source::Matched | Source::Made(_) => None,
        }
    }
}

/// A packet with nothing in it.
fn template(protocol: &str, source: IpAddr, destination: IpAddr) -> Result<Vec<u8>, String> {
    made(protocol, source, destination).ok_or_else(|| {
        format!("has {{\"made\": \"{protocol}\"}} for `packet`; it must be \"matched\", {KINDS}")
    })
}
