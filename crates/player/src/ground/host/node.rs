//! The process of a node: it runs the halves of flows that are there, and nothing else.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use transports::{News, Session};

use super::mail::{FromNode, Post, ToNode, inbox};
use crate::ground::{Half, Noted};

/// How long a sender waits until the other half has heard that it is done. Longer is a host that is stuck.
const HEARING: Duration = Duration::from_secs(10);

impl Half {
    /// What it shares with the other half where both are in one process.
    pub fn session(&self) -> &Arc<Session> {
        match self {
            Half::Receiver(server) => server.session(),
            Half::Sender(client) => client.session(),
        }
    }

    /// What is known of it when its process has died.
    pub fn nothing_noted(&self) -> Noted {
        match self {
            Half::Receiver(server) => Noted::Received(server.nothing_noted()),
            Half::Sender(client) => Noted::Sent(client.nothing_noted()),
        }
    }

    fn run(&self) -> Noted {
        match self {
            Half::Receiver(server) => Noted::Received(server.run()),
            Half::Sender(client) => Noted::Sent(client.run()),
        }
    }
}

/// Senders that wait until their end was heard of, by flow.
type Hearing = Arc<Mutex<BTreeMap<usize, Sender<()>>>>;

/// Lives the life of a node's process, in its namespace already: says that it is ready, runs `halves` when it is told to,
/// tells what they noted.
pub fn live(stream: UnixStream, halves: Vec<(usize, Half)>) -> std::io::Result<()> {
    let post = Post::new(&stream)?;
    let hearing = Hearing::default();
    for (flow, half) in &halves {
        let (flow, post, hearing) = (*flow, post.clone(), Arc::clone(&hearing));
        half.session().on_news(Box::new(move |news| carry(flow, news, &post, &hearing)));
    }
    let (go, is_go) = channel();
    let sessions: Vec<(usize, Arc<Session>)> =
        halves.iter().map(|(flow, half)| (*flow, Arc::clone(half.session()))).collect();
    let reader_post = post.clone();
    thread::spawn(move || {
        for message in inbox::<ToNode>(stream) {
            match message {
                ToNode::Go => {
                    let _ = go.send(());
                }
                ToNode::News { flow, news } => {
                    let end = matches!(news, News::SenderEnd(_));
                    if let Some((_, session)) = sessions.iter().find(|(other, _)| *other == flow) {
                        session.hear(news);
                    }
                    if end {
                        reader_post.send(&FromNode::Heard { flow });
                    }
                }
                ToNode::Heard { flow } => {
                    let waiting = hearing.lock().unwrap_or_else(PoisonError::into_inner).remove(&flow);
                    if let Some(waiting) = waiting {
                        let _ = waiting.send(());
                    }
                }
            }
        }
        // The player has gone, and with it the run.
        std::process::exit(1);
    });
    post.send(&FromNode::Ready);
    if is_go.recv().is_err() {
        return Ok(());
    }
    let running: Vec<_> = halves
        .into_iter()
        .map(|(flow, half)| {
            let post = post.clone();
            thread::spawn(move || {
                let noted = Box::new(half.run());
                let session = half.session();
                if let Some(failure) = session.ctx.qlog.as_ref().and_then(|qlog| qlog.failure()) {
                    session.fail(failure);
                }
                let keys = session.keys().map(|keys| keys.text()).unwrap_or_default();
                post.send(&FromNode::Noted { flow, noted, keys });
            })
        })
        .collect();
    for thread in running {
        // A panic is noticed by what the half did not note.
        let _ = thread.join();
    }
    post.send(&FromNode::Over { cpu_ns: cpu_ns() });
    Ok(())
}

/// Has the player carry what a half tells to the other one, and waits where that has to know before the half goes on.
fn carry(flow: usize, news: News, post: &Post, hearing: &Hearing) {
    let waits = matches!(news, News::SenderEnd(_));
    let (heard, is_heard) = channel();
    if waits {
        hearing.lock().unwrap_or_else(PoisonError::into_inner).insert(flow, heard);
    }
    post.send(&FromNode::News { flow, news });
    if waits {
        let _ = is_heard.recv_timeout(HEARING);
    }
}

fn cpu_ns() -> u64 {
    let spent = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map(|time| time.num_nanoseconds());
    spent.unwrap_or(0).max(0) as u64
}
