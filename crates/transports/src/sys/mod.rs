//! System calls that the standard library does not offer. All unsafe code of the crate is in this folder.
#![allow(unsafe_code)]

pub(crate) mod batch;
pub(crate) mod clock;
pub(crate) mod options;
pub(crate) mod path_manager;
pub(crate) mod poll;
pub(crate) mod qdisc;
pub(crate) mod reports;
