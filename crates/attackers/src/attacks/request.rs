//! One honest request and its whole answer, over each protocol.

use std::time::Instant;

use crate::context::{Context, Protocol};
use crate::http::{Answer, h1, h2, h3};
use crate::outcome::Outcome;
use crate::quic::QuicSession;
use crate::tcp::TlsStream;

/// The window that a client of HTTP/2 leaves the server on each stream: as much as there is.
pub const WHOLE_WINDOW: u32 = 0x7fff_ffff;

/// What a client of HTTP/2 says first, with a request for `path` on stream 1.
pub fn h2_first_words(context: &Context, path: &str, window: u32) -> Vec<u8> {
    let mut words = Vec::with_capacity(200);
    h2::put_preface(&mut words, window);
    if window == WHOLE_WINDOW {
        // The connection's window begins with 65,535 octets, whatever SETTINGS say (RFC 9113, section 6.9.2).
        h2::put_frame(&mut words, h2::kind::WINDOW_UPDATE, 0, 0, &(WHOLE_WINDOW - 65_535).to_be_bytes());
    }
    let fields = h2::fields("GET", &context.host, path);
    h2::put_frame(&mut words, h2::kind::HEADERS, h2::flag::END_HEADERS | h2::flag::END_STREAM, 1, &fields);
    words
}

/// Over TLS and TCP, by HTTP/1.1 or HTTP/2.
pub async fn over_tcp(context: &Context, stream: &mut TlsStream) -> Result<(), Outcome> {
    let mut came = Vec::new();
    if context.protocol == Protocol::H1 {
        stream.send(&h1::get(&context.host, &context.path)).await?;
        loop {
            stream.receive(&mut came).await?;
            if let Answer::Over(outcome) = h1::answer(&came) {
                return as_result(outcome);
            }
        }
    }
    stream.send(&h2_first_words(context, &context.path, WHOLE_WINDOW)).await?;
    let (mut reader, mut answers) = (h2::Reader::default(), Vec::new());
    loop {
        stream.receive(&mut came).await?;
        let events = reader.take(&came, &mut answers);
        came.clear();
        stream.send(&answers).await?;
        answers.clear();
        if let Answer::Over(outcome) = h2::Reader::answer(&events, 1) {
            return as_result(outcome);
        }
    }
}

/// Over QUIC, by HTTP/3.
pub async fn over_quic(
    context: &Context,
    session: &mut QuicSession,
    deadline: Instant,
) -> Result<(), Outcome> {
    session.until(deadline, |client| client.is_established()).await?;
    let id = begin(session, &context.host, &context.path)?;
    session
        .until(deadline, |client| client.received(id).is_some_and(|stream| h3::answer(stream).is_some()))
        .await?;
    let outcome = session.client.received(id).and_then(h3::answer);
    as_result(outcome.unwrap_or(Outcome::Reset))
}

/// Says what a client of HTTP/3 says first and requests `path`: the request's stream.
pub fn begin(session: &mut QuicSession, host: &str, path: &str) -> Result<u64, Outcome> {
    control(session)?;
    let id = session.client.open_bidi().ok_or(Outcome::Blocked)?;
    session.client.watch(id);
    session.client.send(id, &h3::get(host, path), true);
    Ok(id)
}

/// Says what a client of HTTP/3 says first.
pub fn control(session: &mut QuicSession) -> Result<(), Outcome> {
    let control = session.client.open_uni().ok_or(Outcome::Blocked)?;
    session.client.send(control, &h3::control(), false);
    Ok(())
}

fn as_result(outcome: Outcome) -> Result<(), Outcome> {
    if outcome == Outcome::Ok { Ok(()) } else { Err(outcome) }
}
