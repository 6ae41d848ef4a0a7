//! The programs as a user starts them, and clients that do with a connection what no program of ours does.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod attack;
pub mod wire;

use std::io::{BufRead, BufReader, Lines};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, TransportConfig, VarInt};
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use web::certificates::{Kind, make};
use web::protocol::Protocol;
use web::quic_library::QuicLibrary;
use web::tls::{ClientTls, SERVER_NAME};

/// Certificates of a test, made anew, in a folder that no other crate of the workspace writes to.
pub fn certificates(test: &str, kind: Kind) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("web").join(test);
    make(kind, SERVER_NAME).expect("a certificate").write(&folder).expect("a place for files");
    folder
}

/// What a server is made of: a protocol, and a library if that goes over QUIC.
#[derive(Clone, Copy)]
pub struct Stack {
    pub protocol: Protocol,
    pub quic_library: QuicLibrary,
}

impl Stack {
    /// Each protocol, and HTTP/3 over each library.
    pub const ALL: [Self; 4] = [
        Self { protocol: Protocol::H1, quic_library: QuicLibrary::Quinn },
        Self { protocol: Protocol::H2, quic_library: QuicLibrary::Quinn },
        Self::QUIC[0],
        Self::QUIC[1],
    ];
    /// HTTP/3 over each library.
    pub const QUIC: [Self; 2] = [
        Self { protocol: Protocol::H3, quic_library: QuicLibrary::Quinn },
        Self { protocol: Protocol::H3, quic_library: QuicLibrary::S2nQuic },
    ];

    pub fn name(self) -> &'static str {
        if self.protocol.is_quic() { self.quic_library.name() } else { self.protocol.name() }
    }
}

impl From<Protocol> for Stack {
    fn from(protocol: Protocol) -> Self {
        Self { protocol, quic_library: QuicLibrary::Quinn }
    }
}

pub fn server_command(stack: impl Into<Stack>, folder: &Path, options: &[&str]) -> Command {
    let Stack { protocol, quic_library } = stack.into();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gauntlet-web-server"));
    command.args(["--protocol", protocol.name(), "--quic-library", quic_library.name()]);
    command.arg("--certificate").arg(folder.join("server.pem"));
    command.arg("--key").arg(folder.join("server.key")).args(options).stdin(Stdio::null());
    command
}

/// A server in a process of its own, which ends with it.
pub struct Server {
    pub protocol: Protocol,
    pub address: SocketAddr,
    pub folder: PathBuf,
    /// Its first line.
    pub ready: Value,
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Server {
    pub fn start(test: &str, stack: impl Into<Stack>, options: &[&str]) -> Self {
        let stack = stack.into();
        let folder = certificates(&format!("{test}-{}", stack.name()), Kind::P256);
        Self::start_with(&folder, stack, options)
    }

    pub fn start_with(folder: &Path, stack: impl Into<Stack>, options: &[&str]) -> Self {
        let stack = stack.into();
        let protocol = stack.protocol;
        let options = [&["--listen", "127.0.0.1:0"], options].concat();
        let mut command = server_command(stack, folder, &options);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the server starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let ready = content(&mut lines, "ready");
        let address = ready["address"].as_str().expect("a string").parse().expect("an address");
        Self { protocol, address, folder: folder.to_owned(), ready, child, lines }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().expect("process ids are small"));
        kill(pid, signal).expect("the server runs");
    }

    /// Its counters now.
    pub fn now(&mut self) -> Value {
        self.signal(Signal::SIGUSR1);
        content(&mut self.lines, "now")
    }

    /// Asks for its counters until they are as `wanted`: what a client sees may be there before what the server notes.
    pub fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..500 {
            let now = self.now();
            if wanted(&now) {
                return now;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("{what} did not come: {}", self.now());
    }

    /// How often it says that `limit` acted, once that is `count`.
    pub fn until_refused(&mut self, limit: &str, count: u64) -> Value {
        self.until(limit, |now| now["refused"][limit] == count)
    }

    /// Ends it, and returns its counters.
    pub fn stop(mut self) -> Value {
        self.signal(Signal::SIGTERM);
        let done = content(&mut self.lines, "done");
        assert!(self.child.wait().expect("it was started").success());
        assert!(self.lines.next().is_none(), "nothing follows the last line");
        done
    }

    /// What the client says about it.
    pub fn ask(&self, options: &[&str]) -> Asked {
        ask(self.protocol, self.address, &self.folder, options)
    }

    /// TLS over TCP to it.
    pub async fn tcp(&self) -> TlsStream<TcpStream> {
        let connector = TlsConnector::from(Arc::new(self.tls()));
        let stream = TcpStream::connect(self.address).await.expect("it listens");
        connector.connect(name(), stream).await.expect("it agrees")
    }

    /// QUIC to it.
    pub async fn quic(&self) -> (Endpoint, quinn::Connection) {
        let endpoint = self.endpoint();
        let connecting = endpoint.connect(self.address, SERVER_NAME).expect("a sound configuration");
        (endpoint.clone(), connecting.await.expect("it agrees"))
    }

    /// What QUIC connections to it are opened with: whatever the server sends, there is credit for it.
    pub fn endpoint(&self) -> Endpoint {
        let mut endpoint =
            Endpoint::client(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0)).expect("a socket");
        let crypto = QuicClientConfig::try_from(self.tls()).expect("TLS 1.3");
        let mut transport = TransportConfig::default();
        transport.stream_receive_window(VarInt::MAX).receive_window(VarInt::MAX);
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::new(transport));
        endpoint.set_default_client_config(config);
        endpoint
    }

    fn tls(&self) -> rustls::ClientConfig {
        let authority = self.folder.join("ca.pem");
        let tls = ClientTls { authority: &authority, early_data: false, resume: false };
        tls.config(self.protocol).expect("a sound configuration").0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn name() -> ServerName<'static> {
    ServerName::try_from(SERVER_NAME).expect("a valid name")
}

fn content(lines: &mut Lines<BufReader<ChildStdout>>, kind: &str) -> Value {
    let line = lines.next().expect("another line").expect("text");
    let mut line: Value = serde_json::from_str(&line).expect("JSON");
    let content = line[kind].take();
    assert!(!content.is_null(), "{kind} was expected: {line}");
    content
}

/// A count, an instant or octets by its name, of what a program said.
pub fn number(said: &Value, name: &str) -> u64 {
    said[name].as_u64().unwrap_or_else(|| panic!("`{name}` is no number in {said}"))
}

/// What the client said.
pub struct Asked {
    /// By their numbers.
    pub requests: Vec<Value>,
    pub done: Value,
}

impl Asked {
    /// How each request ended.
    pub fn outcomes(&self) -> Vec<&str> {
        self.requests.iter().map(|request| request["outcome"].as_str().expect("a word")).collect()
    }

    /// How the only request ended.
    pub fn outcome(&self) -> &str {
        let [request] = &self.requests[..] else { panic!("one request: {:?}", self.requests) };
        request["outcome"].as_str().expect("a word")
    }
}

/// Runs the client to its end.
pub fn ask(protocol: Protocol, address: SocketAddr, folder: &Path, options: &[&str]) -> Asked {
    let output = client(protocol, address, folder, options);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let done = lines.pop().expect("a last line")["done"].take();
    assert!(!done.is_null(), "the last line is `done`");
    let mut requests: Vec<Value> = lines.iter_mut().map(|line| line["request"].take()).collect();
    requests.sort_by_key(|request| number(request, "n"));
    Asked { requests, done }
}

pub fn client(protocol: Protocol, address: SocketAddr, folder: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gauntlet-web-client"));
    command.args(["--protocol", protocol.name(), "--connect", &address.to_string(), "--ca"]);
    command.arg(folder.join("ca.pem")).args(options).stdin(Stdio::null());
    command.output().expect("the client starts")
}
