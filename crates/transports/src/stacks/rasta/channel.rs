//! What RaSTA's redundancy layer sends frames over: one or several channels.

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Failure;

/// The channels of one end.
pub(super) trait Channels: Send {
    /// What to wait for, and for which events (POLLIN, POLLOUT).
    fn waits(&self) -> (Vec<BorrowedFd<'_>>, libc::c_short);

    /// Sends a frame over a channel.
    ///
    /// # Errors
    /// A sentence: the channel broke, and there is no other.
    fn send(&mut self, channel: usize, frame: &[u8]) -> Result<(), Failure>;

    /// Whether a whole frame is here already, for which nobody need wait.
    fn is_ready(&self) -> bool {
        false
    }

    /// Takes what has come and is whole: the channel, and a frame.
    ///
    /// # Errors
    /// As for [`Channels::send`].
    fn receive(&mut self, take: &mut dyn FnMut(usize, &[u8])) -> Result<(), Failure>;

    /// When the handshake of what is below was over, where there is one.
    fn transport_established_ns(&self) -> Option<i64> {
        None
    }

    /// Ends what is below, if it has an end, once the last frame has been sent.
    fn end(&mut self) {}
}

/// Where channels wait between two connections; without a place they are closed with their connection.
#[derive(Clone)]
pub(super) struct Pool(Option<Place>);

type Place = Arc<Mutex<Option<Box<dyn Channels>>>>;

impl Pool {
    /// A place with channels in it.
    pub(super) fn of(channels: Box<dyn Channels>) -> Self {
        Self(Some(Arc::new(Mutex::new(Some(channels)))))
    }

    pub(super) fn none() -> Self {
        Self(None)
    }

    /// Takes the channels.
    ///
    /// # Errors
    /// A sentence: a connection has them.
    pub(super) fn take(&self) -> Result<Box<dyn Channels>, Failure> {
        let place = self.0.as_ref().map(|place| place.lock().unwrap_or_else(PoisonError::into_inner).take());
        place.flatten().ok_or_else(|| {
            Failure::new("a RaSTA receiver serves one connection at a time and was asked for a second")
        })
    }

    pub(super) fn give_back(&self, channels: Box<dyn Channels>) {
        if let Some(place) = &self.0 {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(channels);
        }
    }
}
