//! What is done alike to a connection of quinn and of noq: `noq-proto` began as a fork of `quinn-proto`, and has this part
//! of its types under the same names.

/// Defines, for the library of this name, how streams and datagrams of its connections are read and written, what its
/// errors mean, and how its transmissions are sent.
macro_rules! calls {
    ($library:ident) => {
        use bytes::Bytes;
        use $library::{
            Connection, ConnectionError, Dir, ReadError, ReadableError, SendDatagramError, StreamId,
            Transmit, WriteError,
        };

        use crate::error::Failure;
        use crate::stacks::quic::sentence::{Cause, Loss, lost};
        use crate::stacks::quic::socket::Batch;
        use crate::transport::{Arrival, Take};

        /// Reads what is there of a connection's stream, which is accepted first where there is none yet.
        pub(super) fn read(
            quic: &mut Connection,
            stream: &mut Option<StreamId>,
            most_bytes: u64,
            take: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
        ) -> Result<Option<Arrival>, Failure> {
            *stream = stream.or_else(|| quic.streams().accept(Dir::Bi));
            let Some(stream) = *stream else { return Ok(None) };
            let mut stream = quic.recv_stream(stream);
            let mut chunks = match stream.read(true) {
                Ok(chunks) => chunks,
                Err(ReadableError::ClosedStream) => return Ok(Some(Arrival::End)),
                Err(error) => return Err(Failure::new(format!("the stream could not be read: {error}"))),
            };
            let mut left = most_bytes;
            let mut arrival = None;
            while left > 0 {
                match chunks.next(usize::try_from(left).unwrap_or(usize::MAX)) {
                    Ok(Some(chunk)) => {
                        left -= chunk.bytes.len() as u64;
                        take(&chunk.bytes)?;
                        arrival = Some(Arrival::Data);
                    }
                    Ok(None) if left == most_bytes => return Ok(Some(Arrival::End)),
                    Ok(None) | Err(ReadError::Blocked) => break,
                    Err(ReadError::Reset(code)) => {
                        return Err(lost("receiving", Loss::Application(code.into_inner())));
                    }
                }
            }
            Ok(arrival)
        }

        /// Writes as much as the stream takes.
        pub(super) fn write(
            quic: &mut Connection,
            stream: Option<StreamId>,
            block: &[u8],
        ) -> Result<usize, Failure> {
            let Some(stream) = stream else { return Ok(0) };
            let mut taken = 0;
            // Only a stream that was found without room is said to have some later.
            while taken < block.len() {
                match quic.send_stream(stream).write(&block[taken..]) {
                    Ok(count) => taken += count,
                    Err(WriteError::Blocked) => break,
                    Err(WriteError::Stopped(code)) => {
                        return Err(lost("sending", Loss::Application(code.into_inner())));
                    }
                    Err(error) => return Err(lost("sending", Loss::Other(error.to_string()))),
                }
            }
            Ok(taken)
        }

        /// Hands over the messages of `block`; returns their bytes.
        pub(super) fn write_datagrams(
            quic: &mut Connection,
            block: &[u8],
            message_bytes: usize,
        ) -> Result<usize, Failure> {
            let mut taken = 0;
            for message in block.chunks(message_bytes) {
                // The oldest waiting message gives way when there are too many, as `send_datagram` of quinn has it.
                match quic.datagrams().send(Bytes::copy_from_slice(message), true) {
                    Ok(()) => taken += message.len(),
                    Err(SendDatagramError::TooLarge) => {
                        return Err(Failure::new(format!(
                            "a message of {message_bytes} bytes is too long for a QUIC datagram on this path"
                        )));
                    }
                    Err(error) => {
                        return Err(Failure::new(format!("a datagram could not be sent: {error}")));
                    }
                }
            }
            Ok(taken)
        }

        /// Reads the datagrams that are there, at most `most`; tells whether there was any.
        pub(super) fn read_datagrams(
            quic: &mut Connection,
            now_ns: i64,
            most: u64,
            take: &mut Take<'_>,
        ) -> Result<bool, Failure> {
            let mut count = 0;
            while count < most {
                let Some(message) = quic.datagrams().recv() else { break };
                take(&message, Some(now_ns))?;
                count += 1;
            }
            Ok(count > 0)
        }

        /// The library's reason in common words.
        pub(super) fn loss(reason: &ConnectionError) -> Loss {
            match reason {
                ConnectionError::TransportError(error) => {
                    Loss::Local(Cause::of_code(error.code.into(), error.to_string()))
                }
                ConnectionError::ConnectionClosed(close) => {
                    Loss::Remote(Cause::of_code(close.error_code.into(), close.to_string()))
                }
                ConnectionError::ApplicationClosed(close) => Loss::Application(close.error_code.into_inner()),
                ConnectionError::Reset => Loss::Reset,
                ConnectionError::TimedOut => Loss::TimedOut,
                other => Loss::Other(other.to_string()),
            }
        }

        /// What is sent of `contents`.
        pub(super) fn batch<'a>(transmit: &Transmit, contents: &'a [u8]) -> Batch<'a> {
            Batch {
                to: transmit.destination,
                ecn: transmit.ecn.map_or(0, |ecn| ecn as u8),
                segment_bytes: transmit.segment_size.unwrap_or(transmit.size),
                bytes: &contents[..transmit.size],
            }
        }
    };
}

pub(super) use calls;
