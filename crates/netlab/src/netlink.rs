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

/// Requests sent in one system call: their acknowledgements fit into the socket's receive buffer.
const BATCH: usize = 32;

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
            for request in requests.by_ref().take(BATCH) {
                names.push(request.what);
                self.serialize(request.flags | NLM_F_ACK, request.message, &mut bytes);
            }
            self.send(&bytes)?;
            self.collect_answers(first, &names)?;
        }
        Ok(())
    }

    fn collect_answers(&mut self, first: u32, names: &[String]) -> Result<(), Error> {
        let mut outstanding = names.len();
        let mut refused = Ok(());
        while outstanding > 0 {
            for answer in self.receive()? {
                let NetlinkPayload::Error(error) = answer.payload else { continue };
                outstanding = outstanding.saturating_sub(1);
                if error.code.is_some() && refused.is_ok() {
                    let which = answer.header.sequence_number.wrapping_sub(first) as usize;
                    let what = names.get(which).cloned().unwrap_or_else(|| "a netlink request failed".into());
                    refused = Err(Error::System { what, source: error.to_io() });
                }
            }
        }
        refused
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
        let (bytes, _) = self.socket.recv_from_full().attempt(what)?;
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
