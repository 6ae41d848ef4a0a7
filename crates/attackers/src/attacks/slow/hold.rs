//! What all variants hold connections by: when they speak, and what they hear.

use std::time::{Duration, Instant};

use crate::attacks::start::by;
use crate::context::{Context, Protocol};
use crate::http::h2;
use crate::outcome::Outcome;
use crate::quic::QuicSession;
use crate::quic_wire::transport_parameters::Stated;
use crate::tally::Gauge;
use crate::tcp::TlsStream;

/// What all variants hold by.
pub struct Hold<'a> {
    /// Of the run.
    pub context: &'a Context,
    /// How often a connection says something.
    pub interval: Duration,
    /// After how long without an answer a connection over QUIC has ended: an idle time-out needs no word (RFC 9000,
    /// section 10.1).
    pub silence: Duration,
}

impl Hold<'_> {
    /// When opening has failed.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.context.timeout
    }

    /// Counts a connection as held from now on, until what is returned is dropped.
    pub fn counted(&self) -> Gauge {
        self.context.tally.hold()
    }

    /// When the connection says something again; none if the schedule ends before.
    pub fn next(&self) -> Option<Instant> {
        let next = Instant::now() + self.interval;
        (next < self.context.schedule().end()).then_some(next)
    }

    /// When nothing more is to be said.
    pub fn end(&self) -> Instant {
        self.context.schedule().end()
    }

    /// A connection over TLS and TCP, its handshake done.
    pub async fn tls(&self, window: Option<u32>) -> Result<TlsStream, Outcome> {
        by(self.deadline(), async {
            let mut stream = TlsStream::connect(self.context, self.context.sources.take(), window).await?;
            stream.handshake().await?;
            Ok::<_, Outcome>(stream)
        })
        .await
    }

    /// A connection over QUIC, its handshake done.
    pub async fn quic(&self, stated: &Stated) -> Result<QuicSession, Outcome> {
        let mut session = QuicSession::open(self.context, self.context.sources.take(), stated)?;
        session.until(self.deadline(), |client| client.is_confirmed()).await?;
        Ok(session)
    }

    /// Holds a connection over QUIC to the end, with a ping whenever it is to say something.
    ///
    /// # Errors
    /// How the server ended it.
    pub async fn ping(&self, session: &mut QuicSession) -> Result<(), Outcome> {
        while let Some(next) = self.next() {
            self.attend(session, next).await?;
            session.client.ping();
        }
        self.attend(session, self.end()).await
    }

    /// Sees to a connection over QUIC until then.
    ///
    /// # Errors
    /// How the server ended it; [`Outcome::Silent`] if it did so without a word.
    pub async fn attend(&self, session: &mut QuicSession, until: Instant) -> Result<(), Outcome> {
        while Instant::now() < until {
            let silent_at = session.client.unanswered_since().map(|since| since + self.silence);
            session.turn(silent_at.map_or(until, |at| at.min(until))).await?;
            if session.client.unanswered_since().is_some_and(|since| since.elapsed() >= self.silence) {
                session.client.end_silently();
                return Err(Outcome::Silent);
            }
        }
        Ok(())
    }
}

/// Hears what a server says over TLS while its connection is held.
#[derive(Default)]
pub struct Ear {
    reader: h2::Reader,
    /// Whether what wants an answer in HTTP/2 gets none.
    pub is_mute: bool,
}

impl Ear {
    /// Hears until then.
    ///
    /// # Errors
    /// How the server ended the connection or the request.
    pub async fn listen(
        &mut self,
        hold: &Hold<'_>,
        stream: &mut TlsStream,
        until: Instant,
    ) -> Result<(), Outcome> {
        tokio::time::timeout_at(until.into(), self.hear(hold, stream)).await.unwrap_or(Ok(()))
    }

    async fn hear(&mut self, hold: &Hold<'_>, stream: &mut TlsStream) -> Result<(), Outcome> {
        loop {
            self.once(hold, stream).await?;
        }
    }

    /// Hears once and answers.
    ///
    /// # Errors
    /// How the server ended the connection or the request.
    pub async fn once(&mut self, hold: &Hold<'_>, stream: &mut TlsStream) -> Result<(), Outcome> {
        let (mut came, mut answers) = (Vec::new(), Vec::new());
        stream.receive(&mut came).await?;
        if hold.context.protocol == Protocol::H1 {
            return Err(Outcome::Answered);
        }
        if let Some(event) = self.reader.take(&came, &mut answers).first() {
            return Err(match event {
                h2::Event::Answered(..) => Outcome::Answered,
                h2::Event::Reset(..) => Outcome::Reset,
                h2::Event::GoAway(code) => Outcome::Closed(Some((*code).into())),
            });
        }
        if self.is_mute { Ok(()) } else { stream.send(&answers).await }
    }
}
