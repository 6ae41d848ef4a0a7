//! One run, from its network to its record.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use netlab::{
    Capture, CaptureOptions, Captured, FairQueue, HostQueue, LinkChange, Network, RunClock, Snap, Timeline,
    Way,
};
use nix::time::{ClockId, clock_getres};
use transports::{Context, DeliveryInstants, Qlogs, Workplace};
use workload::{ExchangeLog, FlowReport, FlowSpec, MessageLog, SafetyLog, SocketLog, WireTap};

use crate::drains;
use crate::ends::{address, flow_seed, further_ports, port, source_port};
use crate::events::{Event, tell};
use crate::failure::{Failure, Result};
use crate::flows::{Flow, Played};
use crate::gate::Gate;
use crate::ground::{Ground, Time};
use crate::hosts;
use crate::in_path::{self, Drops, InPathNodes};
use crate::kernel_counters;
use crate::plan::{Packets, Run};
use crate::processor::NodeProcessor;
use crate::programs::Programs;
use crate::record::{FlowPath, Guest, QLOG, Record};
use crate::rerouted;

/// How often the host hears of a run that is under way, in parts of its expected length.
const REPORTS_A_RUN: f64 = 50.0;

/// No sooner than after this part of what has passed already: a run of a year is over in a minute, most of it silence,
/// and a report each ten seconds of it would take hours.
const REPORT_SHARE: f64 = 0.01;

/// Round trips that datagrams are waited for at least, in silence: one for what is under way at the sender's end, as
/// much again for the receiver's farewell.
const QUIET_ROUND_TRIPS: i64 = 2;

/// How long what is still queued when the last flow ends may take to drain.
const DRAIN_LIMIT_S: f64 = 60.0;
const DRAIN_STEP: Duration = Duration::from_millis(250);

/// Plays `run`, leaving its data files in `folder`, and returns its record.
pub fn play(ground: &mut dyn Ground, run: &Run, folder: &Path) -> Result<Record> {
    let flows = run.flows.iter().map(Flow::check).collect::<Result<Vec<_>>>()?;
    let sessions: Vec<u32> = flows.iter().map(Flow::further_sessions).collect();
    let mut further_ports = further_ports(&sessions)?.into_iter();
    in_path::check_links(run)?;
    let network = run.network.with_in_path(&run.in_path)?;
    let network = Arc::new(Network::build(&network, &ground.prepare(run)?)?);
    network.topology().check_timeline(&run.timeline)?;
    hosts::set(run, &flows, &network)?;
    let ways = further_ways(run, &flows, &network)?;
    let changing = rerouted::ways(run, &ways, &network)?;
    let taps = taps(run, &ways, &changing, &network)?;
    // What the timeline gives a rate or a delay has that queue and no other.
    let changed: Vec<&str> = run.timeline.iter().map(|change| change.link.as_str()).collect();
    for (spec, _) in run.flows.iter().zip(&flows).filter(|(_, flow)| flow.wants_release_times()) {
        if !ground.releases_ahead() {
            break;
        }
        network.set_host_queue(&spec.from, HostQueue::Fq(FairQueue::default()), &changed)?;
    }

    let time = ground.clock()?;
    let clock = time.clock;
    let processor = NodeProcessor::of(run, &flows, &time)?;
    let drops = Drops::start(run, &flows, &ways, &network, clock)?;
    let paths = paths(run, ways, &network, &taps)?;
    let receiving = receiving_taps(run, &network, &taps)?;
    let drain_interval_s = drains::interval_s(&run.timeline, &paths);
    let capture = start_capture(run, &network, clock, &taps, &receiving, drain_interval_s, folder)?;
    let in_path = InPathNodes::start(run, &flows, &network, clock)?;
    let timeline =
        Timeline::start(Arc::clone(&network), clock, run.timeline.clone(), run.route_changes.clone())?;
    let (ended, ends) = channel();
    let gate = Gate::closed();
    let mut running = Vec::with_capacity(flows.len());
    for (index, flow) in flows.into_iter().enumerate() {
        let workplace = processor.as_ref().and_then(|node| node.workplace(&run.flows[index], &flow));
        let receiver = (receiving[index].is_some(), workplace);
        let further_ports = further_ports.next().unwrap_or_default();
        let context = Context { further_ports, ..context(run, &network, &time, index, receiver, folder)? };
        running.push(flow.start(ground, run, index, &network, context, (&gate.pass(), &ended, clock))?);
    }
    let programs = Programs::start(ground, run, &network, clock, (&gate.pass(), &ended))?;
    ground.begin(&network)?;
    gate.open();
    drop(ended);
    report_until_all_have_ended(run, clock, &ends);

    let played = running.into_iter().map(|flow| flow.join(folder)).collect::<Result<Vec<_>>>();
    // Whatever has become of the flows, programs in the background are stopped.
    let (programs, mut played) = (programs.join()?, played?);
    wait_until_drained(&network)?;
    // Hosts may still send, an acknowledgement for instance. Virtual time passes where somebody sleeps or reads the clock,
    // and nobody does here, so that all counts are of one instant.
    let captured = capture.map(Capture::stop).transpose()?;
    let links = network.link_counters()?;
    let in_path = in_path.stop()?;
    let drops = drops.stop()?;
    let made = timeline.stop()?;
    let virtual_s = clock.now_ns()? as f64 / 1e9;
    let nodes = ground.usage(&network)?;
    let kernel = if in_path::meddles(run) { kernel_counters::of_hosts(run, &network)? } else { Vec::new() };
    if let Some(captured) = &captured {
        take_instants_from_the_wire(&mut played, &receiving, captured);
    }
    write_samples(run, &played, folder)?;
    if !in_path.is_empty() {
        in_path::write(&in_path, &folder.join("in_path.arrow"))?;
    }
    Ok(Record {
        guest: guest(ground.end(&network)?, run, &network)?,
        virtual_s,
        nodes,
        flows: played.iter().map(|flow| flow.result().clone()).collect(),
        external: played.into_iter().filter_map(Played::into_note).collect(),
        programs,
        links,
        taps: captured.map(|captured| captured.taps).unwrap_or_default(),
        paths,
        timeline: made.links,
        hops: network.topology().hops(&changing, &made.routes, &taps)?,
        route_changes: made.routes,
        drops,
        in_path: in_path.into_iter().map(|log| log.counters).collect(),
        kernel,
        processor: processor.as_ref().map(NodeProcessor::result),
        ..Record::new(&run.id, run.seed)
    })
}

fn sentence(error: impl std::fmt::Display) -> Failure {
    Failure::new(error.to_string())
}

/// The ways of flows whose transports use further addresses, beside those between the first ones; with their flow's id.
fn further_ways(run: &Run, flows: &[Flow], network: &Network) -> Result<Vec<(String, Way)>> {
    let mut found = Vec::new();
    for (spec, flow) in run.flows.iter().zip(flows).filter(|(_, flow)| flow.further_addresses() > 0) {
        let ways = network.topology().further_ways(&spec.from, &spec.to)?;
        let used = ways.into_iter().take(flow.further_addresses());
        found.extend(used.map(|way| (spec.id.clone(), way)));
    }
    Ok(found)
}

/// The taps of a run: those the plan names, else those that a certificate needs.
fn taps(run: &Run, ways: &[(String, Way)], changing: &[Way], network: &Network) -> Result<Vec<String>> {
    if run.record.packets == Packets::None {
        return Ok(Vec::new());
    }
    if let Some(taps) = &run.record.taps {
        return Ok(taps.clone());
    }
    let touched = touched(run);
    let mut taps = network.topology().default_taps(&run.pairs(), &touched)?;
    network.topology().add_taps_of(ways.iter().map(|(_, way)| way), &touched, &mut taps)?;
    network.topology().add_taps_of_changed(changing, (&touched, &run.route_changes), &mut taps)?;
    // Whether a flow passes or not: that nothing came to a node is to be seen as well.
    for link in in_path::links(run) {
        if !taps.contains(&link) {
            taps.push(link);
        }
    }
    Ok(taps)
}

/// Every link direction that does something to packets, by the timeline, by script or by an in-path node, as a change.
fn touched(run: &Run) -> Vec<LinkChange> {
    let scripted =
        run.drops.iter().map(|drop| LinkChange { link: drop.link.clone(), ..LinkChange::default() });
    let in_path = in_path::links(run).map(|link| LinkChange { link, ..LinkChange::default() });
    run.timeline.iter().cloned().chain(scripted).chain(in_path).collect()
}

/// The tapped ways of a run: the first of each flow, those of programs, further ones.
fn paths(run: &Run, ways: Vec<(String, Way)>, network: &Network, taps: &[String]) -> Result<Vec<FlowPath>> {
    let tapped = |from: &str, to: &str| network.topology().tapped_path(from, to, taps);
    let flows = run.flows.iter().map(|flow| (flow.id.clone(), flow.from.as_str(), flow.to.as_str()));
    let programs = run.program_pairs().map(|(from, to)| (format!("{from}-{to}"), from, to));
    let mut paths = flows
        .chain(programs)
        .map(|(flow, from, to)| {
            Ok(FlowPath { flow, forward: tapped(from, to)?, back: tapped(to, from)?, addresses: None })
        })
        .collect::<Result<Vec<_>>>()?;
    paths.extend(ways.into_iter().map(|(flow, way)| {
        let tapped =
            |path: Vec<String>| path.into_iter().filter(|direction| taps.contains(direction)).collect();
        let addresses = Some([way.source, way.destination]);
        FlowPath { flow, forward: tapped(way.forward), back: tapped(way.back), addresses }
    }));
    Ok(paths)
}

fn start_capture(
    run: &Run,
    network: &Network,
    clock: RunClock,
    taps: &[String],
    receiving: &[Option<String>],
    drain_interval_s: Option<f64>,
    folder: &Path,
) -> Result<Option<Capture>> {
    if taps.is_empty() {
        return Ok(None);
    }
    let snap = if run.record.packets == Packets::Full { Snap::Full } else { Snap::Headers };
    let mut keep: Vec<String> =
        if run.record.messages { receiving.iter().flatten().cloned().collect() } else { Vec::new() };
    keep.sort();
    keep.dedup();
    let options = CaptureOptions {
        taps: taps.to_vec(),
        snap,
        file: Some(folder.join("packets.bin")),
        keep,
        only_intact: corrupts(run),
        drain_interval_s,
    };
    Ok(Some(Capture::start(network, clock, &options)?))
}

/// Whether packets of the run may arrive damaged.
fn corrupts(run: &Run) -> bool {
    run.timeline.iter().any(|change| change.corrupt.is_some_and(|probability| probability > 0.0))
}

/// The last link direction of each flow's first way, where it is tapped and no change of routes leads round it: from its
/// packets the instants of byte streams are worked out.
fn receiving_taps(run: &Run, network: &Network, taps: &[String]) -> Result<Vec<Option<String>>> {
    let tapped = |flow: &FlowSpec| {
        let last = network.path(&flow.from, &flow.to)?.pop();
        let last = last.filter(|link| taps.contains(link));
        let stays = rerouted::last_link_stays(run, flow, network)?;
        Ok(last.filter(|_| stays))
    };
    run.flows.iter().map(tapped).collect()
}

fn context(
    run: &Run,
    network: &Network,
    time: &Time,
    index: usize,
    (receiver_is_tapped, processor): (bool, Option<Arc<Workplace>>),
    folder: &Path,
) -> Result<Context> {
    let spec = &run.flows[index];
    Ok(Context {
        clock: time.transports_clock(),
        limit_ns: run.limit_ns(),
        seed: flow_seed(run.seed, index),
        source: SocketAddr::new(address(network, &spec.from)?, source_port(index)),
        destination: SocketAddr::new(address(network, &spec.to)?, port(spec, index)),
        further_ports: Vec::new(),
        source_further: network.topology().further_addresses_of(&spec.from)?,
        destination_further: network.topology().further_addresses_of(&spec.to)?,
        quiet_ns: time.quiet_ns.max(QUIET_ROUND_TRIPS.saturating_mul(round_trip_ns(run, network, spec)?)),
        socket_interval_ns: run.record.socket_interval_s.map(|interval_s| (interval_s * 1e9) as i64),
        messages: run.record.messages,
        // Packets that an in-path node has made or altered look like the stream's own, and may not be part of it. An end
        // that computes has what came only when it is done.
        wire: receiver_is_tapped && run.record.messages && !in_path::meddles(run) && processor.is_none(),
        wake: false,
        keys: run.record.keys,
        qlog: run.record.qlog.then(|| Arc::new(Qlogs::new(folder.join(QLOG).join(&spec.id)))),
        processor,
        progress: None,
    })
}

/// The delays of all links between a flow's ends and back, each at its longest; queues and jitter not counted.
fn round_trip_ns(run: &Run, network: &Network, flow: &FlowSpec) -> Result<i64> {
    let ways = [network.path(&flow.from, &flow.to)?, network.path(&flow.to, &flow.from)?];
    let longest_s = |link: &String| {
        let of_link = run.timeline.iter().filter(|change| change.link == *link);
        of_link.filter_map(|change| change.delay_s).fold(0.0, f64::max)
    };
    let delay_s: f64 = ways.iter().flatten().map(longest_s).sum();
    Ok((delay_s * 1e9) as i64)
}

/// Waits for every thread's end, telling the host now and then how far the run is.
fn report_until_all_have_ended(run: &Run, clock: RunClock, ends: &Receiver<()>) {
    let expected_s = run.expected_s();
    let least_s = (expected_s / REPORTS_A_RUN).clamp(0.5, 10.0);
    let mut virtual_s = 0.0;
    loop {
        let interval = Duration::from_secs_f64(least_s.max(virtual_s * REPORT_SHARE));
        match ends.recv_timeout(interval) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => {
                virtual_s = clock.now_ns().unwrap_or(0) as f64 / 1e9;
                tell(&Event::Progress { run: &run.id, virtual_s, expected_s });
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Waits until nothing is in any queue any more, or until the drain limit.
fn wait_until_drained(network: &Network) -> Result<()> {
    let steps = (DRAIN_LIMIT_S / DRAIN_STEP.as_secs_f64()) as u32;
    for _ in 0..steps {
        std::thread::sleep(DRAIN_STEP);
        if network.link_counters()?.iter().all(|link| link.backlog_packets == 0) {
            // What has just left a queue still crosses the links behind it.
            std::thread::sleep(DRAIN_STEP);
            break;
        }
    }
    Ok(())
}

/// Works out when each message of a byte stream could be read, from the packets that arrived at its receiver. A flow of
/// which that cannot be said has failed, and is the only one.
fn take_instants_from_the_wire(played: &mut [Played], receiving: &[Option<String>], captured: &Captured) {
    for (flow, link) in played.iter_mut().zip(receiving) {
        let (Played::Builtin(report), Some(link)) = (flow, link) else { continue };
        if report.delivery_instants() != DeliveryInstants::Wire || report.result.received_bytes == 0 {
            continue;
        }
        if let Err(failure) = take_instants_of_flow(report, link, captured) {
            report.fail(&failure.to_string());
        }
    }
}

fn take_instants_of_flow(report: &mut FlowReport, link: &str, captured: &Captured) -> Result<()> {
    let records = captured.records(link).ok_or_else(|| {
        Failure::new(format!("the packets of \"{link}\", by which they arrived, were not kept"))
    })?;
    let mut tap =
        WireTap::new(socket_address(&report.result.source)?, socket_address(&report.result.destination)?);
    for packet in records.iter() {
        tap.packet(packet.t_ns, packet.data);
    }
    let instants = tap.finish().map_err(sentence)?;
    report.apply_wire(&instants).map_err(sentence)
}

fn socket_address(text: &str) -> Result<SocketAddr> {
    text.parse().map_err(|_| Failure::new(format!("\"{text}\" is not an address and port")))
}

fn write_samples(run: &Run, played: &[Played], folder: &Path) -> Result<()> {
    let (mut messages, mut sockets, mut exchanges, mut safety) =
        (MessageLog::new(), SocketLog::new(), ExchangeLog::new(), SafetyLog::new());
    for (index, flow) in played.iter().enumerate() {
        flow.write_into(index as u16, &mut messages, &mut sockets, &mut exchanges, &mut safety);
    }
    if !safety.is_empty() {
        safety.write(&folder.join("safety.arrow")).map_err(sentence)?;
    }
    if !exchanges.is_empty() {
        exchanges.write(&folder.join("exchanges.arrow")).map_err(sentence)?;
    }
    if run.record.messages {
        messages.write(&folder.join("messages.arrow")).map_err(sentence)?;
    }
    if run.record.socket_interval_s.is_some() {
        sockets.write(&folder.join("sockets.arrow")).map_err(sentence)?;
    }
    if run.record.keys {
        let keys: String = played.iter().map(Played::keys).collect();
        std::fs::write(folder.join("keys.log"), keys)
            .map_err(|error| Failure::io("write keys.log", &error))?;
    }
    Ok(())
}

/// What the run was played on, as the kernel states it.
fn guest(ground: Guest, run: &Run, network: &Network) -> Result<Guest> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    // The coarse clock advances once a tick.
    let tick = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).map(|t| t.tv_nsec()).unwrap_or(0);
    let mut sysctls = BTreeMap::new();
    if let Some(node) = run.first_node() {
        let node = network.node(node)?;
        for name in run.sysctls.keys() {
            let value = node.enter(|| Ok::<_, std::io::Error>(netlab::sysctl::read(name)))?;
            // A setting of the whole kernel cannot be seen from inside a node.
            match value.or_else(|_| netlab::sysctl::read(name)) {
                Ok(value) => sysctls.insert(name.clone(), value),
                Err(_) if ground.host.is_some() => None,
                Err(error) => return Err(error.into()),
            };
        }
    }
    Ok(Guest {
        gauntlet: env!("CARGO_PKG_VERSION"),
        kernel: release.trim_end().to_owned(),
        hz: if tick > 0 { (1_000_000_000 / tick) as u32 } else { 0 },
        libraries: transports::LIBRARIES.iter().copied().collect(),
        sysctls,
        ..ground
    })
}
