//! The paths of a connection: open, close, prefer.

use std::net::{IpAddr, SocketAddr};
use std::task::Poll;

use restp_proto::{PathAddr, PathError, PathId};

use super::{Connection, slot};
use crate::error::Error;
use crate::waiters::seated;

impl Connection {
    /// Opens a further path from the address `local` of this host to `remote`; events tell when it can be used. Waits
    /// until the peer has confirmed the handshake, which joins depend on. Cancel safe: a path whose future is dropped before
    /// it has answered was not opened.
    ///
    /// The endpoint must be bound to a wildcard address for `local` to differ from that of the first path; the port of
    /// `local` is always that of the endpoint.
    ///
    /// ```
    /// use restp::{Endpoint, EventKind, Profile};
    /// use std::net::IpAddr;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), restp::Error> {
    /// let (server, client) = (Endpoint::bind("0.0.0.0:0").await?, Endpoint::bind("0.0.0.0:0").await?);
    /// let listener = server.listen(7, Profile::multipath())?;
    /// let port = server.local_addr().port();
    /// let (outgoing, _incoming) = tokio::try_join!(
    ///     client.connect(("127.0.0.1", port), 7, Profile::multipath()),
    ///     listener.accept()
    /// )?;
    /// // Two addresses of this host stand for those of two networks.
    /// let second: IpAddr = "127.0.0.2".parse().expect("an address");
    /// let path = outgoing.open_path(second, (second, port).into(), false).await?;
    /// while let Some(event) = outgoing.next_event().await? {
    ///     if event == EventKind::PathUp(path) {
    ///         break;
    ///     }
    /// }
    /// assert!(outgoing.path_stats().iter().any(|(id, stats)| *id == path && stats.usable));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Path`] if this side, the profile or a limit does not allow it, [`Error::Io`] if `local` is not an address of
    /// this host (of an interface that is down neither).
    pub async fn open_path(&self, local: IpAddr, remote: SocketAddr, backup: bool) -> Result<PathId, Error> {
        let socket = self.inner.hold.socket();
        let bound = socket.local_addr();
        let local = socket.native(SocketAddr::new(local, bound.port()))?;
        if !bound.ip().is_unspecified() && bound.ip() != local.ip() {
            return Err(Error::WrongService(
                "the endpoint is bound to one address: bind it to 0.0.0.0 or [::] to use paths from several",
            ));
        }
        if let Err(error) = std::net::UdpSocket::bind(SocketAddr::new(local.ip(), 0))
            && error.kind() == std::io::ErrorKind::AddrNotAvailable
        {
            let what = format!("cannot open a path from {}; choose an address of this host", local.ip());
            return Err(Error::io(what)(error));
        }
        let path = PathAddr { local, remote: socket.native(remote)? };
        seated(|cx, seat| {
            self.with(|state, now, id| {
                state.check_running()?;
                let opened = state.proto.open_path(now, id, path, backup);
                if opened == Err(PathError::TooEarly) && slot(state, id)?.ended.is_none() {
                    slot(state, id)?.watchers.add(seat, cx.waker());
                    return Poll::Pending;
                }
                state.wake_driver();
                Poll::Ready(opened.map_err(Error::from))
            })
        })
        .await
    }

    /// Closes one of several paths.
    ///
    /// # Errors
    /// [`Error::Path`] if there is no such path or it is the last.
    pub fn close_path(&self, path: PathId) -> Result<(), Error> {
        self.with(|state, now, id| {
            state.proto.close_path(now, id, path)?;
            state.wake_driver();
            Ok(())
        })
    }

    /// Marks a path as a backup for the others, or takes the mark away; the peer is told.
    ///
    /// # Errors
    /// [`Error::Path`] if there is no such path.
    pub fn set_backup(&self, path: PathId, backup: bool) -> Result<(), Error> {
        self.with(|state, now, id| {
            state.proto.set_backup(now, id, path, backup)?;
            state.wake_driver();
            Ok(())
        })
    }
}
