//! Throughput and delay of RaSTA by arithmetic and by simulation: `cargo run --release -p rasta --example model`.
//!
//! The numbers are the same on every machine: time is simulated, and losses come from a seed.

use std::time::Duration;

use rasta::sim::model::Flow;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ms = Duration::from_millis;
    let base = Flow {
        window: 5,
        message_bytes: 500,
        round_trip: ms(50),
        t_h: ms(300),
        mwa: 10,
        t_seq: ms(50),
        n_defer_queue: 64,
        loss: 0.0,
    };
    println!("windows of 5 (T_h) or 20 (MWA) messages of 500 octets, T_seq 50 ms; throughput in kbit/s");
    println!("RTT ms  confirmed by   T_ack ms  places  loss %    model  simulated  window/RTT  endings");
    let show = |flow: Flow| -> Result<(), Box<dyn std::error::Error>> {
        let simulated = flow.simulate(Duration::from_secs(600), 1)?;
        let by =
            if flow.mwa <= flow.window { "MWA".into() } else { format!("T_h {} ms", flow.t_h.as_millis()) };
        println!(
            "{:>6}  {by:<13} {:>9} {:>7} {:>7.1} {:>8.1} {:>10.1} {:>11.1} {:>8}",
            flow.round_trip.as_millis(),
            flow.acknowledgement().as_millis(),
            flow.n_defer_queue,
            flow.loss * 100.0,
            flow.throughput_bit_per_s() / 1e3,
            simulated.throughput_bit_per_s / 1e3,
            flow.window_per_round_trip_bit_per_s() / 1e3,
            simulated.endings,
        );
        Ok(())
    };
    for t_h_ms in [75, 150, 300, 600] {
        show(Flow { t_h: ms(t_h_ms), ..base })?;
    }
    for round_trip_ms in [20, 50, 100, 250, 500] {
        show(Flow { round_trip: ms(round_trip_ms), ..base })?;
    }
    for loss in [0.0, 0.002, 0.005, 0.01, 0.02] {
        show(Flow { window: 20, mwa: 10, loss, ..base })?;
    }
    for n_defer_queue in [4, 10] {
        show(Flow { window: 20, mwa: 10, loss: 0.01, n_defer_queue, ..base })?;
    }
    Ok(())
}
