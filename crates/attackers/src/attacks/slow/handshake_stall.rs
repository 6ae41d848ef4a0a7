//! Handshakes that the client never finishes.

use std::time::Instant;

use super::hold::Hold;
use crate::attacks::start::by;
use crate::outcome::Outcome;
use crate::quic::QuicSession;
use crate::quic_wire::transport_parameters::Stated;
use crate::tcp::TlsStream;

/// The client's last words go out an octet at a time, the last never.
pub async fn over_tcp(hold: &Hold<'_>) -> Result<(), Outcome> {
    let (mut stream, last) = by(hold.deadline(), async {
        let mut stream = TlsStream::connect(hold.context, hold.context.sources.take(), None).await?;
        let last = stream.handshake_but_last().await?;
        Ok::<_, Outcome>((stream, last))
    })
    .await?;
    let _held = hold.counted();
    let mut octets = last.split_last().map_or(&[][..], |(_, octets)| octets);
    while let Some(next) = hold.next() {
        wait(&mut stream, next).await?;
        if let Some((octet, rest)) = octets.split_first() {
            stream.send_raw(&[*octet]).await?;
            octets = rest;
        }
    }
    wait(&mut stream, hold.end()).await
}

/// Reads for TLS, which says nothing of its own accord, until then.
async fn wait(stream: &mut TlsStream, until: Instant) -> Result<(), Outcome> {
    tokio::time::timeout_at(until.into(), pull_on(stream)).await.unwrap_or(Ok(()))
}

async fn pull_on(stream: &mut TlsStream) -> Result<(), Outcome> {
    loop {
        stream.pull().await?;
    }
}

/// The client acknowledges the server's part and asks for signs of life under the handshake's keys; Finished never comes.
pub async fn over_quic(hold: &Hold<'_>) -> Result<(), Outcome> {
    let mut session = QuicSession::open(hold.context, hold.context.sources.take(), &Stated::default())?;
    session.client.never_finish();
    session.until(hold.deadline(), |client| client.has_handshake_keys()).await?;
    let _held = hold.counted();
    hold.ping(&mut session).await
}
