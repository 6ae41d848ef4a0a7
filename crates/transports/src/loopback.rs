//! For tests: sessions over the loopback interface.

#[path = "../../workload/tests/flows/places.rs"]
mod places;

use std::sync::Arc;

use crate::clock::Clock;
use crate::context::Context;
use crate::session::Session;

/// A session between two places that nobody else uses, with 20 s until its limit.
pub(crate) fn session() -> Arc<Session> {
    let ctx = Context {
        clock: Clock::starting_now(false),
        limit_ns: 20_000_000_000,
        seed: 1,
        source: places::free_place(),
        destination: places::free_place(),
        further_ports: Vec::new(),
        source_further: Vec::new(),
        destination_further: Vec::new(),
        quiet_ns: 0,
        socket_interval_ns: None,
        messages: false,
        wire: false,
        wake: false,
        keys: false,
        qlog: None,
        processor: None,
        progress: None,
    };
    Arc::new(Session::new(ctx).expect("descriptors are left"))
}
