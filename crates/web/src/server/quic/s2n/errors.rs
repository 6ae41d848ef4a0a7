//! The library's errors in the terms of h3.

use std::sync::Arc;

use h3::error::Code;
use h3::quic::{ConnectionErrorIncoming, StreamErrorIncoming};
use s2n_quic::{connection, stream};

/// A connection that is over without an error.
pub(super) fn ended() -> ConnectionErrorIncoming {
    ConnectionErrorIncoming::ApplicationClose { error_code: Code::H3_NO_ERROR.value() }
}

/// A connection that broke. What this end closed it with is none of the client's errors.
pub(super) fn lost(error: connection::Error) -> ConnectionErrorIncoming {
    match error {
        connection::Error::Application { error, initiator, .. } if initiator.is_remote() => {
            ConnectionErrorIncoming::ApplicationClose { error_code: error.into() }
        }
        connection::Error::IdleTimerExpired { .. } => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

/// A stream whose connection broke.
pub(super) fn lost_with_it(error: connection::Error) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: lost(error) }
}

/// A stream that broke.
pub(super) fn broken(error: stream::Error) -> StreamErrorIncoming {
    match error {
        stream::Error::ConnectionError { error, .. } => lost_with_it(error),
        stream::Error::StreamReset { error, .. } => {
            StreamErrorIncoming::StreamTerminated { error_code: error.into() }
        }
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}
