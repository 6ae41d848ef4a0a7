//! The protocol in simulated networks: one module per subject.

mod age;
#[cfg(feature = "protected")]
mod attempts;
mod bursts;
mod compositions;
mod copies;
mod cumulative;
mod delay;
mod delivery;
mod ending;
mod forgers;
mod fuzzing;
mod handshake;
mod harq;
mod hostile;
mod interaction;
mod late;
mod lingering;
mod loss_causes;
mod migration;
mod moving;
mod paths;
#[cfg(feature = "protected")]
mod protection;
mod rebinding;
mod rules;
mod sizes;
mod snapshot;
mod soak;
#[cfg(feature = "protected")]
mod strangers;
mod streams;
mod throughput;
