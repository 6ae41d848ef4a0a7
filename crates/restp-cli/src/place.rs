//! Options that say where an endpoint is, and how it is bound.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;

use clap::Args;
use restp::profile::Protection;
use restp::{Composition, Connection, Endpoint, Error, UDP_PORT};

use crate::end::End;
use crate::keys::{KeyArgs, Role};
use crate::log::LogFile;
use crate::profile_args::ProfileArgs;

/// Every address of this host, with the default port.
pub const ANY: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, UDP_PORT));

/// Settings of this end.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Endpoint")]
pub struct Place {
    /// Packets directly in IP, protocol 253; needs the capability CAP_NET_RAW
    #[arg(long)]
    raw_ip: bool,
    /// Write every protocol step to this file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    #[command(flatten)]
    keys: KeyArgs,
}

impl Place {
    /// Binds an endpoint that accepts connections.
    ///
    /// # Errors
    /// What is wrong with address, key files, log file or rights.
    pub async fn bind(&self, address: SocketAddr) -> Result<End, Box<dyn std::error::Error + Send + Sync>> {
        self.bind_as(Role::Server, address).await
    }

    async fn bind_as(
        &self,
        role: Role,
        address: SocketAddr,
    ) -> Result<End, Box<dyn std::error::Error + Send + Sync>> {
        let mut builder = Endpoint::builder();
        if self.raw_ip {
            builder = builder.raw_ip();
        }
        if let Some(keys) = self.keys.read(role)? {
            builder = builder.keys(keys);
        }
        let log = self.log.as_deref().map(LogFile::create).transpose()?;
        Ok(End::bind(builder, log, address).await?)
    }

    /// Binds an endpoint for connections to `remote`.
    ///
    /// # Errors
    /// As [`Place::bind`].
    pub async fn bind_towards(
        &self,
        remote: SocketAddr,
    ) -> Result<End, Box<dyn std::error::Error + Send + Sync>> {
        let any = if remote.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        self.bind_as(Role::Client, any.parse()?).await
    }

    /// Opens a connection; an error says to whom, and what is known here of its reason.
    ///
    /// # Errors
    /// As [`Endpoint::connect`], in a sentence.
    pub async fn connect(
        &self,
        endpoint: &Endpoint,
        remote: SocketAddr,
        port: u16,
        composition: Composition,
    ) -> Result<Connection, String> {
        let connected = endpoint.connect(remote, port, composition).await;
        connected.map_err(|error| self.explain(remote, port, &error))
    }

    /// Why no connection to `remote` stood.
    pub fn explain(&self, remote: SocketAddr, port: u16, error: &Error) -> String {
        match (error, self.keys.is_some()) {
            (Error::Closed(_), _) => format!("{remote}, inner port {port}: {error}"),
            (Error::Refused { .. }, true) => format!("{error} (this end has keys: has the other one?)"),
            (Error::Refused { .. }, false) => format!("{error} (this end has no keys: has the other one?)"),
            _ => error.to_string(),
        }
    }

    /// The services, protected if there are keys.
    ///
    /// # Errors
    /// Sentences about what contradicts.
    pub fn compose(&self, profile: &ProfileArgs) -> Result<Composition, String> {
        self.protect(profile).compose()
    }

    /// The services as names, protected if there are keys.
    pub fn protect(&self, profile: &ProfileArgs) -> ProfileArgs {
        ProfileArgs { protected: self.keys.is_some(), ..profile.clone() }
    }
}

/// The address to bind to, as an option names it.
///
/// # Errors
/// A sentence if it is none.
pub fn outer_address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "write ADDRESS:PORT, for instance 127.0.0.1:0 or [::1]:9000")
}

/// Finds `HOST`, `HOST:UDP_PORT` or `[V6]:UDP_PORT`.
///
/// # Errors
/// A sentence if there is no such host.
pub async fn find(host: &str) -> Result<SocketAddr, String> {
    let with_port = match host.parse::<std::net::IpAddr>() {
        Ok(ip) => SocketAddr::new(ip, UDP_PORT).to_string(),
        Err(_) if host.contains(':') => host.into(),
        Err(_) => format!("{host}:{UDP_PORT}"),
    };
    let mut found = tokio::net::lookup_host(&with_port)
        .await
        .map_err(|error| format!("cannot find {host}: {error}; write HOST or HOST:UDP_PORT"))?;
    found.next().ok_or_else(|| format!("{host} has no address; write HOST or HOST:UDP_PORT"))
}

/// Says loudly that nothing is secret, once, where the user reads it (R-SEC-6).
pub fn warn_if_clear(composition: &Composition) {
    if composition.profile().protection == Protection::ClearText {
        eprintln!(
            "CLEAR TEXT: anyone on the path can read, forge and end this connection; --own-key or --key-file protects it."
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hosts_have_the_default_port_unless_told() {
        assert_eq!(find("127.0.0.1").await.unwrap(), "127.0.0.1:61253".parse().unwrap());
        assert_eq!(find("127.0.0.1:9").await.unwrap(), "127.0.0.1:9".parse().unwrap());
        assert_eq!(find("::1").await.unwrap(), "[::1]:61253".parse().unwrap());
        assert_eq!(find("[::1]:9").await.unwrap(), "[::1]:9".parse().unwrap());
    }
}
