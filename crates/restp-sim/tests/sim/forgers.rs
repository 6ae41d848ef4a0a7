//! Forgers who read a connection in clear text, and so have all of its numbers: what numbers alone must not give them.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use restp_proto::profile::Framing;
use restp_proto::wire::{
    Arq, Flags, Flow, Header, JoinStep, MpCapable, MpJoin, Multipath, Packet as Wire, PathMode, Report,
    SackBlock, SackBlocks, Sequence,
};
use restp_proto::{CloseReason, ConnId, EventKind, Profile};
use restp_sim::pair::{Pair, client_path, has_payload, server_ip};
use restp_sim::{DropRule, LinkConfig, LinkId, Packet};

use crate::hostile::{bytes, observed_token, packet};

const MS: Duration = Duration::from_millis(1);

type Seen = Arc<Mutex<Vec<Packet>>>;

/// Notes everything that enters `link`.
fn tap(pair: &mut Pair, link: LinkId) -> Seen {
    let seen = Seen::default();
    let notes = Arc::clone(&seen);
    let note = move |packet: &Packet| {
        notes.lock().unwrap().push(packet.clone());
        false
    };
    pair.net.add_rule(link, DropRule::first(u64::MAX, note));
    seen
}

/// The newest packet that was seen, changed by `change`.
fn forged(seen: &Seen, change: impl FnOnce(&mut Wire<'_>)) -> Packet {
    let newest = seen.lock().unwrap().last().expect("the connection has begun").clone();
    let mut packet = Wire::decode(&newest.data, None).unwrap().packet;
    change(&mut packet);
    let mut data = Vec::new();
    packet.encode(&mut data, None).unwrap();
    Packet { data, ..newest }
}

fn newest_number(seen: &Seen) -> u32 {
    let newest = seen.lock().unwrap().last().expect("something was sent").clone();
    Wire::decode(&newest.data, None).unwrap().packet.sequence.number().expect("it is numbered")
}

/// A client and a server with this profile over an ideal link, and all that either of them sends.
struct Overheard {
    pair: Pair,
    conn: ConnId,
    accepted: ConnId,
    of_client: Seen,
    of_server: Seen,
}

impl Overheard {
    fn new(profile: &Profile) -> Self {
        let mut pair = Pair::new(4, profile, &LinkConfig::ideal(MS * 10));
        let (there, back) = pair.links[0];
        let (of_client, of_server) = (tap(&mut pair, there), tap(&mut pair, back));
        let conn = pair.connect();
        pair.net.run_for(MS * 200);
        let accepted = pair.accepted().expect("the handshake succeeds");
        Self { pair, conn, accepted, of_client, of_server }
    }
}

/// The octets that arrive of three packets that a server sends and a link loses, where somebody forges `change` into the
/// client's newest packet, knowing the number of the server's.
fn came_of_three_lost(change: impl FnOnce(u32, &mut Wire<'_>)) -> usize {
    let Overheard { mut pair, conn, accepted, of_client, of_server } = Overheard::new(&Profile::file_arq());
    pair.net.add_rule(pair.links[0].1, DropRule::first(3, has_payload));
    for _ in 0..3 {
        pair.send(pair.server, accepted, vec![1; 1000]).unwrap();
    }
    pair.net.run_for(MS * 8);
    let last = newest_number(&of_server);
    pair.net.inject(forged(&of_client, |packet| change(last, packet)));
    pair.net.run_for(Duration::from_secs(20));
    pair.receive(pair.client, conn).iter().map(|message| message.payload.len()).sum()
}

// R-MP-15
#[test]
fn a_number_without_its_payload_is_taken_only_where_the_message_is_there() {
    let Overheard { mut pair, conn, accepted, of_client, .. } = Overheard::new(&Profile::copies());
    pair.net.add_rule(pair.links[0].0, DropRule::first(1, has_payload));
    for _ in 0..3 {
        pair.send(pair.client, conn, vec![1; 1100]).unwrap();
    }
    pair.net.run_for(MS * 8);
    // The first is lost, and the peer hears that it need not wait for it.
    pair.net.inject(forged(&of_client, |packet| {
        let back = |number: &mut u32| *number = number.wrapping_sub(2);
        let Sequence::Arq(arq) = &mut packet.sequence else { panic!("{packet:?}") };
        back(&mut arq.sequence);
        let mapping =
            packet.dss.as_mut().and_then(|dss| dss.mapping.as_mut()).expect("it is a packet of data");
        back(&mut mapping.data_sequence);
        back(&mut mapping.subflow_sequence);
        packet.payload = &[];
    }));
    pair.net.run_for(Duration::from_secs(5));
    let came: usize = pair.receive(pair.server, accepted).iter().map(|message| message.payload.len()).sum();
    assert_eq!(came, 3300);
}

/// A report of these blocks.
fn sack(blocks: Vec<[u8; 8]>) -> Report<'static> {
    Report::Sack(SackBlocks::new(blocks.leak()))
}

// R-SEC-4
#[test]
fn only_what_was_sent_can_be_acknowledged() {
    // The first forgery shows that nothing but the number is wrong with the second.
    for (beyond, believed) in [(0, true), (1, false)] {
        let got = came_of_three_lost(|last, packet| {
            let Sequence::Arq(arq) = &mut packet.sequence else { panic!("{packet:?}") };
            arq.acknowledgement = last.wrapping_add(1).wrapping_add(beyond);
        });
        assert_eq!(got, if believed { 0 } else { 3000 }, "{beyond} beyond what was sent");
    }
}

// R-SEC-4
#[test]
fn numbers_farther_than_the_largest_window_from_what_is_due_are_dropped() {
    let profile = Profile { framing: Framing::Fixed, ..Profile::file_arq() };
    let Overheard { mut pair, conn, accepted, of_client, of_server } = Overheard::new(&profile);
    // Both ends have sent more than a window of the largest kind, so that numbers below it can be told from those above.
    let (client, server) = (pair.client, pair.server);
    for (from, own, to, other) in [(client, conn, server, accepted), (server, accepted, client, conn)] {
        let (mut sent, mut got) = (0, 0);
        while got < 66_000 {
            while sent < 66_000 && pair.send(from, own, vec![1]).is_ok() {
                sent += 1;
            }
            pair.net.run_for(MS * 5);
            got += pair.receive(to, other).len();
        }
    }
    pair.net.run_for(MS * 200);
    // The client has acknowledged last, with the number that is due; the server has sent last.
    let (due, answered) = (newest_number(&of_client), newest_number(&of_server).wrapping_add(1));
    let mut dropped = |change: &dyn Fn(&mut Arq)| {
        let count =
            |pair: &mut Pair| pair.net.host(server).endpoint.conn_stats(accepted).unwrap().out_of_window;
        let before = count(&mut pair);
        pair.net.inject(forged(&of_client, |packet| {
            let Sequence::Arq(arq) = &mut packet.sequence else { panic!("{packet:?}") };
            (arq.sequence, arq.acknowledgement) = (due, answered);
            change(arq);
        }));
        pair.net.run_for(MS * 50);
        count(&mut pair) - before
    };
    let window = u32::from(u16::MAX);
    for (beyond, drops) in [(0, 0), (1, 1)] {
        let below = window + beyond;
        let number = dropped(&|arq| arq.sequence = due.wrapping_sub(below));
        assert_eq!(number, drops, "{below} before what is due");
        let above = window + beyond;
        let number = dropped(&|arq| arq.sequence = due.wrapping_add(above));
        assert_eq!(number, drops, "{above} beyond what is due");
        let number = dropped(&|arq| arq.acknowledgement = answered.wrapping_sub(below));
        assert_eq!(number, drops, "{below} before what is unacknowledged");
    }
}

// R-ACK-7
#[test]
fn a_report_of_what_was_never_sent_is_ignored() {
    // The first forgery shows that nothing but the right edge is wrong with the second.
    for (beyond, believed) in [(0, true), (1, false)] {
        let got = came_of_three_lost(|last, packet| {
            let block = SackBlock { left: last.wrapping_sub(1), right: last.wrapping_add(beyond) };
            packet.report = sack(vec![block.to_wire()]);
        });
        assert_eq!(got, if believed { 1000 } else { 3000 }, "{beyond} beyond what was sent");
    }
}

// R-ACK-7, R-ERR-1
#[test]
fn of_a_greedy_report_sixteen_blocks_are_looked_at() {
    // The first report shows that nothing but the place is wrong with the block of the second.
    for (place, believed) in [(15, true), (16, false)] {
        let got = came_of_three_lost(|last, packet| {
            // Each of a hundred blocks costs a walk over what it names. All but one name the last packet.
            let block = |number| SackBlock { left: number, right: number }.to_wire();
            let mut blocks = vec![block(last); 100];
            blocks[place] = block(last.wrapping_sub(1));
            packet.report = sack(blocks);
        });
        // What is believed to have arrived is not sent again.
        assert_eq!(got, if believed { 1000 } else { 2000 }, "place {place}");
    }
}

// H2, R-MP-3
#[test]
fn a_join_whose_proof_is_wrong_becomes_no_path() {
    let mut pair = Pair::new(6, &Profile::multipath(), &LinkConfig::ideal(MS * 10));
    let conn = pair.connect();
    pair.net.run_for(MS * 300);
    let accepted = pair.accepted().expect("the handshake succeeds");
    let token = observed_token(&mut pair, conn);
    let forger: SocketAddr = "203.0.113.5:1000".parse().unwrap();
    let to_forger = pair.net.add_link(LinkConfig::ideal(MS));
    pair.net.route(server_ip(0), forger.ip(), &[to_forger]);
    let answers = tap(&mut pair, to_forger);
    let say = |pair: &mut Pair, flags, arq: Arq, step| {
        let mut join = packet(flags, Flow::CON, arq.sequence, arq.acknowledgement);
        join.header.path_mode = PathMode::Spreading;
        join.multipath = Some(Multipath::Join(MpJoin { backup: false, address_id: 9, step }));
        let destination = client_path(0).remote;
        pair.net.inject(Packet {
            source: forger,
            destination,
            ecn: restp_proto::Ecn::NotEct,
            data: bytes(&join),
        });
        pair.net.run_for(MS * 20);
    };
    say(&mut pair, Flags::SYN, Arq { sequence: 5, acknowledgement: 0 }, JoinStep::Syn { token, nonce: 1 });
    let answer = answers.lock().unwrap()[0].clone();
    let answer = Wire::decode(&answer.data, None).unwrap().packet;
    let Some(Multipath::Join(MpJoin { step: JoinStep::SynAck { mac: shown, .. }, .. })) = answer.multipath
    else {
        panic!("{answer:?}");
    };
    let arq = Arq { sequence: 6, acknowledgement: answer.sequence.number().unwrap().wrapping_add(1) };
    // Nothing, and what the server itself has shown.
    let mut reflected = [0; 20];
    reflected[..shown.len()].copy_from_slice(&shown);
    for mac in [[0; 20], reflected] {
        say(&mut pair, Flags::ACK, arq, JoinStep::Ack { mac });
    }
    let _ = pair.send(pair.server, accepted, vec![1; 1000]);
    pair.net.run_for(Duration::from_secs(1));
    let server = &pair.net.host(pair.server).endpoint;
    assert_eq!(server.conn_stats(accepted).unwrap().unauthentic, 2, "both proofs were looked at");
    let paths = server.path_stats(accepted);
    assert_eq!(paths.iter().filter(|(_, path)| path.usable).count(), 1, "{paths:?}");
    assert!(!answers.lock().unwrap().iter().any(has_payload), "no data for whoever has proven nothing");
}

/// A connection over two paths whose path 0 is reset with `key`, and exactly the number that is due.
fn reset_with(key: impl FnOnce(u64) -> Option<u64>) -> (Pair, ConnId) {
    let link = LinkConfig::ideal(MS * 10);
    let mut pair =
        Pair::with_paths(6, &Profile::multipath(), &[(link.clone(), link.clone()), (link.clone(), link)]);
    let (there, back) = pair.links[0];
    let (of_client, of_server) = (tap(&mut pair, there), tap(&mut pair, back));
    let conn = pair.connect();
    pair.net.run_for(MS * 300);
    let syn_ack = of_server.lock().unwrap()[0].clone();
    let shown = match Wire::decode(&syn_ack.data, None).unwrap().packet.multipath {
        Some(Multipath::Capable(MpCapable::OneKey { flags, key })) => (flags, key),
        other => panic!("{other:?}"),
    };
    pair.net.with(pair.client, |host, now| {
        host.endpoint.open_path(now, conn, client_path(1), false).unwrap();
    });
    pair.net.run_for(Duration::from_secs(1));
    let accepted = pair.accepted().expect("the handshake succeeds");
    assert_eq!(pair.net.host(pair.server).endpoint.path_stats(accepted).len(), 2);
    let reset = forged(&of_client, |packet| {
        let multipath = key(shown.1).map(|key| Multipath::Capable(MpCapable::OneKey { flags: shown.0, key }));
        let header = Header { flags: Flags::RST, ..packet.header };
        *packet = Wire { header, multipath, dss: None, report: Report::None, payload: &[], ..*packet };
    });
    pair.net.inject(reset);
    (pair, accepted)
}

// H6, R-MP-11
#[test]
fn only_the_right_key_ends_all_paths_and_a_wrong_one_ends_nothing() {
    let paths = |pair: &Pair, conn| {
        let all = pair.net.host(pair.server).endpoint.path_stats(conn);
        all.iter().filter(|(_, path)| path.usable).count()
    };
    let (pair, conn) = reset_with(|_| None);
    assert_eq!(paths(&pair, conn), 1, "a number ends the path that it belongs to");
    let (pair, conn) = reset_with(|key| Some(key ^ 1));
    assert_eq!(paths(&pair, conn), 2);
    let (mut pair, conn) = reset_with(Some);
    let events = pair.net.with(pair.server, |host, _| host.take_events());
    let ended = EventKind::Closed(CloseReason::Reset);
    assert!(events.iter().any(|event| event.conn == conn && event.kind == ended), "{events:?}");
}
