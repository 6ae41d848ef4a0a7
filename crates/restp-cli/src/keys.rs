//! Keys of this end: options that name files, and `restp keygen`, which makes one.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use restp::protected::{Keys, Peers, PrivateKey, PublicKey};

use crate::outcome::Outcome;

/// Which end of a connection needs keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It connects.
    Client,
    /// It accepts.
    Server,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Handshake {
    /// The client knows the server's public key beforehand and hides its own from everybody else
    Ik,
    /// Both ends show their public keys
    Xx,
}

/// Either a secret that both ends share, or a key pair of this end and the public keys of its peers.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Keys")]
pub struct KeyArgs {
    /// File with a shared secret of 64 hexadecimal digits: encrypt and authenticate everything
    #[arg(long, value_name = "FILE", conflicts_with_all = ["own_key", "peer_keys"])]
    key_file: Option<PathBuf>,
    /// File with the private key of this end, as `restp keygen` makes it: encrypt, and know whom one talks to. Files of
    /// public keys end in .pub
    #[arg(long, value_name = "FILE", requires = "peer_keys")]
    own_key: Option<PathBuf>,
    /// File with the public keys of the peers that are taken, one a line; `#` begins a comment
    #[arg(long, value_name = "FILE", requires = "own_key")]
    peer_keys: Option<PathBuf>,
    /// Noise handshake of the key pairs; both ends need the same
    #[arg(long, value_enum, default_value = "ik", requires = "own_key")]
    handshake: Handshake,
}

impl KeyArgs {
    /// There are keys.
    pub fn is_some(&self) -> bool {
        self.key_file.is_some() || self.own_key.is_some()
    }

    /// The keys from their files.
    ///
    /// # Errors
    /// A sentence: a file cannot be read, or what it holds is no key.
    pub fn read(&self, role: Role) -> Result<Option<Keys>, String> {
        if let Some(path) = &self.key_file {
            let secret =
                text(path)?.parse::<PrivateKey>().map_err(|error| format!("{}: {error}", path.display()))?;
            return Ok(Some(Keys::shared(*secret.as_bytes())));
        }
        let (Some(own), Some(peers)) = (&self.own_key, &self.peer_keys) else { return Ok(None) };
        let own_text = text(own)?;
        if own.extension().is_some_and(|extension| extension == "pub") {
            return Err(format!(
                "{}: by its name this is a public key, but --own-key takes the private key of this end, the file \
                 that `restp keygen` made",
                own.display()
            ));
        }
        let own_key: PrivateKey = own_text.parse().map_err(|error| format!("{}: {error}", own.display()))?;
        let peers_text = text(peers)?;
        if is_private_of_sibling(peers, &peers_text) {
            return Err(format!(
                "{}: this is a private key, but --peer-keys takes public keys of peers, which `restp keygen` prints",
                peers.display()
            ));
        }
        let peer_keys = public_keys(&peers_text).map_err(|error| format!("{}: {error}", peers.display()))?;
        // Private and public keys look alike: nobody knows which of the two this is.
        if peer_keys.iter().any(|key| key.as_bytes() == own_key.as_bytes()) {
            return Err(format!(
                "{} and {} hold the same key, but --own-key takes the private key of this end, the file that `restp \
                 keygen` made, and --peer-keys the public keys of peers, which it printed",
                own.display(),
                peers.display()
            ));
        }
        Ok(Some(match (self.handshake, role, &peer_keys[..]) {
            (Handshake::Xx, ..) => Keys::xx(own_key, Peers::only(peer_keys)),
            (Handshake::Ik, Role::Server, _) => Keys::ik_server(own_key, Peers::only(peer_keys)),
            (Handshake::Ik, Role::Client, [server]) => Keys::ik_client(own_key, *server),
            (Handshake::Ik, Role::Client, _) => {
                return Err(format!(
                    "{}: with --handshake ik a client names the key of its server alone, and here are {}",
                    peers.display(),
                    peer_keys.len()
                ));
            }
        }))
    }
}

/// Make a key pair: the private key goes to a file, the public key to standard output, for the peers.
#[derive(Args)]
pub struct Keygen {
    /// File for the private key; it must not exist
    file: PathBuf,
}

impl Keygen {
    /// Makes the pair.
    pub fn run(self) -> Outcome {
        let key = restp::generate_private_key()?;
        let digits: String = key.as_bytes().iter().map(|octet| format!("{octet:02x}")).collect();
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        options.open(&self.file).and_then(|mut file| writeln!(file, "{digits}")).map_err(
            |error| match error.kind() {
                ErrorKind::AlreadyExists => {
                    format!(
                        "{} exists, and no key is written over it: choose another name",
                        self.file.display()
                    )
                }
                _ => format!("cannot write the key to {}: {error}", self.file.display()),
            },
        )?;
        println!("{}", key.public());
        Ok(())
    }
}

/// What the file holds. What is no text is no key, which is found out where keys are read.
fn text(path: &Path) -> Result<String, String> {
    std::fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .map_err(|error| format!("cannot read the key file {}: {error}", path.display()))
}

/// Private and public keys look alike. Where the public one lies beside it, in `NAME.pub`, a private one shows itself.
fn is_private_of_sibling(path: &Path, text: &str) -> bool {
    let Ok(key) = text.parse::<PrivateKey>().map(|key| key.public()) else { return false };
    let mut longer = path.as_os_str().to_owned();
    longer.push(".pub");
    [PathBuf::from(longer), path.with_extension("pub")]
        .iter()
        .filter_map(|public| std::fs::read_to_string(public).ok())
        .any(|public| public_keys(&public).is_ok_and(|list| list.contains(&key)))
}

fn public_keys(text: &str) -> Result<Vec<PublicKey>, String> {
    let lines =
        text.lines().enumerate().map(|(place, line)| (place + 1, line.split('#').next().unwrap_or("")));
    let keys: Vec<PublicKey> = lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| line.parse().map_err(|error| format!("line {number}: {error}")))
        .collect::<Result<_, _>>()?;
    if keys.is_empty() { Err("it names no public key".into()) } else { Ok(keys) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_stand_one_a_line_and_a_wrong_line_is_named() {
        let [one, other] = [restp::generate_private_key().unwrap(), restp::generate_private_key().unwrap()]
            .map(|key| key.public());
        let list = format!("# the two of the office\n{one}  # hers\n\n{other}\n");
        assert_eq!(public_keys(&list).unwrap(), [one, other]);
        assert!(public_keys("# nobody\n").unwrap_err().contains("no public key"));
        let cut = &one.to_string()[1..];
        assert!(
            public_keys(&format!("{other}\n{cut}")).unwrap_err().contains("line 2: a key is written as 64")
        );
    }
}
