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

/// The number of the interface on which disciplines are tried.
const INTERFACE: u32 = 2000;

/// Tries all parts; needs the right to make a network namespace.
///
/// # Errors
/// [`Error::System`] if there is no namespace to try them in.
pub fn tried() -> Result<Vec<Module>, Error> {
    Namespace::new()?.enter(|| {
        let mut netlink = Netlink::open()?;
        let mut tried = Vec::new();
        let far = Namespace::new()?;
        let veth = [(INTERFACE, "try".to_owned()), (INTERFACE + 1, "try".to_owned())];
        let request = build::messages::veth(veth, 1500, far.fd(), "try");
        tried.push(asked(&mut netlink, "veth", "links", vec![request]));
        let tbf = Tbf::default().message(INTERFACE);
        tried.push(asked(&mut netlink, "sch_tbf", "rates", vec![queue(tbf)]));
        for (name, leaf) in leaves() {
            let requests = vec![queue(Tbf::default().message(INTERFACE)), queue(leaf.message(INTERFACE, None))];
            tried.push(asked(&mut netlink, name, "queues", requests));
        }
        let netem = Netem::default().message(INTERFACE, Some(1));
        tried.push(asked(&mut netlink, "sch_netem", "delay and loss", vec![queue(netem)]));
        let fq = HostQueue::Fq(FairQueue::default()).message(INTERFACE);
        tried.push(asked(&mut netlink, "sch_fq", "release times", vec![queue(fq)]));
        let bridge = build::messages::bridge(INTERFACE + 2);
        tried.push(asked(&mut netlink, "bridge", "switches", vec![bridge]));
        let gre =
            build::messages::gre(INTERFACE + 3, "try-gre", [10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 1476);
        tried.push(asked(&mut netlink, "ip_gre", "tunnels", vec![gre]));
        tried.push(asked(&mut netlink, "act_gact", "scripted drops", scripted_drop()));
        Ok(tried)
    })?
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
