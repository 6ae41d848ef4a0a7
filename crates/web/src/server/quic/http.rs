//! What is asked over a QUIC connection, and answered, by h3: the same whichever library carries it.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use h3::error::{ConnectionError, StreamError};
use h3::quic::{Connection, RecvStream, SendStream};
use h3::server::{RequestResolver, RequestStream};
use hyper::{HeaderMap, Request, Response};

use super::bounded::{Bounded, Bounds};
use crate::limits::Limits;
use crate::server::answer::answer;
use crate::server::body::{Coming, Taken, is_taken};
use crate::server::shared::Shared;
use crate::server::watch::{Open, Watch};
use crate::server::within::within;

/// The code of a connection that ends without an error (H3_NO_ERROR: RFC 9114, section 8.1).
pub(super) const NO_ERROR: u32 = 0x100;

/// Answers what is asked until the connection is over. A request is early for which `is_early` says so when it begins.
pub(super) async fn converse<Q>(
    quic: Q,
    shared: &Arc<Shared>,
    watch: &Arc<Watch>,
    is_early: impl Fn() -> bool,
) where
    Q: Connection<Bytes> + 'static,
    Q::BidiStream: Send + 'static,
{
    tokio::select! {
        // A connection that breaks is its client's to report.
        _ = http(quic, shared, watch, is_early) => {}
        _ = watch.over() => {}
    }
}

async fn http<Q>(
    quic: Q,
    shared: &Arc<Shared>,
    watch: &Arc<Watch>,
    is_early: impl Fn() -> bool,
) -> Result<(), ConnectionError>
where
    Q: Connection<Bytes> + 'static,
    Q::BidiStream: Send + 'static,
{
    let mut http = h3::server::builder()
        .send_grease(false)
        .max_field_section_size(shared.limits.header_octets.into())
        .build::<_, Bytes>(Bounded::new(quic, Bounds::of(&shared.limits)))
        .await?;
    while let Some(asked) = http.accept().await? {
        if is_early() {
            watch.note_early();
        }
        tokio::spawn(request(asked, Arc::clone(shared), Arc::clone(watch)));
    }
    Ok(())
}

async fn request<Q>(asked: RequestResolver<Q, Bytes>, shared: Arc<Shared>, watch: Arc<Watch>)
where
    Q: Connection<Bytes>,
{
    match within(shared.limits.header_timeout, asked.resolve_request()).await {
        None => watch.late_head(),
        // The library keeps a note of each stream that ended before it was a request: they must not be many.
        Some(Err(_)) => watch.cancelled(),
        // What goes wrong now is noted where the answer is dropped.
        Some(Ok((head, stream))) => drop(respond(&head, stream, &shared, &watch).await),
    }
}

async fn respond<S>(
    head: &Request<()>,
    mut stream: RequestStream<S, Bytes>,
    shared: &Shared,
    watch: &Arc<Watch>,
) -> Result<(), StreamError>
where
    S: SendStream<Bytes> + RecvStream,
{
    let open = watch.begin();
    let taken = if is_taken(head.method()) {
        let reading = take(&mut stream, head.headers(), &shared.limits, &open);
        match within(shared.limits.body_timeout, reading).await {
            Some(taken) => taken?,
            None => Err(open.late_body()),
        }
    } else {
        Ok(())
    };
    let (head, mut answer) = answer(&shared.site, head.method(), head.uri(), taken, open).into_parts();
    stream.send_response(Response::from_parts(head, ())).await?;
    while let Some(piece) = answer.next_piece() {
        stream.send_data(piece).await?;
    }
    stream.finish().await
}

/// Reads a body to its end.
///
/// # Errors
/// The stream broke.
async fn take<S>(
    stream: &mut RequestStream<S, Bytes>,
    headers: &HeaderMap,
    limits: &Limits,
    open: &Open,
) -> Result<Taken, StreamError>
where
    S: RecvStream,
{
    let mut coming = match Coming::of(headers, limits) {
        Ok(coming) => coming,
        Err(status) => return Ok(Err(status)),
    };
    while let Some(mut piece) = stream.recv_data().await? {
        open.went_on();
        let taken = coming.take(&piece.copy_to_bytes(piece.remaining()));
        if taken.is_err() {
            return Ok(taken);
        }
    }
    Ok(Ok(()))
}
