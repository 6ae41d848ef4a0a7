#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod apps;
pub mod bus;
pub mod dictionary;
pub mod gateway;
pub mod ground;
pub mod message;
pub mod node;
pub mod security;
pub mod time;

#[cfg(feature = "tools")]
pub mod tools;
