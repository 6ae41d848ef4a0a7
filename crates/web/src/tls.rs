//! The TLS of both ends: the same cryptography whatever is carried over it.
//!
//! TLS 1.3 with one cipher suite and one group, by rustls with ring: what differs between protocols is then not what
//! they happened to agree on. The kind of key is that of the certificate that was given.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Resumption, Tls12ClientSessionValue,
    Tls13ClientSessionValue,
};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, StoresServerSessions};
use rustls::version::TLS13;
use rustls::{ClientConfig, KeyLogFile, NamedGroup, RootCertStore, ServerConfig};
use tokio::sync::watch;

use crate::Refusal;
use crate::counters::Counters;
use crate::limits::Limits;
use crate::protocol::Protocol;

/// The name in the server's certificate unless another one is asked for (a name reserved for tests: RFC 6761).
pub const SERVER_NAME: &str = "server.gauntlet.test";

/// Servers whose tickets a client keeps.
const REMEMBERED_SERVERS: usize = 1;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![ring::kx_group::X25519],
        ..ring::default_provider()
    })
}

/// What a server shows and allows.
pub struct ServerTls<'a> {
    /// Its certificate, with those that lead to the authority (PEM).
    pub certificate: &'a Path,
    /// The key of that (PEM).
    pub key: &'a Path,
    /// Tickets that a client is given in a handshake.
    pub tickets: usize,
    /// Whether a client that resumes may send before the end of the handshake.
    pub early_data: bool,
}

impl ServerTls<'_> {
    /// The library's configuration.
    ///
    /// # Errors
    /// A sentence: a file cannot be read, or the certificate and the key do not belong together.
    pub fn config(
        &self,
        protocol: Protocol,
        limits: &Limits,
        counters: &Arc<Counters>,
    ) -> Result<ServerConfig, Refusal> {
        if self.early_data && self.tickets == 0 {
            return Err(Refusal::new(
                "early data needs a ticket of an earlier connection: give --tickets 1 or more",
            ));
        }
        let key = PrivateKeyDer::from_pem_file(self.key)
            .map_err(|error| Refusal::of(format!("the key {}", self.key.display()), error))?;
        let chain = certificates(self.certificate)?;
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|error| Refusal::of("the certificate and its key were refused", error))?;
        config.alpn_protocols = vec![protocol.alpn().to_vec()];
        config.send_tls13_tickets = self.tickets;
        config.session_storage = match self.tickets {
            0 => Arc::new(NoServerSessionStorage {}),
            _ => Arc::new(CountedSessions {
                inner: ServerSessionMemoryCache::new(limits.sessions),
                counters: Arc::clone(counters),
            }),
        };
        if self.early_data {
            // QUIC allows no other value (RFC 9001, section 4.6.1).
            config.max_early_data_size = if protocol.is_quic() { u32::MAX } else { limits.early_octets };
        }
        Ok(config)
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Refusal> {
    let refused = |error| Refusal::of(format!("the certificate {}", file.display()), error);
    let found: Vec<_> = CertificateDer::pem_file_iter(file).and_then(Iterator::collect).map_err(refused)?;
    if found.is_empty() {
        return Err(Refusal::new(format!("there is no certificate in {}", file.display())));
    }
    Ok(found)
}

/// The sessions of a server, with a count of what is given out and what comes back.
#[derive(Debug)]
struct CountedSessions {
    inner: Arc<ServerSessionMemoryCache>,
    counters: Arc<Counters>,
}

impl StoresServerSessions for CountedSessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.counters.tickets_issued.one();
        self.inner.put(key, value)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.inner.get(key)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let taken = self.inner.take(key)?;
        self.counters.tickets_redeemed.one();
        Some(taken)
    }

    fn can_cache(&self) -> bool {
        self.inner.can_cache()
    }
}

/// What a client trusts and does.
pub struct ClientTls<'a> {
    /// The authority that must have signed the server's certificate (PEM).
    pub authority: &'a Path,
    /// Whether it resumes sessions, and sends before the end of the handshake where the server allows it.
    pub early_data: bool,
    /// Whether it resumes sessions.
    pub resume: bool,
}

impl ClientTls<'_> {
    /// The library's configuration, and the tickets that it uses.
    ///
    /// # Errors
    /// A sentence: the authority cannot be read.
    pub fn config(&self, protocol: Protocol) -> Result<(ClientConfig, Arc<Tickets>), Refusal> {
        let mut roots = RootCertStore::empty();
        for authority in certificates(self.authority)? {
            roots
                .add(authority)
                .map_err(|error| Refusal::of(format!("the authority {}", self.authority.display()), error))?;
        }
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| Refusal::of("TLS 1.3", error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.alpn().to_vec()];
        config.enable_early_data = self.early_data;
        // Keys go to the file that SSLKEYLOGFILE names, as those of browsers do, for whoever reads a capture.
        config.key_log = Arc::new(KeyLogFile::new());
        let tickets = Arc::new(Tickets::default());
        config.resumption = match self.resume || self.early_data {
            true => Resumption::store(Arc::clone(&tickets) as Arc<dyn ClientSessionStore>),
            false => Resumption::disabled(),
        };
        Ok((config, tickets))
    }
}

/// The tickets of a client, with counts of those that came and of those that it used.
#[derive(Debug)]
pub struct Tickets {
    inner: ClientSessionMemoryCache,
    came: watch::Sender<u64>,
    used: AtomicU64,
}

impl Default for Tickets {
    fn default() -> Self {
        Self {
            inner: ClientSessionMemoryCache::new(REMEMBERED_SERVERS),
            came: watch::Sender::default(),
            used: AtomicU64::new(0),
        }
    }
}

impl Tickets {
    /// How many were offered to a server.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// How many have come, as a number that can be waited for.
    pub fn came(&self) -> watch::Receiver<u64> {
        self.came.subscribe()
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, server: ServerName<'static>, group: NamedGroup) {
        self.inner.set_kx_hint(server, group);
    }

    fn kx_hint(&self, server: &ServerName<'_>) -> Option<NamedGroup> {
        self.inner.kx_hint(server)
    }

    fn set_tls12_session(&self, server: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.inner.set_tls12_session(server, value);
    }

    fn tls12_session(&self, server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.inner.tls12_session(server)
    }

    fn remove_tls12_session(&self, server: &ServerName<'static>) {
        self.inner.remove_tls12_session(server);
    }

    fn insert_tls13_ticket(&self, server: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.inner.insert_tls13_ticket(server, value);
        self.came.send_modify(|tickets| *tickets += 1);
    }

    fn take_tls13_ticket(&self, server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let ticket = self.inner.take_tls13_ticket(server)?;
        self.used.fetch_add(1, Ordering::Relaxed);
        Some(ticket)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use rustls::{ClientConnection, HandshakeKind, ServerConnection};

    use super::*;
    use crate::certificates::{Kind, make};

    /// A certificate in a folder that is gone with this.
    pub(crate) struct Files(std::path::PathBuf);

    impl Files {
        pub(crate) fn new(name: &str, kind: Kind) -> Self {
            let folder = std::env::temp_dir().join(format!("gauntlet-web-tls-{}-{name}", std::process::id()));
            make(kind, SERVER_NAME).expect("a certificate").write(&folder).expect("a place for files");
            Self(folder)
        }

        pub(crate) fn server(
            &self,
            tickets: usize,
            early_data: bool,
        ) -> Result<(ServerConfig, Arc<Counters>), Refusal> {
            let (certificate, key) = (self.0.join("server.pem"), self.0.join("server.key"));
            let tls = ServerTls { certificate: &certificate, key: &key, tickets, early_data };
            let counters = Arc::default();
            Ok((tls.config(Protocol::H1, &Limits::default(), &counters)?, counters))
        }

        pub(crate) fn client(&self, resume: bool) -> (Arc<ClientConfig>, Arc<Tickets>) {
            let authority = self.0.join("ca.pem");
            let tls = ClientTls { authority: &authority, early_data: false, resume };
            let (config, tickets) = tls.config(Protocol::H1).expect("a sound configuration");
            (Arc::new(config), tickets)
        }
    }

    impl Drop for Files {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Lets both ends talk until the handshake is over and what follows it (tickets) has arrived; returns the client's
    /// end.
    fn handshake(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> ClientConnection {
        let name = ServerName::try_from(SERVER_NAME).expect("a valid name");
        let mut client = ClientConnection::new(Arc::clone(client), name).expect("a sound configuration");
        let mut server = ServerConnection::new(Arc::clone(server)).expect("a sound configuration");
        for _ in 0..6 {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).expect("memory takes everything");
            server.read_tls(&mut wire.as_slice()).expect("memory gives everything");
            server.process_new_packets().expect("the server agrees");
            let mut wire = Vec::new();
            server.write_tls(&mut wire).expect("memory takes everything");
            client.read_tls(&mut wire.as_slice()).expect("memory gives everything");
            client.process_new_packets().expect("the client agrees");
        }
        assert!(!client.is_handshaking() && !server.is_handshaking());
        client
    }

    #[test]
    fn every_kind_of_certificate_works_with_the_one_suite_and_group() {
        for kind in Kind::ALL {
            let files = Files::new(kind.name(), kind);
            let (server, _) = files.server(0, false).expect("a sound configuration");
            let client = handshake(&files.client(false).0, &Arc::new(server));
            let suite = client.negotiated_cipher_suite().expect("after the handshake").suite();
            assert_eq!(suite, rustls::CipherSuite::TLS13_AES_128_GCM_SHA256, "{}", kind.name());
            let group = client.negotiated_key_exchange_group().expect("after the handshake").name();
            assert_eq!(group, NamedGroup::X25519);
        }
    }

    #[test]
    fn tickets_are_counted_where_they_are_given_out_and_where_they_are_used() {
        let files = Files::new("tickets", Kind::P256);
        let (server, counters) = files.server(2, false).expect("a sound configuration");
        let server = Arc::new(server);
        let (client, tickets) = files.client(true);
        assert_eq!(handshake(&client, &server).handshake_kind(), Some(HandshakeKind::Full));
        assert_eq!(
            (counters.tickets_issued.get(), counters.tickets_redeemed.get(), tickets.used()),
            (2, 0, 0)
        );
        assert_eq!(handshake(&client, &server).handshake_kind(), Some(HandshakeKind::Resumed));
        assert_eq!(
            (counters.tickets_issued.get(), counters.tickets_redeemed.get(), tickets.used()),
            (4, 1, 1)
        );
    }

    #[test]
    fn a_client_that_does_not_resume_and_a_server_without_tickets_begin_anew() {
        let files = Files::new("anew", Kind::P256);
        for (given, resume) in [(0, true), (2, false)] {
            let (server, counters) = files.server(given, false).expect("a sound configuration");
            let server = Arc::new(server);
            let (client, tickets) = files.client(resume);
            for _ in 0..2 {
                assert_eq!(handshake(&client, &server).handshake_kind(), Some(HandshakeKind::Full));
            }
            assert_eq!((counters.tickets_redeemed.get(), tickets.used()), (0, 0));
        }
    }

    #[test]
    fn what_is_wrong_with_the_files_is_said() {
        let files = Files::new("wrong", Kind::P256);
        let early = files.server(0, true).expect_err("no ticket, no early data");
        assert!(early.to_string().contains("--tickets"), "{early}");
        std::fs::write(files.0.join("server.pem"), "").expect("the folder is there");
        let empty = files.server(0, false).expect_err("no certificate");
        assert!(empty.to_string().contains("no certificate"), "{empty}");
        let other = Files::new("other", Kind::P256);
        std::fs::copy(other.0.join("server.pem"), files.0.join("server.pem")).expect("both are there");
        let foreign = files.server(0, false).expect_err("the key of another certificate");
        assert!(foreign.to_string().contains("refused"), "{foreign}");
        std::fs::remove_file(files.0.join("server.key")).expect("it was there");
        let missing = files.server(0, false).expect_err("no key");
        assert!(missing.to_string().contains("server.key"), "{missing}");
    }
}
