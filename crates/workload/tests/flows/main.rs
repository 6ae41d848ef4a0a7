//! Whole flows over the loopback interface of the host, in real time: one module per subject.

mod common;
mod files;
mod http;
mod loopback;
mod places;
mod processor;
mod quic;
mod reopening;
mod restp;
mod safety;
mod specs;
mod tls;
mod video;
