//! Throughput and delay of the simulation against the arithmetic of `rasta::sim::model`.
//!
//! Tolerances: 1 % without losses (whole windows in a finite time); 15 % with losses up to 1 %, whose stalls are taken as
//! one T_seq and one round trip whatever is lost and whenever, and which end a connection now and then. `cargo run --release -p rasta --example model` prints both.

use std::time::Duration;

use rasta::sim::model::{Flow, delays};
use rasta::sim::{Link, Pair, Side};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn flow() -> Flow {
    Flow {
        window: 5,
        message_bytes: 500,
        round_trip: MS(50),
        t_h: MS(300),
        mwa: 10,
        t_seq: MS(50),
        n_defer_queue: 64,
        loss: 0.0,
    }
}

#[track_caller]
fn assert_close(flow: Flow, seconds: u64, tolerance: f64) -> f64 {
    let simulated =
        flow.simulate(Duration::from_secs(seconds), 5).expect("the flow can run").throughput_bit_per_s;
    let ratio = simulated / flow.throughput_bit_per_s();
    assert!(
        (ratio - 1.0).abs() <= tolerance,
        "{flow:?}: simulated {simulated:.0} bit/s, {ratio:.3} of the model"
    );
    simulated
}

/// D3.4, appendix: below window over round trip in proportion to round trip over acknowledgement time.
#[test]
fn throughput_falls_with_the_ratio_of_round_trip_and_acknowledgement_time() {
    for (t_h_ms, round_trip_ms) in
        [(75, 50), (150, 50), (300, 50), (600, 50), (300, 20), (300, 250), (300, 500)]
    {
        let flow = Flow { t_h: MS(t_h_ms), round_trip: MS(round_trip_ms), ..flow() };
        let simulated = assert_close(flow, 120, 0.01);
        let ratio = flow.round_trip.as_secs_f64() / flow.acknowledgement().as_secs_f64();
        let share = simulated / flow.window_per_round_trip_bit_per_s();
        assert!(
            (share / ratio - 1.0).abs() <= 0.01,
            "T_h {t_h_ms} ms: {share:.3} of TCP's, ratio {ratio:.3}"
        );
    }
}

#[test]
fn a_confirmation_for_every_mwa_gives_a_window_each_round_trip() {
    for round_trip_ms in [20, 50, 200] {
        let flow = Flow { window: 20, mwa: 10, round_trip: MS(round_trip_ms), ..flow() };
        let simulated = assert_close(flow, 30, 0.01);
        assert!((simulated / flow.window_per_round_trip_bit_per_s() - 1.0).abs() <= 0.01);
    }
}

/// D3.4, appendix: losses take throughput in proportion to their probability.
#[test]
fn losses_cost_in_proportion_to_their_probability() {
    let without = Flow { window: 20, mwa: 10, ..flow() };
    let base = assert_close(without, 30, 0.01);
    let slowdown_per_loss: Vec<f64> = [0.002, 0.005, 0.01]
        .into_iter()
        .map(|loss| (base / assert_close(Flow { loss, ..without }, 120, 0.15) - 1.0) / loss)
        .collect();
    let mean = slowdown_per_loss.iter().sum::<f64>() / 3.0;
    assert!(slowdown_per_loss.iter().all(|one| (one / mean - 1.0).abs() < 0.25), "{slowdown_per_loss:?}");
}

fn stamped(pair: &mut Pair, text: &str) {
    let message = [&pair.now().as_nanos().to_le_bytes()[..], text.as_bytes()].concat();
    pair.send(Side::Client, message).expect("there is place");
}

#[test]
fn a_message_takes_the_line_and_a_lost_one_the_wait_and_a_round_trip_more() {
    for (gap_ms, round_trip_ms) in [(20, 50), (60, 50), (0, 120)] {
        let flow = Flow { window: 20, round_trip: MS(round_trip_ms), ..flow() };
        let mut pair = flow.pair(1).expect("the flow can run");
        stamped(&mut pair, "on time");
        pair.run_for(MS(100));
        pair.lose(pair.frames());
        stamped(&mut pair, "lost");
        pair.run_for(MS(gap_ms));
        stamped(&mut pair, "next");
        pair.run_for(MS(1000));
        let lost = flow.delay_of_a_lost_message(MS(gap_ms));
        assert_eq!(delays(&pair, Side::Server), [flow.round_trip / 2, lost, lost - MS(gap_ms)]);
    }
}

#[test]
fn a_second_channel_takes_the_wait_away() {
    let [client, server] = Pair::configs(|config| config.channels = 2);
    let links = vec![Link::delay(MS(25)), Link::delay(MS(40))];
    let mut pair = Pair::new(client, server, links, 1).expect("sound");
    pair.open();
    pair.run_for(MS(500));
    pair.lose(pair.frames());
    stamped(&mut pair, "lost on the faster one");
    pair.run_for(MS(100));
    assert_eq!(delays(&pair, Side::Server), [MS(40)]);
}
