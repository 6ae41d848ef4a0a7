//! Whatever the network does, messages come in order and exactly once, or the connection ends and says why.

use std::time::Duration;

use proptest::prelude::*;
use rasta::sim::{Link, Pair, Side};
use rasta::{
    CheckCode, CodeLength, Config, DisconnectReason, Disconnection, Ending, SafetyCode, Seeds, State,
};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn links() -> impl Strategy<Value = Link> {
    (0_u64..80, 0_u64..60, 0.0..0.2, 0.0..0.3, 0.0..0.1).prop_map(
        |(delay, jitter, loss, duplication, corruption)| Link {
            delay: MS(delay),
            jitter: MS(jitter),
            loss,
            duplication,
            corruption,
            rate_bit_per_s: None,
        },
    )
}

fn codes() -> impl Strategy<Value = (SafetyCode, CheckCode)> {
    let safety = prop_oneof![
        Just(SafetyCode::md4(CodeLength::Half)),
        Just(SafetyCode::md4(CodeLength::Full)),
        Just(SafetyCode::Blake2b { length: CodeLength::Half, key: vec![7; 32] }),
        Just(SafetyCode::SipHash24 { length: CodeLength::Full, key: [9; 16] }),
    ];
    (safety, prop::sample::select(&CheckCode::ALL[..]))
}

/// What an application sent is a start of it what the other got, in order.
fn assert_in_order_exactly_once(pair: &Pair, side: Side, sent: u32) -> Result<(), TestCaseError> {
    let got: Vec<_> = pair.seen(side).deliveries.iter().map(|delivery| delivery.message.clone()).collect();
    let expected: Vec<_> = (0..sent).map(|number| number.to_le_bytes().to_vec()).take(got.len()).collect();
    prop_assert_eq!(&got, &expected);
    prop_assert!(got.len() <= sent as usize);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn in_order_exactly_once_or_an_end_with_a_reason(
        links in proptest::collection::vec(links(), 1..4),
        (safety_code, check_code) in codes(),
        n_max_packet in 1_u16..4,
        // Near the wrap-around as often as anywhere.
        numbers in prop_oneof![any::<[u32; 4]>(), Just([u32::MAX - 20, u32::MAX - 40, u32::MAX - 900, u32::MAX - 2500])],
        pauses_ms in proptest::collection::vec((0_u64..120, any::<bool>()), 10..80),
        seed: u64,
    ) {
        let [client, server] = Pair::configs(|config: &mut Config| {
            config.channels = links.len();
            (config.safety_code, config.check_code) = (safety_code.clone(), check_code);
            config.n_max_packet = n_max_packet;
        });
        let seeds = [Seeds::fixed(numbers[0], numbers[2]), Seeds::fixed(numbers[1], numbers[3])];
        let mut pair = Pair::with_seeds(client, server, links, seed, seeds).expect("the configuration is sound");
        pair.open();
        pair.run_for(MS(500));
        let mut sent = [0_u32; 2];
        for (pause_ms, from_client) in pauses_ms {
            let side = if from_client { Side::Client } else { Side::Server };
            if pair.end(side).state().is_open() && pair.send(side, sent[side as usize].to_le_bytes()).is_ok() {
                sent[side as usize] += 1;
            }
            pair.run_for(MS(pause_ms));
        }
        // Ten T_max later everything is there, or somebody has given up.
        pair.run_for(MS(18_000));
        for side in Side::BOTH {
            assert_in_order_exactly_once(&pair, side, sent[side.other() as usize])?;
            let (got, of) = (pair.seen(side).deliveries.len(), sent[side.other() as usize] as usize);
            let ends = Side::BOTH.map(|side| pair.seen(side).ending);
            prop_assert!(got == of || ends != [None, None], "{got} of {of}, and nobody says why");
        }
        // Nobody stays half open: T_max after an end, the other has learned of it, by a message or by its time-out.
        let ended = Side::BOTH.map(|side| pair.end(side).state() == State::Closed && pair.seen(side).ending.is_some());
        pair.run_for(MS(1_800));
        for side in Side::BOTH.into_iter().filter(|side| ended[*side as usize]) {
            let other = pair.end(side.other()).state();
            prop_assert!(matches!(other, State::Closed | State::Down), "{other:?}");
        }
    }

    #[test]
    fn a_run_is_the_same_twice(link in links(), seed: u64) {
        let run = || {
            let [client, server] = Pair::configs(|_| {});
            let mut pair = Pair::new(client, server, vec![link.clone()], seed).expect("sound");
            pair.open();
            for number in 0_u32..30 {
                // A connection that the link has ended takes nothing, in both runs alike.
                let _ = pair.end(Side::Client).state().is_open().then(|| pair.send(Side::Client, number.to_le_bytes()));
                pair.run_for(MS(50));
            }
            (pair.frames(), format!("{:?}", Side::BOTH.map(|side| pair.seen(side))))
        };
        prop_assert_eq!(run(), run());
    }
}

fn opened(links: Vec<Link>, change: impl Fn(&mut Config)) -> Pair {
    let [client, server] = Pair::configs(|config| {
        config.channels = links.len();
        change(config);
    });
    let mut pair = Pair::new(client, server, links, 3).expect("sound");
    pair.open();
    pair.run_for(MS(400));
    assert_eq!(Side::BOTH.map(|side| pair.end(side).state()), [State::Up; 2]);
    pair
}

#[test]
fn two_channels_carry_on_while_one_is_silent() {
    let mut pair = opened(vec![Link::delay(MS(10)), Link::delay(MS(30))], |_| {});
    pair.set_link(0, Link { loss: 1.0, ..Link::default() });
    for number in 0_u32..20 {
        pair.send(Side::Client, number.to_le_bytes()).expect("there is place");
        pair.run_for(MS(100));
    }
    let delays = pair.seen(Side::Server).deliveries.len();
    assert_eq!((delays, pair.end(Side::Server).state()), (20, State::Up));
    let retransmissions =
        pair.seen(Side::Server).states.iter().filter(|(_, state)| *state == State::RetransmissionRequested);
    assert_eq!(retransmissions.count(), 0);
    let report = pair.end(Side::Server).channel_report(0).expect("there are two");
    assert!(report.missed >= 20, "{report:?}");
}

/// The fault that librasta's issue 83 reports: with 10 % loss connections ended. What both channels lose is to be
/// retransmitted.
#[test]
fn a_tenth_lost_on_each_channel_is_retransmitted() {
    let links = [MS(10), MS(20)].map(|delay| Link { loss: 0.1, ..Link::delay(delay) });
    let mut pair = opened(links.to_vec(), |_| {});
    for number in 0_u32..500 {
        pair.send(Side::Client, number.to_le_bytes()).expect("there is place");
        pair.run_for(MS(50));
    }
    pair.run_for(MS(2000));
    assert_eq!(pair.seen(Side::Server).deliveries.len(), 500);
    assert_eq!(Side::BOTH.map(|side| pair.seen(side).ending), [None, None]);
    let requested = |(_, state): &&(_, State)| *state == State::RetransmissionRequested;
    assert!(pair.seen(Side::Server).states.iter().filter(requested).count() > 0);
}

#[test]
fn a_single_loss_on_the_only_channel_is_retransmitted() {
    let mut pair = opened(vec![Link::delay(MS(10))], |_| {});
    pair.lose(pair.frames());
    for text in ["lost", "next"] {
        pair.send(Side::Client, text).expect("there is place");
        pair.run_for(MS(20));
    }
    pair.run_for(MS(400));
    let texts: Vec<_> = pair.seen(Side::Server).deliveries.iter().map(|one| one.message.as_slice()).collect();
    assert_eq!(texts, [b"lost", b"next"]);
    let states: Vec<_> = pair.seen(Side::Server).states.iter().map(|(_, state)| *state).skip(3).collect();
    assert_eq!(states, [State::RetransmissionRequested, State::RetransmissionRunning, State::Up]);
}

/// Nothing in the public state tables repeats a request: where it is lost on every channel, T_max decides.
#[test]
fn a_lost_request_ends_in_a_time_out() {
    let mut pair = opened(vec![Link::delay(MS(10))], |_| {});
    pair.lose(pair.frames());
    for text in ["lost", "next"] {
        pair.send(Side::Client, text).expect("there is place");
    }
    // The request leaves when the second message has waited T_seq.
    pair.run_for(MS(109));
    pair.lose(pair.frames());
    pair.run_for(MS(4000));
    let timeout = Ending::Here(Disconnection { detail: 0, reason: DisconnectReason::Timeout });
    assert_eq!(pair.seen(Side::Server).ending, Some(timeout));
    assert!(matches!(pair.seen(Side::Client).ending, Some(Ending::There(_))));
    assert_eq!(pair.seen(Side::Server).deliveries, []);
}

#[test]
fn a_line_that_takes_longer_than_t_max_ends_the_connection() {
    let mut pair = opened(vec![Link::delay(MS(50))], |_| {});
    pair.set_link(0, Link::delay(MS(2000)));
    pair.run_for(MS(3000));
    let reasons = Side::BOTH.map(|side| pair.seen(side).ending);
    let timeout = Ending::Here(Disconnection { detail: 0, reason: DisconnectReason::Timeout });
    assert_eq!(reasons, [Some(timeout); 2]);
}

#[test]
fn ends_open_again_after_an_end() {
    let mut pair = opened(vec![Link::delay(MS(50))], |_| {});
    pair.close(Side::Client, 7);
    pair.run_for(MS(100));
    let said = Disconnection { detail: 7, reason: DisconnectReason::UserRequest };
    assert_eq!(pair.seen(Side::Server).ending, Some(Ending::There(said)));
    pair.open();
    pair.run_for(MS(400));
    assert_eq!(Side::BOTH.map(|side| pair.end(side).state()), [State::Up; 2]);
}

#[test]
fn a_greedy_sender_at_both_ends_does_not_lock_up() {
    let mut pair = opened(vec![Link { rate_bit_per_s: Some(1e6), ..Link::delay(MS(40)) }], |_| {});
    for number in 0_u32..2000 {
        for side in Side::BOTH {
            while pair.end(side).state().is_open() && pair.send(side, number.to_le_bytes()).is_ok() {}
        }
        pair.run_for(MS(5));
    }
    assert_eq!(Side::BOTH.map(|side| pair.end(side).state()), [State::Up; 2]);
    assert!(Side::BOTH.iter().all(|side| pair.seen(*side).deliveries.len() > 1000));
}
