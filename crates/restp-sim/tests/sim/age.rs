//! How old messages get, and what bounds it: the numbers of `docs/guide/restp.md`.

use std::time::Duration;

use restp_proto::profile::{Congestion, Tuning};
use restp_proto::{EventKind, Profile, SendError, SendOptions};
use restp_sim::{LinkConfig, Loss, Pair};

const MS: Duration = Duration::from_millis(1);
const COUNT: u32 = 1500;

/// What became of messages of 160 bytes.
struct Flow {
    /// Of those that arrived, rising.
    ages: Vec<Duration>,
    turned_away: u32,
    passed_over: u64,
    /// At the sender, and what its events told.
    abandoned: [u64; 2],
}

fn play(
    seed: u64,
    profile: &Profile,
    link: &LinkConfig,
    every: Duration,
    lifetime: Option<Duration>,
) -> Flow {
    let mut pair = Pair::new(seed, profile, link);
    let conn = pair.connect();
    pair.net.run_for(MS * 3000);
    let accepted = pair.accepted().expect("the handshake succeeds");
    let start = pair.net.now();
    let end = start + every * COUNT + MS * 20_000;
    let (mut ages, mut sent, mut turned_away) = (Vec::new(), 0, 0);
    let options = SendOptions { lifetime, ..SendOptions::default() };
    while pair.net.now() < end {
        let due = if sent < COUNT { start + every * sent } else { end };
        if pair.net.next_event().is_some_and(|at| at <= due) {
            pair.net.step();
        } else {
            pair.net.run_until(due);
        }
        if sent < COUNT && pair.net.now() >= due {
            let payload = [&sent.to_be_bytes()[..], &[7; 156]].concat().into();
            let taken =
                pair.net.with(pair.client, |host, now| host.endpoint.send(now, conn, payload, options));
            turned_away += u32::from(matches!(taken, Err(SendError::Full(_))));
            sent += 1;
        }
        for message in pair.receive(pair.server, accepted) {
            let number = u32::from_be_bytes(message.payload[..4].try_into().unwrap());
            ages.push(pair.net.now() - (start + every * number));
        }
    }
    ages.sort_unstable();
    let told = pair.net.host(pair.client).events.iter().map(|event| match event.kind {
        EventKind::Abandoned { messages } => messages,
        _ => 0,
    });
    let told = told.sum();
    let abandoned = pair.net.host(pair.client).endpoint.conn_stats(conn).unwrap().abandoned;
    let passed_over = pair.net.host(pair.server).endpoint.conn_stats(accepted).unwrap().passed_over;
    Flow { ages, turned_away, passed_over, abandoned: [abandoned, told] }
}

fn voice_over_bbr() -> Profile {
    Profile { congestion: Congestion::Bbr, ..Profile::voice() }
}

// R-ARQ-7
#[test]
fn a_lifetime_holds_back_nothing_that_was_never_sent_and_a_short_buffer_does() {
    let line = LinkConfig::new(100_000, MS * 25);
    let flow = play(5, &voice_over_bbr(), &line, MS * 10, Some(MS * 100));
    assert_eq!((flow.ages.len(), flow.turned_away), (1500, 0));
    assert!(flow.ages[1499] > MS * 11_000, "{:?}", flow.ages[1499]);
    let voice = voice_over_bbr();
    let short = Profile { tuning: Tuning { send_buffer_packets: 2, ..voice.tuning.clone() }, ..voice };
    let flow = play(5, &short, &line, MS * 10, None);
    let oldest = *flow.ages.last().unwrap();
    assert!(oldest < MS * 300 && flow.ages.len() as u32 + flow.turned_away == COUNT, "{oldest:?}");
}

#[test]
fn losses_make_messages_old_over_bic_and_not_over_bbr() {
    let line = LinkConfig { loss: Loss::bursts(0.2, 5.0), ..LinkConfig::new(10_000_000, MS * 100) };
    for seed in 1..=3 {
        let [bic, bbr] = [Profile::voice(), voice_over_bbr()]
            .map(|profile| play(seed, &profile, &line, MS * 20, None).ages);
        let (bic, bbr) = (bic[bic.len() / 2], bbr[bbr.len() / 2]);
        assert!(bic > MS * 12_000 && bbr < MS * 130, "{bic:?} {bbr:?}");
    }
}

// J3, R-ARQ-3
#[test]
fn what_is_not_repeated_for_its_age_is_counted_and_told_by_no_event() {
    let line = LinkConfig { loss: Loss::bursts(0.2, 5.0), ..LinkConfig::new(10_000_000, MS * 100) };
    let flow = play(1, &voice_over_bbr(), &line, MS * 20, Some(MS * 50));
    assert!(flow.passed_over > 100 && flow.abandoned[0] > 100, "{:?}", flow.abandoned);
    assert_eq!(flow.abandoned[1], 0);
}
