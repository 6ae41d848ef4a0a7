//! Loss, bursts of loss, duplication, corruption, and a link that is down.

use netlab::{Capture, CaptureOptions, GilbertElliott, LinkChange, Snap};

use crate::check::{Check, Finding, ensure};
use crate::traffic::{Arrival, Lab, Outcome, arrivals, plausible};

pub const CHECKS: &[Check] = &[
    ("netem loss", loss),
    ("netem Gilbert-Elliott loss comes in bursts", bursts_of_loss),
    ("netem duplication", duplication),
    ("netem corruption", corruption),
    ("link down and up", down_and_up),
    ("netem seed", seed_decides),
];

const BEFORE: &str = "west>mid";
const IMPAIRED: &str = "mid>east";
const COUNT: u64 = 20_000;

/// Sends `count` small datagrams 100 microseconds apart and returns what arrived behind the impairment.
fn through(lab: &Lab, change: LinkChange, count: u64) -> Outcome<Vec<Arrival>> {
    lab.change(IMPAIRED, change)?;
    let capture = lab.capture(&[IMPAIRED])?;
    lab.send("client", "server", 100, count, 100_000)?;
    lab.settle(0.5)?;
    arrivals(&capture.stop()?, IMPAIRED)
}

fn loss() -> Finding {
    let mut shares = Vec::new();
    for p in [0.01, 0.3] {
        let lab = Lab::wire(11)?;
        let seen = through(&lab, LinkChange { loss: Some(p), ..Default::default() }, COUNT)?;
        let lost = COUNT - seen.len() as u64;
        ensure!(plausible(lost, COUNT, p), "{lost} of {COUNT} packets were lost with probability {p}");
        ensure!(lab.dropped(IMPAIRED)? == lost, "{} drops counted, {lost} lost", lab.dropped(IMPAIRED)?);
        shares.push(format!("{:.2} %", lost as f64 * 100.0 / COUNT as f64));
    }
    Ok(format!("{} instead of 1 and 30 %", shares.join(" and ")))
}

fn bursts_of_loss() -> Finding {
    let model = GilbertElliott { p: 0.01, r: 0.2, loss_bad: 1.0, loss_good: 0.0 };
    let lab = Lab::wire(11)?;
    let change = LinkChange { gilbert_elliott: Some(Some(model)), ..Default::default() };
    let seen = through(&lab, change, COUNT)?;
    let mut runs = Vec::new();
    for pair in seen.windows(2) {
        let gap = pair[1].number - pair[0].number - 1;
        if gap > 0 {
            runs.push(gap);
        }
    }
    // Good and bad stretches last 1/p = 100 and 1/r = 5 packets on average, each geometrically distributed.
    let lost = COUNT - seen.len() as u64;
    let mean_run = runs.iter().sum::<u64>() as f64 / runs.len() as f64;
    let share = lost as f64 / COUNT as f64;
    ensure!((mean_run - 5.0).abs() < 1.6, "bursts have {mean_run} packets on average, expected 5");
    ensure!((share - 5.0 / 105.0).abs() < 0.02, "{share} of the packets were lost, expected {}", 5.0 / 105.0);
    lab.change(IMPAIRED, LinkChange { gilbert_elliott: Some(None), ..Default::default() })?;
    let clean = through(&lab, LinkChange { loss: Some(0.0), ..Default::default() }, 1000)?;
    ensure!(clean.len() == 1000, "{} of 1000 packets arrived after the model was taken off", clean.len());
    Ok(format!("{} bursts of {mean_run:.1} packets on average, {:.1} % lost", runs.len(), share * 100.0))
}

fn duplication() -> Finding {
    let lab = Lab::wire(11)?;
    let seen = through(&lab, LinkChange { duplicate: Some(0.1), ..Default::default() }, COUNT)?;
    let extra = seen.len() as u64 - COUNT;
    ensure!(plausible(extra, COUNT, 0.1), "{extra} of {COUNT} packets were doubled with probability 0.1");
    Ok(format!("{extra} of {COUNT} doubled"))
}

fn corruption() -> Finding {
    let lab = Lab::wire(11)?;
    lab.change(IMPAIRED, LinkChange { corrupt: Some(0.2), ..Default::default() })?;
    let taps = vec![BEFORE.to_owned(), IMPAIRED.to_owned()];
    let options = CaptureOptions { taps: taps.clone(), keep: taps, snap: Snap::Full, ..Default::default() };
    let capture = Capture::start(&lab.network, lab.clock, &options)?;
    lab.send("client", "server", 1476, 2000, 1_000_000)?;
    lab.settle(0.5)?;
    let captured = capture.stop()?;
    let payload = |tap: &str| -> Outcome<Vec<Vec<u8>>> {
        let records = captured.records(tap).ok_or("not kept")?;
        // Beyond the UDP checksum and the number, which the sender fills in differently for each packet.
        Ok(records.iter().map(|p| p.data.get(36..).unwrap_or_default().to_vec()).collect())
    };
    // A bit inverted in the Ethernet header may keep a packet from arriving as IP at all.
    let changed = payload(IMPAIRED)?.iter().filter(|data| data.iter().any(|&byte| byte != 0)).count() as u64;
    ensure!(
        payload(BEFORE)?.iter().all(|data| data.iter().all(|&byte| byte == 0)),
        "changed before the link"
    );
    let expected = 0.2 * 1440.0 / 1490.0;
    ensure!(
        plausible(changed, 2000, expected),
        "{changed} of 2000 packets have a bit inverted in their payload"
    );
    Ok(format!("{changed} of 2000 payloads have a bit inverted"))
}

fn down_and_up() -> Finding {
    let lab = Lab::wire(11)?;
    let delayed = LinkChange { delay_s: Some(0.05), loss: Some(0.0), ..Default::default() };
    ensure!(through(&lab, delayed, 100)?.len() == 100, "the link was not up at first");
    let up = |up| LinkChange { up: Some(up), ..Default::default() };
    let model = GilbertElliott { p: 0.01, r: 0.2, loss_bad: 0.1, loss_good: 0.0 };
    let while_down = LinkChange { gilbert_elliott: Some(Some(model)), ..up(false) };
    let seen = through(&lab, while_down, 1000)?;
    ensure!(seen.is_empty(), "{} packets came through while the link was down", seen.len());
    lab.change(IMPAIRED, LinkChange { gilbert_elliott: Some(None), ..Default::default() })?;
    ensure!(through(&lab, up(true), 100)?.len() == 100, "the link did not come back");
    Ok("nothing passes while down, everything after".into())
}

fn seed_decides() -> Finding {
    let lost_with = |seed| -> Outcome<Vec<u64>> {
        let lab = Lab::wire(seed)?;
        let mut seen = through(&lab, LinkChange { loss: Some(0.1), ..Default::default() }, 500)?;
        // A change must not start the generator again.
        seen.extend(through(&lab, LinkChange { delay_s: Some(0.001), ..Default::default() }, 500)?);
        Ok(seen.iter().map(|a| a.number).collect())
    };
    let (a, again, b) = (lost_with(5)?, lost_with(5)?, lost_with(6)?);
    ensure!(a == again, "the same seed lost other packets");
    ensure!(a != b, "another seed lost the same packets");
    let second = a.iter().skip(1).position(|&number| number < 100).unwrap_or(0);
    let start_of_second = a.windows(2).position(|pair| pair[1] < pair[0]).map_or(second, |i| i + 1);
    ensure!(a[..start_of_second] != a[start_of_second..], "a change started the generator again");
    Ok(format!("{} of 1000 arrive with seed 5, {} with seed 6", a.len(), b.len()))
}
