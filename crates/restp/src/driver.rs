//! The task behind an endpoint: the only one that touches the socket.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use restp_proto::Transmit;

use crate::clock::Timer;
use crate::socket::{MAX_DATAGRAM_BYTES, ReceiveBuffer, Socket};
use crate::state::Shared;

/// Rounds of receiving and sending before other tasks of the thread have their turn.
const ROUNDS: usize = 16;
/// Trains of packets sent before what arrived meanwhile is looked at: acknowledgements must not wait long.
const TRAINS: usize = 16;

/// Moves packets between socket and protocol until nobody needs it any more.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    socket: Arc<Socket>,
    timer: Timer,
    inbound: ReceiveBuffer,
    outbound: Vec<u8>,
    /// Packets that the socket had no room for.
    blocked: Option<Transmit>,
}

impl Driver {
    pub fn new(shared: Arc<Shared>) -> io::Result<Self> {
        let socket = shared.socket();
        let inbound = socket.receive_buffer();
        Ok(Self { shared, socket, timer: Timer::new()?, inbound, outbound: Vec::new(), blocked: None })
    }

    /// Takes everything that one call to the system brings.
    fn receive(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        let shared = &self.shared;
        let mut locked = None;
        let received = self.socket.poll_recv(cx, &mut self.inbound, |train| {
            let (state, now) = locked.get_or_insert_with(|| (shared.lock(), shared.clock.now()));
            if let Some(lent) = &train.lent {
                state.proto.handle_train(*now, train.path, train.ecn, lent, train.stride);
                return;
            }
            for datagram in train.bytes.chunks(train.stride) {
                state.proto.handle(*now, train.path, train.ecn, datagram);
            }
        });
        drop(locked);
        self.hear_reports(false);
        match received {
            Poll::Ready(result) => result.map(|()| true),
            Poll::Pending => Ok(false),
        }
    }

    /// Tells the protocol what the network could not deliver. Left in the socket, reports would take up its buffer.
    fn hear_reports(&self, look: bool) {
        self.socket.take_reports(look, |remote, datagram| {
            let now = self.shared.clock.now();
            self.shared.lock().proto.unreachable(now, remote, datagram);
        });
    }

    /// Sends what is ready, up to a limit; true if there may be more.
    fn transmit(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        for _ in 0..TRAINS {
            let transmit = match self.blocked.take() {
                Some(transmit) => transmit,
                None => {
                    self.outbound.clear();
                    let mut state = self.shared.lock();
                    let fitting = MAX_DATAGRAM_BYTES / state.largest_packet_bytes.max(1);
                    let segments = self.socket.max_segments().min(fitting).max(1);
                    let now = self.shared.clock.now();
                    match state.proto.poll_transmit(now, segments, &mut self.outbound) {
                        Some(transmit) => transmit,
                        None => {
                            state.unsent_datagrams = 0;
                            state.flushers.wake();
                            return Ok(false);
                        }
                    }
                }
            };
            match self.socket.poll_send(cx, &transmit, &self.outbound) {
                Poll::Ready(result) => result?,
                Poll::Pending => {
                    self.blocked = Some(transmit);
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Does what is due; true if anything was.
    fn expire(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        if let Poll::Ready(result) = self.timer.poll(cx) {
            result?;
        }
        let now = self.shared.clock.now();
        let mut state = self.shared.lock();
        state.end_farewells(now);
        let due = state.deadline().is_some_and(|deadline| deadline <= now);
        if due && now < state.reports_until {
            // A report alone wakes nobody: what is due may be the next attempt to reach a peer that is not there.
            drop(state);
            self.hear_reports(true);
            state = self.shared.lock();
        }
        if due {
            state.proto.handle_timeout(now);
        }
        Ok(due)
    }

    /// One round; true if another one is needed.
    fn round(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        let rebound = {
            let mut state = self.shared.lock();
            state.news = false;
            state.rebound.take()
        };
        if let Some(socket) = rebound {
            self.socket = socket;
            self.blocked = None;
        }
        let received = self.receive(cx)?;
        let expired = self.expire(cx)?;
        let sending = self.transmit(cx)?;
        let mut state = self.shared.lock();
        let now = self.shared.clock.now();
        state.dispatch(now);
        if received || expired || sending || state.news {
            return Ok(true);
        }
        if let Some(deadline) = state.deadline() {
            self.timer.arm(now, deadline)?;
            // Arming may have fired at once; then the timer's task is not told again.
            if let Poll::Ready(result) = self.timer.poll(cx) {
                result?;
                return Ok(true);
            }
        }
        state.driver = Some(cx.waker().clone());
        Ok(false)
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..ROUNDS {
            match self.round(cx) {
                Ok(true) => {}
                Ok(false) => {
                    let over = self.shared.lock().is_over();
                    return if over { Poll::Ready(()) } else { Poll::Pending };
                }
                Err(error) => {
                    self.shared.lock().stop(error.to_string());
                    return Poll::Ready(());
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if state.stopped.is_none() {
            state.stop("its runtime ended".into());
        }
    }
}
