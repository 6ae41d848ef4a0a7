//! HTTP/1.1 and HTTP/2 by hyper, over sockets of the kernel.

use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::rt::{Read, Write};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::answer::{answer, check_found, request, with_body};
use super::carrier::{Browser, HttpCarrier, Opened, Site, Version};
use super::graph::{self, Multiplexed};
use super::sentence::failure;
use super::stream::{Listener, Reactor, Stream, StreamCarrier};
use super::tasks::{Tasks, run};
use crate::error::Failure;
use crate::secure::{SERVER_NAME, tls_failure};
use crate::session::Session;

/// Protocol names (ALPN: RFC 7301, section 6; RFC 9113, section 3.1).
const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

const LOADING: &str = "the page was still loading";
const SERVING: &str = "the server still waited for the browser";
const ANSWER: &str = "the answer";

/// What a browser needs to open connections.
struct Client<'a> {
    browser: &'a dyn Browser,
    carrier: &'a dyn StreamCarrier,
    session: &'a Session,
    reactor: Rc<Reactor>,
    tls: Option<Arc<ClientConfig>>,
    version: Version,
    tasks: Tasks<'a>,
}

/// A connection that takes requests.
enum Sender {
    One(http1::SendRequest<Empty<Bytes>>),
    Two(http2::SendRequest<Empty<Bytes>>),
}

impl<T: StreamCarrier> HttpCarrier for T {
    fn is_quic(&self) -> bool {
        false
    }

    fn load(
        &self,
        session: &Arc<Session>,
        browser: &dyn Browser,
        version: Version,
        connections: usize,
    ) -> Result<(), Failure> {
        let tls = self.tls(session)?.map(|ends| {
            let mut config = ClientConfig::clone(&ends.client);
            config.alpn_protocols = vec![if version == Version::Two { HTTP2 } else { HTTP1 }.to_vec()];
            Arc::new(config)
        });
        let reactor = Reactor::new(session);
        let tasks = Tasks::default();
        let client = Client {
            browser,
            carrier: self,
            session,
            reactor: Rc::clone(&reactor),
            tls,
            version,
            tasks: tasks.clone(),
        };
        run(&tasks, &*reactor, LOADING, async move {
            match version {
                Version::Two => graph::load(&client, browser).await,
                _ => client.load_in_turn(connections).await,
            }
        })
    }

    fn serve(&self, session: &Arc<Session>, site: &Rc<dyn Site>, version: Version) -> Result<(), Failure> {
        serve(self, session, site, version)
    }
}

impl Multiplexed for Client<'_> {
    type Sender = http2::SendRequest<Empty<Bytes>>;

    fn now_ns(&self) -> i64 {
        self.reactor.now_ns()
    }

    async fn open(&self, asked: usize) -> Result<Self::Sender, Failure> {
        match self.connect(asked).await? {
            Sender::Two(sender) => Ok(sender),
            Sender::One(_) => Err(Failure::new("a connection of HTTP/1.1 takes one request at a time")),
        }
    }

    async fn fetch(&self, sender: Self::Sender, asked: usize) {
        let outcome = self.try_fetch(&mut Sender::Two(sender), asked).await;
        self.browser.over(asked, outcome, self.reactor.now_ns());
    }
}

impl Client<'_> {
    /// The first object, then the others over up to `connections` connections, one at a time on each.
    async fn load_in_turn(&self, connections: usize) {
        let mut first = None;
        self.fetch_next(&mut first).await;
        let at_a_time = if self.version.is_fresh() { 1 } else { connections };
        let others = at_a_time.min(self.browser.known());
        let kept = std::iter::once(first).chain(std::iter::repeat_with(|| None)).take(others);
        join_all(kept.map(async |mut kept| {
            while self.browser.known() > 0 {
                self.fetch_next(&mut kept).await;
            }
        }))
        .await;
    }

    /// Fetches the next object over the connection that is kept, or a new one, which is then kept.
    async fn fetch_next(&self, kept: &mut Option<Sender>) {
        let Some(asked) = self.browser.ask(self.reactor.now_ns()) else { return };
        let outcome = async {
            let mut sender = match kept.take() {
                Some(sender) => sender,
                None => self.connect(asked).await?,
            };
            self.try_fetch(&mut sender, asked).await?;
            if !self.version.is_fresh() {
                *kept = Some(sender);
            }
            Ok(())
        }
        .await;
        self.browser.over(asked, outcome, self.reactor.now_ns());
    }

    async fn connect(&self, asked: usize) -> Result<Sender, Failure> {
        let to = self.session.ctx.destination;
        let socket = self.carrier.at_source(self.session)?;
        let stream = Stream::connect(socket, to, &self.reactor, self.carrier.longest_write()).await?;
        let mut opened = Opened { connected_ns: Some(self.reactor.now_ns()), secured_ns: None };
        self.browser.opened(asked, opened);
        let Some(tls) = &self.tls else { return self.speak(stream).await };
        let doing = "the TLS handshake";
        let name = ServerName::try_from(SERVER_NAME).map_err(|e| Failure::new(e.to_string()))?;
        let stream = TlsConnector::from(Arc::clone(tls))
            .connect(name, stream)
            .await
            .map_err(|error| failure(doing, &error))?;
        opened.secured_ns = Some(self.reactor.now_ns());
        self.browser.opened(asked, opened);
        if self.version == Version::Two && stream.get_ref().1.alpn_protocol() != Some(HTTP2) {
            return Err(tls_failure(doing, &rustls::Error::NoApplicationProtocol));
        }
        self.speak(stream).await
    }

    /// Begins to speak HTTP on a connection.
    async fn speak(
        &self,
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + 'static,
    ) -> Result<Sender, Failure> {
        let failed = |error: hyper::Error| failure("the HTTP connection", &error);
        if self.version == Version::Two {
            let (sender, connection) =
                http2::handshake(self.tasks.clone(), TokioIo::new(stream)).await.map_err(failed)?;
            // What goes wrong with it, those who ask over it hear too.
            self.tasks.spawn(async { drop(connection.await) });
            return Ok(Sender::Two(sender));
        }
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
        self.tasks.spawn(async { drop(connection.await) });
        Ok(Sender::One(sender))
    }

    async fn try_fetch(&self, sender: &mut Sender, asked: usize) -> Result<(), Failure> {
        let failed = |error: hyper::Error| failure(ANSWER, &error);
        let response = match sender {
            Sender::One(sender) => {
                sender.ready().await.map_err(failed)?;
                let mut request = request(&self.browser.path(asked)).header("host", SERVER_NAME);
                if self.version.is_fresh() {
                    request = request.header("connection", "close");
                }
                sender.send_request(with_body(request, Empty::new())?).await
            }
            Sender::Two(sender) => {
                let scheme = if self.tls.is_some() { "https" } else { "http" };
                let uri = format!("{scheme}://{SERVER_NAME}{}", self.browser.path(asked));
                sender.send_request(with_body(request(&uri), Empty::new())?).await
            }
        };
        let mut response = response.map_err(failed)?;
        check_found(response.status())?;
        self.browser.answered(asked, self.reactor.now_ns());
        while let Some(frame) = response.frame().await {
            if let Some(bytes) = frame.map_err(failed)?.data_ref() {
                self.browser.take(asked, bytes, self.reactor.now_ns())?;
            }
        }
        Ok(())
    }
}

/// Serves `site` at the destination of `session`.
fn serve(
    carrier: &dyn StreamCarrier,
    session: &Arc<Session>,
    site: &Rc<dyn Site>,
    version: Version,
) -> Result<(), Failure> {
    let reactor = Reactor::new(session);
    let acceptor = carrier.tls(session)?.map(|ends| {
        let mut config = rustls::ServerConfig::clone(&ends.server);
        config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
        TlsAcceptor::from(Arc::new(config))
    });
    let listener = Listener::new(carrier.at_destination(session)?, &reactor, carrier.longest_write())?;
    session.announce_listening();
    let tasks = Tasks::default();
    let spawned = tasks.clone();
    run(&tasks, &*reactor, SERVING, async move {
        loop {
            let stream = match listener.accept().await {
                Ok(stream) => stream,
                Err(failure) => return Err(failure),
            };
            let (site, session) = (Rc::clone(site), Arc::clone(session));
            let (acceptor, tasks) = (acceptor.clone(), spawned.clone());
            // A connection that breaks is the browser's to report.
            spawned.spawn(async move {
                let Some(acceptor) = acceptor else {
                    let two = version == Version::Two;
                    return answer_all(TokioIo::new(stream), site, session, tasks, two).await;
                };
                if let Ok(stream) = acceptor.accept(stream).await {
                    let two = stream.get_ref().1.alpn_protocol() == Some(HTTP2);
                    answer_all(TokioIo::new(stream), site, session, tasks, two).await;
                }
            });
        }
    })?
}

/// Answers what is asked on a connection until it ends.
async fn answer_all<'a>(
    stream: impl Read + Write + Unpin + 'static,
    site: Rc<dyn Site>,
    session: Arc<Session>,
    tasks: Tasks<'a>,
    two: bool,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let response = answer(&*site, &session, request.uri().path());
        async move { Ok::<Response<_>, Infallible>(response) }
    });
    if two {
        drop(hyper::server::conn::http2::Builder::new(tasks).serve_connection(stream, service).await);
    } else {
        drop(hyper::server::conn::http1::Builder::new().serve_connection(stream, service).await);
    }
}
