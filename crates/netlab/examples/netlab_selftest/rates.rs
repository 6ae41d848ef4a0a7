//! Token buckets: the rate counts IP bytes, the queue has the limit asked for, changes lose nothing.

use netlab::LinkChange;

use crate::check::{Check, Finding, ensure};
use crate::traffic::{Arrival, Lab, Outcome, arrivals};

pub const CHECKS: &[Check] = &[
    ("tbf rate counts IP bytes", rate_counts_ip_bytes),
    ("tbf rate change keeps the queue", rate_change_keeps_the_queue),
    ("tbf without limit", no_limit),
    ("tbf queue limit", queue_limit),
];

const SHAPER: &str = "west>mid";

/// Sends a burst of `count` datagrams through the shaper and returns what came out of it.
fn burst(lab: &Lab, ip_bytes: usize, count: u64, wait_s: f64) -> Outcome<Vec<Arrival>> {
    let capture = lab.capture(&[SHAPER])?;
    lab.send("client", "server", ip_bytes, count, 0)?;
    lab.settle(wait_s)?;
    arrivals(&capture.stop()?, SHAPER)
}

/// Bits per second from the first arrival after the bucket was emptied (1580 bytes at once) to the last.
fn rate_bps(arrivals: &[Arrival]) -> f64 {
    let at_once = 1 + 1580 / arrivals[0].ip_bytes as usize;
    let tail = &arrivals[at_once..];
    let bytes: u64 = tail[1..].iter().map(|a| u64::from(a.ip_bytes)).sum();
    bytes as f64 * 8e9 / (tail[tail.len() - 1].t_ns - tail[0].t_ns) as f64
}

fn rate_counts_ip_bytes() -> Finding {
    let mut worst: f64 = 0.0;
    for (rate, ip_bytes) in [(5.2e6, 1476), (1.73e6, 1476), (5.2e6, 100), (100e6, 1500), (300e6, 1500)] {
        let lab = Lab::wire(1)?;
        let change = LinkChange {
            rate_bps: Some(Some(rate)),
            queue_limit_bytes: Some(4_000_000),
            ..Default::default()
        };
        lab.change(SHAPER, change)?;
        let seen = burst(&lab, ip_bytes, 1000, 10.0)?;
        ensure!(seen.len() == 1000, "{} of 1000 datagrams arrived at {rate} bit/s", seen.len());
        let error = rate_bps(&seen) / rate - 1.0;
        ensure!(error.abs() < 0.005, "{} bit/s instead of {rate} with {ip_bytes} bytes", rate_bps(&seen));
        worst = worst.max(error.abs());
    }
    Ok(format!("at most {:.4} % off", worst * 100.0))
}

fn rate_change_keeps_the_queue() -> Finding {
    let lab = Lab::wire(1)?;
    let rate = |bps| LinkChange { rate_bps: Some(Some(bps)), ..Default::default() };
    lab.change(SHAPER, rate(1e6))?;
    let capture = lab.capture(&[SHAPER])?;
    lab.send("client", "server", 1476, 300, 0)?;
    lab.settle(0.5)?;
    let change_ns = lab.clock.now_ns()?;
    lab.change(SHAPER, rate(4e6))?;
    lab.settle(5.0)?;
    let seen = arrivals(&capture.stop()?, SHAPER)?;
    ensure!(seen.len() == 300, "{} of 300 queued datagrams arrived", seen.len());
    ensure!(seen.is_sorted_by_key(|a| a.number), "the queue lost its order");
    ensure!(lab.dropped(SHAPER)? == 0, "the change dropped packets");
    let (before, after): (Vec<Arrival>, Vec<Arrival>) = seen.into_iter().partition(|a| a.t_ns < change_ns);
    let rates = [rate_bps(&before), rate_bps(&after)];
    ensure!((rates[0] / 1e6 - 1.0).abs() < 0.005, "{} bit/s before the change", rates[0]);
    ensure!((rates[1] / 4e6 - 1.0).abs() < 0.005, "{} bit/s after the change", rates[1]);
    Ok(format!("{} packets left before and {} after, none was lost", before.len(), after.len()))
}

fn no_limit() -> Finding {
    let lab = Lab::wire(1)?;
    lab.change(SHAPER, LinkChange { rate_bps: Some(Some(1e6)), ..Default::default() })?;
    lab.change(SHAPER, LinkChange { rate_bps: Some(None), ..Default::default() })?;
    let seen = burst(&lab, 1476, 1000, 1.0)?;
    ensure!(seen.len() == 1000, "{} of 1000 datagrams arrived", seen.len());
    let rate_gbps = rate_bps(&seen) / 1e9;
    ensure!(rate_gbps > 1.0, "{rate_gbps} Gbit/s");
    Ok("1000 packets without a wait".into())
}

fn queue_limit() -> Finding {
    let lab = Lab::wire(1)?;
    let change =
        LinkChange { rate_bps: Some(Some(1e6)), queue_limit_bytes: Some(51_200), ..Default::default() };
    lab.change(SHAPER, change)?;
    let seen = burst(&lab, 1476, 500, 2.0)?;
    // One packet's worth of tokens is there at once; the queue then takes as many whole packets as fit.
    let expected = 1 + 51_200 / 1476;
    ensure!(seen.len() == expected, "{} packets came through, expected {expected}", seen.len());
    let counters = lab.network.link_counters()?;
    let shaper = counters.iter().find(|c| c.link == SHAPER).ok_or("no counters")?;
    ensure!(shaper.kind == "tbf", "it is {}", shaper.kind);
    ensure!(shaper.dropped_packets == 500 - expected as u64, "{} drops", shaper.dropped_packets);
    ensure!(shaper.sent_bytes == expected as u64 * 1476, "{} bytes counted", shaper.sent_bytes);
    Ok(format!("{expected} packets of 500 fit into 51200 bytes"))
}
