//! The settings of quinn's connections.

use std::sync::Arc;
use std::time::Duration;

use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{AckFrequencyConfig, QlogStream, TransportConfig, VarInt};
use serde::Deserialize;

use super::observed::{Counts, Observing};
use crate::error::Failure;
use crate::params::Buffers;

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CongestionControl {
    #[default]
    Cubic,
    Newreno,
    Bbr,
}

impl CongestionControl {
    fn factory(self, initial_window_bytes: Option<u32>) -> Arc<dyn ControllerFactory + Send + Sync> {
        macro_rules! with_window {
            ($config:ty) => {{
                let mut config = <$config>::default();
                if let Some(bytes) = initial_window_bytes {
                    config.initial_window(bytes.into());
                }
                Arc::new(config)
            }};
        }
        match self {
            Self::Cubic => with_window!(CubicConfig),
            Self::Newreno => with_window!(NewRenoConfig),
            Self::Bbr => with_window!(BbrConfig),
        }
    }
}

/// What a path with a delay of minutes asks for beside a long idle time-out and much credit: what the working group
/// TIPTOP wants stacks to let their users set (draft-ietf-tiptop-quic-profile-00).
#[derive(Clone, Copy, Default)]
pub(super) struct LongDelay {
    /// 333 ms where absent (RFC 9002, section 6.2.2).
    pub(super) initial_rtt: Option<Duration>,
    /// Asked of the other end (draft-ietf-quic-ack-frequency); 25 ms where absent.
    pub(super) max_ack_delay: Option<Duration>,
    /// The library's own where absent.
    pub(super) initial_window_bytes: Option<u32>,
}

/// What a flow asks of its connections.
#[derive(Clone, Copy)]
pub(super) struct Transport {
    pub(super) congestion_control: CongestionControl,
    pub(super) idle_timeout: Option<Duration>,
    pub(super) buffers: Buffers,
    pub(super) long: LongDelay,
    /// Whether packets behind the handshake are padded with PADDING frames (RFC 9000, section 19.1).
    pub(super) pad_to_mtu: bool,
}

impl Transport {
    /// The library's configuration of one connection, whose congestion control counts in `counts` and whose events go
    /// to `events`.
    pub(super) fn config(
        &self,
        counts: &Arc<Counts>,
        events: Option<QlogStream>,
    ) -> Result<Arc<TransportConfig>, Failure> {
        let mut transport = TransportConfig::default();
        let inner = self.congestion_control.factory(self.long.initial_window_bytes);
        transport.congestion_controller_factory(Arc::new(Observing { inner, counts: Arc::clone(counts) }));
        transport.qlog_stream(events);
        transport.pad_to_mtu(self.pad_to_mtu);
        if let Some(timeout) = self.idle_timeout {
            let timeout = timeout
                .try_into()
                .map_err(|error| Failure::new(format!("`idle_timeout_s` is too long for QUIC: {error}")))?;
            transport.max_idle_timeout(Some(timeout));
        }
        if let Some(rtt) = self.long.initial_rtt {
            transport.initial_rtt(rtt);
        }
        if let Some(delay) = self.long.max_ack_delay {
            let mut frequency = AckFrequencyConfig::default();
            frequency.max_ack_delay(Some(delay));
            transport.ack_frequency_config(Some(frequency));
        }
        if let Some(bytes) = self.buffers.send_bytes {
            transport.send_window(u64::from(bytes));
        }
        if let Some(bytes) = self.buffers.receive_bytes {
            transport.stream_receive_window(VarInt::from_u32(bytes)).receive_window(VarInt::from_u32(bytes));
        }
        Ok(Arc::new(transport))
    }

    /// What may be handed over and not acknowledged, as far as this flow limits it.
    pub(super) fn window_bytes(&self) -> u64 {
        let Buffers { send_bytes, receive_bytes } = self.buffers;
        send_bytes.into_iter().chain(receive_bytes).min().map_or(u64::MAX, u64::from)
    }
}
