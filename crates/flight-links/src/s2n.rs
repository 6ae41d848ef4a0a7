//! QUIC by s2n-quic, for what [`crate::quic`] does with quinn: ground opens the connection, space takes it, and messages go
//! on one stream a direction or each in a datagram of its own.
//!
//! Its endpoint is driven without its runtime (crate `s2n-endpoint`), in the thread of whoever calls, so that the time of a
//! message is that of this thread and of no other. The library has its own datagrams behind a feature that it calls
//! unstable.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use flight::security::{LinkSecurity, Output, Refusal};
use rustls::{ClientConfig, ServerConfig};
use s2n_endpoint::{Batch, Datagram, Endpoint, Outlet, Slot};
use s2n_quic::client::{Connect, ConnectionAttempt};
use s2n_quic::connection::{Connection, Handle, StreamAcceptor};
use s2n_quic::provider::datagram::default;
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls as tls;
use s2n_quic::stream::{ReceiveStream, SendStream};
use s2n_quic::{Client, Server};

use crate::credentials::{Credentials, SPACE_NAME};
use crate::link::{Link, State, check, too_long, wait};
use crate::packets::Packets;
use crate::quic::{Delivery, GROUND, MOST_CONNECTIONS, QuicOptions, SPACE};
use crate::suite::Suite;
use crate::tls_config::{self, SetupError};

/// Messages in datagrams that wait at either end of a connection, at most: what the library's queues have when nothing else
/// is said to them.
const MOST_DATAGRAMS: usize = 200;

/// Octets of a datagram that are left for all else in its packet: header, tag, acknowledgements, new ids of the connection.
/// A message that does not fit beside them the library throws away, and does not say so.
const BESIDE_OCTETS: usize = 252;

/// In place of no time-out at all, as quinn has it: the library wants one of a connection that has nothing to do.
const NEVER: Duration = Duration::from_secs(366 * 86_400);

/// Polls are repeated after every event: nobody needs to be woken.
fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

fn refused(error: impl ToString) -> SetupError {
    SetupError::Quic(error.to_string())
}

/// What both ends settle before they start.
fn limits(options: &QuicOptions) -> Result<Limits, SetupError> {
    Limits::new()
        .with_max_idle_timeout(options.idle_timeout.unwrap_or(NEVER))
        .and_then(|limits| limits.with_max_handshake_duration(NEVER))
        .map_err(refused)
}

/// The library's queues of datagrams.
fn queues() -> Result<default::Endpoint, SetupError> {
    let queues = default::Endpoint::builder()
        .with_send_capacity(MOST_DATAGRAMS)
        .and_then(|queues| queues.with_recv_capacity(MOST_DATAGRAMS))
        .map_err(refused)?;
    let Ok(queues) = queues.build();
    Ok(queues)
}

/// Starts an endpoint, and takes it. The library's builders of a client and of a server have the same steps and no common
/// trait.
macro_rules! started {
    ($builder:expr, $tls:expr, $options:expr, $at:expr) => {{
        let options: &QuicOptions = $options;
        let slot = Slot::new($at).with_datagrams_of(options.mtu_octets);
        let Ok(builder) = $builder.with_tls($tls);
        let Ok(builder) = builder.with_io(slot.clone());
        let Ok(builder) = builder.with_limits(limits(options)?);
        let started = match options.delivery {
            Delivery::Stream => builder.start(),
            Delivery::Datagram => {
                let Ok(builder) = builder.with_datagram(queues()?);
                builder.start()
            }
        };
        let handle = started.map_err(refused)?;
        (handle, slot.take().ok_or_else(|| refused("it started no endpoint"))?)
    }};
}

/// What the ground end of several connections shares: its settings.
#[derive(Clone)]
pub struct S2nGround {
    options: QuicOptions,
    config: Arc<ClientConfig>,
}

impl S2nGround {
    /// Settings of ground.
    ///
    /// # Errors
    /// If a library does not have the suite, or refuses something.
    pub fn new(
        suite: &Suite,
        credentials: &Credentials,
        options: QuicOptions,
        metered: bool,
    ) -> Result<Self, SetupError> {
        let config = Arc::new(tls_config::ground(suite, credentials, metered)?);
        Ok(Self { options, config })
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// If the library refuses it.
    pub fn open(&self, now: Duration) -> Result<S2n, SetupError> {
        let tls = tls::Client::from(Arc::clone(&self.config));
        let (client, endpoint) = started!(Client::builder(), tls, &self.options, GROUND);
        let attempt = Some(client.connect(Connect::new(SPACE).with_server_name(SPACE_NAME)));
        let mut s2n = S2n::new(&self.options, endpoint, Side::Ground { _client: client, attempt }, now);
        // An attempt begins when it is asked first how far it is.
        s2n.meet();
        Ok(s2n)
    }
}

/// What space's ends share: their settings.
#[derive(Clone)]
pub struct S2nSpace {
    options: QuicOptions,
    config: Arc<ServerConfig>,
}

impl S2nSpace {
    /// Settings of space.
    ///
    /// # Errors
    /// If a library does not have the suite, or refuses something.
    pub fn new(
        suite: &Suite,
        credentials: &Credentials,
        options: QuicOptions,
        metered: bool,
    ) -> Result<Self, SetupError> {
        let config = Arc::new(tls_config::space(suite, credentials, metered)?);
        Ok(Self { options, config })
    }

    /// An end that waits for ground.
    ///
    /// # Errors
    /// If the library refuses it.
    pub fn wait(&self, now: Duration) -> Result<S2n, SetupError> {
        let tls = tls::Server::from(Arc::clone(&self.config));
        let (server, endpoint) = started!(Server::builder(), tls, &self.options, SPACE);
        Ok(S2n::new(&self.options, endpoint, Side::Space(server), now))
    }
}

/// Through what connections come.
enum Side {
    Ground {
        /// An endpoint closes when nobody holds its client any more.
        _client: Client,
        /// Until there is a connection.
        attempt: Option<ConnectionAttempt>,
    },
    Space(Server),
}

/// A connection with its streams.
struct Peer {
    handle: Handle,
    acceptor: StreamAcceptor,
    outgoing: Option<SendStream>,
    incoming: Option<ReceiveStream>,
    packets: Packets,
}

impl Peer {
    fn new(connection: Connection) -> Self {
        let (handle, acceptor) = connection.split();
        Self { handle, acceptor, outgoing: None, incoming: None, packets: Packets::default() }
    }

    /// Sends on the stream what it has room for. A connection that is over tells so where it is read.
    fn write(&mut self, waiting: &mut VecDeque<Vec<u8>>) {
        if self.outgoing.is_none()
            && let Poll::Ready(Ok(stream)) = self.handle.poll_open_send_stream(&mut context())
        {
            self.outgoing = Some(stream);
        }
        let Some(stream) = &mut self.outgoing else { return };
        while !waiting.is_empty()
            && let Poll::Ready(Ok(_)) = stream.poll_send_ready(&mut context())
            && let Some(message) = waiting.pop_front()
        {
            // There is room, and the stream is open.
            let _ = stream.send_data(Bytes::from(message));
        }
    }

    /// Gives the library's queue what it has room for.
    fn write_datagrams(&mut self, waiting: &mut VecDeque<Vec<u8>>) {
        // A connection that is over takes none, and tells so where it is read.
        let _ = self.handle.datagram_mut(|sender: &mut default::Sender| {
            while let Some(message) = waiting.pop_front() {
                let mut message = Bytes::from(message);
                if sender.poll_send_datagram(&mut message, &mut context()).is_pending() {
                    waiting.push_front(message.into());
                    return;
                }
            }
        });
    }

    /// Reads whatever came. A connection that is over says why.
    fn read(&mut self, delivery: Delivery, outputs: &mut VecDeque<Output>) -> Result<(), String> {
        let before = outputs.len();
        if delivery == Delivery::Datagram {
            let _ = self.handle.datagram_mut(|receiver: &mut default::Receiver| {
                while let Some(message) = receiver.recv_datagram() {
                    outputs.push_back(Output::Message(message.into()));
                }
            });
        }
        if let Some(stream) = &mut self.incoming {
            loop {
                match stream.poll_receive(&mut context()) {
                    Poll::Ready(Ok(Some(octets))) => {
                        self.packets.take(&octets, |message| outputs.push_back(Output::Message(message)));
                    }
                    Poll::Ready(Err(error)) => return Err(error.to_string()),
                    Poll::Ready(Ok(None)) | Poll::Pending => return Ok(()),
                }
            }
        }
        if outputs.len() > before {
            return Ok(());
        }
        match self.acceptor.poll_accept_receive_stream(&mut context()) {
            Poll::Ready(Ok(Some(stream))) => {
                self.incoming = Some(stream);
                self.read(delivery, outputs)
            }
            Poll::Ready(Ok(None)) => Err("the other end closed it".to_owned()),
            Poll::Ready(Err(error)) => Err(error.to_string()),
            Poll::Pending => Ok(()),
        }
    }
}

/// One end of a link that QUIC protects.
pub struct S2n {
    delivery: Delivery,
    mtu_octets: u16,
    endpoint: Endpoint,
    side: Side,
    /// Messages go to the last: the connection that ground opened, or that was proven to space last.
    peers: Vec<Peer>,
    /// The link's time when the endpoint's began.
    zero: Duration,
    now: Duration,
    due: Option<Duration>,
    /// Something happened after the endpoint was asked last what it has to send.
    news: bool,
    state: State,
    waiting: VecDeque<Vec<u8>>,
    outputs: VecDeque<Output>,
    scratch: Vec<u8>,
}

impl S2n {
    fn new(options: &QuicOptions, endpoint: Endpoint, side: Side, now: Duration) -> Self {
        Self {
            delivery: options.delivery,
            mtu_octets: options.mtu_octets,
            endpoint,
            side,
            peers: Vec::new(),
            zero: now,
            now,
            due: None,
            news: true,
            state: State::Handshaking,
            waiting: VecDeque::new(),
            outputs: VecDeque::new(),
            scratch: Vec::new(),
        }
    }

    fn look_at(&mut self, now: Duration) {
        self.now = self.now.max(now);
        self.news = true;
    }

    /// Has the endpoint say all that it has to say, and do what is due.
    fn transmit(&mut self) {
        self.news = self.endpoint.transmit(&mut Out(&mut self.outputs), self.now - self.zero);
        self.due = self.endpoint.timeout().map(|due| self.zero + due);
    }

    /// Takes a connection that is there. Tells whether one was.
    fn meet(&mut self) -> bool {
        match &mut self.side {
            Side::Ground { attempt, .. } => {
                let Some(waited) = attempt else { return false };
                let Poll::Ready(outcome) = Pin::new(waited).poll(&mut context()) else { return false };
                *attempt = None;
                match outcome {
                    Ok(connection) => self.peers.push(Peer::new(connection)),
                    Err(error) => {
                        self.state = State::Failed(error.to_string());
                        return false;
                    }
                }
            }
            Side::Space(server) => {
                let Poll::Ready(Some(connection)) = server.poll_accept(&mut context()) else { return false };
                if self.peers.len() >= MOST_CONNECTIONS {
                    self.peers.remove(0);
                }
                self.peers.push(Peer::new(connection));
            }
        }
        self.state = State::Established { early: false };
        true
    }

    /// Reads what came, and gives the library what waits.
    fn settle(&mut self) {
        if self.meet() && self.delivery == Delivery::Datagram {
            // The end of the handshake goes first: what does not fit beside it would be thrown away.
            self.transmit();
        }
        for place in (0..self.peers.len()).rev() {
            if let Err(reason) = self.peers[place].read(self.delivery, &mut self.outputs) {
                if place + 1 == self.peers.len() {
                    self.state = State::Failed(reason);
                }
                self.peers.remove(place);
            }
        }
        self.send_waiting();
        self.news = true;
    }

    fn send_waiting(&mut self) {
        let Some(peer) = self.peers.last_mut().filter(|_| !self.waiting.is_empty()) else { return };
        match self.delivery {
            Delivery::Stream => peer.write(&mut self.waiting),
            Delivery::Datagram => peer.write_datagrams(&mut self.waiting),
        }
    }

    fn check_size(&self, message: &[u8]) -> Result<(), Refusal> {
        let most = usize::from(self.mtu_octets).saturating_sub(BESIDE_OCTETS);
        if self.delivery == Delivery::Stream || message.len() <= most {
            return Ok(());
        }
        let sure = format!("a datagram of s2n-quic for sure, as {most} octets do");
        Err(too_long(message, &sure, "a stream"))
    }
}

/// Datagrams, one by one.
struct Out<'a>(&'a mut VecDeque<Output>);

impl Outlet for Out<'_> {
    fn segments(&self) -> usize {
        1
    }

    fn is_full(&self) -> bool {
        false
    }

    fn send(&mut self, batch: &Batch<'_>) {
        self.0.push_back(Output::Datagram(batch.octets.to_vec()));
    }
}

impl LinkSecurity for S2n {
    fn name(&self) -> &'static str {
        match self.delivery {
            Delivery::Stream => "s2n-stream",
            Delivery::Datagram => "s2n-datagram",
        }
    }

    fn apply(&mut self, message: &[u8], now: Duration) -> Result<(), Refusal> {
        self.look_at(now);
        check(&self.state, message)?;
        self.check_size(message)?;
        wait(&mut self.waiting, message)?;
        self.send_waiting();
        Ok(())
    }

    fn process(&mut self, datagram: &[u8], now: Duration) -> Result<(), Refusal> {
        self.look_at(now);
        self.scratch.clear();
        self.scratch.extend_from_slice(datagram);
        let from = match self.side {
            Side::Ground { .. } => SPACE,
            Side::Space(_) => GROUND,
        };
        let came = &mut [Datagram { from, ecn: 0, octets: &mut self.scratch }];
        self.endpoint.receive(came, self.now - self.zero);
        self.settle();
        Ok(())
    }

    fn poll(&mut self) -> Option<Output> {
        // Once after each event, as its runtime does: what it says is all, and without an event nothing more comes.
        if self.outputs.is_empty() && self.news {
            self.transmit();
        }
        self.outputs.pop_front()
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.due
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.look_at(now);
        self.transmit();
        self.settle();
    }
}

impl Link for S2n {
    fn state(&self) -> State {
        self.state.clone()
    }
}
