//! Filters that throw packets away as they leave by an interface, in front of its queue (`tc-u32(8)` with the action
//! "drop", in the egress half of `clsact`).

use netlink_packet_core::DefaultNla;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{
    TcActionAttribute, TcAttribute, TcFilterU32Option, TcHandle, TcHeader, TcMessage, TcOption, TcStats2,
};

use crate::PacketPattern;
use crate::in_path::Key;
use crate::qdisc::{TCA_OPTIONS, emit};

/// Attributes of `linux/pkt_cls.h` and `linux/tc_act/tc_gact.h`.
const TCA_U32_SEL: u16 = 5;
const TCA_U32_ACT: u16 = 7;
const TCA_ACT_KIND: u16 = 1;
const TCA_ACT_OPTIONS: u16 = 2;
const TCA_GACT_PARMS: u16 = 2;
const TC_U32_TERMINAL: u8 = 1;
const TC_ACT_SHOT: u32 = 2;

const EGRESS: TcHandle = TcHandle { major: TcHandle::CLSACT.major, minor: TcHandle::MIN_EGRESS };

/// The message that gives an interface a place for filters.
pub(crate) fn place(interface: u32) -> TcMessage {
    let mut message = TcMessage::default();
    message.header = TcHeader {
        index: interface as i32,
        handle: TcHandle { major: TcHandle::CLSACT.major, minor: 0 },
        parent: TcHandle::CLSACT,
        ..TcHeader::default()
    };
    message.attributes = vec![TcAttribute::Kind("clsact".into())];
    message
}

/// The filters of one number on an interface: all packets of a pattern are dropped while they are there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filters {
    pub interface: u32,
    /// Their priority, which tells them from those of other patterns.
    pub number: u16,
}

impl Filters {
    fn header(self) -> TcHeader {
        let every_protocol = (libc::ETH_P_ALL as u16).to_be();
        TcHeader {
            index: self.interface as i32,
            parent: EGRESS,
            info: u32::from(self.number) << 16 | u32::from(every_protocol),
            ..TcHeader::default()
        }
    }

    fn message(self) -> TcMessage {
        let mut message = TcMessage::default();
        message.header = self.header();
        message
    }

    /// The messages that make them.
    pub fn new_messages(self, pattern: &PacketPattern) -> impl Iterator<Item = RouteNetlinkMessage> {
        pattern.u32_keys().map(move |keys| {
            let options = [
                DefaultNla::new(TCA_U32_SEL, selector(&keys)),
                DefaultNla::new(TCA_U32_ACT, emit(&[DefaultNla::new(1, drop_action())])),
            ];
            let mut message = self.message();
            message.attributes = vec![
                TcAttribute::Kind("u32".into()),
                TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, emit(&options))),
            ];
            RouteNetlinkMessage::NewTrafficFilter(message)
        })
    }

    /// The message that removes them all.
    pub fn del_message(self) -> RouteNetlinkMessage {
        RouteNetlinkMessage::DelTrafficFilter(self.message())
    }

    /// The message that asks for them and those of other numbers.
    pub fn get_message(self) -> RouteNetlinkMessage {
        RouteNetlinkMessage::GetTrafficFilter(self.message())
    }

    /// Packets that they have dropped, as one of the answers says it.
    pub fn dropped_packets(self, answer: &RouteNetlinkMessage) -> u64 {
        let RouteNetlinkMessage::NewTrafficFilter(message) = answer else { return 0 };
        if message.header.index != self.interface as i32
            || message.header.info >> 16 != u32::from(self.number)
        {
            return 0;
        }
        let options = message.attributes.iter().filter_map(|attribute| match attribute {
            TcAttribute::Options(options) => Some(options),
            _ => None,
        });
        let actions = options.flatten().filter_map(|option| match option {
            TcOption::U32(TcFilterU32Option::Action(actions)) => Some(actions),
            _ => None,
        });
        let statistics = actions.flatten().flat_map(|action| &action.attributes).filter_map(|attribute| {
            if let TcActionAttribute::Stats(statistics) = attribute { Some(statistics) } else { None }
        });
        let drops = statistics.flatten().filter_map(|statistic| match statistic {
            TcStats2::Queue(queue) => Some(u64::from(queue.drops)),
            _ => None,
        });
        drops.sum()
    }
}

/// `struct tc_u32_sel` and its `struct tc_u32_key`s, which hold masks and values in network byte order.
fn selector(keys: &[Key]) -> Vec<u8> {
    let mut bytes = vec![TC_U32_TERMINAL, 0, keys.len() as u8, 0];
    // offmask, off, offoff, hoff and hmask: no further header is looked for.
    bytes.extend([0; 12]);
    for (offset, mask, value) in keys {
        bytes.extend(mask.to_be_bytes());
        bytes.extend(value.to_be_bytes());
        bytes.extend(i32::from(*offset).to_ne_bytes());
        bytes.extend(0i32.to_ne_bytes());
    }
    bytes
}

/// The action `gact` with `struct tc_gact`: index, capabilities, action, and two counts of references.
fn drop_action() -> Vec<u8> {
    let parameters = [0, 0, TC_ACT_SHOT, 0, 0].iter().flat_map(|word: &u32| word.to_ne_bytes()).collect();
    emit(&[
        DefaultNla::new(TCA_ACT_KIND, b"gact\0".to_vec()),
        DefaultNla::new(TCA_ACT_OPTIONS, emit(&[DefaultNla::new(TCA_GACT_PARMS, parameters)])),
    ])
}
