//! `restp serve` and `restp connect`: standard input and output, or files, over a connection.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use restp::profile::Framing;
use restp::{Connection, UDP_PORT};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::outcome::Outcome;
use crate::place::{Place, find, warn_if_clear};
use crate::profile_args::ProfileArgs;

/// Bytes read from standard input at once; one message at most with fixed framing.
const READ_BYTES: usize = 64 << 10;
/// Pieces taken from the connection at once before they are written.
const PIECES: usize = 1024;

/// Accept a connection.
#[derive(Args)]
pub struct Serve {
    /// Outer address; over raw IP its port is ignored
    #[arg(long, default_value_t = SocketAddr::from(([0, 0, 0, 0], UDP_PORT)))]
    bind: SocketAddr,
    /// Inner port
    #[arg(long, short, default_value_t = 7)]
    port: u16,
    /// Write what comes to this file instead of standard output
    #[arg(long)]
    file: Option<PathBuf>,
    /// Go on with the next connection when one has ended
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    profile: ProfileArgs,
}

/// Open a connection.
#[derive(Args)]
pub struct Connect {
    /// Peer: HOST or HOST:UDP_PORT
    host: String,
    /// Inner port
    #[arg(long, short, default_value_t = 7)]
    port: u16,
    /// Send this file instead of standard input
    #[arg(long)]
    file: Option<PathBuf>,
    /// Say on standard error which services are in force and why
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    profile: ProfileArgs,
}

impl Serve {
    /// Runs until the connection has ended, or for ever with `--keep`.
    pub async fn run(self) -> Outcome {
        let composition = self.place.compose(&self.profile)?;
        warn_if_clear(&composition);
        let endpoint = self.place.bind(self.bind).await?;
        let listener = endpoint.listen(self.port, composition)?;
        eprintln!("listening on {} port {}", endpoint.local_addr(), self.port);
        loop {
            let connection = listener.accept().await?;
            let peer = connection.remote_addr();
            let outcome = match &self.file {
                Some(path) => exchange(connection, tokio::io::empty(), create(path).await?).await,
                None => exchange(connection, tokio::io::stdin(), tokio::io::stdout()).await,
            };
            if !self.keep {
                outcome?;
                return Ok(endpoint.idle().await?);
            }
            if let Err(error) = outcome {
                eprintln!("restp: {peer}: {error}");
            }
        }
    }
}

impl Connect {
    /// Runs until both directions have ended.
    pub async fn run(self) -> Outcome {
        let composition = self.place.compose(&self.profile)?;
        warn_if_clear(&composition);
        let remote = find(&self.host).await?;
        let endpoint = self.place.bind_towards(remote).await?;
        let connection = endpoint.connect(remote, self.port, composition).await?;
        if self.explain {
            eprint!("{}", connection.explain());
        }
        match &self.file {
            Some(path) => {
                let file = tokio::fs::File::open(path)
                    .await
                    .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
                exchange(connection, file, tokio::io::stdout()).await?;
            }
            None => exchange(connection, tokio::io::stdin(), tokio::io::stdout()).await?,
        }
        Ok(endpoint.idle().await?)
    }
}

async fn create(path: &Path) -> Result<tokio::fs::File, String> {
    tokio::fs::File::create(path)
        .await
        .map_err(|error| format!("cannot create {}: {error}; check folder and rights", path.display()))
}

/// Copies both ways until both have ended.
async fn exchange(
    connection: Connection,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> Outcome {
    tokio::try_join!(send(&connection, input), receive(&connection, output))?;
    Ok(connection.finish().await?)
}

async fn send(connection: &Connection, mut input: impl AsyncRead + Unpin) -> Outcome {
    let framing = connection.composition().map(|composition| composition.profile().framing);
    let limit = match framing {
        Some(Framing::Fixed) => connection.max_message_bytes().unwrap_or(READ_BYTES),
        _ => READ_BYTES,
    };
    loop {
        let mut piece = bytes::BytesMut::with_capacity(limit);
        if (&mut input).take(limit as u64).read_buf(&mut piece).await? == 0 {
            connection.close();
            return Ok(());
        }
        connection.send(piece).await?;
    }
}

async fn receive(connection: &Connection, output: impl AsyncWrite + Unpin) -> Outcome {
    let mut output = tokio::io::BufWriter::with_capacity(READ_BYTES, output);
    let mut pieces = Vec::new();
    while connection.recv_many(&mut pieces, PIECES).await? > 0 {
        for piece in pieces.drain(..) {
            output.write_all(&piece.payload).await?;
        }
        output.flush().await?;
    }
    Ok(())
}
