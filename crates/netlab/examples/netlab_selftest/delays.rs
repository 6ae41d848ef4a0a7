//! Delay, jitter, order, and changes of them.

use std::collections::HashMap;
use std::sync::Arc;

use netlab::{FairQueue, HostQueue, LinkChange, Timeline};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

use crate::check::{Check, Finding, ensure};
use crate::traffic::{Arrival, Lab, Outcome, UDP_IPV4_BYTES, arrivals};

pub const CHECKS: &[Check] = &[
    ("netem delay is exact", delay_is_exact),
    ("netem jitter keeps the order", jitter_keeps_the_order),
    ("netem jitter reorders when asked to", jitter_reorders_when_asked),
    ("netem falling delay keeps the order", falling_delay_keeps_the_order),
    ("netem change keeps what is under way", change_keeps_what_is_under_way),
    ("timeline is punctual", timeline_is_punctual),
    ("fq keeps release times", fq_keeps_release_times),
];

const BEFORE: &str = "west>mid";
const DELAYED: &str = "mid>east";

/// A guest's clock moves in steps of 256 ns, its timers need 500 ns, and a packet's two stamps are readings
/// of it.
const TOLERANCE_NS: i64 = 1000;

fn delay(seconds: f64) -> LinkChange {
    LinkChange { delay_s: Some(seconds), ..Default::default() }
}

/// Number and delay of each packet between the two taps, in the order of arrival.
fn delays(before: &[Arrival], after: &[Arrival]) -> Outcome<Vec<(u64, i64)>> {
    let entered: HashMap<u64, i64> = before.iter().map(|a| (a.number, a.t_ns)).collect();
    after
        .iter()
        .map(|a| {
            let entered_ns =
                entered.get(&a.number).ok_or_else(|| format!("packet {} fell from the sky", a.number))?;
            Ok((a.number, a.t_ns - entered_ns))
        })
        .collect()
}

/// Sends `count` packets a millisecond apart over the delayed link and returns their delays; `meanwhile` runs
/// before the capture ends.
fn measured(lab: &Lab, count: u64) -> Outcome<Vec<(u64, i64)>> {
    let capture = lab.capture(&[BEFORE, DELAYED])?;
    lab.send("client", "server", 1476, count, 1_000_000)?;
    lab.settle(1.0)?;
    let captured = capture.stop()?;
    delays(&arrivals(&captured, BEFORE)?, &arrivals(&captured, DELAYED)?)
}

fn delay_is_exact() -> Finding {
    let mut worst_ns = 0;
    for delay_s in [0.0, 0.000_1, 0.025, 0.150_000_256] {
        let lab = Lab::wire(1)?;
        lab.change(DELAYED, delay(delay_s))?;
        let seen = measured(&lab, 200)?;
        ensure!(seen.len() == 200, "{} of 200 packets arrived", seen.len());
        for (number, got_ns) in seen {
            let error_ns = got_ns - (delay_s * 1e9).round() as i64;
            ensure!(
                error_ns.abs() <= TOLERANCE_NS,
                "packet {number} took {got_ns} ns instead of {delay_s} s"
            );
            worst_ns = worst_ns.max(error_ns.abs());
        }
    }
    Ok(format!("at most {worst_ns} ns off"))
}

fn jittered(reorder: bool) -> Outcome<Vec<(u64, i64)>> {
    let lab = Lab::wire(1)?;
    let change = LinkChange { jitter_s: Some(0.005), reorder: Some(reorder), ..delay(0.020) };
    lab.change(DELAYED, change)?;
    measured(&lab, 2000)
}

fn jitter_keeps_the_order() -> Finding {
    let seen = jittered(false)?;
    ensure!(seen.len() == 2000, "{} of 2000 packets arrived", seen.len());
    ensure!(seen.is_sorted_by_key(|(number, _)| *number), "packets overtook each other");
    let (least_ns, most_ns) = extremes(&seen);
    ensure!(least_ns >= 15_000_000 - TOLERANCE_NS, "one took only {least_ns} ns");
    ensure!(most_ns <= 25_000_000 + TOLERANCE_NS, "one took {most_ns} ns");
    ensure!(most_ns - least_ns > 3_000_000, "the delay only varied from {least_ns} to {most_ns} ns");
    Ok(format!("{:.3} to {:.3} ms", least_ns as f64 / 1e6, most_ns as f64 / 1e6))
}

fn jitter_reorders_when_asked() -> Finding {
    let seen = jittered(true)?;
    ensure!(seen.len() == 2000, "{} of 2000 packets arrived", seen.len());
    let overtaken = seen.windows(2).filter(|pair| pair[0].0 > pair[1].0).count();
    ensure!(overtaken > 200, "only {overtaken} packets were overtaken");
    let (least_ns, most_ns) = extremes(&seen);
    let fastest = 15_000_000 - TOLERANCE_NS..15_100_000;
    let slowest = 24_900_000..=25_000_000 + TOLERANCE_NS;
    ensure!(fastest.contains(&least_ns), "the fastest took {least_ns} ns");
    ensure!(slowest.contains(&most_ns), "the slowest took {most_ns} ns");
    let mean_ms = seen.iter().map(|(_, ns)| *ns as f64).sum::<f64>() / 2e9;
    // Uniform over 10 ms: standard deviation 2.89 ms, of a mean of 2000 0.065 ms.
    ensure!((mean_ms - 20.0).abs() < 0.33, "the mean delay is {mean_ms} ms");
    Ok(format!("{overtaken} of 2000 overtaken, mean {mean_ms:.2} ms"))
}

fn extremes(seen: &[(u64, i64)]) -> (i64, i64) {
    seen.iter().fold((i64::MAX, i64::MIN), |(least, most), (_, ns)| (least.min(*ns), most.max(*ns)))
}

fn falling_delay_keeps_the_order() -> Finding {
    let lab = Lab::wire(1)?;
    lab.change(DELAYED, delay(0.050))?;
    let fall_s = lab.clock.now_ns()? as f64 / 1e9 + 0.1;
    let fall = LinkChange { at_s: fall_s, link: DELAYED.into(), ..delay(0.010) };
    let player = Timeline::start(Arc::clone(&lab.network), lab.clock, vec![fall], Vec::new())?;
    let capture = lab.capture(&[BEFORE, DELAYED])?;
    lab.send("client", "server", 1476, 300, 1_000_000)?;
    lab.settle(1.0)?;
    player.stop()?;
    let captured = capture.stop()?;
    let (before, after) = (arrivals(&captured, BEFORE)?, arrivals(&captured, DELAYED)?);
    ensure!(after.len() == 300, "{} of 300 packets arrived", after.len());
    let mut last_ns = i64::MIN;
    let mut held = 0;
    for (entered, left) in before.iter().zip(&after) {
        ensure!(entered.number == left.number, "packet {} overtook {}", left.number, entered.number);
        let own_ns =
            entered.t_ns + if (entered.t_ns as f64) < fall_s * 1e9 { 50_000_000 } else { 10_000_000 };
        let due_ns = own_ns.max(last_ns);
        held += u32::from(due_ns > own_ns);
        let error_ns = left.t_ns - due_ns;
        ensure!(error_ns.abs() <= TOLERANCE_NS, "packet {} left {error_ns} ns off its time", left.number);
        last_ns = left.t_ns;
    }
    ensure!(held > 20, "only {held} packets had to wait for slower ones before them");
    Ok(format!("{held} packets waited for the slower ones before them, none longer than needed"))
}

fn change_keeps_what_is_under_way() -> Finding {
    let lab = Lab::wire(1)?;
    lab.change(DELAYED, delay(0.200))?;
    let capture = lab.capture(&[BEFORE, DELAYED])?;
    lab.send("client", "server", 1476, 100, 1_000_000)?;
    lab.change(DELAYED, LinkChange { loss: Some(1.0), limit_packets: Some(10), ..delay(0.001) })?;
    lab.settle(1.0)?;
    let captured = capture.stop()?;
    let seen = delays(&arrivals(&captured, BEFORE)?, &arrivals(&captured, DELAYED)?)?;
    ensure!(seen.len() == 100, "{} of the 100 packets under way arrived", seen.len());
    let wrong = seen.iter().find(|(_, ns)| (ns - 200_000_000).abs() > TOLERANCE_NS);
    ensure!(wrong.is_none(), "packet and delay in ns {wrong:?} instead of 0.2 s");
    ensure!(lab.dropped(DELAYED)? == 0, "{} packets were dropped", lab.dropped(DELAYED)?);
    Ok("100 packets kept their delay".into())
}

fn timeline_is_punctual() -> Finding {
    let lab = Lab::wire(1)?;
    let entries: Vec<LinkChange> = (0..200)
        .map(|i| {
            let at_s = f64::from(i) * 0.013_7;
            LinkChange { at_s, link: DELAYED.into(), ..delay(f64::from(i % 7) * 0.001) }
        })
        .collect();
    let player = Timeline::start(Arc::clone(&lab.network), lab.clock, entries.clone(), Vec::new())?;
    lab.settle(5.0)?;
    let made = player.stop()?.links;
    ensure!(made.len() == 200, "{} of 200 changes were made", made.len());
    let mut worst_s: f64 = 0.0;
    // The entry at zero is made when the timeline starts, a little after the clock.
    for (asked, got) in entries.iter().zip(&made).skip(1) {
        ensure!(asked.delay_s == got.delay_s, "a change was mixed up");
        worst_s = worst_s.max((got.at_s - asked.at_s).abs());
    }
    ensure!(worst_s < 2e-6, "a change came {worst_s} s off its time");
    Ok(format!("at most {:.0} ns late", worst_s * 1e9))
}

fn fq_keeps_release_times() -> Finding {
    let lab = Lab::wire(1)?;
    lab.network.set_host_queue("client", HostQueue::Fq(FairQueue::default()), &[])?;
    let socket = lab.socket("client", "server")?;
    let setting = libc::sock_txtime { clockid: libc::CLOCK_MONOTONIC, flags: 0 };
    nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::TxTime, &setting)?;
    nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::SndBuf, &(8 << 20))?;
    let capture = lab.capture(&["client>west"])?;
    let start_ns = lab.clock.now_ns()? + 1_000_000;
    let due_ns = |number: u64| start_ns + number as i64 * 2_227_692;
    let payload_bytes = 1476 - UDP_IPV4_BYTES;
    // As many as one socket may have queued with the stock limit of its buffer.
    let count: u64 = 60;
    for number in 0..count {
        let mut payload = vec![0; payload_bytes];
        payload[..8].copy_from_slice(&number.to_le_bytes());
        let release_ns = lab.clock.to_monotonic_ns(due_ns(number)) as u64;
        let control = [ControlMessage::TxTime(&release_ns)];
        let parts = [std::io::IoSlice::new(&payload)];
        let fd = std::os::fd::AsRawFd::as_raw_fd(&socket);
        sendmsg::<()>(fd, &parts, &control, MsgFlags::MSG_DONTWAIT, None)?;
    }
    lab.settle(1.0)?;
    let seen = arrivals(&capture.stop()?, "client>west")?;
    ensure!(seen.len() == count as usize, "{} of {count} datagrams were released", seen.len());
    let worst_ns = seen.iter().map(|a| (a.t_ns - due_ns(a.number)).abs()).max().unwrap_or(0);
    ensure!(worst_ns <= TOLERANCE_NS, "one was released {worst_ns} ns off its time");
    Ok(format!("at most {worst_ns} ns off"))
}
