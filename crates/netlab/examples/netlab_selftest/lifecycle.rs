//! Networks follow one another: each is new, and nothing of the old ones stays.

use std::fs;
use std::thread;
use std::time::Duration;

use netlab::{BuildOptions, LinkChange, Network, NetworkSpec};

use crate::check::{Check, Finding, ensure};
use crate::paths::transfer;
use crate::traffic::Lab;

pub const CHECKS: &[Check] = &[
    ("networks are gone after drop", networks_are_gone_after_drop),
    ("networks side by side do not meet", networks_do_not_meet),
    ("a fresh network has no old queue", fresh_network_has_no_old_queue),
    ("changes that make no sense are refused", bad_changes_are_refused),
];

/// Sockets that are closing keep their namespace until they give up. In virtual time it costs nothing to let
/// them.
const CLOSING: Duration = Duration::from_secs(400);

fn networks_are_gone_after_drop() -> Finding {
    // Two networks' worth of fourteen namespaces, and the first one.
    const LIMIT: &str = "/proc/sys/user/max_net_namespaces";
    let stock = fs::read_to_string(LIMIT)?;
    thread::sleep(CLOSING);
    fs::write(LIMIT, "29")?;
    let rounds = (0..30).try_for_each(|round| {
        let lab = Lab::new(&NetworkSpec::preset("rail-d34"), round)?;
        lab.change("rasa>ra", LinkChange { rate_bps: Some(Some(1e7)), ..Default::default() })?;
        transfer(&lab.network, "tc1", "tsb1", 20_000)?;
        drop(lab);
        thread::sleep(CLOSING);
        Ok::<_, Box<dyn std::error::Error>>(())
    });
    fs::write(LIMIT, stock)?;
    rounds?;
    Ok("thirty networks, never more than two of them alive".into())
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
    ensure!(
        captured.taps[0].captured_packets == 0,
        "{} packets out of nowhere",
        captured.taps[0].captured_packets
    );
    Ok("not one packet for two seconds".into())
}

fn bad_changes_are_refused() -> Finding {
    let network = Network::build(&NetworkSpec::preset("wire"), &BuildOptions::default())?;
    network.apply(&LinkChange {
        link: "west>mid".into(),
        rate_bps: Some(Some(1e6)),
        ..Default::default()
    })?;
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
