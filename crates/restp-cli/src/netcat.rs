//! `restp serve` and `restp connect`: standard input and output, or files, over a connection.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use restp::profile::Framing;
use restp::{CloseReason, Composition, Connection, Endpoint, Error};

use crate::end::{Door, Held};
use crate::files::{Input, Output};
use crate::outcome::Outcome;
use crate::place::{ANY, Place, find, outer_address, warn_if_clear};
use crate::profile_args::ProfileArgs;

/// Bytes read from standard input at once; one message at most with fixed framing.
const READ_BYTES: usize = 64 << 10;
/// Pieces taken from the connection at once before they are written.
const PIECES: usize = 1024;

/// What the exit code of a client promises.
const SUCCESS: &str = "Exit code 0: both ends have closed, the peer has received all that was sent, and all that came is \
written. A peer that serves with --file has written all, too. One that writes to standard output breaks off if it cannot, \
but if its own input had ended before, that may come too late.";

/// Accept a connection.
#[derive(Args)]
pub struct Serve {
    /// Outer address; over raw IP its port is ignored
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = ANY, value_parser = outer_address)]
    bind: SocketAddr,
    /// Inner port
    #[arg(long, short, default_value_t = 7)]
    port: u16,
    /// Write what comes to this file instead of standard output; what it held before is gone with the first byte.
    /// Nothing is sent, and the client hears that all is well only when all is written
    #[arg(long)]
    file: Option<PathBuf>,
    /// Go on with the next connection when one has ended; one client is served after the other, and others wait, behind
    /// one that was killed for as long as --idle-s says, 240 s unless told
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    profile: ProfileArgs,
}

/// Open a connection.
#[derive(Args)]
#[command(after_help = SUCCESS)]
pub struct Connect {
    /// Peer: HOST or HOST:UDP_PORT
    host: String,
    /// Inner port
    #[arg(long, short, default_value_t = 7)]
    port: u16,
    /// Send this file instead of standard input
    #[arg(long)]
    file: Option<PathBuf>,
    /// Say on standard error which services are in force
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
        if self.file.is_some() {
            gather(&connection, output).await?;
        } else {
            exchange(&connection, Input::open(None)?, output).await?;
        }
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
            exchange(&connection, input, Output::check(None)?).await?;
            held.let_go();
            Ok(())
        };
        end.run(work).await
    }
}

/// Copies both ways until both have ended. Either end may be the first to close, so that none waits for the other's end.
async fn exchange(connection: &Connection, input: Input, output: Output) -> Outcome {
    // Who waits for input still hears that the peer is gone.
    let receiving = async {
        receive(connection, output).await?;
        over(connection).await
    };
    tokio::try_join!(send(connection, input), receiving)?;
    Ok(())
}

/// Writes what comes, and closes only then: with nothing to send, this end's close says that all is written.
async fn gather(connection: &Connection, output: Output) -> Outcome {
    receive(connection, output).await?;
    connection.close();
    over(connection).await
}

/// Waits until both ends have closed.
async fn over(connection: &Connection) -> Outcome {
    match connection.closed().await? {
        CloseReason::Graceful => Ok(()),
        reason => Err(Error::Closed(reason).into()),
    }
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
