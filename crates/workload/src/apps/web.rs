//! `web`: a browser that loads pages over one session. It asks for each object with a request and waits for the whole of
//! it before it asks for the next, as HTTP/1.1 on one persistent connection does. Its KPI is the page load time.
//!
//! The sending half of the flow is the browser, the receiving half the server. Requests are the flow's messages; the
//! server's answers are recorded as exchanges, one row an object, with instants as the browser sees them.

use serde::Deserialize;
use serde_json::{Map, Value};
use transports::{Arrival, Failure, SenderEnd, Service, Session, SpecError, Stack, parse_params};

use super::checks::check_count;
use super::web_pages::{Kind, Page, pages};
use crate::application::Application;
use crate::exchange::{Exchange, OK};
use crate::ledger::{Received, Sent};
use crate::one_session::{End, OneSession};
use crate::payload::{Outbox, Payload};

/// Size of a request (dissertation, section 4.2.1).
const REQUEST_BYTES: u32 = 350;

/// The pattern of the answers repeats with this size, the payload of one segment; it has no meaning beyond that.
const ANSWER_PIECE_BYTES: u32 = 1448;

const HANDING_OVER: &str = "an object was being handed over";

/// Tells the bytes of the answers from those of the requests.
const ANSWER_SALT: u64 = 0x0a5e_0e25;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    #[serde(default = "one")]
    pages: u64,
    #[serde(default)]
    page: PageKind,
}

fn one() -> u64 {
    1
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PageKind {
    #[default]
    Drawn,
    Fixed,
}

struct Web {
    pages: u64,
    kind: Kind,
}

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn Application>, SpecError> {
    let Params { pages, page } = parse_params("app_params", "web", params)?;
    check_count("web", "pages", pages)?;
    let kind = match page {
        PageKind::Drawn => Kind::Drawn,
        PageKind::Fixed => Kind::Fixed,
    };
    Ok(Box::new(Web { pages, kind }))
}

impl Web {
    /// The same at both ends.
    fn pages(&self, session: &Session) -> Vec<Page> {
        pages(self.kind, self.pages, session.ctx.seed)
    }

    fn requests(session: &Session) -> Payload {
        Payload::new(session.ctx.seed, REQUEST_BYTES)
    }

    fn answers(session: &Session) -> Payload {
        Payload::new(session.ctx.seed ^ ANSWER_SALT, ANSWER_PIECE_BYTES)
    }
}

impl OneSession for Web {
    fn message_bytes(&self) -> u32 {
        REQUEST_BYTES
    }

    fn suits(&self, stack: &dyn Stack) -> Result<(), SpecError> {
        if stack.service() == Service::Stream {
            return Ok(());
        }
        Err(SpecError::new(format!(
            "`web` needs a transport that is a byte stream, which `{}` is not",
            stack.name()
        )))
    }

    fn send(&self, end: &mut End<'_>, start_ns: i64, sent: &mut Sent) -> Result<(), Failure> {
        let session = end.session;
        let (requests, answers) = (Outbox::new(&Self::requests(session)), Self::answers(session));
        let mut browser = Browser { end, requests, answers, asked: 0, received_bytes: 0 };
        let mut last_ns = start_ns;
        for (number, page) in self.pages(session).iter().enumerate() {
            if number > 0 {
                browser.pause(page.reading_ns)?;
            }
            for (index, size_bytes) in page.objects_bytes.iter().enumerate() {
                if index == 1 {
                    browser.pause(page.parsing_ns)?;
                }
                last_ns = browser.load(&object_name(number, index), *size_bytes, sent)?;
            }
        }
        session.announce_sender_end(SenderEnd { messages: sent.messages, last_ns });
        Ok(())
    }

    fn receive(&self, end: &mut End<'_>, _: Service, received: &mut Received) -> Result<(), Failure> {
        let session = end.session;
        let requests = Self::requests(session);
        let mut answers = Outbox::new(&Self::answers(session));
        let size = u64::from(REQUEST_BYTES);
        let (mut answered, mut offset) = (0, 0);
        let objects: Vec<u64> =
            self.pages(session).iter().flat_map(|page| page.objects_bytes.clone()).collect();
        loop {
            let lacking = (answered + 1) * size - received.bytes;
            let arrival = end.receive_bytes(lacking, &mut |bytes, t_ns| {
                if !requests.matches(received.bytes, bytes) {
                    return Err(Failure::new(format!("request {answered} arrived altered")));
                }
                received.bytes += bytes.len() as u64;
                received.note_arrival(t_ns.unwrap_or_else(|| session.ctx.clock.now_ns()));
                Ok(())
            })?;
            if arrival == Arrival::End {
                return Ok(());
            }
            end.report(arrival, received);
            while received.bytes >= (answered + 1) * size {
                received.note_next(received.last_ns);
                session.serve_request();
                let Some(size_bytes) = objects.get(answered as usize) else {
                    return Err(Failure::new(format!(
                        "request {answered} asks for an object that there is not"
                    )));
                };
                end.hand_over(&mut answers, offset..offset + size_bytes, None, 0, HANDING_OVER)?;
                offset += size_bytes;
                answered += 1;
            }
        }
    }
}

/// What an object is called in the record.
fn object_name(page: usize, index: usize) -> String {
    if index == 0 { format!("page {page}") } else { format!("page {page}, object {index}") }
}

/// The asking end.
struct Browser<'a, 'b> {
    end: &'a mut End<'b>,
    requests: Outbox,
    answers: Payload,
    asked: u64,
    received_bytes: u64,
}

impl Browser<'_, '_> {
    /// Does nothing for a while.
    fn pause(&mut self, for_ns: i64) -> Result<(), Failure> {
        let End { connection, session } = &mut self.end;
        let (clock, limit_ns) = (&session.ctx.clock, session.ctx.limit_ns);
        let mut now_ns = clock.now_ns();
        let until_ns = now_ns + for_ns;
        while now_ns < until_ns {
            if now_ns >= limit_ns {
                return Err(session.limit_reached("the browser was waiting"));
            }
            now_ns = connection.pause(clock, until_ns.min(limit_ns))?;
        }
        Ok(())
    }

    /// Asks for an object and waits for the whole of it. Returns when it was there.
    fn load(&mut self, name: &str, size_bytes: u64, sent: &mut Sent) -> Result<i64, Failure> {
        let requested_ns = self.end.session.ctx.clock.now_ns();
        let request_bytes = u64::from(REQUEST_BYTES);
        let range = self.asked * request_bytes..(self.asked + 1) * request_bytes;
        let mut exchange = Exchange::begun(name.to_owned(), size_bytes, requested_ns, OK.to_owned());
        let asked = self.end.hand_over(&mut self.requests, range, None, 0, HANDING_OVER);
        let outcome = asked.and_then(|()| {
            sent.note(1, request_bytes, requested_ns);
            self.asked += 1;
            self.await_answer(size_bytes, &mut exchange)
        });
        if let Err(failure) = &outcome {
            exchange.outcome = failure.to_string();
        }
        sent.exchanges.push(exchange);
        outcome
    }

    fn await_answer(&mut self, size_bytes: u64, exchange: &mut Exchange) -> Result<i64, Failure> {
        let end = self.received_bytes + size_bytes;
        let session = self.end.session;
        while self.received_bytes < end {
            let offset = &mut self.received_bytes;
            let answers = &self.answers;
            let arrival = self.end.receive_bytes(end - *offset, &mut |bytes, t_ns| {
                if !answers.matches(*offset, bytes) {
                    return Err(Failure::new("an object arrived altered"));
                }
                *offset += bytes.len() as u64;
                let t_ns = t_ns.unwrap_or_else(|| session.ctx.clock.now_ns());
                exchange.first_byte_ns.get_or_insert(t_ns);
                exchange.completed_ns = (*offset >= end).then_some(t_ns);
                Ok(())
            })?;
            if arrival == Arrival::End {
                return Err(Failure::new("the server ended the session before the object was whole"));
            }
            session.now_before_limit("the browser was waiting for an object")?;
        }
        exchange.completed_ns.ok_or_else(|| Failure::new("an object has no bytes"))
    }
}
