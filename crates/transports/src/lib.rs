//! Transports that load a network, one file or folder each, behind one contract.
//!
//! ```text
//!   stacks/                                the transports, a file or folder each, and their registry
//!   http/                                  HTTP over them, by the libraries that programs use
//!   transport  params  peers  opening      what each of them is to the rest of the program
//!   session  news  context  clock  secure  what they stand on
//!   processor                              what a server's work costs in virtual time
//!   kernel  sys                            sockets and system calls
//! ```
//!
//! Contracts lie below the registry, which is a list and nothing else: a new transport is a file beside it and a line in
//! it (and the line `mod` that Rust asks for).
#![deny(unsafe_code)]

mod clock;
mod context;
mod epoch;
mod error;
mod http;
mod kernel;
#[cfg(test)]
mod loopback;
mod news;
mod opening;
mod params;
mod peers;
mod processor;
mod qlog;
mod sample;
pub mod secure;
mod session;
mod stacks;
mod sys;
mod transport;

pub use clock::Clock;
pub use context::{Context, OnProgress, Progress};
pub use error::{Failure, OrFailure, SpecError};
pub use http::carrier::{Browser, Content, HttpCarrier, Opened, Site, Version};
pub use news::{News, SenderEnd};
pub use opening::{HeaderByte, Opening};
pub use params::{nanoseconds, parameters, parse_params};
pub use processor::{Costs, Processor, ProcessorUsage, Workplace};
pub use qlog::Qlogs;
pub use sample::SocketSample;
pub use session::{OnNews, Session};
pub use stacks::quic::{LIBRARIES, retry_tag};
pub use stacks::{Description, Entry, Feature, build, describe, names};
pub use sys::batch::LONGEST_BATCH;
pub use sys::clock::exact_sleeps;
pub use transport::{
    Arrival, Carriage, Connection, DeliveryInstants, InitialWindow, Listener, Sampler, Service, Signal,
    Stack, Take,
};
