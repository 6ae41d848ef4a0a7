//! Talking to the kernel's routing socket: batches of changes, each acknowledged, and dumps.

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

use crate::Error;
use crate::error::Attempt;

/// A change to be asked for.
pub(crate) struct Request {
    /// What is attempted, as the first half of a sentence about its failure.
    pub what: String,
    /// Flags beside `NLM_F_REQUEST` and `NLM_F_ACK`.
    pub flags: u16,
    pub message: RouteNetlinkMessage,
}

/// A routing socket; it belongs to the namespace in which it was opened.
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

/// Requests sent in one system call: if all are refused, the refusals fit into the socket's receive buffer.
const BATCH: usize = 32;

/// Room for an answer: the kernel puts at most 32 KiB of a list into one (`netlink_dump` in net/netlink/af_netlink.c), and
/// a refusal repeats the request.
const ANSWER_BYTES: usize = 1 << 16;

impl Netlink {
    /// Opens a socket in the namespace of the calling thread.
    pub fn open() -> Result<Self, Error> {
        let what = || "cannot open a netlink socket".into();
        let mut socket = Socket::new(NETLINK_ROUTE).attempt(what)?;
        socket.bind_auto().attempt(what)?;
        socket.connect(&SocketAddr::new(0, 0)).attempt(what)?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// Asks for all changes in order and waits for the answers.
    ///
    /// # Errors
    /// The first refusal. The kernel has then tried the rest of the same batch too.
    pub fn run(&mut self, requests: Vec<Request>) -> Result<(), Error> {
        let mut requests = requests.into_iter().peekable();
        while requests.peek().is_some() {
            let first = self.sequence;
            let mut names = Vec::new();
            let mut bytes = Vec::new();
            let mut batch = requests.by_ref().take(BATCH).peekable();
            while let Some(request) = batch.next() {
                names.push(request.what);
                // Refusals come unasked, and in order: behind the answer to the last one there is none.
                let ack = if batch.peek().is_none() { NLM_F_ACK } else { 0 };
                self.serialize(request.flags | ack, request.message, &mut bytes);
            }
            self.send(&bytes)?;
            self.collect_answers(first, &names)?;
        }
        Ok(())
    }

    fn collect_answers(&mut self, first: u32, names: &[String]) -> Result<(), Error> {
        let mut refused = Ok(());
        loop {
            for answer in self.receive()? {
                let NetlinkPayload::Error(error) = answer.payload else { continue };
                let which = answer.header.sequence_number.wrapping_sub(first) as usize;
                if error.code.is_some() && refused.is_ok() {
                    let what = names.get(which).cloned().unwrap_or_else(|| "a netlink request failed".into());
                    refused = Err(Error::System { what, source: error.to_io() });
                }
                if which + 1 >= names.len() {
                    return refused;
                }
            }
        }
    }

    /// Asks for a list and collects it.
    pub fn dump(&mut self, message: RouteNetlinkMessage) -> Result<Vec<RouteNetlinkMessage>, Error> {
        let mut bytes = Vec::new();
        self.serialize(NLM_F_DUMP, message, &mut bytes);
        self.send(&bytes)?;
        let mut list = Vec::new();
        loop {
            for answer in self.receive()? {
                match answer.payload {
                    NetlinkPayload::InnerMessage(message) => list.push(message),
                    NetlinkPayload::Done(_) => return Ok(list),
                    NetlinkPayload::Error(error) => {
                        return Err(error.to_io()).attempt(|| "the kernel refused a netlink dump".into());
                    }
                    _ => {}
                }
            }
        }
    }

    fn serialize(&mut self, flags: u16, message: RouteNetlinkMessage, bytes: &mut Vec<u8>) {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        let mut packet = NetlinkMessage::new(header, message.into());
        packet.finalize();
        let start = bytes.len();
        // Messages that share a buffer are aligned to four bytes (NLMSG_ALIGNTO).
        bytes.resize(start + packet.buffer_len().next_multiple_of(4), 0);
        let end = start + packet.buffer_len();
        packet.serialize(&mut bytes[start..end]);
    }

    fn send(&self, bytes: &[u8]) -> Result<(), Error> {
        self.socket.send(bytes, 0).map(drop).attempt(|| "cannot send to the netlink socket".into())
    }

    fn receive(&self) -> Result<Vec<NetlinkMessage<RouteNetlinkMessage>>, Error> {
        let what = || "cannot read the netlink socket".into();
        let mut bytes = Vec::with_capacity(ANSWER_BYTES);
        let length = self.socket.recv(&mut bytes, libc::MSG_TRUNC).attempt(what)?;
        if length > bytes.len() {
            return Err(io::Error::other(format!("an answer of {length} bytes is too long"))).attempt(what);
        }
        let mut messages = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))
                .attempt(what)?;
            let length = (message.header.length as usize).next_multiple_of(4).max(4);
            messages.push(message);
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(messages)
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_route::link::LinkMessage;

    use super::*;

    fn link(index: u32) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message
    }

    /// Asks about the loopback interface, which everybody may.
    fn granted(what: &str) -> Request {
        Request { what: what.into(), flags: 0, message: RouteNetlinkMessage::GetLink(link(1)) }
    }

    /// Changes an interface that there is not.
    fn refused(what: &str) -> Request {
        Request { what: what.into(), flags: 0, message: RouteNetlinkMessage::SetLink(link(u32::MAX >> 1)) }
    }

    #[test]
    fn the_first_refusal_of_a_batch_is_told_wherever_it_stands() {
        for at in [0, 1, 2, BATCH - 1, BATCH, BATCH + 1] {
            let mut requests: Vec<Request> =
                (0..BATCH + 2).map(|n| granted(&format!("request {n}"))).collect();
            requests[at] = refused("the one that is refused");
            requests[BATCH + 1] = refused(if at > BATCH { "the one that is refused" } else { "a later one" });
            let mut netlink = Netlink::open().unwrap();
            let said = netlink.run(requests).unwrap_err().to_string();
            assert!(said.starts_with("the one that is refused"), "{at}: {said}");
            // No answer of the batch is left over for the next question.
            netlink.run(vec![granted("asked afterwards")]).unwrap();
        }
    }
}
