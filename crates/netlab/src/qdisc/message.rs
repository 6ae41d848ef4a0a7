//! What the messages of all disciplines have in common.

use netlink_packet_core::{DefaultNla, Emitable};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcHeader, TcMessage};

const HANDLE: TcHandle = TcHandle { major: 1, minor: 0 };

/// The place under a root discipline, and the handle of what stands there.
pub(crate) const LEAF: TcHandle = TcHandle { major: 1, minor: 1 };
const LEAF_HANDLE: TcHandle = TcHandle { major: 2, minor: 0 };

/// `TCA_STAB_BASE` in `linux/rtnetlink.h`.
const TCA_STAB_BASE: u16 = 1;

/// `TCA_OPTIONS` in `linux/rtnetlink.h`.
pub(crate) const TCA_OPTIONS: u16 = 2;

/// `NLA_F_NESTED` in `linux/netlink.h`.
const NESTED: u16 = 1 << 15;

/// Bytes in front of the IP header that `skb->len` counts on an Ethernet interface.
const ETHERNET_HEADER_BYTES: i32 = 14;

/// `struct tc_sizespec` of `linux/pkt_sched.h` without a table: only the overhead is added to each packet's
/// length.
fn size_table() -> Vec<u8> {
    let mut spec = vec![0, 0];
    spec.extend(0i16.to_ne_bytes());
    spec.extend((-ETHERNET_HEADER_BYTES).to_ne_bytes());
    for zero in [0u32; 4] {
        // linklayer, mpu, mtu, tsize
        spec.extend(zero.to_ne_bytes());
    }
    let nest = [DefaultNla::new(TCA_STAB_BASE, spec)];
    emit(&nest)
}

/// The attributes as the kernel reads them.
pub(crate) fn emit(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}

/// The message for the discipline under a root discipline, which measures packets for both. FQ-PIE refuses options
/// that do not say that they are nested; the others take either.
pub(super) fn leaf(interface: u32, kind: &str, options: Vec<u8>) -> TcMessage {
    let mut message = TcMessage::default();
    message.header =
        TcHeader { index: interface as i32, handle: LEAF_HANDLE, parent: LEAF, ..TcHeader::default() };
    message.attributes = vec![
        TcAttribute::Kind(kind.into()),
        TcAttribute::Other(DefaultNla::new(TCA_OPTIONS | NESTED, options)),
    ];
    message
}

/// The message for a root discipline of `kind` with ready options.
pub(super) fn root(interface: u32, kind: &str, options: Vec<u8>) -> TcMessage {
    let mut message = TcMessage::default();
    message.header =
        TcHeader { index: interface as i32, handle: HANDLE, parent: TcHandle::ROOT, ..TcHeader::default() };
    message.attributes = vec![
        TcAttribute::Kind(kind.into()),
        TcAttribute::Stab(size_table()),
        TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, options)),
    ];
    message
}
