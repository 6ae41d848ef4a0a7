//! `bytes`: what stands at given places, from the beginning of a part of the packet.

use serde::Deserialize;
use serde_json::Value;

use crate::in_path::hex;
use crate::in_path::matcher::{Found, Kind, Matcher, Names, Seen, read};
use crate::in_path::place::Within;
use crate::random::Random;

pub(super) const BYTES: Kind = Kind { key: "bytes", build };

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    within: Within,
    offset: i64,
    hex: String,
    mask: Option<String>,
}

fn build(value: &Value, names: &Names<'_>, _: Random) -> Result<Box<dyn Matcher>, String> {
    let right = "a list of {\"within\": \"packet\", \"transport\", \"payload\" or \"message\", \"offset\": bytes, \
                 \"hex\": digits} with or without a \"mask\" in the same length";
    let all: Vec<Params> = read(value, right)?;
    let places = all.into_iter().map(|params| {
        params.within.known(names)?;
        let value = hex::decode(&params.hex)?;
        let mask = params.mask.map_or(Ok(vec![0xff; value.len()]), |mask| hex::decode(&mask))?;
        if mask.len() != value.len() {
            return Err(format!("has a mask of {} bytes for {} bytes", mask.len(), value.len()));
        }
        Ok(Place { within: params.within, offset: params.offset, value, mask })
    });
    Ok(Box::new(Bytes(places.collect::<Result<_, _>>()?)))
}

struct Place {
    within: Within,
    offset: i64,
    value: Vec<u8>,
    mask: Vec<u8>,
}

struct Bytes(Vec<Place>);

impl Matcher for Bytes {
    fn holds(&mut self, seen: &Seen<'_>, found: &mut Found) -> bool {
        self.0.iter().all(|place| {
            let start = place.within.begins_at(seen.headers, found.part.as_ref());
            let at = start.and_then(|start| usize::try_from(start + place.offset).ok());
            let end =
                place.within.range(seen.bytes.len(), seen.headers, found.part.as_ref()).map_or(0, |r| r.end);
            let there =
                at.and_then(|at| seen.bytes.get(at..at + place.value.len()).filter(|b| at + b.len() <= end));
            there.is_some_and(|there| {
                let expected = place.value.iter().zip(&place.mask);
                there.iter().zip(expected).all(|(byte, (value, mask))| byte & mask == value & mask)
            })
        })
    }
}
