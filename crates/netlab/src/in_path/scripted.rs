//! Scripted losses: the n-th packet of a kind vanishes in front of a link direction, and no other does.
//!
//! While a filter in front of the link's queue drops the kind, a packet socket watches what arrives at the node from the
//! link direction before. When the socket has shown the n-th packet, that packet has also met the filter, because the
//! kernel hands a packet through a node in one go; the filter is then removed before any time passes. In virtual time
//! nothing can come in between; what the filter has really dropped is read from its own counter all the same.
//!
//! ```text
//!             before            link
//!   a ───────────────────▶ b ─[filter]─[queue]──────▶ c
//!                          └ packet socket
//! ```

use std::collections::BTreeSet;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};

use crate::background::Background;
use crate::classifier::{self, Filters};
use crate::clock::{Alarm, Woken, ns_to_seconds};
use crate::error::Attempt;
use crate::netlink::Request;
use crate::topology::Direction;
use crate::{Error, Network, PacketPattern, RunClock, build, packet_socket};

/// One packet that is to vanish.
#[derive(Debug, Clone)]
pub struct ScriptedDrop {
    /// Link direction, `a>b`, in front of which it vanishes.
    pub link: String,
    /// Link direction by which it comes to the beginning of `link`; packets are counted as they arrive over it.
    pub before: String,
    /// Its kind.
    pub pattern: PacketPattern,
    /// Which one of its kind, counted from 1.
    pub nth: u32,
}

/// What became of a [`ScriptedDrop`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Dropped {
    /// When the n-th packet came, in seconds from the start of the run; none if it never did.
    pub at_s: Option<f64>,
    /// Packets that the filter dropped: 1, or 0 if none came.
    pub packets: u64,
}

/// Losses that are waited for.
pub struct ScriptedDrops {
    watchers: Vec<Background<Result<Dropped, Error>>>,
}

impl ScriptedDrops {
    /// Sets all up; they hold from now on.
    ///
    /// # Errors
    /// [`Error::Spec`] if a link direction is unknown or does not begin where the one before it ends,
    /// [`Error::System`] if the kernel refuses.
    pub fn start(network: &Arc<Network>, clock: RunClock, drops: Vec<ScriptedDrop>) -> Result<Self, Error> {
        let mut places = BTreeSet::new();
        let mut watchers = Vec::with_capacity(drops.len());
        for (number, drop) in (1..).zip(drops) {
            let watch = Watch::new(Arc::clone(network), &drop, number)?;
            if places.insert(watch.link) {
                watch.make_place()?;
            }
            if drop.nth == 1 {
                watch.put_filters(&drop)?;
            }
            let watcher = Background::start("drop", move |alarm| watch.run(&drop, &clock, alarm))?;
            watchers.push(watcher);
        }
        Ok(ScriptedDrops { watchers })
    }

    /// Ends them and returns what became of each, in their order.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel refused a change meanwhile.
    pub fn stop(self) -> Result<Vec<Dropped>, Error> {
        self.watchers
            .into_iter()
            .map(|mut watcher| watcher.stop()?.unwrap_or(Ok(Dropped::default())))
            .collect()
    }
}

/// The watch for one packet.
struct Watch {
    network: Arc<Network>,
    link: Direction,
    name: String,
    filters: Filters,
    socket: OwnedFd,
}

impl Watch {
    fn new(network: Arc<Network>, drop: &ScriptedDrop, number: u16) -> Result<Self, Error> {
        let topology = network.topology();
        let link = topology.direction(&drop.link)?;
        if topology.direction(&drop.before)?.to != link.from {
            return Err(Error::Spec(format!(
                "link \"{}\" does not begin where \"{}\" ends, so packets for it do not come from there",
                drop.link, drop.before
            )));
        }
        let interface = build::numbers::interface_index(topology, link);
        let (node, arrival) = network.receiving_interface(&drop.before)?;
        let socket = node.enter(|| {
            let socket = packet_socket::open()?;
            packet_socket::attach_filter(&socket, &mut drop.pattern.program())?;
            packet_socket::bind(&socket, arrival)?;
            Ok::<_, std::io::Error>(socket)
        })?;
        Ok(Watch { link, name: drop.link.clone(), filters: Filters { interface, number }, socket, network })
    }

    fn make_place(&self) -> Result<(), Error> {
        let message = RouteNetlinkMessage::NewQueueDiscipline(classifier::place(self.filters.interface));
        self.ask(NLM_F_CREATE | NLM_F_EXCL, [message])
    }

    fn put_filters(&self, drop: &ScriptedDrop) -> Result<(), Error> {
        self.ask(NLM_F_CREATE, self.filters.new_messages(&drop.pattern))
    }

    fn ask(&self, flags: u16, messages: impl IntoIterator<Item = RouteNetlinkMessage>) -> Result<(), Error> {
        let what = format!("cannot drop packets in front of \"{}\"", self.name);
        let request = |message| Request { what: what.clone(), flags, message };
        self.network.netlink(self.link.from).run(messages.into_iter().map(request).collect())
    }

    fn run(&self, drop: &ScriptedDrop, clock: &RunClock, alarm: &Alarm) -> Result<Dropped, Error> {
        let mut seen = 0;
        let mut filtered = drop.nth == 1;
        while seen < drop.nth {
            if alarm.sleep_until_readable(&self.socket)? == Woken::Called {
                return Ok(Dropped::default());
            }
            seen += self.arrived()?;
            if !filtered && seen + 1 == drop.nth {
                self.put_filters(drop)?;
                filtered = true;
            }
        }
        let at_s = Some(ns_to_seconds(clock.now_ns()?));
        if !filtered {
            // Several came at one instant, so that the one before the n-th could not be told from it.
            return Ok(Dropped { at_s, packets: 0 });
        }
        let answers = self.network.netlink(self.link.from).dump(self.filters.get_message())?;
        let packets = answers.iter().map(|answer| self.filters.dropped_packets(answer)).sum();
        self.ask(0, [self.filters.del_message()])?;
        Ok(Dropped { at_s, packets })
    }

    /// Packets of the kind that have come since the last time.
    fn arrived(&self) -> Result<u32, Error> {
        let mut packets = 0;
        loop {
            match recv(self.socket.as_raw_fd(), &mut [0; 1], MsgFlags::MSG_DONTWAIT) {
                Ok(_) => packets += 1,
                Err(Errno::EAGAIN) => return Ok(packets),
                Err(e) => {
                    return Err(e).attempt(|| format!("cannot watch packets in front of \"{}\"", self.name));
                }
            }
        }
    }
}
