//! How fast a network runs: bulk TCP over a preset, in virtual seconds a wall second.
//!
//! Runs as the first process of a guest. Arguments (after `--` on the kernel's command line): `PRESET FROM TO
//! CONGESTION_CONTROL MEGABYTES CAPTURE`, where CAPTURE is `none`, `keep` (only at the receiver, in memory)
//! or `file` (all taps, into /tmp). The wall time is that of the whole boot: measure it from outside.

#[path = "../common/mod.rs"]
mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use netlab::{BuildOptions, Capture, CaptureOptions, LinkChange, Network, NetworkSpec, RunClock, Timeline};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// 5.2 Mbit/s and 25 ms each way, as in D3.4's constant channel.
const RATE_BPS: f64 = 5.2e6;
const DELAY_S: f64 = 0.025;

fn main() {
    common::run_as_first_process(measure);
}

fn measure() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // User-Mode Linux appends a "console=" of its own.
    let [preset, from, to, congestion_control, megabytes, capture, ..] = arguments.as_slice() else {
        return Err("give PRESET FROM TO CONGESTION_CONTROL MEGABYTES CAPTURE".into());
    };
    let bytes: usize = megabytes.parse::<usize>()? * 1_000_000;
    let sysctls = [
        ("net.ipv4.tcp_congestion_control", congestion_control.as_str()),
        ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
        ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ];
    let sysctls = sysctls.map(|(name, value)| (name.into(), value.into())).into();
    let network = Arc::new(Network::build(
        &NetworkSpec::preset(preset),
        &BuildOptions { seed: 1, sysctls, ..Default::default() },
    )?);
    let (rates, delays): (&[&str], &[&str]) = match preset.as_str() {
        "rail-d34" => (
            &["rasa>ra", "rbsb>rb", "rcsc>rc"],
            &["ra>rabc", "rabc>ra", "rabc>rb", "rb>rabc", "rabc>rc", "rc>rabc"],
        ),
        _ => (&["west>mid", "east>mid"], &["mid>east", "mid>west"]),
    };
    let rate = |link: &&str| LinkChange {
        link: (*link).into(),
        rate_bps: Some(Some(RATE_BPS)),
        ..Default::default()
    };
    let share = if preset == "rail-d34" { 2.0 } else { 1.0 };
    let delay = |link: &&str| LinkChange {
        link: (*link).into(),
        delay_s: Some(DELAY_S / share),
        ..Default::default()
    };
    let timeline: Vec<LinkChange> = rates.iter().map(rate).chain(delays.iter().map(delay)).collect();

    let clock = RunClock::start()?;
    let taps = network.topology().default_taps(&[(from, to)], &timeline)?;
    let options = match capture.as_str() {
        "none" => None,
        "keep" => {
            let last = network.path(from, to)?.pop().into_iter().collect::<Vec<_>>();
            Some(CaptureOptions { taps: last.clone(), keep: last, ..Default::default() })
        }
        _ => Some(CaptureOptions { taps, file: Some("/tmp/packets.bin".into()), ..Default::default() }),
    };
    let running = options.map(|options| Capture::start(&network, clock, &options)).transpose()?;
    let player = Timeline::start(Arc::clone(&network), clock, timeline, Vec::new())?;
    transfer(&network, from, to, bytes)?;
    let virtual_s = clock.now_ns()? as f64 / 1e9;
    player.stop()?;
    if let Some(running) = running {
        for tap in running.stop()?.taps {
            println!("{} captured {} missed {}", tap.link, tap.captured_packets, tap.missed_packets);
        }
    }
    for counters in network.link_counters()? {
        println!("{counters:?}");
    }
    println!(
        "{bytes} bytes in {virtual_s:.3} virtual seconds: {:.4} Mbit/s",
        bytes as f64 * 8e-6 / virtual_s
    );
    Ok(())
}

fn transfer(network: &Network, from: &str, to: &str, bytes: usize) -> Outcome<()> {
    let receiver = network.node(to)?;
    let address = SocketAddr::new(receiver.address().ok_or("the receiver has no address")?, 5000);
    let listener = receiver.enter(|| TcpListener::bind(address))?;
    let receiving = receiver.spawn("receiver", move || -> std::io::Result<usize> {
        let (mut stream, _) = listener.accept()?;
        // Sleep in the kernel until much has arrived: a wake-up costs far more than a packet.
        let mut buffer = vec![0; 1 << 20];
        set_low_water_mark(&stream, 1 << 18)?;
        let mut received = 0;
        loop {
            match stream.read(&mut buffer)? {
                0 => return Ok(received),
                n => received += n,
            }
        }
    })?;
    let mut stream = network.node(from)?.enter(|| TcpStream::connect(address))?;
    let chunk = vec![0x5a; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let n = left.min(chunk.len());
        stream.write_all(&chunk[..n])?;
        left -= n;
    }
    drop(stream);
    let received = receiving.join().map_err(|_| "the receiver panicked")??;
    if received == bytes { Ok(()) } else { Err(format!("{received} of {bytes} bytes arrived").into()) }
}

/// `SO_RCVLOWAT`: the receiver sleeps until so many bytes wait.
fn set_low_water_mark(stream: &TcpStream, bytes: libc::c_int) -> std::io::Result<()> {
    let length = size_of_val(&bytes) as libc::socklen_t;
    // SAFETY: the value and its length describe one int, which this option takes.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            (&raw const bytes).cast(),
            length,
        )
    };
    if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}
