//! RaSTA on real sockets: transport channels over UDP, TCP and TLS, on tokio.
//!
//! ```
//! use rasta::net::{Channel, Port};
//! use rasta::{Config, Seeds};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), rasta::net::NetError> {
//! let config = |local, remote| Config { channels: 2, ..Config::new(local, remote) };
//! let anywhere = "127.0.0.1:0".parse().expect("an address");
//!
//! // The server waits on one UDP and one TCP port.
//! let waits = vec![Channel::udp_server(anywhere), Channel::TcpListen { local: anywhere }];
//! let mut server = Port::bind(config(97, 96), Seeds::from_u64(2), waits).await?;
//! let [udp, tcp] = server.local_addresses() else { unreachable!("two channels") };
//! let goes = vec![Channel::udp_client(*udp), Channel::TcpConnect { remote: *tcp }];
//! let mut client = Port::bind(config(96, 97), Seeds::from_u64(1), goes).await?;
//!
//! let (opened, waited) = tokio::join!(client.open(), server.open());
//! opened.and(waited)?;
//! client.send("set route 12").await?;
//! assert_eq!(server.receive().await?, b"set route 12");
//! # Ok(())
//! # }
//! ```

mod channel;
mod driver;
mod refused;
mod stream;
mod types;
mod wires;

use std::net::SocketAddr;

use tokio::sync::{mpsc, oneshot};

use crate::config::Config;
use crate::endpoint::Endpoint;
use crate::event::{Event, State};
use crate::seeds::Seeds;
use channel::Bound;
use driver::Driver;
pub use refused::Refused;
pub use types::{Channel, NetError, PortEvent, Report};
use wires::Command;

/// One end of one connection with its sockets. It works in a task of its own until it is dropped.
#[derive(Debug)]
pub struct Port {
    commands: mpsc::Sender<Command>,
    events: mpsc::Receiver<PortEvent>,
    local: Vec<SocketAddr>,
}

impl Port {
    /// Binds the sockets; the connection is closed still.
    ///
    /// Cancel safe: sockets that were bound are closed.
    ///
    /// # Errors
    /// What is wrong with the configuration, or which socket cannot be bound.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn bind(config: Config, seeds: Seeds, channels: Vec<Channel>) -> Result<Self, NetError> {
        if channels.len() != config.channels {
            return Err(NetError::Channels { configured: config.channels, given: channels.len() });
        }
        let endpoint = Endpoint::new(config.clone(), seeds)?;
        let mut bound = Vec::new();
        for (number, channel) in channels.into_iter().enumerate() {
            bound.push(Bound::new(number, channel).await?);
        }
        let local = bound.iter().map(Bound::local).collect();
        let (commands, from_commands) = mpsc::channel(1);
        let (to_events, events) = mpsc::channel(usize::from(config.n_send_max));
        let (to_inputs, inputs) = mpsc::channel(64);
        let outputs = bound.into_iter().map(|bound| bound.spawn(&config, to_inputs.clone())).collect();
        tokio::spawn(Driver::new(endpoint, from_commands, to_events, inputs, outputs).run());
        Ok(Self { commands, events, local })
    }

    /// Where the channels are bound; of one that connects, what it connects to.
    #[must_use]
    pub fn local_addresses(&self) -> &[SocketAddr] {
        &self.local
    }

    /// Opens the connection and waits until it is up. A client waits up to T_max for all channels before it asks. What
    /// happens on the way is not told by [`event`](Self::event) any more.
    ///
    /// If the future is dropped the connection may go on opening, and [`event`](Self::event) tells the rest.
    ///
    /// # Errors
    /// How it ended before it was up.
    pub async fn open(&mut self) -> Result<(), NetError> {
        self.begin_open().await?;
        loop {
            match self.event().await? {
                PortEvent::Rasta(Event::State(State::Up)) => return Ok(()),
                PortEvent::Rasta(Event::Ended(ending)) => return Err(NetError::Ended(ending)),
                _ => {}
            }
        }
    }

    /// Opens the connection and does not wait until it is up; events tell. Cancel safe: either the port was told or nothing
    /// has happened.
    ///
    /// # Errors
    /// If the runtime is gone. An end that is open stays as it is.
    pub async fn begin_open(&self) -> Result<(), NetError> {
        self.commands.send(Command::Open).await.map_err(|_| NetError::Gone)
    }

    /// Sends a message; waits while as many as may wait already. If the future is dropped the message may have been taken.
    ///
    /// # Errors
    /// Why it is not taken.
    pub async fn send(&self, message: impl Into<Vec<u8>>) -> Result<(), NetError> {
        let (answer, answered) = oneshot::channel();
        let command = Command::Send { message: message.into(), answer };
        self.commands.send(command).await.map_err(|_| NetError::Gone)?;
        Ok(answered.await.map_err(|_| NetError::Gone)??)
    }

    /// The next thing that happens. Cancel safe: what has happened is told by the next call.
    ///
    /// # Errors
    /// If the runtime is gone.
    pub async fn event(&mut self) -> Result<PortEvent, NetError> {
        self.events.recv().await.ok_or(NetError::Gone)
    }

    /// The next message of the peer; other events before it are not told any more. Cancel safe: no message is lost.
    ///
    /// # Errors
    /// How the connection ended, if it did before a message came.
    pub async fn receive(&mut self) -> Result<Vec<u8>, NetError> {
        loop {
            match self.event().await? {
                PortEvent::Rasta(Event::Message(message)) => return Ok(message),
                PortEvent::Rasta(Event::Ended(ending)) => return Err(NetError::Ended(ending)),
                _ => {}
            }
        }
    }

    /// Closes the connection; `detail` goes to the peer. Comes back when the last frames are with the system. If the future is
    /// dropped the connection may be closing all the same.
    ///
    /// # Errors
    /// If the runtime is gone.
    pub async fn close(&self, detail: u16) -> Result<(), NetError> {
        let (answer, answered) = oneshot::channel();
        self.commands.send(Command::Close { detail, answer }).await.map_err(|_| NetError::Gone)?;
        answered.await.map_err(|_| NetError::Gone)
    }

    /// All that is counted. Cancel safe.
    ///
    /// # Errors
    /// If the runtime is gone.
    pub async fn report(&self) -> Result<Report, NetError> {
        let (answer, answered) = oneshot::channel();
        self.commands.send(Command::Report { answer }).await.map_err(|_| NetError::Gone)?;
        answered.await.map_err(|_| NetError::Gone)
    }
}
