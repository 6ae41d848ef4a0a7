//! HTTP/1.1 and HTTP/2 over TLS over TCP, by hyper.

use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use socket2::SockRef;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::answer::{Answer, answer};
use super::body::{Coming, Taken, is_taken};
use super::early::Secured;
use super::metered::{End, Tcp};
use super::shared::{Admitted, Shared};
use super::watch::{Open, Watch};
use super::within::within;
use crate::Refusal;
use crate::limits::{Limit, Limits};
use crate::protocol::Protocol;

/// How long the server waits when the kernel has no connection to give for lack of descriptors or memory.
const SHORTAGE: Duration = Duration::from_millis(10);

/// The congestion control that quinn has, too.
const CONGESTION_CONTROL: &[u8] = b"cubic";

/// A socket that listens, and the name of its congestion control.
///
/// # Errors
/// A sentence: the kernel refused.
pub(super) fn listen(
    address: std::net::SocketAddr,
    limits: &Limits,
) -> Result<(TcpListener, String), Refusal> {
    let open = || -> io::Result<(TcpListener, String)> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        socket.set_nodelay(true)?;
        // A weakness asks for more than the kernel takes as a number.
        socket.set_send_buffer_size(limits.send_octets.min(i32::MAX as u32))?;
        // Where the kernel has another one and does not allow this, the first line says which it is.
        let _ = SockRef::from(&socket).set_tcp_congestion(CONGESTION_CONTROL);
        let congestion_control = SockRef::from(&socket).tcp_congestion()?;
        socket.bind(address)?;
        let name = String::from_utf8_lossy(&congestion_control).trim_end_matches('\0').to_owned();
        Ok((socket.listen(limits.backlog)?, name))
    };
    open().map_err(|error| Refusal::of(format!("{address} cannot be listened at"), error))
}

/// Takes connections and answers what is asked over them.
pub(super) async fn serve(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    protocol: Protocol,
    shared: Arc<Shared>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => match shared.admit() {
                Ok(admitted) => {
                    tokio::spawn(connection(
                        stream,
                        acceptor.clone(),
                        protocol,
                        Arc::clone(&shared),
                        admitted,
                    ));
                }
                // The client hears of it at once: a reset.
                Err(_) => drop(stream.set_zero_linger()),
            },
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(_) => {
                shared.counters.accepts_failed.one();
                tokio::time::sleep(SHORTAGE).await;
            }
        }
    }
}

async fn connection(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    protocol: Protocol,
    shared: Arc<Shared>,
    admitted: Admitted,
) {
    let end = Arc::new(End::default());
    let accepted = acceptor.accept(Tcp::new(stream, &shared.counters, &end));
    let secured = match within(shared.limits.handshake_timeout, accepted).await {
        None => return admitted.failed(Some(Limit::HandshakeTimeout)),
        Some(accepted) => accepted.and_then(Secured::new),
    };
    let Ok(secured) = secured else { return admitted.failed(None) };
    let watch = Watch::new(&shared);
    if secured.is_early() {
        watch.note_early();
    }
    watch.secured();
    let _open = admitted.completed();
    let over = async {
        // What a client does not take would stay in the kernel for minutes after the connection was closed.
        if watch.over().await == Limit::IdleTimeout {
            end.reset();
        }
    };
    // A connection that breaks is its client's to report; one that has to end is closed by being dropped.
    tokio::select! {
        _ = http(secured, protocol, &shared, &watch) => {}
        () = over => {}
    }
}

async fn http(
    stream: Secured,
    protocol: Protocol,
    shared: &Arc<Shared>,
    watch: &Arc<Watch>,
) -> hyper::Result<()> {
    let limits = &shared.limits;
    let octets = |octets: u32| usize::try_from(octets).unwrap_or(usize::MAX);
    let service = service_fn(|request| respond(request, Arc::clone(shared), watch.begin()));
    let stream = TokioIo::new(stream);
    if protocol == Protocol::H1 {
        return hyper::server::conn::http1::Builder::new()
            .auto_date_header(false)
            .header_read_timeout(None::<Duration>)
            .max_header_size(octets(limits.header_octets))
            .max_buf_size(octets(limits.send_octets.max(limits.header_octets)))
            .serve_connection(stream, service)
            .await;
    }
    hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .auto_date_header(false)
        .max_header_list_size(limits.header_octets)
        .max_concurrent_streams(limits.streams)
        .initial_stream_window_size(limits.receive_octets)
        .initial_connection_window_size(limits.receive_octets)
        .max_send_buf_size(octets(limits.send_octets))
        .max_pending_accept_reset_streams(limits.pending_resets)
        .max_local_error_reset_streams(limits.pending_resets)
        .serve_connection(stream, service)
        .await
}

async fn respond(
    request: Request<Incoming>,
    shared: Arc<Shared>,
    open: Open,
) -> Result<Response<Answer>, Infallible> {
    let (head, body) = request.into_parts();
    let taken = if is_taken(&head.method) {
        let reading = take(body, &head.headers, &shared.limits, &open);
        let taken = within(shared.limits.body_timeout, reading).await;
        taken.unwrap_or_else(|| Err(open.late_body()))
    } else {
        Ok(())
    };
    Ok(answer(&shared.site, &head.method, &head.uri, taken, open))
}

/// Reads a body to its end.
async fn take(mut body: Incoming, headers: &HeaderMap, limits: &Limits, open: &Open) -> Taken {
    let mut coming = Coming::of(headers, limits)?;
    while let Some(frame) = body.frame().await {
        open.went_on();
        // One that breaks is its client's to report.
        let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
        if let Some(piece) = frame.data_ref() {
            coming.take(piece)?;
        }
    }
    Ok(())
}
