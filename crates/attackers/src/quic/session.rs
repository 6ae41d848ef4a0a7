//! A connection with its socket and its clock.

use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Instant;

use tokio::net::UdpSocket;

use super::client::Client;
use crate::context::Context;
use crate::guard;
use crate::outcome::Outcome;
use crate::quic_wire::ConnectionId;
use crate::quic_wire::transport_parameters::Stated;
use crate::tally::Tally;

/// A server's datagrams are at most 1,472 octets long: so much the transport parameters allow.
const RECEIVE_OCTETS: usize = 2048;

/// H3_NO_ERROR (RFC 9114, section 8.1): nothing is wrong.
const NO_ERROR: u64 = 0x100;

/// A connection on a UDP socket of its own. It is closed when this is dropped, as the kernel closes TCP's.
pub struct QuicSession {
    socket: UdpSocket,
    /// The connection.
    pub client: Client,
    tally: Rc<Tally>,
    datagram: Vec<u8>,
}

impl Drop for QuicSession {
    fn drop(&mut self) {
        if self.client.closed().is_none() {
            self.client.close(NO_ERROR);
            // A server that is gone already needs no goodbye.
            let _ = self.flush();
        }
    }
}

impl QuicSession {
    /// A connection whose ClientHello waits to be sent: by [`Self::flush`], or by the first [`Self::turn`].
    ///
    /// # Errors
    /// If the machine has no socket for it.
    pub fn open(context: &Context, from: IpAddr, stated: &Stated) -> Result<Self, Outcome> {
        let socket = guard::udp(from, context.target, None)?;
        let ids = (ConnectionId::of(context.random()), ConnectionId::of(context.random()));
        let client = Client::new(&context.tls, &context.server_name, ids, stated, Instant::now());
        let client = client.map_err(|_| Outcome::Tls)?;
        Ok(Self { socket, client, tally: Rc::clone(&context.tally), datagram: Vec::with_capacity(1500) })
    }

    /// Sends all that waits to be sent.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn flush(&mut self) -> Result<(), Outcome> {
        while self.client.transmit(Instant::now(), &mut self.datagram) {
            match guard::send(&self.socket, &self.datagram) {
                Ok(octets) => self.tally.bytes_out(octets),
                // A full buffer loses the datagram, as a full queue would.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), Outcome> {
        let mut buffer = [0; RECEIVE_OCTETS];
        loop {
            match self.socket.try_recv(&mut buffer) {
                Ok(octets) => {
                    self.tally.bytes_in(octets);
                    self.client.receive(Instant::now(), &mut buffer[..octets]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Sends what waits to be sent; waits until something comes or is due, at most until then, and sees to it. May be
    /// dropped without harm while it waits.
    ///
    /// # Errors
    /// How the connection ended.
    pub async fn turn(&mut self, until: Instant) -> Result<(), Outcome> {
        self.flush()?;
        let wake = self.client.timeout().map_or(until, |timeout| timeout.min(until));
        tokio::select! {
            biased;
            ready = self.socket.readable() => {
                ready?;
                self.drain()?;
            }
            () = tokio::time::sleep_until(wake.into()) => {}
        }
        self.client.on_timeout(Instant::now());
        self.flush()?;
        self.client.closed().map_or(Ok(()), Err)
    }

    /// Takes turns until the condition holds.
    ///
    /// # Errors
    /// [`Outcome::Timeout`] if it does not hold by then; or how the connection ended.
    pub async fn until(
        &mut self,
        deadline: Instant,
        mut holds: impl FnMut(&mut Client) -> bool,
    ) -> Result<(), Outcome> {
        while !holds(&mut self.client) {
            if Instant::now() >= deadline {
                return Err(Outcome::Timeout);
            }
            self.turn(deadline).await?;
        }
        Ok(())
    }
}
