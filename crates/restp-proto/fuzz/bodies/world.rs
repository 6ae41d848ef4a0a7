//! What the fuzz bodies of whole connections share: the input is a script for client, server and the network between
//! them.

use std::time::Duration;

use restp_proto::wire::Packet;
use restp_proto::{
    ConnId, Ecn, Endpoint, EndpointConfig, Event, EventKind, Instant, PathAddr, Priority, Profile, StreamId,
    StreamKind,
};

const PORT: u16 = 7;
/// Datagrams under way at the same time, at most; more are dropped, as a network would.
const IN_FLIGHT: usize = 64;

struct World {
    now: Instant,
    ends: [Endpoint; 2],
    conns: [Option<ConnId>; 2],
    /// Datagrams on their way to each end.
    wires: [Vec<Vec<u8>>; 2],
}

fn path(end: usize) -> PathAddr {
    let addr = |last: u8| ([10, 0, 0, last], 1).into();
    let (local, remote) = if end == 0 { (1, 2) } else { (2, 1) };
    PathAddr { local: addr(local), remote: addr(remote) }
}

impl World {
    /// Sends, tells and checks the timers of both ends.
    fn settle(&mut self) {
        for end in 0..2 {
            let mut out = Vec::new();
            for _ in 0..1000 {
                out.clear();
                let Some(transmit) = self.ends[end].poll_transmit(self.now, 3, &mut out) else { break };
                for packet in out[..transmit.size_bytes].chunks(transmit.segment_size) {
                    let wire = &mut self.wires[1 - end];
                    if wire.len() < IN_FLIGHT {
                        wire.push(packet.to_vec());
                    }
                }
            }
            while let Some(Event { conn, kind }) = self.ends[end].poll_event() {
                if matches!(kind, EventKind::Accepted { .. }) {
                    self.conns[end] = Some(conn);
                }
            }
        }
    }

    /// Does something with a stream; nothing comes of it where the connection has none.
    fn stream(&mut self, end: usize, what: u8, argument: u8) {
        let (Some(conn), now) = (self.conns[end], self.now) else { return };
        let endpoint = &mut self.ends[end];
        let id = StreamId(u64::from(argument & 0x1F));
        let kind = if argument & 1 == 0 { StreamKind::BothWays } else { StreamKind::OneWay };
        match what {
            0 => drop(endpoint.open_stream(now, conn, kind)),
            1 => {
                let mut data = vec![argument; 1 + usize::from(argument) * 40].into();
                let _ = endpoint.write_stream(now, conn, id, &mut data);
            }
            2 => drop(endpoint.finish_stream(now, conn, id)),
            3 => drop(endpoint.reset_stream(now, conn, id, argument.into())),
            4 => drop(endpoint.stop_stream(now, conn, id, argument.into())),
            5 => {
                while let Ok(Some(_)) = endpoint.read_stream(now, conn, id, 1 + usize::from(argument) * 8) {}
            }
            6 => {
                let priority = Priority::new(argument >> 5, argument & 1 != 0);
                let _ = endpoint.set_stream_priority(now, conn, id, priority);
                let _ = endpoint.ask_stream_priority(now, conn, id, priority);
            }
            _ => {
                while endpoint.accept_stream(now, conn).is_some() {}
                while endpoint.poll_stream_event(now, conn).is_some() {}
            }
        }
    }

    /// Delivers a datagram; with `moved` it comes from where the peer has not been before.
    fn deliver(&mut self, end: usize, moved: bool, datagram: &[u8]) {
        let mut path = path(end);
        if moved {
            path.remote.set_port(2);
        }
        self.ends[end].handle(
            self.now,
            path,
            Ecn::from_bits(datagram.first().copied().unwrap_or(0) >> 6),
            datagram,
        );
    }
}

/// `datagram` with another payload, as far as it has one that anybody can write.
fn with_payload(datagram: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok(decoded) = Packet::decode(datagram, None)
        && !decoded.packet.is_sealed()
        && !decoded.packet.payload.is_empty()
        && !payload.is_empty()
        && (Packet { payload, ..decoded.packet }).encode(&mut bytes, None).is_ok()
    {
        return bytes;
    }
    datagram.to_vec()
}

/// Plays `script` between two ends with these settings.
pub fn play(profile: Profile, configs: [EndpointConfig; 2], mut script: &[u8]) {
    let composition = profile.validate().expect("the services go together");
    let [client, server] = configs;
    let mut ends = [Endpoint::new(client, [1; 32]), Endpoint::new(server, [2; 32])];
    ends[1].listen(PORT, composition.clone(), false).expect("the port is free");
    let conn = ends[0].connect(Instant::ZERO, path(0), 9, PORT, &composition).expect("nothing is in the way");
    let mut world =
        World { now: Instant::ZERO, ends, conns: [Some(conn), None], wires: [Vec::new(), Vec::new()] };
    world.settle();
    while let Some((op, rest)) = script.split_first() {
        script = rest;
        let (end, moved) = (usize::from(op >> 7), op & 0x40 != 0);
        let argument = script.first().copied().unwrap_or(0);
        if op & 0x20 != 0 {
            world.stream(end, op & 7, argument);
        }
        match op & 7 {
            0 => world.now += Duration::from_millis(u64::from(argument) * 10),
            1 | 2 if !world.wires[end].is_empty() => {
                let place = usize::from(argument) % world.wires[end].len();
                let datagram = world.wires[end].remove(place);
                world.deliver(end, moved, &datagram);
            }
            3 if !world.wires[end].is_empty() => {
                // Damaged on the way, at a place and in a manner that the script chooses.
                let mut datagram = world.wires[end].remove(0);
                let place = usize::from(argument) % datagram.len();
                datagram[place] ^= script.get(1).copied().unwrap_or(1);
                world.deliver(end, moved, &datagram);
            }
            4 if op & 0x10 != 0 && !world.wires[end].is_empty() => {
                // Another payload in the place of the peer's: what a peer says that breaks the rules.
                let datagram = world.wires[end].remove(0);
                let length = usize::from(argument).min(script.len());
                world.deliver(end, moved, &with_payload(&datagram, &script[..length]));
                script = &script[length..];
            }
            4 => {
                let length = usize::from(argument).min(script.len());
                world.deliver(end, moved, &script[..length]);
                script = &script[length..];
            }
            5 => {
                if let Some(conn) = world.conns[end] {
                    let payload = vec![argument; 1 + usize::from(argument) * 4];
                    let _ = world.ends[end].send(world.now, conn, payload.into(), Default::default());
                }
            }
            6 => {
                if let Some(conn) = world.conns[end] {
                    while world.ends[end].recv(world.now, conn).is_some() {}
                }
            }
            7 => {
                if let Some(conn) = world.conns[end] {
                    if argument & 1 == 0 {
                        world.ends[end].close(world.now, conn);
                    } else {
                        world.ends[end].abort(world.now, conn);
                    }
                }
            }
            _ => {}
        }
        for end in 0..2 {
            world.ends[end].handle_timeout(world.now);
            let next = world.ends[end].poll_timeout();
            assert!(next.is_none_or(|next| next > world.now), "a deadline is not in the future");
        }
        world.settle();
    }
}
