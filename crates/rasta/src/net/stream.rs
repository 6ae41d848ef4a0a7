//! Frames in a stream of octets: the length field says where the next one begins.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use super::wires::Output;
use crate::frame::FRAME_HEADER_BYTES;

/// Reads one frame of at most `max_bytes`. A length that no frame has ends the stream: nothing after it can be found.
pub(super) async fn read_frame(
    stream: &mut (impl AsyncRead + Unpin),
    max_bytes: usize,
) -> io::Result<Vec<u8>> {
    let mut length = [0; 2];
    stream.read_exact(&mut length).await?;
    let bytes = usize::from(u16::from_le_bytes(length));
    if !(FRAME_HEADER_BYTES..=max_bytes).contains(&bytes) {
        let text =
            format!("a frame of {bytes} octets came, {FRAME_HEADER_BYTES} to {max_bytes} are possible");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let mut frame = vec![0; bytes];
    frame[..2].copy_from_slice(&length);
    stream.read_exact(&mut frame[2..]).await?;
    Ok(frame)
}

/// Writes frames until the stream breaks; `None` if nobody sends any more.
pub(super) async fn write_frames(
    stream: &mut (impl AsyncWrite + Unpin),
    frames: &mut mpsc::Receiver<Output>,
) -> Option<io::Error> {
    loop {
        match frames.recv().await? {
            Output::Frame(frame) => {
                if let Err(error) = stream.write_all(&frame).await {
                    return Some(error);
                }
            }
            Output::Flushed(answer) => {
                if let Err(error) = stream.flush().await {
                    return Some(error);
                }
                // Nobody waits any more: nothing to say.
                let _ = answer.send(());
            }
        }
    }
}
