//! `restp perf`: throughput, request rate and one-way delay between two hosts.
//!
//! A control connection (always a reliable stream) carries one line of JSON with what is to be measured, the server
//! answers with the inner port of a listener made for it, and after the measurement with what it saw.

mod client;
mod figures;
mod plan;
mod server;
mod traffic;

use clap::{Args, Subcommand};

use crate::outcome::Outcome;

/// Measure throughput, request rate and one-way delay.
#[derive(Args)]
pub struct Perf {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Wait for clients; obeys whoever can reach it, so run it only where you trust the network
    Server(server::Server),
    /// Move bytes as fast as the composition allows and check them
    Throughput(client::Throughput),
    /// Send a request, wait for the response, again
    Requests(client::Requests),
    /// Send messages at a steady pace; both hosts' clocks must agree
    Delay(client::Delay),
}

impl Perf {
    /// Runs the chosen side.
    pub async fn run(self) -> Outcome {
        match self.role {
            Role::Server(server) => server.run().await,
            Role::Throughput(client) => client.run().await,
            Role::Requests(client) => client.run().await,
            Role::Delay(client) => client.run().await,
        }
    }
}
