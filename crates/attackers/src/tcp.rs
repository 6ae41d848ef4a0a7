//! A TLS connection over TCP, octet by octet: its user says when something is read, sent, or left undone.

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use rustls::ClientConnection;
use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::context::Context;
use crate::guard;
use crate::outcome::Outcome;
use crate::tally::Tally;

/// A connection. What is under way is dropped without harm when one of its futures is.
pub struct TlsStream {
    stream: TcpStream,
    tls: ClientConnection,
    tally: Rc<Tally>,
}

/// The socket as rustls reads and writes it: without waiting, and counted.
struct Socket<'a> {
    stream: &'a TcpStream,
    tally: &'a Tally,
}

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let octets = self.stream.try_read(buffer)?;
        self.tally.bytes_in(octets);
        Ok(octets)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let written = self.stream.try_write(octets)?;
        self.tally.bytes_out(written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TlsStream {
    /// Connects over TCP and leaves the ClientHello to be sent by [`Self::flush`].
    ///
    /// # Errors
    /// What became of the connection instead.
    pub async fn connect(context: &Context, from: IpAddr, window: Option<u32>) -> Result<Self, Outcome> {
        let tls = ClientConnection::new(Arc::clone(&context.tls), context.server_name.clone());
        let mut tls = tls.map_err(|_| Outcome::Tls)?;
        tls.set_buffer_limit(None);
        let stream = guard::connect(from, context.target, window).await?;
        Ok(Self { stream, tls, tally: Rc::clone(&context.tally) })
    }

    /// Sends what TLS has to send as far as the socket takes it; false if some is left.
    fn try_flush(&mut self) -> Result<bool, Outcome> {
        while self.tls.wants_write() {
            let mut socket = Socket { stream: &self.stream, tally: &self.tally };
            match self.tls.write_tls(&mut socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Reads once and gives TLS what came; false if nothing did.
    fn try_pull(&mut self) -> Result<bool, Outcome> {
        let mut socket = Socket { stream: &self.stream, tally: &self.tally };
        match self.tls.read_tls(&mut socket) {
            Ok(0) => Err(Outcome::Closed(None)),
            Ok(_) => self.tls.process_new_packets().map(|_| true).map_err(|_| Outcome::Tls),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends all that TLS has to send.
    ///
    /// # Errors
    /// If the connection is gone.
    pub async fn flush(&mut self) -> Result<(), Outcome> {
        while !self.try_flush()? {
            self.stream.writable().await?;
        }
        Ok(())
    }

    /// Waits for something from the socket and gives it to TLS. What TLS has to send stays unsent.
    ///
    /// # Errors
    /// [`Outcome::Closed`] at the end of the stream; or what else became of the connection.
    pub async fn pull(&mut self) -> Result<(), Outcome> {
        while !self.try_pull()? {
            self.stream.readable().await?;
        }
        Ok(())
    }

    /// Sends what there is to send, as the socket takes it, until something came.
    ///
    /// # Errors
    /// [`Outcome::Closed`] at the end of the stream; or what else became of the connection.
    pub async fn turn(&mut self) -> Result<(), Outcome> {
        loop {
            let all_sent = self.try_flush()?;
            if self.try_pull()? {
                return Ok(());
            }
            let interest =
                if all_sent { Interest::READABLE } else { Interest::READABLE | Interest::WRITABLE };
            self.stream.ready(interest).await?;
        }
    }

    /// The whole handshake, with this end's last words sent.
    ///
    /// # Errors
    /// What became of it instead.
    pub async fn handshake(&mut self) -> Result<(), Outcome> {
        self.flush().await?;
        while self.tls.is_handshaking() {
            self.pull().await?;
            self.flush().await?;
        }
        Ok(())
    }

    /// The handshake up to this end's last words: what TLS would send now is given back unsent.
    ///
    /// # Errors
    /// What became of it instead.
    pub async fn handshake_but_last(&mut self) -> Result<Vec<u8>, Outcome> {
        self.flush().await?;
        let mut last = Vec::new();
        while self.tls.is_handshaking() {
            self.pull().await?;
            while self.tls.wants_write() {
                self.tls.write_tls(&mut last)?;
            }
        }
        Ok(last)
    }

    /// Sends octets as they are, outside of TLS.
    ///
    /// # Errors
    /// If the connection is gone.
    pub async fn send_raw(&mut self, mut octets: &[u8]) -> Result<(), Outcome> {
        while !octets.is_empty() {
            match (Socket { stream: &self.stream, tally: &self.tally }).write(octets) {
                Ok(written) => octets = &octets[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.stream.writable().await?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Gives TLS application data to send.
    ///
    /// # Errors
    /// Never: TLS takes any amount.
    pub fn queue(&mut self, octets: &[u8]) -> Result<(), Outcome> {
        Ok(self.tls.writer().write_all(octets)?)
    }

    /// Whether something given to TLS is unsent.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.tls.wants_write()
    }

    /// Sends application data.
    ///
    /// # Errors
    /// If the connection is gone.
    pub async fn send(&mut self, octets: &[u8]) -> Result<(), Outcome> {
        self.queue(octets)?;
        self.flush().await
    }

    /// Appends the application data that is there.
    ///
    /// # Errors
    /// [`Outcome::Closed`] if it has ended and all was taken.
    pub fn take(&mut self, into: &mut Vec<u8>) -> Result<usize, Outcome> {
        let state = self.tls.process_new_packets().map_err(|_| Outcome::Tls)?;
        let (before, ready) = (into.len(), state.plaintext_bytes_to_read());
        if ready == 0 && state.peer_has_closed() {
            return Err(Outcome::Closed(None));
        }
        into.resize(before + ready, 0);
        self.tls.reader().read_exact(&mut into[before..])?;
        Ok(ready)
    }

    /// Waits for application data and appends all that is there.
    ///
    /// # Errors
    /// [`Outcome::Closed`] at its end; or what else became of the connection.
    pub async fn receive(&mut self, into: &mut Vec<u8>) -> Result<(), Outcome> {
        while self.take(into)? == 0 {
            self.turn().await?;
        }
        Ok(())
    }

    /// Says goodbye in TLS; the socket closes as this is dropped.
    pub async fn close(mut self) {
        self.tls.send_close_notify();
        // A server that is gone already needs no goodbye.
        let _ = self.flush().await;
    }

    /// The socket.
    #[must_use]
    pub fn socket(&self) -> &TcpStream {
        &self.stream
    }
}
