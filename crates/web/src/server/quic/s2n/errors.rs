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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::net::{Ipv4Addr, SocketAddr};

    use bytes::Bytes;
    use h3::quic::{self, Connection as _, OpenStreams, RecvStream as _};
    use s2n_quic::client::Connect;
    use s2n_quic::provider::tls::rustls as tls;
    use s2n_quic::stream::BidirectionalStream;
    use s2n_quic::{Client, Server, application};
    use s2n_quic_core::frame::ConnectionClose;
    use s2n_quic_core::varint::VarInt;

    use super::super::connection::Connection;
    use super::super::listen;
    use super::super::streams::BidiStream;
    use super::*;
    use crate::certificates::Kind;
    use crate::tls::SERVER_NAME;
    use crate::tls::tests::Files;

    /// The client closed the connection: its HTTP/3 did with this code, or its QUIC.
    fn closed_by_client(code: u32, by_quic: bool) -> connection::Error {
        let frame_type = by_quic.then(|| VarInt::from_u32(0));
        ConnectionClose { error_code: VarInt::from_u32(code), frame_type, reason: None }.into()
    }

    fn of(code: u64) -> application::Error {
        application::Error::new(code).expect("QUIC can say it")
    }

    /// The code that the client closed a connection with.
    fn code(error: ConnectionErrorIncoming) -> u64 {
        let ConnectionErrorIncoming::ApplicationClose { error_code } = error else { panic!("{error:?}") };
        error_code
    }

    /// What broke a connection and says nothing to HTTP/3.
    fn other(error: ConnectionErrorIncoming) -> connection::Error {
        let ConnectionErrorIncoming::Undefined(inner) = error else { panic!("{error:?}") };
        *inner.downcast_ref().expect("an error of the library")
    }

    /// What broke the connection of a stream.
    fn of_connection(error: StreamErrorIncoming) -> ConnectionErrorIncoming {
        match error {
            StreamErrorIncoming::ConnectionErrorIncoming { connection_error } => connection_error,
            other => panic!("{other:?}"),
        }
    }

    /// The code that the client ended a stream with.
    fn terminated(error: StreamErrorIncoming) -> u64 {
        let StreamErrorIncoming::StreamTerminated { error_code } = error else { panic!("{error:?}") };
        error_code
    }

    /// What broke a stream and says nothing to HTTP/3.
    fn unknown(error: StreamErrorIncoming) -> stream::Error {
        let StreamErrorIncoming::Unknown(inner) = error else { panic!("{error:?}") };
        *inner.downcast_ref().expect("an error of the library")
    }

    #[test]
    fn a_connection_over_which_nothing_came_is_timed_out() {
        let error = lost(connection::Error::idle_timer_expired());
        assert!(matches!(error, ConnectionErrorIncoming::Timeout), "{error:?}");
    }

    #[test]
    fn what_breaks_a_connection_without_a_code_of_http_3_is_kept_as_it_is() {
        for error in [
            // PROTOCOL_VIOLATION (RFC 9000, section 20.1).
            closed_by_client(0x0a, true),
            connection::Error::stateless_reset(),
            connection::Error::no_valid_path(),
            connection::Error::unspecified(),
        ] {
            assert_eq!(other(lost(error)), error);
        }
    }

    #[test]
    fn a_stream_that_breaks_with_its_connection_says_what_that_does() {
        for told in [lost_with_it, |error: connection::Error| broken(error.into())] {
            assert_eq!(code(of_connection(told(closed_by_client(0x102, false)))), 0x102);
            let idle = of_connection(told(connection::Error::idle_timer_expired()));
            assert!(matches!(idle, ConnectionErrorIncoming::Timeout), "{idle:?}");
        }
    }

    /// A connection between a client and the server, both by the library, and what keeps it.
    struct Ends {
        /// Until it leaves.
        client: Option<s2n_quic::Connection>,
        server: Connection,
        _kept: (Client, Server),
    }

    impl Ends {
        async fn new(test: &str) -> Self {
            let files = Files::new(&format!("errors-{test}"), Kind::P256);
            let (config, _) = files.server(0, false).expect("a sound configuration");
            let port = || SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let (mut listening, _) = listen(port(), config, &Arc::default()).expect("a port");
            let Ok(builder) = Client::builder().with_tls(tls::Client::from(files.client(false).0));
            let client = builder.with_io(port()).expect("an address").start().expect("a port");
            let there = Connect::new(listening.local_addr().expect("it is bound"));
            let (connected, accepted) =
                tokio::join!(client.connect(there.with_server_name(SERVER_NAME)), listening.accept());
            let (handle, acceptor) = accepted.expect("the client comes").split();
            Self {
                client: Some(connected.expect("the server agrees")),
                server: Connection::new(handle, acceptor),
                _kept: (client, listening),
            }
        }

        /// A stream of the client: its end, and the server's.
        async fn stream(&mut self) -> (BidirectionalStream, BidiStream<Bytes>) {
            let client = self.client.as_mut().expect("it did not leave");
            let mut asking = client.open_bidirectional_stream().await.expect("the server has room");
            asking.send(Bytes::from_static(b"a")).await.expect("the server has room");
            let asked = poll_fn(|context| self.server.poll_accept_bidi(context)).await;
            (asking, asked.unwrap_or_else(|error| panic!("{error:?}")))
        }

        /// What h3 is told when it waits for streams of either kind.
        async fn accepting(&mut self) -> [ConnectionErrorIncoming; 2] {
            let server = &mut self.server;
            let both = poll_fn(|context| {
                quic::Connection::<Bytes>::poll_accept_bidi(server, context).map(Result::err)
            });
            let both = both.await.expect("nothing comes");
            let one = poll_fn(|context| {
                quic::Connection::<Bytes>::poll_accept_recv(server, context).map(Result::err)
            });
            [both, one.await.expect("nothing comes")]
        }

        /// What h3 is told when it opens streams of either kind.
        async fn opening(&mut self) -> [ConnectionErrorIncoming; 2] {
            let server = &mut self.server;
            let both =
                poll_fn(|context| OpenStreams::<Bytes>::poll_open_bidi(server, context).map(Result::err));
            let both = both.await.expect("nothing goes");
            let one =
                poll_fn(|context| OpenStreams::<Bytes>::poll_open_send(server, context).map(Result::err));
            [both, one.await.expect("nothing goes")].map(of_connection)
        }
    }

    /// What h3 is told when it reads a stream until that breaks.
    async fn reading(stream: &mut BidiStream<Bytes>) -> StreamErrorIncoming {
        loop {
            match poll_fn(|context| stream.poll_data(context)).await {
                Ok(data) => assert!(data.is_some(), "the stream ended well"),
                Err(error) => return error,
            }
        }
    }

    #[tokio::test]
    async fn the_code_of_a_client_that_closes_is_told_whatever_waits() {
        let mut ends = Ends::new("closes").await;
        let (_asking, mut asked) = ends.stream().await;
        ends.client.as_ref().expect("it did not leave").close(of(0x10c));
        assert_eq!(code(of_connection(reading(&mut asked).await)), 0x10c);
        assert_eq!(ends.accepting().await.map(code), [0x10c; 2]);
        assert_eq!(ends.opening().await.map(code), [0x10c; 2]);
    }

    #[tokio::test]
    async fn a_client_that_leaves_without_a_code_leaves_without_an_error() {
        let mut ends = Ends::new("leaves").await;
        drop(ends.client.take());
        assert_eq!(ends.accepting().await.map(code), [Code::H3_NO_ERROR.value(); 2]);
    }

    #[tokio::test]
    async fn what_this_end_closes_a_connection_with_is_no_code_of_the_client() {
        let mut ends = Ends::new("own").await;
        OpenStreams::<Bytes>::close(&mut ends.server, Code::H3_EXCESSIVE_LOAD, b"");
        let own = connection::Error::application(of(Code::H3_EXCESSIVE_LOAD.value()));
        assert_eq!(ends.accepting().await.map(other), [own; 2]);
        assert_eq!(ends.opening().await.map(other), [own; 2]);
    }

    #[tokio::test]
    async fn a_stream_that_the_client_resets_ends_with_its_code_and_the_connection_goes_on() {
        let mut ends = Ends::new("resets").await;
        for reset in [0x10c, 0x102] {
            let (mut asking, mut asked) = ends.stream().await;
            asking.reset(of(reset)).expect("it is open");
            assert_eq!(terminated(reading(&mut asked).await), reset);
        }
    }

    #[tokio::test]
    async fn what_a_stream_refuses_without_the_clients_doing_is_kept_as_it_is() {
        let mut ends = Ends::new("refuses").await;
        let (mut asking, _asked) = ends.stream().await;
        asking.finish().expect("it is open");
        let error = asking.send(Bytes::from_static(b"a")).await.expect_err("it is finished");
        assert_eq!(unknown(broken(error)), error);
    }
}
