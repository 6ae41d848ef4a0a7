//! The processes of nodes, seen from the player: forked when all that each has to do is known, heard, waited for.
//!
//! They are forked and not started anew, because both halves of a flow hold what was made for them together
//! (certificates, sockets of the clock). What a process has told of its halves is carried to the process of the others.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use netlab::Node;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{ForkResult, Pid, fork};
use transports::{Failure as FlowFailure, News, Session};

use super::groups::Group;
use super::mail::{FromNode, Post, ToNode, inbox};
use super::node;
use crate::failure::{Failure, Result};
use crate::ground::{Half, Noted, Wait};

/// How long a process may take to stand in its node.
const STANDING: Duration = Duration::from_secs(30);

/// How often the memory of sockets is looked at where the kernel does not keep the most of it.
const SOCKET_LOOK: Duration = Duration::from_millis(100);

/// The processes of one run.
#[derive(Default)]
pub struct Crew {
    /// What each node has to do, until it is forked; in the order in which nodes were named first.
    waiting: Vec<(String, Vec<(usize, Half)>)>,
    desk: Arc<Desk>,
    standing: Vec<Standing>,
    ready: Option<(Sender<()>, Receiver<()>)>,
}

/// What the threads that hear the processes share.
#[derive(Default)]
struct Desk {
    posts: Mutex<BTreeMap<String, Post>>,
    flows: Mutex<BTreeMap<usize, OnDesk>>,
}

/// A flow: in whose processes its halves are, and who waits for what they note.
struct OnDesk {
    session: Arc<Session>,
    /// Of the receiver and of the sender.
    nodes: [String; 2],
    answers: [Option<Awaited>; 2],
}

/// Who waits for what a half notes.
struct Awaited {
    answer: Sender<Noted>,
    ended: Sender<()>,
    /// What stands for its notes if its process dies.
    nothing: Noted,
}

/// A process that was forked.
struct Standing {
    node: String,
    process: Pid,
    ours: UnixStream,
    hears: JoinHandle<Option<u64>>,
    /// Looks for the most memory of its sockets, until it is hung up on.
    looks: Option<(Sender<()>, JoinHandle<Option<u64>>)>,
}

/// What the kernel told of a process that has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub cpu_ns: u64,
    pub peak_memory_bytes: u64,
    pub peak_socket_memory_bytes: Option<u64>,
    pub voluntary_context_switches: u64,
    pub involuntary_context_switches: u64,
}

fn side(half: &Half) -> usize {
    usize::from(matches!(half, Half::Sender(_)))
}

impl Crew {
    /// Notes a half that is to run in the process of `node`.
    pub fn sign_on(&mut self, node: &str, flow: usize, half: Half, ended: &Sender<()>) -> Wait {
        let (answer, is_answered) = channel();
        let mut flows = self.desk.flows.lock().unwrap_or_else(PoisonError::into_inner);
        let on_desk = flows.entry(flow).or_insert_with(|| OnDesk {
            session: Arc::clone(half.session()),
            nodes: Default::default(),
            answers: [None, None],
        });
        on_desk.nodes[side(&half)] = node.to_owned();
        let nothing = half.nothing_noted();
        on_desk.answers[side(&half)] = Some(Awaited { answer, ended: ended.clone(), nothing });
        drop(flows);
        match self.waiting.iter_mut().find(|(known, _)| known == node) {
            Some((_, halves)) => halves.push((flow, half)),
            None => self.waiting.push((node.to_owned(), vec![(flow, half)])),
        }
        Box::new(move || is_answered.recv().ok())
    }

    /// The nodes that have something to do.
    pub fn nodes(&self) -> Vec<String> {
        self.waiting.iter().map(|(node, _)| node.clone()).collect()
    }

    /// Forks the process of a node, which enters its group.
    ///
    /// # Errors
    /// The host has no more processes.
    pub fn fork(&mut self, node: &Node, group: &Group) -> Result<()> {
        let cannot = |error: std::io::Error| {
            Failure::io(format_args!("start the process of node \"{}\"", node.name()), &error)
        };
        let Some(place) = self.waiting.iter().position(|(known, _)| known == node.name()) else {
            return Ok(());
        };
        let (name, halves) = self.waiting.swap_remove(place);
        let procs = group.procs();
        let (ours, theirs) = UnixStream::pair().map_err(cannot)?;
        // SAFETY: the child does not use what other threads may hold at this moment: it locks nothing of the network,
        // prints nothing, and glibc keeps memory allocation usable across a fork.
        match unsafe { fork() }.map_err(|error| cannot(error.into()))? {
            ForkResult::Child => {
                drop(ours);
                // Another process's line to the player stays open for as long as any process has it.
                self.standing.drain(..).for_each(|other| drop(other.ours));
                // A panic must not find its way back into what is the player's.
                let lived = catch_unwind(AssertUnwindSafe(|| inside(node, &procs, theirs, halves)));
                let code = i32::from(!matches!(lived, Ok(Ok(()))));
                // SAFETY: ends this process without the player's own last deeds.
                unsafe { libc::_exit(code) }
            }
            ForkResult::Parent { child } => {
                drop((theirs, halves));
                let post = Post::new(&ours).map_err(cannot)?;
                self.desk.posts.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), post);
                let (desk, heard_of) = (Arc::clone(&self.desk), name.clone());
                let reader = ours.try_clone().map_err(cannot)?;
                let ready = self.ready.get_or_insert_with(channel).0.clone();
                let hears = thread::Builder::new()
                    .name("hears".into())
                    .spawn(move || desk.hear(&heard_of, reader, &ready))
                    .map_err(cannot)?;
                let looks = group.keeps_no_peak_of_sockets().then(|| {
                    let (over, is_over) = channel();
                    let group = group.clone();
                    (over, thread::spawn(move || most_socket_memory(&group, &is_over)))
                });
                self.standing.push(Standing { node: name, process: child, ours, hears, looks });
                Ok(())
            }
        }
    }

    /// Waits until every process stands, and has them begin.
    ///
    /// # Errors
    /// One does not come to stand.
    pub fn go(&mut self) -> Result<()> {
        if let Some((say, ready)) = self.ready.take() {
            drop(say);
            for _ in &self.standing {
                ready.recv_timeout(STANDING).map_err(|_| {
                    Failure::new("the process of a node could not enter its namespace or its control group")
                })?;
            }
        }
        for post in self.desk.posts.lock().unwrap_or_else(PoisonError::into_inner).values() {
            post.send(&ToNode::Go);
        }
        Ok(())
    }

    /// Waits for the end of all processes; what each has spent.
    pub fn end(&mut self) -> BTreeMap<String, Spent> {
        let mut spent = BTreeMap::new();
        for standing in self.standing.drain(..) {
            let told_ns = standing.hears.join().ok().flatten();
            let peak_socket_memory_bytes = standing.looks.and_then(|(over, looks)| {
                drop(over);
                looks.join().ok().flatten()
            });
            if let Some(used) = waited_for(standing.process) {
                let cpu_ns = told_ns.unwrap_or(used.cpu_ns);
                spent.insert(standing.node, Spent { cpu_ns, peak_socket_memory_bytes, ..used });
            }
        }
        spent
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for standing in self.standing.drain(..) {
            let _ = kill(standing.process, Signal::SIGKILL);
            let _ = waited_for(standing.process);
        }
    }
}

/// Looks at the memory of a group's sockets until `over` hangs up; the most that was seen.
fn most_socket_memory(group: &Group, over: &Receiver<()>) -> Option<u64> {
    let mut most = group.socket_memory_bytes();
    while over.recv_timeout(SOCKET_LOOK) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        most = most.max(group.socket_memory_bytes());
    }
    most
}

/// What the child does.
fn inside(
    node: &Node,
    procs: &[CString],
    theirs: UnixStream,
    halves: Vec<(usize, Half)>,
) -> std::result::Result<(), netlab::Error> {
    let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL);
    node.enter(|| {
        Group::enter(procs)?;
        node::live(theirs, halves)
    })
}

/// Waits for a process; nothing when it cannot be waited for.
fn waited_for(process: Pid) -> Option<Spent> {
    // SAFETY: an all-zero rusage is a valid value of this plain C structure.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    let mut status = 0;
    loop {
        // SAFETY: both pointers are to values of the types that the call fills in.
        let found = unsafe { libc::wait4(process.as_raw(), &mut status, 0, &mut used) };
        if found == process.as_raw() {
            break;
        }
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return None;
        }
    }
    let time_ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Some(Spent {
        cpu_ns: time_ns(used.ru_utime) + time_ns(used.ru_stime),
        peak_memory_bytes: used.ru_maxrss as u64 * 1024,
        peak_socket_memory_bytes: None,
        voluntary_context_switches: used.ru_nvcsw as u64,
        involuntary_context_switches: used.ru_nivcsw as u64,
    })
}

impl Desk {
    /// Hears one process until it hangs up; the CPU time that it told.
    fn hear(&self, node: &str, stream: UnixStream, ready: &Sender<()>) -> Option<u64> {
        let mut cpu_ns = None;
        for message in inbox::<FromNode>(stream) {
            match message {
                FromNode::Ready => {
                    let _ = ready.send(());
                }
                FromNode::News { flow, news } => self.carry(node, flow, news),
                FromNode::Heard { flow } => self.to_other(node, flow, &ToNode::Heard { flow }),
                FromNode::Noted { flow, noted, keys } => self.answer(flow, *noted, &keys),
                FromNode::Over { cpu_ns: told } => cpu_ns = Some(told),
            }
        }
        self.gone(node);
        cpu_ns
    }

    fn flows(&self) -> std::sync::MutexGuard<'_, BTreeMap<usize, OnDesk>> {
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what a half tells, and passes it on to the process of the other one.
    fn carry(&self, node: &str, flow: usize, news: News) {
        let flows = self.flows();
        let Some(on_desk) = flows.get(&flow) else { return };
        on_desk.session.hear(news.clone());
        let alone = on_desk.nodes[0] == on_desk.nodes[1];
        drop(flows);
        match news {
            News::SenderEnd(_) if alone => self.send(node, &ToNode::Heard { flow }),
            _ if alone => {}
            news => self.to_other(node, flow, &ToNode::News { flow, news }),
        }
    }

    fn to_other(&self, node: &str, flow: usize, message: &ToNode) {
        let other = self.flows().get(&flow).and_then(|it| it.nodes.iter().find(|it| *it != node).cloned());
        if let Some(other) = other {
            self.send(&other, message);
        }
    }

    fn send(&self, node: &str, message: &ToNode) {
        let post = self.posts.lock().unwrap_or_else(PoisonError::into_inner).get(node).cloned();
        if let Some(post) = post {
            post.send(message);
        }
    }

    fn answer(&self, flow: usize, noted: Noted, keys: &str) {
        let mut flows = self.flows();
        let Some(on_desk) = flows.get_mut(&flow) else { return };
        if let Some(own) = on_desk.session.keys().filter(|own| !own.text().contains(keys)) {
            own.add(keys);
        }
        let side = usize::from(matches!(noted, Noted::Sent(_)));
        if let Some(Awaited { answer, ended, .. }) = on_desk.answers[side].take() {
            let _ = answer.send(noted);
            let _ = ended.send(());
        }
    }

    /// A process has hung up: what its halves did not note they never will, and the other halves need not wait.
    fn gone(&self, node: &str) {
        let mut widowed = Vec::new();
        for (flow, on_desk) in self.flows().iter_mut() {
            for side in 0..2 {
                if on_desk.nodes[side] != node {
                    continue;
                }
                if let Some(lost) = on_desk.answers[side].take() {
                    widowed.push((*flow, lost));
                }
            }
        }
        for (flow, Awaited { answer, ended, nothing }) in widowed {
            let failure = FlowFailure::new(format!("the process of node \"{node}\" has died"));
            self.carry(node, flow, News::Failed(failure));
            let _ = answer.send(nothing);
            let _ = ended.send(());
        }
    }
}
