//! Options that say where an endpoint is, and with which keys.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use restp::profile::Protection;
use restp::protected::Keys;
use restp::{Composition, Endpoint, UDP_PORT};

use crate::profile_args::ProfileArgs;

/// Settings of this end.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Endpoint")]
pub struct Place {
    /// Packets directly in IP, protocol 253; needs the capability CAP_NET_RAW
    #[arg(long)]
    raw_ip: bool,
    /// File with a shared secret of 64 hexadecimal digits: encrypt and authenticate everything
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Write every protocol step to this file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

impl Place {
    /// Binds an endpoint.
    ///
    /// # Errors
    /// What is wrong with address, key file, log file or rights.
    pub async fn bind(
        &self,
        address: SocketAddr,
    ) -> Result<Endpoint, Box<dyn std::error::Error + Send + Sync>> {
        let mut builder = Endpoint::builder();
        if self.raw_ip {
            builder = builder.raw_ip();
        }
        if let Some(path) = &self.key_file {
            let text = std::fs::read_to_string(path)
                .map_err(|error| format!("cannot read the key file {}: {error}", path.display()))?;
            builder = builder.keys(Keys::shared(parse_key(&text)?));
        }
        if let Some(path) = &self.log {
            builder = builder.log_file(path)?;
        }
        Ok(builder.bind(address).await?)
    }

    /// Binds an endpoint for connections to `remote`.
    ///
    /// # Errors
    /// As [`Place::bind`].
    pub async fn bind_towards(
        &self,
        remote: SocketAddr,
    ) -> Result<Endpoint, Box<dyn std::error::Error + Send + Sync>> {
        let any = if remote.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        self.bind(any.parse()?).await
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
        ProfileArgs { protected: self.key_file.is_some(), ..profile.clone() }
    }
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
            "CLEAR TEXT: anyone on the path can read, forge and end this connection; --key-file protects it."
        );
    }
}

fn parse_key(text: &str) -> Result<[u8; 32], String> {
    let wrong = || "the key file must hold 64 hexadecimal digits (32 bytes)".to_string();
    let digits = text.trim();
    if digits.len() != 64 || !digits.is_ascii() {
        return Err(wrong());
    }
    let mut key = [0; 32];
    for (byte, pair) in key.iter_mut().zip(digits.as_bytes().chunks(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_64_digits() {
        let text = "00".repeat(31) + "fF\n";
        assert_eq!(parse_key(&text).unwrap()[31], 255);
        for wrong in ["", "zz", &"0".repeat(63), &"gg".repeat(32), &"é".repeat(32)] {
            assert!(parse_key(wrong).unwrap_err().contains("64 hexadecimal digits"));
        }
    }

    #[tokio::test]
    async fn hosts_have_the_default_port_unless_told() {
        assert_eq!(find("127.0.0.1").await.unwrap(), "127.0.0.1:61253".parse().unwrap());
        assert_eq!(find("127.0.0.1:9").await.unwrap(), "127.0.0.1:9".parse().unwrap());
        assert_eq!(find("::1").await.unwrap(), "[::1]:61253".parse().unwrap());
        assert_eq!(find("[::1]:9").await.unwrap(), "[::1]:9".parse().unwrap());
    }
}
