//! What the running kernel has of what networks are made of: each is made once in a namespace that is thrown away, so
//! that a module that can be loaded counts as there.

use std::io;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::TcMessage;

use crate::namespace::Namespace;
use crate::netlink::{Netlink, Request};
use crate::qdisc::{Diffserv, FairQueue, HostQueue, Netem, QueueSpec, Tbf};
use crate::{ByteMatch, Error, PacketPattern, build, classifier};

/// A part of the kernel, by the name of its module.
#[derive(Debug)]
pub struct Module {
    /// As `modprobe` knows it.
    pub name: &'static str,
    /// What it is for, as the end of a sentence.
    pub purpose: &'static str,
    /// Why the kernel has not got it, or none if it has.
    pub missing: Option<io::Error>,
}

/// The number of the first interface on which disciplines are tried. Each has one of its own: the kernel refuses to put
/// one in the place of another that has the same handle.
const INTERFACE: u32 = 2000;

/// The numbers of what is neither a link nor on one.
const BRIDGE: u32 = INTERFACE - 1;
const TUNNEL: u32 = INTERFACE - 2;

/// Tries all parts; needs the right to make a network namespace.
///
/// # Errors
/// [`Error::System`] if there is no namespace to try them in.
pub fn tried() -> Result<Vec<Module>, Error> {
    Namespace::new()?.enter(|| {
        let mut netlink = Netlink::open()?;
        let mut tried = Vec::new();
        let far = Namespace::new()?;
        tried.push(asked(&mut netlink, "veth", "links", vec![link(INTERFACE, &far)]));
        for (place, (name, purpose, messages)) in (1u32..).zip(disciplines()) {
            let interface = INTERFACE + 2 * place;
            let requests = std::iter::once(link(interface, &far))
                .chain(messages(interface).into_iter().map(queue))
                .collect();
            tried.push(asked(&mut netlink, name, purpose, requests));
        }
        tried.push(asked(&mut netlink, "bridge", "switches", vec![build::messages::bridge(BRIDGE)]));
        let gre = build::messages::gre(TUNNEL, "try-gre", [10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 1476);
        tried.push(asked(&mut netlink, "ip_gre", "tunnels", vec![gre]));
        tried.push(asked(&mut netlink, "act_gact", "scripted drops", scripted_drop()));
        Ok(tried)
    })?
}

/// A link whose near end has this number.
fn link(interface: u32, far: &Namespace) -> Request {
    let name = format!("try-{interface}");
    let ends = [(interface, name.clone()), (interface + 1, name.clone())];
    build::messages::veth(ends, 1500, far.fd(), &name)
}

/// How a discipline is put on an interface.
type Messages = Box<dyn Fn(u32) -> Vec<TcMessage>>;

/// All disciplines, each with the name of its module and what it is for.
fn disciplines() -> Vec<(&'static str, &'static str, Messages)> {
    let mut all: Vec<(&'static str, &'static str, Messages)> = vec![
        ("sch_tbf", "rates", Box::new(|interface| vec![Tbf::default().message(interface)])),
        (
            "sch_netem",
            "delay and loss",
            Box::new(|interface| vec![Netem::default().message(interface, Some(1))]),
        ),
        (
            "sch_fq",
            "release times",
            Box::new(|interface| vec![HostQueue::Fq(FairQueue::default()).message(interface)]),
        ),
    ];
    for (name, leaf) in leaves() {
        let under_a_bucket =
            move |interface| vec![Tbf::default().message(interface), leaf.message(interface, None)];
        all.push((name, "queues", Box::new(under_a_bucket)));
    }
    all
}

/// The queues that are modules of their own, each with settings of its manual page.
fn leaves() -> [(&'static str, QueueSpec); 7] {
    let (limit_packets, target_s, interval_s, tupdate_s) = (1000, 0.005, 0.1, 0.015);
    let (flows, quantum_bytes, ecn, ce_threshold_s) = (1024, 1514, false, None);
    let red = QueueSpec::Red {
        limit_bytes: 512_000,
        min_bytes: 40_000,
        max_bytes: 160_000,
        probability: 0.02,
        burst_packets: 80,
        ecn,
    };
    [
        ("sch_codel", QueueSpec::Codel { limit_packets, target_s, interval_s, ecn, ce_threshold_s }),
        (
            "sch_fq_codel",
            QueueSpec::FqCodel {
                limit_packets,
                target_s,
                interval_s,
                ecn,
                ce_threshold_s,
                flows,
                quantum_bytes,
            },
        ),
        ("sch_pie", QueueSpec::Pie { limit_packets, target_s, tupdate_s, ecn }),
        ("sch_fq_pie", QueueSpec::FqPie { limit_packets, target_s, tupdate_s, ecn, flows, quantum_bytes }),
        ("sch_red", red),
        ("sch_sfq", QueueSpec::Sfq { limit_packets, quantum_bytes }),
        (
            "sch_cake",
            QueueSpec::Cake { rtt_s: 0.1, target_s, diffserv: Diffserv::Besteffort, memory_bytes: None },
        ),
    ]
}

fn asked(netlink: &mut Netlink, name: &'static str, purpose: &'static str, requests: Vec<Request>) -> Module {
    let missing = match netlink.run(requests) {
        Ok(()) => None,
        Err(Error::System { source, .. }) => Some(source),
        Err(other) => Some(io::Error::other(other.to_string())),
    };
    Module { name, purpose, missing }
}

fn queue(message: TcMessage) -> Request {
    Request {
        what: "cannot make a queue".into(),
        flags: NLM_F_CREATE | NLM_F_REPLACE,
        message: RouteNetlinkMessage::NewQueueDiscipline(message),
    }
}

/// A place for filters and a filter that drops what no packet is (`cls_u32`, `act_gact`).
fn scripted_drop() -> Vec<Request> {
    let filters = classifier::Filters { interface: INTERFACE, number: 1 };
    let pattern =
        PacketPattern { protocol: 255, bytes: vec![ByteMatch::exactly(0, 255)], alternatives: Vec::new() };
    let place = queue(classifier::place(INTERFACE));
    let filters = filters.new_messages(&pattern).map(|message| Request {
        what: "cannot make a filter".into(),
        flags: NLM_F_CREATE,
        message,
    });
    std::iter::once(place).chain(filters).collect()
}
