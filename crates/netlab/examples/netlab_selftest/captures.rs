//! The capture itself: file and memory agree, nothing is missed silently, the same run gives the same bytes.

use std::fs;

use netlab::{Capture, CaptureOptions, LinkChange, Records, Snap};

use crate::check::{Check, Finding, ensure};
use crate::traffic::{Arrival, Lab, Outcome, numbered};

pub const CHECKS: &[Check] = &[
    ("capture file and memory agree", file_and_memory_agree),
    ("capture counts what it misses", missed_packets_are_counted),
    ("capture of the same seed is the same", same_seed_same_capture),
    ("capture stops at the last packet", nothing_is_left_behind),
    ("capture errors are sentences", errors_are_sentences),
];

const FILE: &str = "/tmp/packets.bin";

fn file_and_memory_agree() -> Finding {
    let mut sizes = Vec::new();
    for snap in [Snap::Headers, Snap::Full] {
        let lab = Lab::wire(1)?;
        let taps = vec!["client>west".to_owned(), "east>server".to_owned()];
        let options = CaptureOptions {
            taps: taps.clone(),
            keep: taps.clone(),
            snap,
            file: Some(FILE.into()),
            ..CaptureOptions::default()
        };
        let capture = Capture::start(&lab.network, lab.clock, &options)?;
        lab.send("client", "server", 1400, 20_000, 200_000)?;
        lab.settle(0.1)?;
        let captured = capture.stop()?;
        let file = Records::from_bytes(snap, fs::read(FILE)?);
        ensure!(file.len() == 40_000, "{} records in the file", file.len());
        for (number, tap) in taps.iter().enumerate() {
            let kept = captured.records(tap).ok_or("not kept")?;
            ensure!(kept.len() == 20_000, "{} records of {tap} in memory", kept.len());
            let of_tap = file.iter().filter(|p| usize::from(p.tap) == number);
            ensure!(of_tap.eq(kept.iter()), "the records of {tap} in the file are others than in memory");
        }
        ensure!(numbered(&file).iter().all(|a| a.ip_bytes == 1400), "a packet's length is wrong");
        sizes.push(fs::metadata(FILE)?.len().to_string());
    }
    fs::remove_file(FILE)?;
    Ok(format!("40000 packets, files of {} bytes", sizes.join(" and ")))
}

fn missed_packets_are_counted() -> Finding {
    let lab = Lab::wire(1)?;
    let taps = vec!["client>west".to_owned()];
    let options = CaptureOptions {
        taps: taps.clone(),
        keep: taps,
        drain_interval_s: Some(1000.0),
        ..Default::default()
    };
    let capture = Capture::start(&lab.network, lab.clock, &options)?;
    lab.send("client", "server", 100, 20_000, 0)?;
    let captured = capture.stop()?;
    let tap = &captured.taps[0];
    ensure!(tap.missed_packets > 0, "a ring that was never emptied took 20000 packets");
    ensure!(
        tap.captured_packets + tap.missed_packets == 20_000,
        "{} captured and {} missed",
        tap.captured_packets,
        tap.missed_packets
    );
    Ok(format!("{} captured, {} missed", tap.captured_packets, tap.missed_packets))
}

fn same_seed_same_capture() -> Finding {
    let run = |seed| -> Outcome<Vec<(u16, Arrival)>> {
        let lab = Lab::new(&netlab::NetworkSpec::preset("rail-d34"), seed)?;
        let rate =
            LinkChange { rate_bps: Some(Some(2e6)), queue_limit_bytes: Some(20_000), ..Default::default() };
        lab.change("rasa>ra", rate)?;
        let radio = LinkChange {
            delay_s: Some(0.03),
            jitter_s: Some(0.01),
            loss: Some(0.02),
            duplicate: Some(0.01),
            ..Default::default()
        };
        lab.change("ra>rabc", radio)?;
        let path = lab.network.path("tc1", "tsb1")?;
        let options = CaptureOptions { taps: path, file: Some(FILE.into()), ..Default::default() };
        let capture = Capture::start(&lab.network, lab.clock, &options)?;
        lab.send("tc1", "tsb1", 1476, 2000, 5_000_000)?;
        lab.settle(1.0)?;
        capture.stop()?;
        let bytes = fs::read(FILE)?;
        let taps = Records::from_bytes(Snap::Headers, bytes.clone());
        // All but the IP identification, which a kernel draws at random once per socket.
        let numbers = numbered(&taps);
        Ok(taps.iter().map(|p| p.tap).zip(numbers).collect())
    };
    let (a, again, b) = (run(42)?, run(42)?, run(43)?);
    ensure!(a.len() > 12_000, "only {} packets were captured", a.len());
    ensure!(
        a.len() == again.len(),
        "two runs with the same seed have {} and {} packets",
        a.len(),
        again.len()
    );
    for ((tap, x), (tap_again, y)) in a.iter().zip(&again) {
        // Work of the kernel's own may move the clock on by a step, so in the same boot only nearly the same
        // instant.
        ensure!(
            tap == tap_again && x.number == y.number && (x.t_ns - y.t_ns).abs() < 2000,
            "two runs with the same seed differ, first in {x:?} and {y:?}"
        );
    }
    ensure!(
        a.len() != b.len() || a.iter().zip(&b).any(|(x, y)| x.1.number != y.1.number),
        "another seed lost and doubled the same packets"
    );
    fs::remove_file(FILE)?;
    // To be compared between two boots, where it is the same to the nanosecond.
    let digest = a.iter().fold(0u64, |digest, (tap, arrival)| {
        [u64::from(*tap), arrival.t_ns as u64, arrival.number]
            .iter()
            .fold(digest, |digest, word| (digest ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(7))
    });
    Ok(format!("{} packets, digest {digest:016x}", a.len()))
}

fn nothing_is_left_behind() -> Finding {
    let lab = Lab::wire(1)?;
    let capture = lab.capture(&["client>west"])?;
    lab.send("client", "server", 100, 7, 0)?;
    let captured = capture.stop()?;
    let count = captured.records("client>west").map_or(0, Records::len);
    ensure!(count == 7, "{count} of 7 packets were captured when it stopped at once");
    Ok("7 of 7 packets without a wait".into())
}

fn errors_are_sentences() -> Finding {
    let lab = Lab::wire(1)?;
    let start = |taps: &[&str], file: Option<&str>| {
        let options = CaptureOptions {
            taps: taps.iter().map(|t| (*t).to_owned()).collect(),
            file: file.map(Into::into),
            ..Default::default()
        };
        Capture::start(&lab.network, lab.clock, &options).map(drop).map_err(|e| e.to_string())
    };
    for (taps, file, part) in [
        (&["client>moon"][..], None, "there is no node \"moon\""),
        (&["client>server"], None, "no link joins"),
        (&["client>west", "client>west"], None, "twice"),
        (&["client>west"], Some("/no/such/folder/packets.bin"), "/no/such/folder/packets.bin"),
    ] {
        let message = start(taps, file).err().unwrap_or_default();
        ensure!(message.contains(part), "{taps:?} {file:?}: \"{message}\"");
    }
    Ok("four of four".into())
}
