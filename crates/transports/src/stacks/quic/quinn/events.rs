//! quinn's events as qlog: a file for each connection of either end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_proto::{QlogConfig, QlogStream, ServerConfig};

use super::config::Transport;
use super::observed::Counts;
use crate::qlog::{Qlogs, Side};
use crate::session::Session;

/// Where the connections of one end write their events.
#[derive(Clone)]
pub(super) struct Events {
    files: Arc<Qlogs>,
    side: Side,
    /// The library's name for the start of the run, from which events are timed.
    zero: Instant,
}

impl Events {
    /// Those of one side of a session, if they are to be kept.
    pub(super) fn of(session: &Session, side: Side) -> Option<Self> {
        let files = Arc::clone(session.ctx.qlog.as_ref()?);
        let now_ns = session.ctx.clock.now_ns();
        let zero = Instant::now().checked_sub(Duration::from_nanos(now_ns.max(0) as u64))?;
        Some(Self { files, side, zero })
    }

    /// The file of the next connection.
    pub(super) fn next(&self) -> Option<QlogStream> {
        let mut config = QlogConfig::default();
        let title = format!("quinn-proto, {}", self.side.name());
        config.writer(self.files.open(self.side)?).title(Some(title)).start_time(self.zero);
        config.into_stream()
    }
}

/// Configures the connections that arrive.
pub(super) struct Acceptor {
    /// What all connections have in common.
    pub(super) config: Arc<ServerConfig>,
    pub(super) transport: Transport,
    pub(super) events: Option<Events>,
}

impl Acceptor {
    /// The next connection's own configuration, when it has a file of its own to write.
    pub(super) fn next(&self) -> Option<Arc<ServerConfig>> {
        let events = self.events.as_ref()?.next();
        let mut config = ServerConfig::clone(&self.config);
        config.transport_config(self.transport.config(&Arc::<Counts>::default(), events).ok()?);
        Some(Arc::new(config))
    }
}
