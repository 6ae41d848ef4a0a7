//! A laboratory for one check: a network, numbered datagrams over it, and what the taps saw of them.

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};

use netlab::{
    BuildOptions, Capture, CaptureOptions, Captured, LinkChange, Network, NetworkSpec, Records, RunClock,
    Snap,
};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// IP and UDP header of a datagram over IPv4.
pub const UDP_IPV4_BYTES: usize = 28;

const PORT: u16 = 7000;

pub struct Lab {
    pub network: Arc<Network>,
    pub clock: RunClock,
    receivers: Mutex<Vec<UdpSocket>>,
}

impl Lab {
    pub fn new(spec: &NetworkSpec, seed: u64) -> Outcome<Self> {
        nix::sys::prctl::set_timerslack(1)?;
        let network = Network::build(spec, &BuildOptions { seed, ..Default::default() })?;
        Ok(Lab { network: Arc::new(network), clock: RunClock::start()?, receivers: Mutex::default() })
    }

    pub fn wire(seed: u64) -> Outcome<Self> {
        Lab::new(&NetworkSpec::preset("wire"), seed)
    }

    pub fn change(&self, link: &str, change: LinkChange) -> Outcome<()> {
        Ok(self.network.apply(&LinkChange { link: link.into(), ..change })?)
    }

    /// Captures in memory on all of `taps`.
    pub fn capture(&self, taps: &[&str]) -> Outcome<Capture> {
        let taps: Vec<String> = taps.iter().map(|tap| (*tap).to_owned()).collect();
        let options =
            CaptureOptions { taps: taps.clone(), keep: taps, snap: Snap::Headers, ..Default::default() };
        Ok(Capture::start(&self.network, self.clock, &options)?)
    }

    /// Sends `count` numbered datagrams of `ip_bytes` (their length on the wire), one each `interval_ns`.
    pub fn send(&self, from: &str, to: &str, ip_bytes: usize, count: u64, interval_ns: i64) -> Outcome<()> {
        // On a round instant, whatever was done before.
        let start_ns = (self.clock.now_ns()? / 10_000_000 + 2) * 10_000_000;
        let socket = self.socket(from, to)?;
        let mut payload = vec![0; ip_bytes - UDP_IPV4_BYTES];
        for number in 0..count {
            if interval_ns > 0 || number == 0 {
                self.sleep_until(start_ns + number as i64 * interval_ns)?;
            }
            payload[..8].copy_from_slice(&number.to_le_bytes());
            socket.send(&payload)?;
        }
        Ok(())
    }

    /// A datagram socket in `from`, connected to a port of `to`. There a socket takes datagrams, which nobody
    /// reads, so that no ICMP answers them.
    pub fn socket(&self, from: &str, to: &str) -> Outcome<UdpSocket> {
        let to = self.network.node(to)?;
        let address = SocketAddr::new(to.address().ok_or("the receiver has no address")?, PORT);
        let mut receivers = self.receivers.lock().map_err(|_| "a check panicked")?;
        if receivers.iter().all(|known| known.local_addr().ok() != Some(address)) {
            receivers.push(to.enter(|| UdpSocket::bind(address))?);
        }
        Ok(self.network.node(from)?.enter(|| {
            let socket = UdpSocket::bind(("0.0.0.0", 0))?;
            socket.connect(address)?;
            Ok::<_, std::io::Error>(socket)
        })?)
    }

    pub fn sleep_until(&self, run_ns: i64) -> Outcome<()> {
        let at_ns = self.clock.to_monotonic_ns(run_ns);
        let at = TimeSpec::new(at_ns / 1_000_000_000, at_ns % 1_000_000_000);
        clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &at)?;
        Ok(())
    }

    /// Waits until everything sent has arrived.
    pub fn settle(&self, seconds: f64) -> Outcome<()> {
        self.sleep_until(self.clock.now_ns()? + (seconds * 1e9) as i64)
    }

    pub fn dropped(&self, link: &str) -> Outcome<u64> {
        let counters = self.network.link_counters()?;
        Ok(counters.iter().find(|c| c.link == link).ok_or("the link has no counters")?.dropped_packets)
    }
}

/// A numbered datagram at a tap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    pub t_ns: i64,
    pub number: u64,
    pub ip_bytes: u32,
}

/// The numbered datagrams that a tap saw, in the order of their arrival; a GRE header around them is looked
/// through.
pub fn arrivals(captured: &Captured, tap: &str) -> Outcome<Vec<Arrival>> {
    Ok(numbered(captured.records(tap).ok_or_else(|| format!("{tap} was not kept"))?))
}

pub fn numbered(records: &Records) -> Vec<Arrival> {
    let arrival = |packet: netlab::Packet<'_>| {
        let number = datagram_number(packet.data)?;
        Some(Arrival { t_ns: packet.t_ns, number, ip_bytes: packet.length_bytes })
    };
    records.iter().filter_map(arrival).collect()
}

fn datagram_number(ip: &[u8]) -> Option<u64> {
    const GRE: u8 = 47;
    const UDP: u8 = 17;
    let (header_bytes, protocol) = match ip.first()? >> 4 {
        4 => (usize::from(ip[0] & 15) * 4, ip.get(9)?),
        _ => (40, ip.get(6)?),
    };
    match *protocol {
        GRE => datagram_number(ip.get(header_bytes + 4..)?),
        UDP => {
            let payload = ip.get(header_bytes + 8..)?;
            Some(u64::from_le_bytes(*payload.first_chunk()?))
        }
        _ => None,
    }
}

/// True if `count` of `trials` with probability `p` lies within five standard deviations of its mean, which
/// chance alone misses once in two million times.
pub fn plausible(count: u64, trials: u64, p: f64) -> bool {
    let mean = trials as f64 * p;
    (count as f64 - mean).abs() <= 5.0 * (mean * (1.0 - p)).sqrt()
}
