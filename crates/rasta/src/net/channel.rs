//! One transport channel: its socket, and the task that moves frames between it and the driver.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::mpsc;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::refused::Refused;
use super::stream::{read_frame, write_frames};
use super::types::{Channel, NetError};
use super::wires::{Input, Output};
use crate::config::Config;

/// Between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(200);
/// So long a TLS handshake may take: a stranger who says nothing must not keep the peer out.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Frames that wait for a channel's socket.
const QUEUE: usize = 256;

/// A channel whose socket is bound.
pub(super) struct Bound {
    number: usize,
    local: SocketAddr,
    socket: Socket,
}

enum Socket {
    Udp(UdpSocket, Option<SocketAddr>),
    Connect(SocketAddr, Option<(TlsConnector, rustls::pki_types::ServerName<'static>)>),
    Listen(TcpListener, Option<TlsAcceptor>),
}

impl Bound {
    pub(super) async fn new(number: usize, channel: Channel) -> Result<Self, NetError> {
        let address = match &channel {
            Channel::Udp { local, .. } | Channel::TcpListen { local } | Channel::TlsListen { local, .. } => {
                *local
            }
            Channel::TcpConnect { remote } | Channel::TlsConnect { remote, .. } => *remote,
        };
        let failed = |error| NetError::Bind { channel: number, address, error };
        let (local, socket) = match channel {
            Channel::Udp { remote, .. } => {
                let socket = UdpSocket::bind(address).await.map_err(failed)?;
                (socket.local_addr().map_err(failed)?, Socket::Udp(socket, remote))
            }
            Channel::TcpConnect { remote } => (remote, Socket::Connect(remote, None)),
            Channel::TlsConnect { remote, name, config } => {
                (remote, Socket::Connect(remote, Some((config.into(), name))))
            }
            Channel::TcpListen { .. } => {
                let listener = TcpListener::bind(address).await.map_err(failed)?;
                (listener.local_addr().map_err(failed)?, Socket::Listen(listener, None))
            }
            Channel::TlsListen { config, .. } => {
                let listener = TcpListener::bind(address).await.map_err(failed)?;
                (listener.local_addr().map_err(failed)?, Socket::Listen(listener, Some(config.into())))
            }
        };
        Ok(Self { number, local, socket })
    }

    pub(super) const fn local(&self) -> SocketAddr {
        self.local
    }

    /// Starts the task, which ends with the driver; frames for the channel go into what comes back.
    pub(super) fn spawn(self, config: &Config, inputs: mpsc::Sender<Input>) -> mpsc::Sender<Output> {
        let (outputs, from_driver) = mpsc::channel(QUEUE);
        let task = Task { number: self.number, inputs, from_driver, config: config.clone() };
        tokio::spawn(async move {
            match self.socket {
                Socket::Udp(socket, remote) => task.datagrams(socket, remote).await,
                Socket::Connect(remote, tls) => task.connect(remote, tls).await,
                Socket::Listen(listener, tls) => task.listen(listener, tls).await,
            }
        });
        outputs
    }
}

struct Task {
    number: usize,
    inputs: mpsc::Sender<Input>,
    from_driver: mpsc::Receiver<Output>,
    config: Config,
}

/// Nobody is interested any more: the driver has ended.
struct Over;

impl Task {
    async fn tell(&self, input: Input) -> Result<(), Over> {
        self.inputs.send(input).await.map_err(|_| Over)
    }

    async fn down(&self, why: impl ToString) -> Result<(), Over> {
        self.tell(Input::Down { channel: self.number, why: why.to_string() }).await
    }

    async fn datagrams(mut self, socket: UdpSocket, fixed: Option<SocketAddr>) {
        let mut remote = fixed;
        let mut buffer = vec![0; usize::from(u16::MAX)];
        let channel = self.number;
        if self.tell(Input::Up { channel }).await.is_err() {
            return;
        }
        loop {
            tokio::select! {
                received = socket.recv_from(&mut buffer) => {
                    // An ICMP error of an earlier datagram comes out here; the next one may arrive.
                    let Ok((bytes, from)) = received else { continue };
                    let octets = &buffer[..bytes];
                    let refused = if fixed.is_none() { Refused::of(octets, &self.config) } else { None };
                    if fixed.is_none() && refused.is_none() {
                        remote = Some(from);
                    }
                    // Who is not the peer is not heard, be its octets what they may. But it may be a peer with other
                    // codes, which somebody has to be told.
                    let input = match refused {
                        _ if remote == Some(from) => Input::Frame { channel, octets: octets.to_vec() },
                        Some(why) => Input::Refused { channel, why },
                        None => continue,
                    };
                    if self.tell(input).await.is_err() {
                        return;
                    }
                }
                output = self.from_driver.recv() => match output {
                    Some(Output::Frame(frame)) => if let Some(remote) = remote {
                        // A datagram that the system does not take is a lost one; the layers above find out.
                        let _ = socket.send_to(&frame, remote).await;
                    },
                    Some(Output::Flushed(answer)) => drop(answer.send(())),
                    None => return,
                },
            }
        }
    }

    async fn connect(
        mut self,
        remote: SocketAddr,
        tls: Option<(TlsConnector, rustls::pki_types::ServerName<'static>)>,
    ) {
        let mut last = None;
        loop {
            let attempt = async {
                let tcp = TcpStream::connect(remote).await?;
                tcp.set_nodelay(true)?;
                let why = match &tls {
                    None => self.pump(tcp).await,
                    Some((connector, name)) => {
                        let secured = within_handshake(connector.connect(name.clone(), tcp)).await?;
                        self.pump(secured).await
                    }
                };
                Ok::<_, io::Error>(why)
            };
            let why = match attempt.await {
                Ok(Err(Over)) => return,
                Ok(Ok(why)) => {
                    last = None;
                    why
                }
                Err(error) => error.to_string(),
            };
            // The same failure again and again is told once.
            if last.as_ref() != Some(&why) && self.down(&why).await.is_err() {
                return;
            }
            last = Some(why);
            if self.inputs.is_closed() {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn listen(mut self, listener: TcpListener, tls: Option<TlsAcceptor>) {
        let mut next = None;
        loop {
            let accepted = match next.take() {
                Some(accepted) => accepted,
                None => tokio::select! {
                    accepted = accept(&listener, tls.as_ref()) => accepted,
                    () = self.inputs.closed() => return,
                },
            };
            let why = match accepted {
                Ok(stream) => tokio::select! {
                    ended = self.pump(stream) => match ended {
                        Ok(why) => why,
                        Err(Over) => return,
                    },
                    newer = accept_good(&listener, tls.as_ref()) => {
                        next = Some(Ok(newer));
                        "the peer connected anew".into()
                    }
                },
                Err(error) => error.to_string(),
            };
            if self.down(why).await.is_err() {
                return;
            }
        }
    }

    /// Moves frames until the stream breaks, and says why it did.
    async fn pump(&mut self, stream: impl AsyncRead + AsyncWrite + Unpin) -> Result<String, Over> {
        // What waited for the stream before is old by now.
        while let Ok(Output::Frame(_)) = self.from_driver.try_recv() {}
        let channel = self.number;
        self.tell(Input::Up { channel }).await?;
        let (mut reader, mut writer) = tokio::io::split(stream);
        let (inputs, max_bytes) = (self.inputs.clone(), self.config.max_frame_bytes());
        let reading = async {
            loop {
                match read_frame(&mut reader, max_bytes).await {
                    Ok(octets) => inputs.send(Input::Frame { channel, octets }).await.map_err(|_| Over)?,
                    Err(error) => return Ok(error.to_string()),
                }
            }
        };
        tokio::select! {
            read = reading => read,
            written = write_frames(&mut writer, &mut self.from_driver) => {
                written.map(|error| error.to_string()).ok_or(Over)
            }
        }
    }
}

/// A stream, in TLS or not.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

async fn accept(listener: &TcpListener, tls: Option<&TlsAcceptor>) -> io::Result<Box<dyn Stream>> {
    let (tcp, _) = listener.accept().await?;
    tcp.set_nodelay(true)?;
    Ok(match tls {
        None => Box::new(tcp),
        Some(acceptor) => Box::new(within_handshake(acceptor.accept(tcp)).await?),
    })
}

/// The next connection whose handshake succeeds: one that fails must not end the one that works.
async fn accept_good(listener: &TcpListener, tls: Option<&TlsAcceptor>) -> Box<dyn Stream> {
    loop {
        match accept(listener, tls).await {
            Ok(stream) => return stream,
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn within_handshake<T>(handshake: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(HANDSHAKE, handshake)
        .await
        .unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "the TLS handshake took too long")))
}
