//! The transports under HTTP: how their sockets are opened, and with which TLS.

use socket2::Socket;

use super::sctp::Sctp;
use super::tcp::Tcp;
use crate::error::Failure;
use crate::http::{StreamCarrier, TlsEnds};
use crate::session::Session;

impl StreamCarrier for Tcp {
    fn at_source(&self, session: &Session) -> Result<Socket, Failure> {
        self.open(session.ctx.source)
    }

    fn at_destination(&self, session: &Session) -> Result<Socket, Failure> {
        self.open(session.ctx.destination)
    }

    fn longest_write(&self) -> usize {
        usize::MAX
    }

    fn tls(&self, _: &Session) -> Result<Option<TlsEnds>, Failure> {
        Ok(None)
    }
}

/// Each hand-over is a message: the longest TLS record and what encryption adds to it (RFC 8446, section 5.2).
const LONGEST_MESSAGE_BYTES: usize = (1 << 14) + 256 + 5;

impl StreamCarrier for Sctp {
    fn at_source(&self, session: &Session) -> Result<Socket, Failure> {
        let socket = self.open(session.ctx.source)?;
        self.add_homes(&socket, session.ctx.source, &session.ctx.source_further)?;
        Ok(socket)
    }

    fn at_destination(&self, session: &Session) -> Result<Socket, Failure> {
        let socket = self.open(session.ctx.destination)?;
        self.add_homes(&socket, session.ctx.destination, &session.ctx.destination_further)?;
        Ok(socket)
    }

    fn longest_write(&self) -> usize {
        LONGEST_MESSAGE_BYTES
    }

    fn tls(&self, _: &Session) -> Result<Option<TlsEnds>, Failure> {
        Ok(None)
    }
}
