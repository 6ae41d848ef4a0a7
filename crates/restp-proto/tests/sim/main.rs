//! The protocol in simulated networks: one module per subject.

mod compositions;
mod delivery;
mod fuzzing;
mod handshake;
mod hostile;
mod interaction;
mod loss_causes;
mod paths;
#[cfg(feature = "protected")]
mod protection;
mod rules;
mod soak;
mod throughput;
