//! An endpoint: one socket, and all connections over it.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use restp_proto::log::{JsonLines, Observer};
use restp_proto::profile::Management;
#[cfg(feature = "protected")]
use restp_proto::protected::{Keys, PrivateKey};
use restp_proto::{
    Composition, ConnectError, Encapsulation, EndpointConfig, EndpointStats, ListenError, PathAddr,
};
use tokio::net::{ToSocketAddrs, lookup_host};

use crate::clock::{Clock, within};
use crate::connection::Connection;
use crate::datagram::DatagramPort;
use crate::driver::Driver;
use crate::error::Error;
use crate::listener::Listener;
use crate::services::Services;
use crate::socket::{Socket, SocketOptions};
use crate::state::{Backlog, Hold, Inbox, REPORTS_WANTED, Shared};
use crate::waiters::seated;

/// Inner ports of outgoing connections: the dynamic range of RFC 6335.
const DYNAMIC_PORTS: std::ops::RangeInclusive<u16> = 49_152..=65_535;

/// Settings of an endpoint before it is bound.
#[must_use]
pub struct Builder {
    config: EndpointConfig,
    options: SocketOptions,
    observer: Option<Box<dyn Observer + Send>>,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("config", &self.config)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Builder {
    fn new() -> Self {
        Self { config: EndpointConfig::default(), options: SocketOptions { offload: true }, observer: None }
    }

    /// Limits, keys and encapsulation.
    pub fn config(mut self, config: EndpointConfig) -> Self {
        self.config = config;
        self
    }

    /// Keys for profiles with protection. Both ends need matching ones.
    #[cfg(feature = "protected")]
    #[cfg_attr(docsrs, doc(cfg(feature = "protected")))]
    pub fn keys(mut self, keys: Keys) -> Self {
        self.config.keys = Some(keys);
        self
    }

    /// Packets directly in IP (protocol 253) instead of UDP; needs the capability `CAP_NET_RAW`.
    pub fn raw_ip(mut self) -> Self {
        self.config.encapsulation = Encapsulation::RawIp;
        self
    }

    /// Whether to hand trains of packets to the kernel to be cut there (UDP segmentation offload). On by default; where
    /// the kernel or device cannot do it the endpoint finds out by itself.
    pub fn offload(mut self, offload: bool) -> Self {
        self.options.offload = offload;
        self
    }

    /// Lets `observer` hear every step of every connection. It runs inside the protocol, so it must be quick.
    pub fn observer(mut self, observer: Box<dyn Observer + Send>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Writes every step of every connection to a file, one JSON object a line.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be created.
    pub fn log_file(self, path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = std::fs::File::create(path).map_err(Error::io(format!(
            "cannot create the event log {}; check folder and rights",
            path.display()
        )))?;
        Ok(self.observer(Box::new(JsonLines::new(io::BufWriter::new(file)))))
    }

    /// Binds the socket and starts the endpoint's task on the current runtime.
    ///
    /// Cancel safe: it waits for the address only, and nothing is bound before.
    ///
    /// # Errors
    /// [`Error::Io`] if the address is not ours or its port is taken, [`Error::NoRawIp`] without the capability.
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO enabled.
    pub async fn bind(self, address: impl ToSocketAddrs) -> Result<Endpoint, Error> {
        let mut resolved =
            lookup_host(address).await.map_err(Error::io("cannot find the address to bind to"))?;
        let address = resolved.next().ok_or(Error::NoAddress { family: "IP" })?;
        let (endpoint, driver) = self.build(address)?;
        tokio::spawn(driver);
        Ok(endpoint)
    }

    /// The endpoint and its task. Must be called where a runtime is entered.
    pub(crate) fn build(self, address: SocketAddr) -> Result<(Endpoint, Driver), Error> {
        let (proto_seed, port_seed) = (random()?, random()?);
        let (encapsulation, options) = (self.config.encapsulation, self.options);
        let socket = Arc::new(Socket::bind(encapsulation, address, options)?);
        let mut proto = restp_proto::Endpoint::new(self.config, proto_seed);
        if let Some(observer) = self.observer {
            proto.observe(observer);
        }
        let first_port = DYNAMIC_PORTS.start() + u16::from_be_bytes(port_seed) % 0x4000;
        let shared = Arc::new(Shared::new(socket, proto, Clock::start(), first_port));
        let driver = Driver::new(Arc::clone(&shared)).map_err(Error::io("cannot create a timer"))?;
        Ok((Endpoint { hold: Hold::new(shared), encapsulation, options }, driver))
    }
}

/// One socket, and all connections over it. Clones share both.
///
/// Its task ends when all its handles (endpoints, listeners, connections, datagram ports) were dropped and what was sent
/// has been delivered. The runtime must live as long: before a program ends, await [`Endpoint::idle`].
#[derive(Clone)]
pub struct Endpoint {
    hold: Hold,
    encapsulation: Encapsulation,
    options: SocketOptions,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").field("local_addr", &self.local_addr()).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Binds UDP with default settings. Use port 61253 ([`crate::UDP_PORT`]) for a server, 0 for a client. Cancel safe, as
    /// [`Builder::bind`] is.
    ///
    /// # Errors
    /// [`Error::Io`] if the address is not ours or its port is taken.
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO enabled.
    pub async fn bind(address: impl ToSocketAddrs) -> Result<Self, Error> {
        Builder::new().bind(address).await
    }

    /// Settings other than the default ones.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// The address that the socket is bound to. Over raw IP the port is 0.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.hold.socket().local_addr()
    }

    /// Goes on from another address of this host, for instance after the network has changed: a new socket takes the place
    /// of the present one, and all connections go on over it. Peers follow once the new address has proven to be ours
    /// (`docs/restp-spec.md`, R-ENCAP-3). Peers that want to connect must learn the new address.
    ///
    /// ```
    /// use restp::{Endpoint, Profile};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), restp::Error> {
    /// # let server = Endpoint::bind("127.0.0.1:0").await?;
    /// # let listener = server.listen(7, Profile::file_arq())?;
    /// # let client = Endpoint::bind("127.0.0.1:0").await?;
    /// # let (outgoing, incoming) = tokio::try_join!(
    /// #     client.connect(server.local_addr(), 7, Profile::file_arq()),
    /// #     listener.accept()
    /// # )?;
    /// let before = client.local_addr();
    /// client.rebind("127.0.0.1:0".parse().expect("an address"))?;
    /// assert_ne!(client.local_addr(), before);
    /// assert_eq!(outgoing.local_addr(), client.local_addr());
    /// outgoing.send("after the move").await?;
    /// assert_eq!(incoming.recv().await?.expect("the connection goes on").payload, "after the move");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] if the address is not ours or its port is taken, [`Error::NoAddress`] for an IPv6 address where the
    /// endpoint is bound to IPv4; everything then is as before. An IPv4 address serves an endpoint bound to IPv6 for its
    /// peers with IPv4.
    pub fn rebind(&self, address: SocketAddr) -> Result<(), Error> {
        let address = self.hold.socket().in_family(address)?;
        self.hold.rebind(|| Socket::bind(self.encapsulation, address, self.options))
    }

    /// Accepts connections on the inner port `port`.
    ///
    /// The peer chooses the services that show on the wire, as long as they go together; congestion control, timers,
    /// limits and the meaning of losses are those of `services`.
    ///
    /// # Errors
    /// [`Error::Listen`] if the port is taken or keys are missing, [`Error::Profile`] if the services contradict.
    pub fn listen(&self, port: u16, services: impl Services) -> Result<Listener, Error> {
        self.listen_with(port, services, false)
    }

    /// Like [`Endpoint::listen`], but offers only what `services` itself has; peers that require more are refused.
    ///
    /// # Errors
    /// As [`Endpoint::listen`].
    pub fn listen_exactly(&self, port: u16, services: impl Services) -> Result<Listener, Error> {
        self.listen_with(port, services, true)
    }

    fn listen_with(&self, port: u16, services: impl Services, exact: bool) -> Result<Listener, Error> {
        let composition = services.compose()?;
        if composition.profile().management == Management::Connectionless {
            return Err(Error::WrongService(
                "the profile is connectionless, so there is nothing to accept: use Endpoint::datagrams",
            ));
        }
        let mut state = self.hold.lock();
        state.check_running()?;
        if state.listeners.contains_key(&port) || state.inboxes.contains_key(&port) {
            return Err(ListenError::InUse { port }.into());
        }
        note_packet_size(&mut state.largest_packet_bytes, &composition);
        state.proto.listen(port, composition, exact)?;
        state.listeners.insert(port, Backlog::default());
        drop(state);
        Ok(Listener::new(self.hold.clone(), port))
    }

    /// A connectionless inner port: messages to and from anybody, like a UDP socket.
    ///
    /// ```
    /// use restp::{Endpoint, Peer, Profile};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), restp::Error> {
    /// let station = Endpoint::bind("127.0.0.1:0").await?;
    /// let readings = station.datagrams(9, Profile::datagram())?;
    ///
    /// let sensor = Endpoint::bind("127.0.0.1:0").await?;
    /// let own = sensor.datagrams(1, Profile::datagram())?;
    /// own.send_to("17.5 degrees", Peer { addr: station.local_addr(), port: 9 }).await?;
    ///
    /// let (reading, from) = readings.recv_from().await?;
    /// assert_eq!(reading, "17.5 degrees");
    /// assert_eq!(from, Peer { addr: sensor.local_addr(), port: 1 });
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Listen`] if the port is taken, [`Error::WrongService`] if the profile is not connectionless.
    pub fn datagrams(&self, port: u16, services: impl Services) -> Result<DatagramPort, Error> {
        let composition = services.compose()?;
        if composition.profile().management != Management::Connectionless {
            return Err(Error::WrongService(
                "the profile needs a connection: use Endpoint::listen, or the profile 'datagram'",
            ));
        }
        let limit_bytes = composition.profile().tuning.max_packet_bytes;
        let mut state = self.hold.lock();
        state.check_running()?;
        if state.listeners.contains_key(&port) || state.inboxes.contains_key(&port) {
            return Err(ListenError::InUse { port }.into());
        }
        note_packet_size(&mut state.largest_packet_bytes, &composition);
        state.proto.listen(port, composition, false)?;
        state.inboxes.insert(port, Inbox::default());
        drop(state);
        Ok(DatagramPort::new(self.hold.clone(), port, limit_bytes))
    }

    /// Opens a connection to the inner port `port` of the endpoint at `remote` and waits until it stands.
    ///
    /// Cancel safe: if the future is dropped, so is the connection.
    ///
    /// # Errors
    /// [`Error::NotListening`] or [`Error::Refused`] if the peer refuses, [`Error::Closed`] if it does not answer,
    /// [`Error::WrongService`] if the profile is connectionless, otherwise what is wrong on this side.
    pub async fn connect(
        &self,
        remote: impl ToSocketAddrs,
        port: u16,
        services: impl Services,
    ) -> Result<Connection, Error> {
        let attempt = Attempt(Some(self.connect_early(remote, port, services).await?));
        attempt.established().await
    }

    /// Like [`Endpoint::connect`], but gives up after `limit`; the peer then hears no more of the attempt. So it is if the
    /// future is dropped.
    ///
    /// # Errors
    /// As [`Endpoint::connect`], or [`Error::TimedOut`].
    pub async fn connect_timeout(
        &self,
        remote: impl ToSocketAddrs,
        port: u16,
        services: impl Services,
        limit: Duration,
    ) -> Result<Connection, Error> {
        within(limit, self.connect(remote, port, services)).await
    }

    /// Opens a connection and returns at once: what is sent now leaves with the handshake if the management is
    /// opportunistic and a cookie of the server is known, else right after it.
    ///
    /// Early data may reach the application twice if somebody repeats the packets: send only what is safe to do twice.
    ///
    /// Cancel safe: it waits for the address only, and the attempt begins after that.
    ///
    /// # Errors
    /// What is wrong on this side; a refusal shows later, in [`Connection::established`], `send` and `recv`.
    pub async fn connect_early(
        &self,
        remote: impl ToSocketAddrs,
        port: u16,
        services: impl Services,
    ) -> Result<Connection, Error> {
        let composition = services.compose()?;
        if composition.profile().management == Management::Connectionless {
            return Err(Error::WrongService(
                "the profile is connectionless, so there is nothing to connect: use Endpoint::datagrams",
            ));
        }
        let path = self.path_to(remote).await?;
        let mut state = self.hold.lock();
        state.check_running()?;
        note_packet_size(&mut state.largest_packet_bytes, &composition);
        let now = self.hold.clock.now();
        let ports = DYNAMIC_PORTS.len();
        for _ in 0..ports {
            let local_port = state.next_port;
            state.next_port =
                if local_port == *DYNAMIC_PORTS.end() { *DYNAMIC_PORTS.start() } else { local_port + 1 };
            if state.listeners.contains_key(&local_port) {
                continue;
            }
            match state.proto.connect(now, path, local_port, port, &composition) {
                Err(ConnectError::InUse) => {}
                Err(error) => return Err(error.into()),
                Ok(id) => {
                    state.insert_slot(id, false);
                    state.reports_until = now + REPORTS_WANTED;
                    state.wake_driver();
                    drop(state);
                    return Ok(Connection::new(self.hold.clone(), id, path, Some(port)));
                }
            }
        }
        Err(Error::NoPorts(ports))
    }

    async fn path_to(&self, remote: impl ToSocketAddrs) -> Result<PathAddr, Error> {
        let resolved =
            lookup_host(remote).await.map_err(Error::io("cannot find the peer's address; check its name"))?;
        let mut last = Error::NoAddress { family: "IP" };
        for address in resolved {
            match self.hold.socket().path_to(address) {
                Ok(path) => return Ok(path),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Waits until every connection has ended: all were closed or dropped, and everything sent was delivered or given up.
    /// Cancel safe.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the socket failed.
    pub async fn idle(&self) -> Result<(), Error> {
        seated(|cx, seat| {
            let mut state = self.hold.lock();
            state.check_running()?;
            if state.open_connections() == 0 {
                return Poll::Ready(Ok(()));
            }
            state.idlers.add(seat, cx.waker());
            Poll::Pending
        })
        .await
    }

    /// Counters of the endpoint.
    #[must_use]
    pub fn stats(&self) -> EndpointStats {
        self.hold.lock().proto.stats().clone()
    }

    /// Connections that exist at present, those included that are being closed.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.hold.lock().open_connections()
    }
}

/// A connection that does not stand yet; dropped, the attempt ends at once.
struct Attempt(Option<Connection>);

impl Attempt {
    async fn established(mut self) -> Result<Connection, Error> {
        if let Some(connection) = &self.0 {
            connection.established().await?;
        }
        self.0.take().ok_or_else(|| Error::Stopped("the attempt was given up".into()))
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.abort();
        }
    }
}

/// A new private key for [`Keys`], from the system's random numbers.
///
/// # Errors
/// [`Error::Io`] if the system gives none.
#[cfg(feature = "protected")]
#[cfg_attr(docsrs, doc(cfg(feature = "protected")))]
pub fn generate_private_key() -> Result<PrivateKey, Error> {
    PrivateKey::from_random(random()?)
        .map_err(|error| Error::io("cannot make a key")(io::Error::other(error)))
}

fn random<const BYTES: usize>() -> Result<[u8; BYTES], Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::io("the system gives no random numbers; check that /dev/urandom exists")(io::Error::other(
            error,
        ))
    })?;
    Ok(bytes)
}

/// Segmentation must not make trains longer than one datagram.
fn note_packet_size(largest_bytes: &mut usize, composition: &Composition) {
    *largest_bytes = (*largest_bytes).max(composition.profile().tuning.longest_packet_bytes());
}
