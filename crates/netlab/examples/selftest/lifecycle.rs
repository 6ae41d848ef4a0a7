//! Networks follow one another: each is new, and nothing of the old ones stays.

use std::fs;

use netlab::{BuildOptions, LinkChange, Network, NetworkSpec};

use crate::paths::transfer;
use crate::traffic::{Lab, Outcome};
use crate::{Check, Finding, ensure};

pub const CHECKS: &[Check] = &[
    ("networks are gone after drop", networks_are_gone_after_drop),
    ("networks side by side do not meet", networks_do_not_meet),
    ("a fresh network has no old queue", fresh_network_has_no_old_queue),
    ("changes that make no sense are refused", bad_changes_are_refused),
];

fn free_kilobytes() -> Outcome<i64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find(|l| l.starts_with("MemFree:")).ok_or("no MemFree")?;
    Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
}

fn networks_are_gone_after_drop() -> Finding {
    fs::write("/proc/sys/user/max_net_namespaces", "30")?;
    let mut before = 0;
    // The first ones fill the kernel's caches.
    for round in 0..40 {
        if round == 10 {
            before = free_kilobytes()?;
        }
        if round % 10 == 0 { println!("{round} {}", fs::read_to_string("/proc/meminfo")?.lines().filter(|l| ["MemFree","Slab","SUnreclaim","AnonPages","KernelStack","PageTables","Percpu","Cached","VmallocUsed"].iter().any(|k| l.starts_with(k))).collect::<Vec<_>>().join(" | ")); }
        let lab = Lab::new(&NetworkSpec::preset("rail-d34"), round)?;
        lab.change("rasa>ra", LinkChange { rate_bps: Some(Some(1e7)), ..Default::default() })?;
        transfer(&lab.network, "tc1", "tsb1", 20_000)?;
        drop(lab);
        // The kernel takes namespaces down in the background.
        std::thread::sleep(std::time::Duration::from_secs(400));
    }
    let lost = before - free_kilobytes()?;
    // Thirty networks of fourteen namespaces, each of which takes about 100 kB and more.
    ensure!(lost < 10_000, "thirty networks later {lost} kB of memory are gone");
    Ok(format!("{lost} kB of memory fewer after thirty networks"))
}

fn networks_do_not_meet() -> Finding {
    let (one, other) = (Lab::wire(1)?, Lab::wire(2)?);
    one.change("mid>east", LinkChange { loss: Some(1.0), ..Default::default() })?;
    transfer(&other.network, "client", "server", 50_000)?;
    ensure!(one.network.link_counters()?.len() == 1, "counters of the other network");
    ensure!(one.dropped("mid>east")? == 0, "packets of one network went into the other");
    Ok("the same names and addresses twice".into())
}

fn fresh_network_has_no_old_queue() -> Finding {
    let first = Lab::wire(1)?;
    first.change("west>mid", LinkChange { rate_bps: Some(Some(1e5)), ..Default::default() })?;
    first.send("client", "server", 1476, 100, 0)?;
    drop(first);
    let second = Lab::wire(1)?;
    let capture = second.capture(&["west>mid"])?;
    second.settle(2.0)?;
    ensure!(second.network.link_counters()?.is_empty(), "a new network has queueing disciplines");
    let captured = capture.stop()?;
    ensure!(captured.taps[0].captured_packets == 0, "{} packets out of nowhere", captured.taps[0].captured_packets);
    Ok("not one packet for two seconds".into())
}

fn bad_changes_are_refused() -> Finding {
    let network = Network::build(&NetworkSpec::preset("wire"), &BuildOptions::default())?;
    network.apply(&LinkChange { link: "west>mid".into(), rate_bps: Some(Some(1e6)), ..Default::default() })?;
    let refused = [
        LinkChange { link: "west>mid".into(), delay_s: Some(0.1), ..Default::default() },
        LinkChange { link: "west>mid".into(), rate_bps: Some(Some(-1.0)), ..Default::default() },
        LinkChange { link: "west>east".into(), delay_s: Some(0.1), ..Default::default() },
        LinkChange { link: "mid>east".into(), loss: Some(1.5), ..Default::default() },
    ];
    for change in refused {
        match network.apply(&change) {
            Ok(()) => return Err(format!("{change:?} was taken").into()),
            Err(e) => ensure!(e.is_users_mistake(), "{change:?}: {e}"),
        }
    }
    Ok("four of four".into())
}
