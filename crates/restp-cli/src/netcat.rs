//! `restp serve` and `restp connect`: standard input and output, or files, over a connection.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use restp::profile::Framing;
use restp::{CloseReason, Composition, Connection, Endpoint, Error, UDP_PORT};

use crate::end::{Door, Held};
use crate::files::{Input, Output};
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
    /// Write what comes to this file instead of standard output; what it held before is gone with the first byte
    #[arg(long)]
    file: Option<PathBuf>,
    /// Go on with the next connection when one has ended; one client is served after the other, and others wait
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
        Output::check(self.file.as_deref())?;
        let end = self.place.bind(self.bind).await?;
        let work = self.serve(end.endpoint.clone(), composition);
        end.run(work).await
    }

    async fn serve(self, endpoint: Endpoint, composition: Composition) -> Outcome {
        let listener = Door::open(&endpoint, self.port, &composition)?;
        eprintln!("listening on {} port {}", endpoint.local_addr(), self.port);
        loop {
            let connection = listener.accept().await?;
            let peer = connection.remote_addr();
            let outcome = self.serve_one(connection).await;
            if !self.keep {
                return outcome;
            }
            if let Err(error) = outcome {
                eprintln!("restp: {peer}: {error}");
            }
        }
    }

    async fn serve_one(&self, connection: Connection) -> Outcome {
        let held = Held::new(connection.clone());
        let output = Output::check(self.file.as_deref())?;
        let input = if self.file.is_some() { Input::nothing() } else { Input::open(None)? };
        exchange(connection, input, output).await?;
        held.let_go();
        Ok(())
    }
}

impl Connect {
    /// Runs until both directions have ended.
    pub async fn run(self) -> Outcome {
        let composition = self.place.compose(&self.profile)?;
        warn_if_clear(&composition);
        let input = Input::open(self.file.as_deref())?;
        let remote = find(&self.host).await?;
        let end = self.place.bind_towards(remote).await?;
        let endpoint = end.endpoint.clone();
        let work = async move {
            let connection = self.place.connect(&endpoint, remote, self.port, composition).await?;
            let held = Held::new(connection.clone());
            if self.explain {
                eprint!("{}", connection.explain());
            }
            exchange(connection, input, Output::check(None)?).await?;
            held.let_go();
            Ok(())
        };
        end.run(work).await
    }
}

/// Copies both ways until both have ended.
async fn exchange(connection: Connection, input: Input, output: Output) -> Outcome {
    // Who waits for input still hears that the peer is gone.
    let receiving = async {
        receive(&connection, output).await?;
        match connection.closed().await? {
            CloseReason::Graceful => Ok(()),
            reason => Err(Error::Closed(reason).into()),
        }
    };
    tokio::try_join!(send(&connection, input), receiving)?;
    Ok(())
}

async fn send(connection: &Connection, mut input: Input) -> Outcome {
    let framing = connection.composition().map(|composition| composition.profile().framing);
    let limit = match framing {
        Some(Framing::Fixed) => connection.max_message_bytes().unwrap_or(READ_BYTES),
        _ => READ_BYTES,
    };
    loop {
        let piece = input.read(limit).await?;
        if piece.is_empty() {
            connection.close();
            return Ok(());
        }
        connection.send(piece).await?;
    }
}

async fn receive(connection: &Connection, mut output: Output) -> Outcome {
    let mut pieces = Vec::new();
    while connection.recv_many(&mut pieces, PIECES).await? > 0 {
        for piece in pieces.drain(..) {
            output.write(&piece.payload).await?;
        }
        output.flush().await?;
    }
    output.flush().await.map_err(Into::into)
}
