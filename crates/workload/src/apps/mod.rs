//! Every application, one file or folder each. A new one is a file in this folder and a line in [`REGISTRY`].

mod bulk;
mod cbr;
mod checks;
mod in_order;
mod on_off;
mod paced;
mod page;
mod periodic;
mod timetable;
mod vbr;
mod voip;
mod web;
mod web_pages;

use serde_json::{Map, Value};
use transports::SpecError;

use crate::application::Application;

type Build = fn(&Map<String, Value>) -> Result<Box<dyn Application>, SpecError>;

/// Every application by the name that a plan gives it.
const REGISTRY: &[(&str, Build)] = &[
    ("bulk", bulk::build),
    ("cbr", cbr::build),
    ("vbr", vbr::build),
    ("periodic", periodic::build),
    ("voip", voip::build),
    ("web", web::build),
    ("page", page::build),
];

/// The names of all applications.
pub fn names() -> impl Iterator<Item = &'static str> {
    REGISTRY.iter().map(|(name, _)| *name)
}

/// The application of this name with these parameters.
pub(crate) fn build(name: &str, params: &Map<String, Value>) -> Result<Box<dyn Application>, SpecError> {
    match REGISTRY.iter().find(|(known, _)| *known == name) {
        Some((_, build)) => build(params),
        None => {
            let known: Vec<_> = names().collect();
            Err(SpecError::new(format!(
                "unknown application `{name}`; the applications are {}",
                known.join(", ")
            )))
        }
    }
}
