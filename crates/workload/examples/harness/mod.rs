//! What the examples share: being the first process of a guest, and flows over one line between two hosts.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use netlab::{
    BuildOptions, Capture, CaptureOptions, FairQueue, HostQueue, LinkChange, Network, NetworkSpec, RunClock,
    Snap,
};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use serde_json::{Value, json};
use transports::{Clock, Context, DeliveryInstants};
use workload::{FlowReport, FlowSpec, Message, WireTap, join, prepare};

/// What goes wrong in an example ends it.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Whether time stands still while programs compute: whether this is a guest in virtual time.
pub fn in_virtual_time() -> bool {
    std::fs::read_to_string("/proc/cmdline").is_ok_and(|command| command.contains("time-travel=inf-cpu"))
}

fn is_first_process() -> bool {
    std::process::id() == 1
}

/// Prepares the guest, runs `f`, prints its failure if it has one, and powers the guest off.
pub fn run_as_first_process(f: impl FnOnce() -> Outcome<()>) {
    let outcome = mount_kernel_files().and_then(|()| {
        catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| Err("the program panicked".into()))
    });
    if let Err(error) = outcome {
        println!("failed: {error}");
    }
    if is_first_process() {
        let Err(error) = reboot(RebootMode::RB_POWER_OFF);
        println!("the guest cannot be powered off: {error}");
    }
}

fn mount_kernel_files() -> Outcome<()> {
    if is_first_process() {
        for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/tmp")] {
            mount(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>)?;
        }
    }
    Ok(())
}

/// A line between two hosts with the same delay both ways.
#[derive(Clone, Copy)]
pub struct Line {
    pub rate_bps: f64,
    pub delay_s: f64,
    pub loss: f64,
    /// Share of the packets from the client to the server in which a bit is flipped.
    pub corrupt: f64,
}

/// How flows are run.
#[derive(Clone)]
pub struct Options {
    pub messages: bool,
    pub wire: bool,
    pub wake: bool,
    pub socket_interval_ns: Option<i64>,
    pub limit_s: i64,
    pub fq: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { messages: true, wire: false, wake: false, socket_interval_ns: None, limit_s: 200, fq: true }
    }
}

/// Socket buffers of a stock Debian 13, which a guest with little memory would compute smaller.
const STOCK_BUFFERS: [(&str, &str); 2] =
    [("net.ipv4.tcp_rmem", "4096 131072 6291456"), ("net.ipv4.tcp_wmem", "4096 16384 4194304")];

impl Line {
    /// Makes the line anew.
    pub fn build(&self) -> Outcome<Network> {
        let sysctls =
            STOCK_BUFFERS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let network = Network::build(
            &NetworkSpec::preset("wire"),
            &BuildOptions { seed: 7, sysctls, ..Default::default() },
        )?;
        let rate = |link: &str| LinkChange {
            link: link.into(),
            rate_bps: Some(Some(self.rate_bps)),
            ..LinkChange::default()
        };
        let delay = |link: &str, loss, corrupt| LinkChange {
            link: link.into(),
            delay_s: Some(self.delay_s),
            loss: Some(loss),
            corrupt: Some(corrupt),
            ..LinkChange::default()
        };
        let there = delay("mid>east", self.loss, self.corrupt);
        for change in [rate("west>mid"), there, delay("mid>west", 0.0, 0.0)] {
            network.apply(&change)?;
        }
        Ok(network)
    }

    /// Runs flows side by side from the client to the server of a new line.
    pub fn run(&self, specs: &[FlowSpec], options: &Options) -> Outcome<Vec<FlowReport>> {
        let network = self.build()?;
        if options.fq {
            network.set_host_queue("client", HostQueue::Fq(FairQueue::default()), &[])?;
        }
        align_to_ticks();
        let run_clock = RunClock::start()?;
        let clock = Clock::new(run_clock.to_monotonic_ns(0), in_virtual_time());
        if !options.wire {
            return run_flows(&network, specs, clock, options);
        }
        let tap = "east>server".to_owned();
        let capture = CaptureOptions {
            taps: vec![tap.clone()],
            snap: Snap::Headers,
            file: None,
            keep: vec![tap.clone()],
            only_intact: self.corrupt > 0.0,
            drain_interval_s: None,
        };
        let capture = Capture::start(&network, run_clock, &capture)?;
        let mut reports = run_flows(&network, specs, clock, options)?;
        let captured = capture.stop()?;
        let records = captured.records(&tap).ok_or("the tap was not kept")?;
        // Of those whose receiver woke they can be worked out all the same.
        let derived = |report: &FlowReport| {
            report.delivery_instants() == DeliveryInstants::Wire
                || options.wake && matches!(report.result.stack.as_str(), "tcp" | "tls")
        };
        for (index, report) in reports.iter_mut().enumerate().filter(|(_, report)| derived(report)) {
            let mut tap = WireTap::new(source(index), destination(index));
            for packet in records.iter() {
                tap.packet(packet.t_ns, packet.data);
            }
            let woken: Vec<_> = report.messages().collect();
            report.apply_wire(&tap.finish()?)?;
            if options.wake {
                check_same_instants(&woken, &report.messages().collect::<Vec<_>>(), CLOCK_READINGS_NS)?;
            }
        }
        Ok(reports)
    }
}

/// Waits for a full second of the kernel's clock, so that its ticks stand at the same instants of every run.
fn align_to_ticks() {
    let into_second_ns = Clock::new(0, in_virtual_time()).now_ns() % 1_000_000_000;
    std::thread::sleep(std::time::Duration::from_nanos((1_000_000_000 - into_second_ns) as u64));
}

/// A reading of the clock takes 256 ns of a guest's time (`TIMER_MULTIPLIER` in the kernel's arch/um/kernel/time.c), and
/// there are a few between an arrival and the note of it.
pub const CLOCK_READINGS_NS: i64 = 4096;

/// Checks that the same messages have the same instants of arrival, within a tolerance.
///
/// # Errors
/// A sentence with the greatest distance.
pub fn check_same_instants(a: &[Message], b: &[Message], tolerance_ns: i64) -> Outcome<()> {
    if a.is_empty() || a.len() != b.len() {
        return Err(format!("{} and {} messages cannot be compared", a.len(), b.len()).into());
    }
    let distances = a.iter().zip(b).map(|(a, b)| match (a.received_ns, b.received_ns) {
        (Some(a), Some(b)) => (a - b).abs(),
        (None, None) => 0,
        _ => i64::MAX,
    });
    match distances.max() {
        Some(distance) if distance > tolerance_ns => {
            Err(format!("the instants differ by up to {distance} ns").into())
        }
        _ => Ok(()),
    }
}

fn source(index: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 1, 1], 40_000 + index as u16))
}

fn destination(index: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 2, 1], 5000 + index as u16))
}

/// The surroundings of flow number `index`.
pub fn context(index: usize, clock: Clock, options: &Options) -> Context {
    Context {
        clock,
        limit_ns: options.limit_s * 1_000_000_000,
        seed: index as u64 + 1,
        source: source(index),
        destination: destination(index),
        further_ports: Vec::new(),
        source_further: Vec::new(),
        destination_further: Vec::new(),
        quiet_ns: 5_000_000_000,
        socket_interval_ns: options.socket_interval_ns,
        messages: options.messages,
        wire: options.wire,
        wake: options.wake,
        keys: false,
        qlog: None,
        processor: None,
        progress: None,
    }
}

fn run_flows(
    network: &Network,
    specs: &[FlowSpec],
    clock: Clock,
    options: &Options,
) -> Outcome<Vec<FlowReport>> {
    let mut threads = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        let (server, client) = prepare(spec.check()?, context(index, clock, options))?;
        threads.push((
            network.node("server")?.spawn("server", move || (server.run(), server))?,
            network.node("client")?.spawn("client", move || (client.run(), client))?,
        ));
    }
    threads
        .into_iter()
        .map(|(server, client)| {
            let (received, server) = server.join().map_err(|_| "a receiver panicked")?;
            let (sent, client) = client.join().map_err(|_| "a sender panicked")?;
            Ok(join((server, received), (client, sent)))
        })
        .collect()
}

/// A flow from the client to the server that starts after a second.
pub fn flow(stack: &str, stack_params: Value, app: &str, app_params: Value) -> FlowSpec {
    serde_json::from_value(json!({
        "id": stack, "stack": stack, "stack_params": stack_params, "app": app, "app_params": app_params,
        "from": "client", "to": "server", "start_s": 1.0
    }))
    .expect("the flows of the examples are written correctly")
}
