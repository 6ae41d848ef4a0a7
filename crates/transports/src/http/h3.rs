//! HTTP/3 by h3, over quinn.

use std::rc::Rc;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use h3::error::StreamError;

use super::answer::{answer, check_found, request, with_body};
use super::carrier::{Browser, HttpCarrier, Opened, Site, Version};
use super::graph::{self, Multiplexed};
use super::sentence::failure;
use super::tasks::{Tasks, Waits, run};
use crate::error::Failure;
use crate::secure::SERVER_NAME;
use crate::session::Session;
use crate::stacks::quic::quinn::Quinn;
use crate::stacks::quic::quinn::web::{WebConnection, WebEndpoint};

/// The protocol's name (ALPN: RFC 9114, section 3.1).
const HTTP3: &[u8] = b"h3";

const LOADING: &str = "the page was still loading";
const SERVING: &str = "the server still waited for the browser";
const ANSWER: &str = "the answer";

impl Waits for WebEndpoint {
    fn turn(&self, doing: &str) -> Result<(), Failure> {
        WebEndpoint::turn(self, doing)
    }
}

impl HttpCarrier for Quinn {
    fn is_quic(&self) -> bool {
        true
    }

    fn load(
        &self,
        session: &Arc<Session>,
        browser: &dyn Browser,
        version: Version,
        _connections: usize,
    ) -> Result<(), Failure> {
        while browser.known() > 0 {
            load_over_one(self, session, browser, version)?;
        }
        Ok(())
    }

    fn serve(&self, session: &Arc<Session>, site: &Rc<dyn Site>, _version: Version) -> Result<(), Failure> {
        serve(self, session, site)
    }
}

/// Opens a socket and loads over it all that becomes known; only the next object, if each has a connection of its own.
fn load_over_one(
    quinn: &Quinn,
    session: &Arc<Session>,
    browser: &dyn Browser,
    version: Version,
) -> Result<(), Failure> {
    let endpoint = match quinn.web_open(session) {
        Ok(endpoint) => endpoint,
        Err(failure) => {
            let now_ns = session.ctx.clock.now_ns();
            if let Some(asked) = browser.ask(now_ns) {
                browser.over(asked, Err(failure), now_ns);
            }
            return Ok(());
        }
    };
    let tasks = Tasks::default();
    let client = Client { browser, session, quinn, endpoint: &endpoint, tasks: tasks.clone() };
    run(&tasks, &endpoint, LOADING, client.load(version))
}

/// What a browser needs to open connections and to ask over them.
struct Client<'a> {
    browser: &'a dyn Browser,
    session: &'a Arc<Session>,
    quinn: &'a Quinn,
    endpoint: &'a WebEndpoint,
    tasks: Tasks<'a>,
}

/// What takes requests on a connection.
#[derive(Clone)]
struct Sender {
    requests: SendRequest<WebConnection, Bytes>,
    connection: WebConnection,
}

/// Why a connection broke, which says more than what a stream over it reports.
fn failed(connection: &WebConnection, error: &(dyn std::error::Error + 'static)) -> Failure {
    connection.lost(ANSWER).unwrap_or_else(|| failure(ANSWER, error))
}

impl Multiplexed for Client<'_> {
    type Sender = Sender;

    fn now_ns(&self) -> i64 {
        self.endpoint.now_ns()
    }

    async fn open(&self, asked: usize) -> Result<Sender, Failure> {
        let connection = self.quinn.web_connect(self.session, self.endpoint, HTTP3)?;
        let established_ns = connection.established(self.session.ctx.destination).await?;
        self.browser.opened(asked, Opened { connected_ns: Some(established_ns), secured_ns: None });
        // Frames that mean nothing (RFC 9114, section 7.2.8) are drawn at random: they would only blur comparisons.
        let (mut driver, requests) = h3::client::builder()
            .send_grease(false)
            .build::<_, _, Bytes>(connection.clone())
            .await
            .map_err(|error| failed(&connection, &error))?;
        // What goes wrong with it, those who ask over it hear too.
        self.tasks.spawn(async move { drop(driver.wait_idle().await) });
        Ok(Sender { requests, connection })
    }

    async fn fetch(&self, mut sender: Sender, asked: usize) {
        let outcome = self.try_fetch(&mut sender, asked).await;
        self.browser.over(asked, outcome, self.endpoint.now_ns());
    }
}

impl Client<'_> {
    async fn load(self, version: Version) {
        if !version.is_fresh() {
            return graph::load(&self, self.browser).await;
        }
        let Some(asked) = self.browser.ask(self.now_ns()) else { return };
        match self.open(asked).await {
            Ok(sender) => self.fetch(sender, asked).await,
            Err(failure) => self.browser.over(asked, Err(failure), self.now_ns()),
        }
    }

    async fn try_fetch(&self, sender: &mut Sender, asked: usize) -> Result<(), Failure> {
        let Sender { requests, connection } = sender;
        let failed = |error: StreamError| failed(connection, &error);
        let request = with_body(request(&format!("https://{SERVER_NAME}{}", self.browser.path(asked))), ())?;
        let mut stream = requests.send_request(request).await.map_err(failed)?;
        stream.finish().await.map_err(failed)?;
        let response = stream.recv_response().await.map_err(failed)?;
        check_found(response.status())?;
        self.browser.answered(asked, self.endpoint.now_ns());
        while let Some(mut bytes) = stream.recv_data().await.map_err(failed)? {
            while bytes.has_remaining() {
                self.browser.take(asked, bytes.chunk(), self.endpoint.now_ns())?;
                bytes.advance(bytes.chunk().len());
            }
        }
        Ok(())
    }
}

/// Serves `site` at the destination of `session`.
fn serve(quinn: &Quinn, session: &Arc<Session>, site: &Rc<dyn Site>) -> Result<(), Failure> {
    let endpoint = quinn.web_listen(session, HTTP3)?;
    session.announce_listening();
    let tasks = Tasks::default();
    let spawned = tasks.clone();
    let endpoint = &endpoint;
    run(&tasks, endpoint, SERVING, async move {
        loop {
            let connection = endpoint.accept().await;
            // A connection that breaks is the browser's to report.
            let (site, session, tasks) = (Rc::clone(site), Arc::clone(session), spawned.clone());
            spawned.spawn(async move { drop(answer_all(connection, site, session, tasks).await) });
        }
    })
}

/// Answers what is asked on a connection until it ends.
async fn answer_all(
    connection: WebConnection,
    site: Rc<dyn Site>,
    session: Arc<Session>,
    tasks: Tasks<'_>,
) -> Result<(), h3::error::ConnectionError> {
    let mut connection = h3::server::builder().send_grease(false).build::<_, Bytes>(connection).await?;
    while let Some(asked) = connection.accept().await? {
        let (site, session) = (Rc::clone(&site), Arc::clone(&session));
        tasks.spawn(async move { drop(answer_one(asked, site, session).await) });
    }
    Ok(())
}

async fn answer_one(
    asked: h3::server::RequestResolver<WebConnection, Bytes>,
    site: Rc<dyn Site>,
    session: Arc<Session>,
) -> Result<(), StreamError> {
    let (request, mut stream) = asked.resolve_request().await?;
    // A request that is read to its end lets the browser open another one (RFC 9000, section 4.6).
    while stream.recv_data().await?.is_some() {}
    let (head, mut body) = answer(&*site, &session, request.uri().path()).into_parts();
    stream.send_response(hyper::Response::from_parts(head, ())).await?;
    while let Some(piece) = body.next_piece() {
        stream.send_data(piece).await?;
    }
    stream.finish().await
}
