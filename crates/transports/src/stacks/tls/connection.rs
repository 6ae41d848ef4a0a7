//! A TLS session over a kernel socket that carries bytes in order: TCP, or SCTP with one stream.

use std::io::{BufRead, ErrorKind};
use std::net::Shutdown;

use rustls::Connection as Tls;
use serde::Deserialize;
use socket2::Socket;

use super::early::EarlyData;
use crate::clock::Clock;
use crate::error::{Failure, OrFailure};
use crate::kernel::tcp_info::TcpSampler;
use crate::kernel::work::SessionWork;
use crate::peers::{broken, ended_by_the_other_side};
use crate::secure::{Incoming, RecordMap, tls_failure};
use crate::session::{Guarded, bound_receive, bound_send};
use crate::stacks::sctp::SctpSampler;
use crate::sys::batch;
use crate::transport::DeliveryInstants;
use crate::transport::{Arrival, Connection, Sampler, Take};

/// Application bytes of the longest record (RFC 8446, section 5.1).
const RECORD_BYTES: usize = 1 << 14;
/// What one read can bring, and one write of a sender that may wait.
const BATCH_BYTES: usize = 1 << 20;

const HANDSHAKE: &str = "the TLS handshake";

/// What carries the records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Carrier {
    #[default]
    Tcp,
    /// Each hand-over to the socket becomes one SCTP message.
    Sctp,
}

/// One end of a TLS session. The socket blocks; the limit of the run bounds how long.
pub(super) struct TlsConnection {
    socket: Guarded,
    tls: Tls,
    carrier: Carrier,
    transport_established_ns: i64,
    established_ns: i64,
    incoming: Incoming,
    /// When the latest bytes were read.
    read_ns: i64,
    /// Records that the socket has not taken yet.
    outgoing: Vec<u8>,
    /// Application bytes in records so far.
    encrypted_bytes: u64,
    /// Application bytes that are in a record and that the sender offers once more, so that it knows when the socket
    /// has taken all of the record.
    owed: usize,
    early: EarlyData,
    /// The other side has ended the session in order.
    ended: bool,
    /// Application bytes that were read.
    decrypted_bytes: u64,
    wake_for_each: bool,
    /// Where records end, when the packets that bring them are captured.
    records: Option<RecordMap>,
    work: SessionWork,
}

impl TlsConnection {
    /// Makes the handshake over a socket whose own handshake is over; a sender that may send early leaves it for later.
    /// `wire` says that the packets that arrive here are captured.
    pub(super) fn open(socket: Guarded, mut tls: Tls, carrier: Carrier, wire: bool) -> Result<Self, Failure> {
        let ctx = &socket.session().ctx;
        let now_ns = ctx.clock.now_ns();
        bound_receive(&socket, ctx.limit_ns - now_ns)?;
        bound_send(&socket, ctx.limit_ns - now_ns)?;
        tls.set_buffer_limit(None);
        let wake_for_each = ctx.wake || carrier == Carrier::Sctp || ctx.messages && !wire;
        let work = match tls {
            Tls::Server(_) => SessionWork::of_listener(socket.session()),
            Tls::Client(_) => SessionWork::none(),
        };
        let mut connection = Self {
            socket,
            tls,
            work,
            carrier,
            transport_established_ns: now_ns,
            established_ns: now_ns,
            incoming: Incoming::new(RECORD_BYTES),
            read_ns: now_ns,
            outgoing: Vec::new(),
            encrypted_bytes: 0,
            owed: 0,
            early: EarlyData::default(),
            ended: false,
            decrypted_bytes: 0,
            wake_for_each,
            records: wire.then(RecordMap::default),
        };
        if !EarlyData::possible(&mut connection.tls) {
            connection.shake_hands()?;
            connection.established_ns = connection.socket.session().ctx.clock.now_ns();
        }
        Ok(connection)
    }

    fn shake_hands(&mut self) -> Result<(), Failure> {
        loop {
            self.collect_outgoing();
            self.flush(0, HANDSHAKE)?;
            if !self.tls.is_handshaking() {
                let refused = self.early.refused(&self.tls);
                self.encrypted_bytes -= refused.len() as u64;
                self.encrypt(&refused)?;
                self.flush(0, HANDSHAKE)?;
                return Ok(());
            }
            self.early.collect(&mut self.tls, self.read_ns)?;
            if !self.next_record(HANDSHAKE)? && self.read(RECORD_BYTES, 0, HANDSHAKE)? == 0 {
                return Err(self.cut_off(HANDSHAKE));
            }
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

    /// Reads at most `most` bytes; 0 when the other side has ended the transport.
    fn read(&mut self, most: usize, flags: libc::c_int, doing: &str) -> Result<usize, Failure> {
        let count = match batch::read(self.socket.fd(), self.incoming.space(most), flags) {
            Ok(count) => count,
            // How the end of an SCTP association is told.
            Err(error) if error.kind() == ErrorKind::NotConnected => 0,
            Err(error) => return Err(broken(self.socket.session(), doing, &error)),
        };
        self.incoming.arrived(count);
        if count > 0 {
            self.work.read(&self.socket);
        }
        self.read_ns = self.socket.session().ctx.clock.now_ns();
        Ok(count)
    }

    /// Hands the next record to TLS; `false` when none is whole.
    fn next_record(&mut self, doing: &str) -> Result<bool, Failure> {
        let Some(mut record) = self.incoming.next_record() else { return Ok(false) };
        while !record.is_empty() {
            match self.tls.read_tls(&mut record) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return Err(Failure::system(format!("{doing} failed"), &error)),
            }
        }
        match self.tls.process_new_packets() {
            Ok(state) => {
                self.ended |= state.peer_has_closed();
                Ok(true)
            }
            Err(error) => {
                // The other side is told why, if it still listens.
                self.collect_outgoing();
                let _ = self.flush(libc::MSG_DONTWAIT, doing);
                Err(tls_failure(doing, &error))
            }
        }
    }

    fn collect_outgoing(&mut self) {
        while self.tls.wants_write() {
            // A vector takes everything.
            let _ = self.tls.write_tls(&mut self.outgoing);
        }
    }

    /// Gives the socket what is waiting for it; `false` when it does not take all of it without waiting.
    fn flush(&mut self, flags: libc::c_int, doing: &str) -> Result<bool, Failure> {
        while !self.outgoing.is_empty() {
            match self.socket.send_with_flags(&self.outgoing, flags | libc::MSG_NOSIGNAL) {
                Ok(taken) => drop(self.outgoing.drain(..taken)),
                Err(error) if error.kind() == ErrorKind::WouldBlock && flags & libc::MSG_DONTWAIT != 0 => {
                    return Ok(false);
                }
                Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                    return Err(Failure::new(
                        "a TLS record does not fit the SCTP send buffer; choose a larger `send_buffer_bytes`",
                    ));
                }
                Err(error) => return Err(broken(self.socket.session(), doing, &error)),
            }
        }
        Ok(true)
    }

    fn encrypt(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        std::io::Write::write_all(&mut self.tls.writer(), bytes)
            .or_failure("TLS did not take what was to be sent")?;
        self.encrypted_bytes += bytes.len() as u64;
        self.collect_outgoing();
        Ok(())
    }

    /// How many of `offered` bytes the next record takes. It never ends one byte behind a message: so all of it but
    /// one byte never ends at a message, and a sender that is told so does not stop there.
    fn record_bytes(&self, offered: usize, message_bytes: usize) -> usize {
        let most = offered.min(RECORD_BYTES);
        let end = self.encrypted_bytes + most as u64;
        if end % message_bytes as u64 == 1 && most > 1 { most - 1 } else { most }
    }

    /// Passes what TLS has decrypted on; whether there was anything.
    fn deliver(&mut self, take: &mut Take<'_>) -> Result<bool, Failure> {
        let before = self.decrypted_bytes;
        let mut reader = self.tls.reader();
        // Whatever the end of the session is, TLS has told it with the record.
        while let Ok(bytes) = reader.fill_buf()
            && !bytes.is_empty()
        {
            let count = bytes.len();
            self.decrypted_bytes += count as u64;
            take(bytes, Some(self.read_ns))?;
            reader.consume(count);
        }
        let any = self.decrypted_bytes > before;
        if any && let Some(records) = &mut self.records {
            records.note(self.decrypted_bytes, self.incoming.passed_on());
        }
        Ok(any)
    }

    /// How many bytes to wait for when at least `least_bytes` of the application are to come. Their records are
    /// longer than they are, so this never waits for bytes that nobody sends.
    fn worth_waiting_for(&self, least_bytes: u64) -> usize {
        let lacking = self.incoming.lacking();
        if self.decrypted_bytes == 0 {
            return lacking;
        }
        let least = least_bytes.saturating_sub(self.incoming.held() as u64);
        (least.min(BATCH_BYTES as u64) as usize).max(lacking)
    }

    /// Sends before the handshake is over what may go so; when nothing may, waits for the end of the handshake.
    fn offer_early(&mut self, block: &[u8]) -> Result<usize, Failure> {
        let taken = self.early.offer(&mut self.tls, block)?;
        if taken == 0 {
            self.shake_hands()?;
            return Ok(0);
        }
        self.encrypted_bytes += taken as u64;
        self.collect_outgoing();
        self.flush(0, "sending")?;
        Ok(taken)
    }

    fn end_session(&mut self, doing: &str) -> Result<(), Failure> {
        self.tls.send_close_notify();
        self.collect_outgoing();
        self.flush(0, doing)?;
        Ok(())
    }
}

impl Connection for TlsConnection {
    fn established_ns(&self) -> Option<i64> {
        Some(self.established_ns)
    }

    fn transport_established_ns(&self) -> Option<i64> {
        Some(self.transport_established_ns)
    }

    fn offer(&mut self, block: &[u8], message_bytes: usize, _seq: u64) -> Result<usize, Failure> {
        if self.tls.is_handshaking() {
            return self.offer_early(block);
        }
        if !self.flush(libc::MSG_DONTWAIT, "sending")? {
            return Ok(0);
        }
        let mut taken = std::mem::take(&mut self.owed);
        while taken < block.len() {
            let count = self.record_bytes(block.len() - taken, message_bytes);
            self.encrypt(&block[taken..taken + count])?;
            taken += count;
            if !self.flush(libc::MSG_DONTWAIT, "sending")? {
                self.owed = 1;
                return Ok(taken - 1);
            }
        }
        Ok(taken)
    }

    fn offer_all(&mut self, block: &[u8], _message_bytes: usize, _seq: u64) -> Result<usize, Failure> {
        if self.tls.is_handshaking() {
            return self.offer_early(block);
        }
        // An SCTP message per record, as when nobody waits.
        let most = if self.carrier == Carrier::Sctp { RECORD_BYTES } else { BATCH_BYTES };
        for piece in block.chunks(most) {
            self.encrypt(piece)?;
            self.flush(0, "sending")?;
        }
        Ok(block.len())
    }

    fn wait_until_writable(&mut self, now_ns: i64, until_ns: i64) -> Result<(), Failure> {
        self.socket.wait_until_writable(now_ns, until_ns)?;
        self.work.has_room(&self.socket);
        Ok(())
    }

    fn pause_watching(&mut self, clock: &Clock, instant_ns: i64) -> Result<i64, Failure> {
        let doing = "waiting for the next message";
        if self.tls.is_handshaking() {
            self.shake_hands()?;
        }
        while self.socket.wait_until_readable(instant_ns)? {
            if self.read(RECORD_BYTES, libc::MSG_DONTWAIT, doing)? == 0 {
                return Err(self.cut_off(doing));
            }
            while self.next_record(doing)? {}
            if self.ended {
                return Err(ended_by_the_other_side());
            }
        }
        Ok(clock.now_ns())
    }

    fn finish(&mut self) -> Result<Option<i64>, Failure> {
        self.shake_hands()?;
        self.end_session("ending the TLS session")?;
        // An SCTP association cannot be ended in one direction only: the receiver's end of TLS ends it.
        if self.carrier == Carrier::Tcp {
            self.socket
                .shutdown(Shutdown::Write)
                .map_err(|e| broken(self.socket.session(), "ending the stream", &e))?;
        }
        let doing = "waiting for the receiver to get everything and end the session";
        loop {
            while self.next_record(doing)? {}
            if self.read(RECORD_BYTES, 0, doing)? == 0 {
                let session = self.socket.session();
                return match session.failure() {
                    Some(failure) => Err(failure),
                    None if self.ended => Ok(Some(self.read_ns)),
                    None => Err(self.cut_off(doing)),
                };
            }
        }
    }

    fn instants(&self) -> DeliveryInstants {
        if self.records.is_some() && !self.wake_for_each {
            DeliveryInstants::Wire
        } else {
            DeliveryInstants::Application
        }
    }

    fn receive(
        &mut self,
        _most_messages: u64,
        most_bytes: u64,
        take: &mut Take<'_>,
    ) -> Result<Arrival, Failure> {
        let early = self.early.take_arrived();
        for (bytes, t_ns) in &early {
            self.decrypted_bytes += bytes.len() as u64;
            take(bytes, Some(*t_ns))?;
        }
        if !early.is_empty() {
            return Ok(Arrival::Data);
        }
        loop {
            let mut any = false;
            while self.next_record("receiving")? {
                any |= self.deliver(take)?;
            }
            if any {
                return Ok(Arrival::Data);
            }
            if self.ended {
                self.end_session("ending the TLS session")?;
                return self.socket.session().failure().map_or(Ok(Arrival::End), Err);
            }
            let count = if self.wake_for_each {
                self.read(BATCH_BYTES, 0, "receiving")?
            } else {
                self.read(self.worth_waiting_for(most_bytes), libc::MSG_WAITALL, "receiving")?
            };
            if count == 0 {
                return Err(self.cut_off("receiving"));
            }
        }
    }

    fn records(&mut self) -> Option<RecordMap> {
        self.records.take()
    }

    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure> {
        let socket: Socket = self.socket.try_clone().or_failure("a socket could not be duplicated")?;
        Ok(Some(match self.carrier {
            Carrier::Tcp => TcpSampler::boxed(socket),
            Carrier::Sctp => Box::new(SctpSampler { socket, message_bytes: RECORD_BYTES as u32 }),
        }))
    }
}
