//! Sockets whose octets are counted.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::counters::Counters;

/// A TCP connection.
pub(super) struct Tcp {
    stream: TcpStream,
    counters: Arc<Counters>,
    end: Arc<End>,
}

/// How a TCP connection ends, for whoever no longer has it.
#[derive(Default)]
pub(super) struct End(AtomicBool);

impl End {
    /// With a reset: the kernel keeps nothing of what the client has not taken.
    pub(super) fn reset(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Tcp {
    pub(super) fn new(stream: TcpStream, counters: &Arc<Counters>, end: &Arc<End>) -> Self {
        Self { stream, counters: Arc::clone(counters), end: Arc::clone(end) }
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        if self.end.0.load(Ordering::Relaxed) {
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Tcp {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.counters.octets_in.add((buffer.filled().len() - before) as u64);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tcp {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = ready!(Pin::new(&mut self.stream).poll_write(context, octets))?;
        self.counters.octets_out.add(sent as u64);
        Poll::Ready(Ok(sent))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, slices))?;
        self.counters.octets_out.add(sent as u64);
        Poll::Ready(Ok(sent))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The UDP socket of all QUIC connections.
pub(super) struct Udp {
    socket: Arc<dyn AsyncUdpSocket>,
    counters: Arc<Counters>,
    #[cfg(feature = "weak")]
    copies: u32,
}

impl Udp {
    pub(super) fn new(
        socket: Arc<dyn AsyncUdpSocket>,
        counters: &Arc<Counters>,
        #[cfg(feature = "weak")] copies: u32,
    ) -> Self {
        Self {
            socket,
            counters: Arc::clone(counters),
            #[cfg(feature = "weak")]
            copies,
        }
    }

    fn send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.socket.try_send(transmit)?;
        self.counters.octets_out.add(transmit.contents.len() as u64);
        Ok(())
    }
}

impl fmt::Debug for Udp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Udp").field(&self.socket).finish()
    }
}

impl AsyncUdpSocket for Udp {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.socket).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.send(transmit)?;
        // A copy for which there is no room is lost, as any datagram may be.
        #[cfg(feature = "weak")]
        (1..self.copies).for_each(|_| drop(self.send(transmit)));
        Ok(())
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(self.socket.poll_recv(context, buffers, metas))?;
        for meta in &metas[..count] {
            self.counters.octets_in.add(meta.len as u64);
            self.counters.datagrams.add(datagrams(meta.len, meta.stride));
        }
        Poll::Ready(Ok(count))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.socket.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}

/// Datagrams in what the kernel handed over at once (generic receive offload): a datagram without content is one, too.
fn datagrams(octets: usize, stride: usize) -> u64 {
    octets.div_ceil(stride.max(1)).max(1) as u64
}

#[cfg(test)]
mod tests {
    use super::datagrams;

    #[test]
    fn datagrams_that_came_together_are_counted_apart() {
        assert_eq!(datagrams(1200, 1200), 1);
        assert_eq!(datagrams(3 * 1200, 1200), 3);
        assert_eq!(datagrams(3 * 1200 + 7, 1200), 4);
        assert_eq!(datagrams(0, 0), 1);
    }
}
