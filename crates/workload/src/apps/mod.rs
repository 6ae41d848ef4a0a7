//! Every application, one file or folder each. A new one is a file in this folder and a line in [`REGISTRY`].

mod bulk;
mod cbr;
mod checks;
mod in_order;
mod on_off;
mod paced;
mod page;
mod periodic;
mod rtp;
mod safety;
mod timetable;
mod vbr;
mod video;
mod voip;
mod web;
mod web_pages;

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use transports::{SpecError, parameters};

use crate::application::Application;

type Build = fn(&Map<String, Value>) -> Result<Box<dyn Application>, SpecError>;
type Names = fn() -> Vec<&'static str>;

/// Every application by the name that a plan gives it, with the names of its parameters.
const REGISTRY: &[(&str, Names, Build)] = &[
    ("bulk", parameters::<bulk::Params>, bulk::build),
    ("cbr", parameters::<cbr::Params>, cbr::build),
    ("vbr", parameters::<vbr::Params>, vbr::build),
    ("periodic", parameters::<periodic::Params>, periodic::build),
    ("safety", parameters::<safety::Params>, safety::build),
    ("video", parameters::<video::Params>, video::build),
    ("voip", parameters::<voip::Params>, voip::build),
    ("web", parameters::<web::Params>, web::build),
    ("page", parameters::<page::Params>, page::build),
];

/// The names of the parameters of each application.
pub fn describe() -> BTreeMap<&'static str, Vec<&'static str>> {
    REGISTRY.iter().map(|(name, parameters, _)| (*name, parameters())).collect()
}

/// The names of all applications.
pub fn names() -> impl Iterator<Item = &'static str> {
    REGISTRY.iter().map(|(name, ..)| *name)
}

/// The application of this name with these parameters.
pub(crate) fn build(name: &str, params: &Map<String, Value>) -> Result<Box<dyn Application>, SpecError> {
    match REGISTRY.iter().find(|(known, ..)| *known == name) {
        Some((.., build)) => build(params),
        None => {
            let known: Vec<_> = names().collect();
            Err(SpecError::Unknown(format!(
                "unknown application `{name}`; the applications are {}",
                known.join(", ")
            )))
        }
    }
}
