//! Packet capture: every IP packet that arrives over chosen link directions, with the instant of its arrival.
//!
//! Each tap is a ring of packets in memory that the kernel fills by itself; a thread empties all rings a few
//! times per virtual second, as long as packets come, into one file ([`Records`] has its format) and, for taps that
//! are wanted so, into memory. No system call is made per packet.

pub(crate) mod checksum;
mod memory;
mod record;
mod ring;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
pub use record::{Packet, Records, Snap};
use ring::{Arrived, Purpose, Ring};

use crate::background::Background;
use crate::clock::{Woken, seconds_to_ns};
use crate::error::Attempt;
use crate::{Error, Network, RunClock};

/// What to capture and where to put it.
#[derive(Debug, Clone, Default)]
pub struct CaptureOptions {
    /// Link directions, `a>b`; a tap's number is its place in this list.
    pub taps: Vec<String>,
    /// How much of each packet is kept.
    pub snap: Snap,
    /// Where the packets of all taps go (`packets.bin`); none to write no file.
    pub file: Option<PathBuf>,
    /// Those of `taps` whose packets are also handed back by [`Capture::stop`].
    pub keep: Vec<String>,
    /// Of the packets that are handed back, leave out what the kernel of the node where they arrive throws away as
    /// damaged: for networks with links that corrupt packets.
    pub only_intact: bool,
    /// Virtual seconds between two emptyings of the rings; none for [`DRAIN_INTERVAL_S`]. A ring holds about
    /// 5,000 packets with [`Snap::Headers`] and 2,500 with [`Snap::Full`]; what arrives beyond that in one
    /// interval is missed, and counted.
    pub drain_interval_s: Option<f64>,
}

/// The usual time between two emptyings of the rings, in virtual seconds.
pub const DRAIN_INTERVAL_S: f64 = 0.25;

/// Emptyings in a row that found nothing, after which the next packet is waited for: a minute's. Silence in space lasts
/// days, which are too many to wake up in four times a second.
const EMPTY_DRAINS: u32 = 240;

/// A capture that is running.
pub struct Capture {
    collector: Background<Result<Captured, Error>>,
}

/// What a capture has found.
#[derive(Debug)]
pub struct Captured {
    /// One for each tap, in order.
    pub taps: Vec<TapCounters>,
    kept: BTreeMap<String, Records>,
}

/// Counts of one tap.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TapCounters {
    /// The tap's number.
    pub tap: u16,
    /// Link direction, `a>b`.
    pub link: String,
    /// Packets written down.
    pub captured_packets: u64,
    /// Packets that arrived while the ring was full.
    pub missed_packets: u64,
}

impl Capture {
    /// Opens all taps; packets are captured from the moment when this returns.
    ///
    /// # Errors
    /// [`Error::Spec`] if a tap is not a link direction or there twice, or a kept one is no tap;
    /// [`Error::System`] if the kernel refuses a ring or the file cannot be made.
    pub fn start(network: &Network, clock: RunClock, options: &CaptureOptions) -> Result<Self, Error> {
        check(options)?;
        let mut taps = Vec::with_capacity(options.taps.len());
        for (number, link) in options.taps.iter().enumerate() {
            let (node, interface, passing) = network.tap_point(link)?;
            let what = || format!("cannot capture on link \"{link}\"");
            let keep = options.keep.contains(link);
            let only_intact = keep && options.only_intact;
            let purpose = if only_intact {
                Purpose::Judge { snap: options.snap, packet_bytes: network.mtu_bytes(link)? }
            } else {
                Purpose::Keep(options.snap)
            };
            let ring = node.namespace().enter(|| Ring::open(interface, passing, purpose))?.attempt(what)?;
            let kept = keep.then(|| Records::new(options.snap));
            let counters = TapCounters {
                tap: number as u16,
                link: link.clone(),
                captured_packets: 0,
                missed_packets: 0,
            };
            taps.push(Tap { ring, counters, kept, only_intact, last_ns: i64::MIN });
        }
        let output = options.file.clone().map(Output::create).transpose()?;
        let mut collection = Collection { clock, snap: options.snap, taps, output };
        let interval_ns = seconds_to_ns(options.drain_interval_s.unwrap_or(DRAIN_INTERVAL_S));
        let collector = Background::start("capture", move |alarm| {
            let mut next_ns = clock.now_ns()?;
            let mut empty_drains = 0;
            loop {
                next_ns += interval_ns;
                let woken = alarm.sleep_until(&clock, next_ns)?;
                let arrived = collection.drain()?;
                if woken == Woken::Called {
                    return collection.finish();
                }
                empty_drains = if arrived { 0 } else { empty_drains + 1 };
                if empty_drains >= EMPTY_DRAINS {
                    alarm.sleep_until_any_readable(collection.taps.iter().map(|tap| tap.ring.fd()))?;
                    // On in the same rhythm.
                    next_ns += (clock.now_ns()? - next_ns) / interval_ns * interval_ns;
                    empty_drains = 0;
                }
            }
        })?;
        Ok(Capture { collector })
    }

    /// Ends the capture with everything that has arrived so far, and completes the file.
    ///
    /// # Errors
    /// [`Error::System`] if the file could not be written.
    pub fn stop(mut self) -> Result<Captured, Error> {
        let nothing = || Ok(Captured { taps: Vec::new(), kept: BTreeMap::new() });
        self.collector.stop()?.unwrap_or_else(nothing)
    }
}

impl Captured {
    /// The packets of a tap that was to be kept, in the order of their arrival; with [`CaptureOptions::only_intact`]
    /// those that the kernel kept.
    pub fn records(&self, link: &str) -> Option<&Records> {
        self.kept.get(link)
    }
}

fn check(options: &CaptureOptions) -> Result<(), Error> {
    if let Some(twice) = options.taps.iter().enumerate().find(|(i, tap)| options.taps[..*i].contains(tap)) {
        return Err(Error::Spec(format!("taps: link \"{}\" is there twice", twice.1)));
    }
    if let Some(stranger) = options.keep.iter().find(|link| !options.taps.contains(link)) {
        return Err(Error::Spec(format!("taps: link \"{stranger}\" is to be kept but not among the taps")));
    }
    if let Some(interval_s) = options.drain_interval_s
        && !(interval_s.is_finite() && interval_s > 0.0)
    {
        return Err(Error::Spec(format!("drain_interval_s is {interval_s}; it must be more than 0")));
    }
    Ok(())
}

struct Tap {
    ring: Ring,
    counters: TapCounters,
    kept: Option<Records>,
    only_intact: bool,
    last_ns: i64,
}

struct Collection {
    clock: RunClock,
    snap: Snap,
    taps: Vec<Tap>,
    output: Option<Output>,
}

impl Collection {
    /// Tells whether there was anything.
    fn drain(&mut self) -> Result<bool, Error> {
        let mut arrived_any = false;
        for tap in &mut self.taps {
            let number = tap.counters.tap;
            let mut failure = Ok(());
            tap.ring.drain(|arrived| {
                let Arrived { realtime_ns, length_bytes, data, .. } = *arrived;
                let t_ns = in_turn(self.clock.from_realtime_ns(realtime_ns), tap.last_ns);
                tap.last_ns = t_ns;
                arrived_any = true;
                tap.counters.captured_packets += 1;
                if let Some(kept) = &mut tap.kept
                    && (!tap.only_intact || is_intact(arrived))
                {
                    record::append(kept.tail(), self.snap, t_ns, number, length_bytes, data);
                }
                if let Some(output) = &mut self.output
                    && failure.is_ok()
                {
                    record::append(&mut output.buffer, self.snap, t_ns, number, length_bytes, data);
                    failure = output.write_if_full();
                }
            });
            failure?;
        }
        Ok(arrived_any)
    }

    fn finish(mut self) -> Result<Captured, Error> {
        if let Some(output) = &mut self.output {
            output.write()?;
        }
        let mut captured = Captured { taps: Vec::new(), kept: BTreeMap::new() };
        for mut tap in self.taps {
            tap.counters.missed_packets = tap
                .ring
                .missed_packets()
                .attempt(|| format!("cannot read the packet counters of link \"{}\"", tap.counters.link))?;
            if let Some(kept) = tap.kept {
                captured.kept.insert(tap.counters.link.clone(), kept);
            }
            captured.taps.push(tap.counters);
        }
        Ok(captured)
    }
}

/// By how much a stamp may lie before the one ahead of it because the two were taken at different places.
const STAMPED_APART_NS: i64 = 1_000_000;

/// When a packet of a tap arrived: not before the one ahead of it in the ring.
///
/// The kernel stamps a packet when it puts it in line for its receiver, but one that bears the instant of its departure
/// (segments of TCP do, a reset for which there is no socket does not) when its turn in that line comes, and meanwhile a
/// process may have read the clock. A stamp that is further back has another reason, and stays for the certificate.
fn in_turn(t_ns: i64, last_ns: i64) -> i64 {
    if last_ns.saturating_sub(STAMPED_APART_NS) <= t_ns { t_ns.max(last_ns) } else { t_ns }
}

/// Whether the kernel that a packet has reached goes on with it: it is addressed to this host (a link may have damaged
/// the Ethernet address too), and its checksums are right.
fn is_intact(arrived: &Arrived<'_>) -> bool {
    // Of a packet that is longer than a slot, as only links with an MTU near 64 KiB carry, nothing can be said.
    let whole = arrived.data.len() >= arrived.length_bytes as usize;
    arrived.for_this_host && (arrived.vouched_for || !whole || checksum::is_right(arrived.data))
}

/// The file, written in large pieces.
struct Output {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
}

/// Bytes collected before they are written: one system call for 8,192 packets.
const WRITE_BYTES: usize = 1 << 20;

impl Output {
    fn create(path: PathBuf) -> Result<Self, Error> {
        let file = File::create(&path).attempt(|| format!("cannot create {}", path.display()))?;
        Ok(Output { path, file, buffer: memory::vector(WRITE_BYTES + Snap::Full.record_bytes()) })
    }

    fn write_if_full(&mut self) -> Result<(), Error> {
        if self.buffer.len() < WRITE_BYTES { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<(), Error> {
        self.file
            .write_all(&self.buffer)
            .attempt(|| format!("cannot write packets to {}", self.path.display()))?;
        self.buffer.clear();
        self.forget_written()
    }

    /// Takes what is written out of the page cache, which would fill a guest's memory otherwise. Where that is full the
    /// kernel has no larger pages for what sockets send, and MPTCP, which counts what each piece costs, lets an
    /// application write less (`mptcp_sendmsg` in Linux' `net/mptcp/protocol.c`).
    fn forget_written(&self) -> Result<(), Error> {
        posix_fadvise(&self.file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)
            .attempt(|| format!("cannot take {} out of memory", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_that_was_taken_at_another_place_keeps_its_turn_and_a_wrong_one_stays() {
        assert_eq!(in_turn(7, i64::MIN), 7);
        assert_eq!(in_turn(8_112_000_000, 8_110_761_472), 8_112_000_000);
        assert_eq!(in_turn(8_112_000_000, 8_112_000_512), 8_112_000_512);
        assert_eq!(in_turn(7_112_000_512, 8_112_000_512), 7_112_000_512);
    }
}
