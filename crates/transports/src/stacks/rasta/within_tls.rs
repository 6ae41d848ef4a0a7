//! The channel of `rasta-tls`: frames one after the other in a TLS session over TCP, each as long as its first two
//! octets say.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rasta::FRAME_HEADER_BYTES;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection as Tls, ServerConnection};

use super::channel::Channels;
use crate::error::{Failure, OrFailure};
use crate::http::stream::TlsEnds;
use crate::peers::broken;
use crate::secure::{SERVER_NAME, tls_failure};
use crate::session::Guarded;
use crate::sys::batch;

/// What one read can bring.
const READ_BYTES: usize = 1 << 16;

const HANDSHAKE: &str = "the TLS handshake";
const CARRYING: &str = "carrying frames of RaSTA";

/// One end of the session. The socket does not block.
pub(super) struct Frames {
    socket: Guarded,
    tls: Tls,
    max_frame_bytes: usize,
    /// Records that the socket has not taken yet.
    outgoing: Vec<u8>,
    /// What was decrypted and is no whole frame yet.
    incoming: Vec<u8>,
    /// The other side has ended its half.
    ended: bool,
    established_ns: i64,
}

impl Frames {
    /// The sender's end over a socket that is connected; returns when the handshake is over.
    pub(super) fn to_server(
        socket: Guarded,
        ends: &TlsEnds,
        max_frame_bytes: usize,
    ) -> Result<Self, Failure> {
        let name = ServerName::try_from(SERVER_NAME).map_err(|error| Failure::new(error.to_string()))?;
        let client = ClientConnection::new(Arc::clone(&ends.client), name);
        Self::open(socket, client.map(Into::into), max_frame_bytes)
    }

    /// The receiver's end over a socket that was accepted; returns when the handshake is over.
    pub(super) fn to_client(
        socket: Guarded,
        ends: &TlsEnds,
        max_frame_bytes: usize,
    ) -> Result<Self, Failure> {
        let server = ServerConnection::new(Arc::clone(&ends.server));
        Self::open(socket, server.map(Into::into), max_frame_bytes)
    }

    fn open(
        socket: Guarded,
        tls: Result<Tls, rustls::Error>,
        max_frame_bytes: usize,
    ) -> Result<Self, Failure> {
        let mut tls = tls.map_err(|error| tls_failure(HANDSHAKE, &error))?;
        tls.set_buffer_limit(None);
        socket.set_nonblocking(true).or_failure("a socket could not be set up")?;
        let established_ns = socket.session().ctx.clock.now_ns();
        let (outgoing, incoming) = (Vec::new(), Vec::new());
        let mut frames =
            Self { socket, tls, max_frame_bytes, outgoing, incoming, ended: false, established_ns };
        frames.shake_hands()?;
        Ok(frames)
    }

    fn shake_hands(&mut self) -> Result<(), Failure> {
        loop {
            self.flush(HANDSHAKE)?;
            if !self.tls.is_handshaking() {
                return Ok(());
            }
            if self.ended {
                return Err(self.cut_off(HANDSHAKE));
            }
            let session = Arc::clone(self.socket.session());
            let (fds, events) = self.waits();
            session.wait_any(&fds, events, session.ctx.clock.now_ns(), i64::MAX, HANDSHAKE)?;
            self.read(HANDSHAKE)?;
        }
    }

    /// The failure of a session whose transport ended without TLS having ended.
    fn cut_off(&self, doing: &str) -> Failure {
        self.socket.session().failure().unwrap_or_else(|| {
            Failure::new(format!(
                "{doing} failed: the other side closed the connection without ending the TLS session"
            ))
        })
    }

    /// Takes in what has come.
    fn read(&mut self, doing: &str) -> Result<(), Failure> {
        let mut buffer = vec![0; READ_BYTES];
        while !self.ended {
            let count = match batch::read(self.socket.fd(), &mut buffer, libc::MSG_DONTWAIT) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(broken(self.socket.session(), doing, &error)),
            };
            if count == 0 {
                self.ended = true;
            }
            let mut octets = &buffer[..count];
            while !octets.is_empty() {
                self.tls.read_tls(&mut octets).or_failure(format_args!("{doing} failed"))?;
                self.decrypt(doing)?;
            }
        }
        Ok(())
    }

    fn decrypt(&mut self, doing: &str) -> Result<(), Failure> {
        match self.tls.process_new_packets() {
            Ok(state) => {
                self.ended |= state.peer_has_closed();
                let start = self.incoming.len();
                self.incoming.resize(start + state.plaintext_bytes_to_read(), 0);
                self.tls.reader().read_exact(&mut self.incoming[start..]).or_failure("TLS gave no data")
            }
            Err(error) => {
                // The other side is told why, if it still listens.
                let _ = self.flush(doing);
                Err(tls_failure(doing, &error))
            }
        }
    }

    /// Gives the socket what it takes without waiting.
    fn flush(&mut self, doing: &str) -> Result<(), Failure> {
        while self.tls.wants_write() {
            // A vector takes everything.
            let _ = self.tls.write_tls(&mut self.outgoing);
        }
        while !self.outgoing.is_empty() {
            match self.socket.send_with_flags(&self.outgoing, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) {
                Ok(taken) => drop(self.outgoing.drain(..taken)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(broken(self.socket.session(), doing, &error)),
            }
        }
        Ok(())
    }

    /// Ends this half and waits for the end of the other one.
    fn close(&mut self) -> Result<(), Failure> {
        const ENDING: &str = "ending the TLS session";
        let session = Arc::clone(self.socket.session());
        self.tls.send_close_notify();
        self.flush(ENDING)?;
        let mut halved = false;
        while !self.ended || !self.outgoing.is_empty() {
            if self.outgoing.is_empty() && !halved {
                self.socket.shutdown(Shutdown::Write).or_failure("a stream could not be ended")?;
                halved = true;
            }
            let (fds, events) = self.waits();
            session.wait_any(&fds, events, session.ctx.clock.now_ns(), i64::MAX, ENDING)?;
            self.read(ENDING)?;
            self.flush(ENDING)?;
        }
        Ok(())
    }
}

/// How many octets of `stream` are its first frame, of at most `most`; `None` while it is not whole.
fn first_frame(stream: &[u8], most: usize) -> Result<Option<usize>, Failure> {
    let Some(length) = stream.first_chunk::<2>() else { return Ok(None) };
    let bytes = usize::from(u16::from_le_bytes(*length));
    if !(FRAME_HEADER_BYTES..=most).contains(&bytes) {
        return Err(Failure::new(format!(
            "a frame of RaSTA of {bytes} octets came, {FRAME_HEADER_BYTES} to {most} are possible"
        )));
    }
    Ok((bytes <= stream.len()).then_some(bytes))
}

impl Channels for Frames {
    fn waits(&self) -> (Vec<BorrowedFd<'_>>, libc::c_short) {
        let writing = if self.outgoing.is_empty() { 0 } else { libc::POLLOUT };
        let reading = if self.ended { 0 } else { libc::POLLIN };
        // A half that has ended would be ready for ever.
        let fds = if writing | reading == 0 { Vec::new() } else { vec![self.socket.fd()] };
        (fds, writing | reading)
    }

    fn send(&mut self, _: usize, frame: &[u8]) -> Result<(), Failure> {
        self.tls.writer().write_all(frame).or_failure("TLS did not take what was to be sent")?;
        self.flush(CARRYING)
    }

    /// What came with the end of the handshake, or with another frame.
    fn is_ready(&self) -> bool {
        !matches!(first_frame(&self.incoming, self.max_frame_bytes), Ok(None))
    }

    fn receive(&mut self, take: &mut dyn FnMut(usize, &[u8])) -> Result<(), Failure> {
        self.read(CARRYING)?;
        self.flush(CARRYING)?;
        while let Some(bytes) = first_frame(&self.incoming, self.max_frame_bytes)? {
            take(0, &self.incoming[..bytes]);
            self.incoming.drain(..bytes);
        }
        Ok(())
    }

    fn transport_established_ns(&self) -> Option<i64> {
        Some(self.established_ns)
    }

    fn end(&mut self) {
        // RaSTA has ended in order: what goes wrong now takes nothing away from that.
        let _ = self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_cut_by_their_lengths_and_a_wrong_length_is_a_sentence() {
        let stream = [9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0];
        assert_eq!(first_frame(&stream, 20), Ok(Some(9)));
        assert_eq!(first_frame(&stream[..8], 20), Ok(None));
        assert_eq!(first_frame(&stream[..1], 20), Ok(None));
        for length in [7, 21] {
            let error = first_frame(&[length, 0], 20).expect_err("no frame has it").to_string();
            assert!(error.contains(&format!("{length} octets came, 8 to 20 are possible")), "{error}");
        }
    }
}
