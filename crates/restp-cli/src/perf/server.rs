//! The side that waits for clients.

use std::net::SocketAddr;

use clap::Args;
use restp::{Composition, Connection, Endpoint, Error, Profile};
use tokio::task::JoinSet;

use super::plan::{Answer, CONTROL_PORT, Control, Request, Seen, Test};
use super::traffic;
use crate::end::{Door, Held};
use crate::frames::Frames;
use crate::outcome::Outcome;
use crate::place::{ANY, Place, outer_address, warn_if_clear};
use crate::profile_args::ProfileArgs;

/// Inner ports of measurements: those after the control port.
const TEST_PORTS: std::ops::Range<u16> = CONTROL_PORT + 1..CONTROL_PORT + 1000;

/// Wait for clients.
#[derive(Args)]
pub struct Server {
    /// Outer address; over raw IP its port is ignored
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = ANY, value_parser = outer_address)]
    bind: SocketAddr,
    /// End after one client
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    place: Place,
}

/// Profile of the control connection.
pub fn control_profile() -> ProfileArgs {
    ProfileArgs { profile: Profile::file_arq().name, ..ProfileArgs::default() }
}

impl Server {
    /// Serves clients, each on its own, until the end of time or of the first client.
    pub async fn run(self) -> Outcome {
        let composition = self.place.compose(&control_profile())?;
        warn_if_clear(&composition);
        let end = self.place.bind(self.bind).await?;
        let endpoint = end.endpoint.clone();
        end.run(self.serve(endpoint, composition)).await
    }

    async fn serve(self, endpoint: Endpoint, composition: Composition) -> Outcome {
        let listener = Door::open(&endpoint, CONTROL_PORT, &composition)?;
        eprintln!("listening on {} port {CONTROL_PORT}", endpoint.local_addr());
        // They end with this server, and their connections with them.
        let mut clients = JoinSet::new();
        loop {
            let connection = tokio::select! {
                connection = listener.accept() => connection?,
                Some(_) = clients.join_next() => continue,
            };
            let (place, endpoint_of_client) = (self.place.clone(), endpoint.clone());
            let serving = async move {
                let peer = connection.remote_addr();
                if let Err(error) = serve(&endpoint_of_client, &place, connection).await {
                    eprintln!("restp: {peer}: {error}");
                }
            };
            if self.once {
                serving.await;
                return Ok(());
            }
            clients.spawn(serving);
        }
    }
}

async fn serve(endpoint: &Endpoint, place: &Place, connection: Connection) -> Outcome {
    let held = Held::new(connection.clone());
    let mut control = Control::new(connection);
    let request: Request = control.hear().await?;
    let listener = match prepare(endpoint, place, &request) {
        Ok(listener) => listener,
        Err(reason) => {
            control.say(&Answer::Refused(reason)).await?;
            control.connection().finish().await?;
            held.let_go();
            return Ok(());
        }
    };
    control.say(&Answer::Port(listener.port())).await?;
    let connection = tokio::select! {
        connection = listener.accept() => connection?,
        gone = control.connection().closed() => return Err(format!("the client left: {}", gone?).into()),
    };
    let seen =
        measure(connection, &request.test).await.unwrap_or_else(|error| Seen::Failed(error.to_string()));
    control.say(&seen).await?;
    control.connection().finish().await?;
    held.let_go();
    Ok(())
}

/// A listener with the wanted services.
fn prepare(endpoint: &Endpoint, place: &Place, request: &Request) -> Result<Door, String> {
    let composition = place.compose(&request.profile)?;
    let taken = |error: &Error| matches!(error, Error::Listen(restp::ListenError::InUse { .. }));
    for port in TEST_PORTS {
        match Door::open(endpoint, port, &composition) {
            Err(error) if taken(&error) => {}
            outcome => return outcome.map_err(|error| error.to_string()),
        }
    }
    Err("too many measurements at the same time; try again later".into())
}

async fn measure(connection: Connection, test: &Test) -> Result<Seen, Error> {
    let held = Held::new(connection.clone());
    let seen = match *test {
        Test::Throughput { size_bytes, reverse: false } => {
            let moved = traffic::drain(&connection, size_bytes).await?;
            connection.finish().await?;
            Seen::Moved(moved)
        }
        Test::Throughput { size_bytes, reverse: true } => {
            traffic::pour(&connection, size_bytes).await?;
            Seen::Nothing
        }
        Test::Requests { request_bytes, response_bytes } => {
            let mut frames = Frames::new(connection);
            traffic::respond(&mut frames, request_bytes, response_bytes).await?;
            frames.connection().finish().await?;
            Seen::Nothing
        }
        Test::Delay { message_bytes } => {
            let mut frames = Frames::new(connection);
            let delays = traffic::clock(&mut frames, message_bytes).await?;
            frames.connection().finish().await?;
            Seen::Delays(delays)
        }
    };
    held.let_go();
    Ok(seen)
}
