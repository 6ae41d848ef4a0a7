//! Starts that are dealt out to connections which stay: streams, frames and requests at a rate.

use std::cell::Cell;
use std::future::Future;
use std::io::Write;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::request;
use super::start::DRAIN;
use crate::context::{Context, SetupError};
use crate::http::h2;
use crate::outcome::Outcome;
use crate::pacing::{self, Start};
use crate::quic::{Client, QuicSession};
use crate::quic_wire::transport_parameters::Stated;
use crate::tcp::TlsStream;

/// After the end of a connection the next is opened so much later.
const PAUSE: Duration = Duration::from_millis(100);
/// So many octets may wait for a server that does not read before starts find no room.
const MOST_BEHIND: usize = 1 << 20;

/// A connection that starts are made on.
pub trait Load: Sized {
    /// What all connections of a run share.
    type Options: 'static;

    /// Opens one, ready for starts.
    fn open(context: &Context, options: &Self::Options) -> impl Future<Output = Result<Self, Outcome>>;

    /// Makes a start, without waiting: what is to be sent is sent by the next turn.
    ///
    /// # Errors
    /// [`Outcome::Blocked`] if the server's limits leave no room for it.
    fn start(&mut self, context: &Context, options: &Self::Options) -> Result<(), Outcome>;

    /// Sends and reads for a while. May be dropped without harm while it waits.
    ///
    /// # Errors
    /// How the connection ended.
    fn turn(&mut self) -> impl Future<Output = Result<(), Outcome>>;
}

/// Opens connections and makes starts on them in turn; one that ends is opened again.
///
/// The schedule begins when all connections are open, or the time-out has passed. A start that finds its connection
/// gone is blocked.
pub async fn run<L: Load + 'static>(
    context: &Rc<Context>,
    connections: u32,
    options: L::Options,
    out: &mut dyn Write,
) -> Result<(), SetupError> {
    let options = Rc::new(options);
    let opened = Rc::new(Cell::new(0));
    let mut feeds: Vec<UnboundedSender<Instant>> = Vec::new();
    for _ in 0..connections {
        let (feed, starts) = unbounded_channel();
        feeds.push(feed);
        let (context, options, opened) = (Rc::clone(context), Rc::clone(&options), Rc::clone(&opened));
        let alive = context.tally.alive();
        tokio::task::spawn_local(async move {
            keep::<L>(&context, &options, &opened, starts).await;
            drop(alive);
        });
    }
    let patience = Instant::now() + context.timeout;
    while opened.get() < connections && Instant::now() < patience {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    context.begin();
    let mut turn = 0;
    let drain = context.timeout + DRAIN;
    pacing::run(context.schedule(), &context.tally, drain, out, |due| {
        // A connection stays to the end of the schedule, so that someone listens.
        let _ = feeds[turn].send(due);
        turn = (turn + 1) % feeds.len();
        Start::Offered
    })
    .await?;
    Ok(())
}

/// Keeps one connection open until the schedule ends.
async fn keep<L: Load>(
    context: &Context,
    options: &L::Options,
    opened: &Cell<u32>,
    mut starts: UnboundedReceiver<Instant>,
) {
    let mut is_first = true;
    loop {
        let opening = async { tokio::time::timeout(context.timeout, L::open(context, options)).await };
        let load = without(context, &mut starts, opening).await;
        let ended = match load {
            None => return,
            Some(Err(_)) => Outcome::Timeout,
            Some(Ok(Err(outcome))) => outcome,
            Some(Ok(Ok(mut load))) => {
                if std::mem::take(&mut is_first) {
                    opened.set(opened.get() + 1);
                }
                let _held = context.tally.hold();
                match serve(context, options, &mut starts, &mut load).await {
                    Ok(()) => return,
                    Err(outcome) => outcome,
                }
            }
        };
        context.tally.connection_ended(ended);
        if without(context, &mut starts, tokio::time::sleep(PAUSE)).await.is_none() {
            return;
        }
    }
}

/// Waits for something while there is no connection: starts are blocked meanwhile. None if the schedule ends first.
async fn without<T>(
    context: &Context,
    starts: &mut UnboundedReceiver<Instant>,
    wait: impl Future<Output = T>,
) -> Option<T> {
    tokio::pin!(wait);
    loop {
        tokio::select! {
            done = &mut wait => return Some(done),
            Some(_) = starts.recv() => context.tally.ended(Outcome::Blocked),
            () = tokio::time::sleep_until(context.horizon().into()) => {
                if context.is_over() {
                    return None;
                }
            }
        }
    }
}

/// Makes starts until the schedule ends, or the connection does.
async fn serve<L: Load>(
    context: &Context,
    options: &L::Options,
    starts: &mut UnboundedReceiver<Instant>,
    load: &mut L,
) -> Result<(), Outcome> {
    loop {
        tokio::select! {
            biased;
            Some(due) = starts.recv() => match load.start(context, options) {
                Ok(()) => {
                    context.tally.sent(due);
                    context.tally.ended(Outcome::Ok);
                }
                Err(outcome) => context.tally.ended(outcome),
            },
            ended = load.turn() => ended?,
            () = tokio::time::sleep_until(context.horizon().into()) => {
                if context.is_over() {
                    return Ok(());
                }
            }
        }
    }
}

/// A connection over QUIC with HTTP/3's first words said, confirmed by the server.
pub async fn open_quic(context: &Context, stated: &Stated) -> Result<QuicSession, Outcome> {
    let mut session = open_silent(context, stated).await?;
    request::control(&mut session)?;
    Ok(session)
}

/// A connection over QUIC that the server has confirmed, and on which nothing is said yet.
pub async fn open_silent(context: &Context, stated: &Stated) -> Result<QuicSession, Outcome> {
    let deadline = Instant::now() + context.timeout;
    let mut session = QuicSession::open(context, context.sources.take(), stated)?;
    session.until(deadline, |client| client.is_confirmed()).await?;
    Ok(session)
}

/// A turn of a connection over QUIC; at the latest in a second it is over.
pub async fn turn_quic(session: &mut QuicSession) -> Result<(), Outcome> {
    session.turn(Instant::now() + Duration::from_secs(1)).await
}

/// Opens a request's stream and sends its beginning: the stream.
///
/// # Errors
/// [`Outcome::Blocked`] if the server allows no more streams, or has no room.
pub fn request_quic(client: &mut Client, request: &[u8], fin: bool) -> Result<u64, Outcome> {
    if !client.allows(request.len()) {
        return Err(Outcome::Blocked);
    }
    let id = client.open_bidi().ok_or(Outcome::Blocked)?;
    client.send(id, request, fin);
    Ok(id)
}

/// A connection over HTTP/2 and what waits to be sent on it.
pub struct H2 {
    stream: TlsStream,
    reader: h2::Reader,
    came: Vec<u8>,
    /// Frames that wait.
    pub out: Vec<u8>,
    /// The stream that is opened next.
    next: u32,
}

impl H2 {
    /// Opens one and says the first words.
    pub async fn open(context: &Context) -> Result<Self, Outcome> {
        let mut stream = TlsStream::connect(context, context.sources.take(), None).await?;
        stream.handshake().await?;
        let mut out = Vec::new();
        h2::put_preface(&mut out, request::WHOLE_WINDOW);
        Ok(Self { stream, reader: h2::Reader::default(), came: Vec::new(), out, next: 1 })
    }

    /// The next stream, if the server reads what is sent.
    pub fn next_stream(&mut self) -> Result<u32, Outcome> {
        if self.out.len() > MOST_BEHIND {
            return Err(Outcome::Blocked);
        }
        self.next += 2;
        Ok(self.next - 2)
    }

    /// Sends and reads for a while.
    pub async fn turn(&mut self) -> Result<(), Outcome> {
        if !self.out.is_empty() && !self.stream.is_behind() {
            self.stream.queue(&self.out)?;
            self.out.clear();
        }
        self.stream.turn().await?;
        self.stream.take(&mut self.came)?;
        let events = self.reader.take(&self.came, &mut self.out);
        self.came.clear();
        for event in events {
            if let h2::Event::GoAway(code) = event {
                return Err(Outcome::Closed(Some(code.into())));
            }
        }
        Ok(())
    }
}
