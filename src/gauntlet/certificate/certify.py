"""From a plan's run and its record to the certificate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import Findings, certificate_json, percent, plural
from gauntlet.certificate.asked import read_timeline, without_change
from gauntlet.certificate.backlog import with_backlog
from gauntlet.certificate.bursts import check_bursts
from gauntlet.certificate.capture import CAPTURE_BYTES, Capture, read_capture
from gauntlet.certificate.claims import check_claims
from gauntlet.certificate.conservation import (
    check_conservation,
    check_counters,
    check_origin,
    own_words,
)
from gauntlet.certificate.corruption import check_corruption
from gauntlet.certificate.coverage import Gap, answers, planned_impairments, tell_gaps
from gauntlet.certificate.delays import check_delays, check_order
from gauntlet.certificate.disciplines import check_discipline
from gauntlet.certificate.in_path import (
    check_nodes,
    judged_apart,
    read_nodes,
    ways_back,
    whole_links,
    without_unsound,
)
from gauntlet.certificate.losses import check_copies, check_losses, check_outage
from gauntlet.certificate.queues import check_limit, check_tail_drops, occupancy
from gauntlet.certificate.rerouting import check_route_changes
from gauntlet.certificate.scripted import read_scripts, with_scripted
from gauntlet.certificate.shaper import check_pace, check_rate
from gauntlet.certificate.sizes import check_sizes, link_mtu_bytes
from gauntlet.certificate.spread import check_spread
from gauntlet.certificate.stages import Routes, read_routes
from gauntlet.certificate.traffic import Traffic, follow
from gauntlet.errors import RunError

NO_PACKETS = Gap("the run kept no packets", "captured packets")
"""Why nothing was checked of a run without a capture."""

NO_TRAFFIC = Gap("no packet came to it", None)
"""Why nothing could be checked of a link that nothing used."""

IMPAIRING_KINDS = frozenset({"tbf", "netem", "relay"})
"""Queues that change the traffic; those of hosts (fq, pfifo) stand before the first tap."""


def certify(plan_run: Mapping[str, Any], record_dir: Path) -> dict[str, Any]:
    """Check what the network of one run really did against what its plan asked for.

    `plan_run` is the run's object in the plan (docs/formats/plan.md), `record_dir` its record folder
    (docs/formats/record.md). The result is the content of `certificate.json` (docs/formats/certificate.md).
    Raises RunError if the record itself cannot be read.
    """
    record = _read_record(record_dir)
    ground = str(record.get("guest", {}).get("ground", "virtual"))
    with tolerance.of_ground(ground, programs=_has_programs(plan_run)):
        return _judge(plan_run, record, record_dir)


def _has_programs(plan_run: Mapping[str, Any]) -> bool:
    """Whether programs of the user's own run beside the guest's: as flows, or by themselves."""
    flows = plan_run.get("flows", ())
    return bool(plan_run.get("programs")) or any(flow.get("stack") == "external" for flow in flows)


def _judge(plan_run: Mapping[str, Any], record: Mapping[str, Any], record_dir: Path) -> dict[str, Any]:
    findings = Findings()
    try:
        _check_identity(plan_run, record, findings)
        check_route_changes(plan_run, record, findings)
        capture = _check_capture(plan_run, record, record_dir, findings)
        impairments = _check_network(plan_run, record, record_dir, capture, findings)
        check_claims(plan_run, record, record_dir, capture, findings)
    except KeyError as error:
        raise RunError(
            f"The plan's run {plan_run.get('id')} or its record in {record_dir} lacks the key {error}; "
            "both should be as their formats say (docs/formats)."
        ) from error
    return certificate_json(plan_run["id"], findings, impairments)


def _read_record(record_dir: Path) -> dict[str, Any]:
    path = record_dir / "record.json"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(
            f"The record {path} cannot be read ({error.strerror}); a run's folder has to hold it."
        ) from error
    except ValueError as error:
        raise RunError(
            f"The record {path} is not valid JSON ({error}); it should be as the guest wrote it."
        ) from error
    if (
        not isinstance(record, dict)
        or record.get("format") != "gauntlet-record"
        or record.get("version") != 1
    ):
        raise RunError(
            f"{path} is not a record of version 1; its format should be gauntlet-record, version 1."
        )
    return record


def _check_identity(plan_run: Mapping[str, Any], record: Mapping[str, Any], findings: Findings) -> None:
    asked = {"run": plan_run["id"], "seed": plan_run["seed"]}
    found = {"run": record["run"], "seed": record["seed"]}
    failure = None
    if found != asked:
        failure = (
            f"The record is of run {found['run']} with seed {found['seed']}, "
            f"not of {asked['run']} with seed {asked['seed']}."
        )
    findings.add(
        "identity",
        None,
        failure,
        "The record belongs to the plan's run and seed.",
        measured=found,
        expected=asked,
    )


def _check_capture(
    plan_run: Mapping[str, Any], record: Mapping[str, Any], record_dir: Path, findings: Findings
) -> Capture | None:
    """The capture if there is one, after checking that it is whole."""
    kept, path = plan_run["record"]["packets"], record_dir / "packets.bin"
    if kept not in CAPTURE_BYTES:
        sentence = (
            "The run kept no packets, so that nothing could be checked; "
            "set record.packets to headers to have it checked."
        )
        findings.not_checked("capture", None, sentence, missing=NO_PACKETS.missing)
        return None
    if not path.is_file():
        sentence = "The record has no packets.bin, so that nothing could be checked."
        findings.not_checked("capture", None, sentence, missing="packets.bin")
        return None
    capture = read_capture(path, CAPTURE_BYTES[kept], [(tap["tap"], tap["link"]) for tap in record["taps"]])
    problems = []
    for tap in record["taps"]:
        link, packets = tap["link"], capture.taps[tap["link"]]
        if tap["missed_packets"]:
            problems.append(f"The capture missed {plural(tap['missed_packets'], 'packet')} on {link}.")
        if tap["captured_packets"] != len(packets):
            problems.append(
                f"The record says {tap['captured_packets']:,} packets were captured on {link}, but "
                f"packets.bin holds {len(packets):,}."
            )
        if (np.diff(packets.time_ns) < 0).any():
            problems.append(f"The captured packets of {link} are not in order of time.")
    if capture.unknown_taps:
        problems.append(
            f"{plural(capture.unknown_taps, 'packet')} in packets.bin belong to taps that the record does "
            f"not list."
        )
    if capture.surplus_bytes:
        problems.append(
            f"packets.bin ends in the middle of a packet ({plural(capture.surplus_bytes, 'byte')} too many)."
        )
    total = len(capture.records)
    findings.add(
        "capture",
        None,
        " ".join(problems) or None,
        f"The capture is whole: {plural(total, 'packet')} on {plural(len(capture.taps), 'tap')}, none "
        f"missed.",
        measured={"packets": total, "missed_packets": sum(tap["missed_packets"] for tap in record["taps"])},
        expected={"missed_packets": 0},
    )
    return capture


def _check_network(
    plan_run: Mapping[str, Any],
    record: Mapping[str, Any],
    record_dir: Path,
    capture: Capture | None,
    findings: Findings,
) -> list[dict[str, Any]]:
    """Judge every tapped link direction; the answers for all that the plan asked of the links."""
    end_ns = round(record["virtual_s"] * 1e9)
    asked = read_timeline(plan_run["timeline"], record["timeline"], end_ns, findings)
    planned = {link: planned_impairments(states) for link, states in asked.items()}
    nodes = read_nodes(plan_run, record)
    apart, whole, back = judged_apart(nodes), whole_links(nodes), ways_back(nodes)
    planned.update(apart)
    scripts = read_scripts(plan_run, record)
    for script in scripts:
        of_link = planned.setdefault(script.link, [])
        of_link += [] if "scripted drops" in of_link else ["scripted drops"]
    counters = {entry["link"]: entry for entry in record["links"]}
    if capture is None:
        return answers(planned, dict.fromkeys(planned, NO_PACKETS), findings)
    check_nodes(plan_run, record, record_dir, capture, findings)
    if nodes:
        capture = without_unsound(capture)
    routes = read_routes(record["flows"], record["paths"], record.get("hops", ()))
    tap_numbers = {tap["link"]: tap["tap"] for tap in record["taps"]}
    for name in routes.unread:
        findings.undecided.append(
            f"Lost packets of {name} could not be noticed: the record does not tell its addresses."
        )
    in_use = set(_impaired_in_use(asked, counters))
    unseen = {link for link in in_use if link not in capture.taps}
    damage = min(1.0, sum(max(state.corrupt for state in link.states) for link in asked.values()))
    if damage:
        findings.undecided.append(
            f"Corruption was asked, so that up to {percent(damage)} of the packets of a link may be "
            f"missing or unknown without being called a fault."
        )
    idle = [link for link in routes.feeds if link in capture.taps and not len(capture.taps[link])]
    if idle:
        findings.undecided.append(
            f"There was nothing to check where no packet came: {', '.join(sorted(idle))}."
        )
    gaps = {link: _gap_of_untapped(link, link in unseen) for link in planned if link not in capture.taps}
    for link, tap in capture.taps.items():
        link_asked = asked.get(link, without_change(link))
        check_sizes(tap, link_mtu_bytes(plan_run["network"], whole.get(link, link)), findings)
        if link in apart:
            continue
        if link_asked.kind == "tbf":
            check_rate(link_asked, tap, findings)
        hidden_bytes = check_counters(tap, counters[link], damage, findings) if link in counters else 0
        hidden_packets = int(counters[link]["sent_packets"]) - len(tap) if link in counters else 0
        feeds = _usable_feeds(link, routes, capture, unseen)
        if not feeds:
            gaps[link] = _gap_of_output_only(link, bool(len(tap)))
            continue
        traffic = follow(
            link_asked,
            feeds=feeds,
            taps=capture.taps,
            routes=routes,
            end_ns=capture.last_ns,
            damage=damage,
            returned=back.get(link) if back.get(link) in capture.taps else None,
        )
        if not len(traffic.inputs) and not len(traffic.outputs):
            gaps[link] = NO_TRAFFIC
            check_conservation(traffic, counters.get(link), findings)
            continue
        traffic = with_scripted(traffic, scripts, capture, tap_numbers, findings)
        backlog = int(counters[link]["backlog_packets"]) if link in counters else 0
        stage = _Stage(
            with_backlog(traffic, backlog), counters.get(link), hidden_bytes, max(0, hidden_packets)
        )
        _check_stage(stage, capture, findings)
    impairments = answers(planned, gaps, findings)
    tell_gaps(impairments, gaps, findings)
    return impairments


def _gap_of_untapped(link: str, in_use: bool) -> Gap:
    return Gap("the run has no tap on it", f"a tap on {link}") if in_use else NO_TRAFFIC


def _gap_of_output_only(link: str, in_use: bool) -> Gap:
    if not in_use:
        return NO_TRAFFIC
    return Gap(
        "what entered it is not fully known, so that only its output was checked",
        f"a tap on every link that leads to {link}",
    )


def _impaired_in_use(asked: Mapping[str, Any], counters: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Links with a queue that changes the traffic, unless their counters tell that no packet came."""
    links = {*asked, *(link for link, entry in counters.items() if entry["kind"] in IMPAIRING_KINDS)}
    idle = {
        link
        for link, entry in counters.items()
        if not entry["sent_packets"] + entry["dropped_packets"] + entry["backlog_packets"]
    }
    return sorted(links - idle)


def _usable_feeds(link: str, routes: Routes, capture: Capture, unseen: set[str]) -> dict[str, set[int]]:
    """The taps that feed a stage; none where something between them and it changed packets unseen."""
    feeds = routes.feeds.get(link, {})
    absent = sorted(tap for tap in feeds if tap not in capture.taps)
    gaps = sorted(tap for tap in feeds if tap.partition(">")[2] != link.partition(">")[0])
    return {} if absent or (unseen and gaps) else feeds


@dataclass(frozen=True)
class _Stage:
    """A stage's packets and its link's own counters: `hidden_bytes` and `hidden_packets` passed beside those
    that were captured (ARP)."""

    traffic: Traffic
    counters: Mapping[str, Any] | None
    hidden_bytes: int
    hidden_packets: int


def _check_stage(stage: _Stage, capture: Capture, findings: Findings) -> None:
    traffic, counters = stage.traffic, stage.counters
    queue = occupancy(traffic)
    if traffic.asked.kind == "tbf":
        check_pace(traffic, stage.hidden_bytes, findings)
        if np.isfinite(queue.limit_high).all():
            check_limit(traffic, queue, findings)
        if traffic.asked.queue is None:
            check_tail_drops(traffic, queue, findings)
        else:
            check_discipline(traffic, queue, capture, counters, findings)
    else:
        check_delays(traffic, findings)
        check_spread(traffic, findings)
        if traffic.asked.kind == "netem":
            check_limit(traffic, queue, findings)
        check_losses(traffic, queue, findings)
        check_bursts(traffic, queue, stage.hidden_packets, findings)
        check_outage(traffic, findings)
    if not traffic.asked.keeps_flows_apart:
        check_order(traffic, findings)
    check_copies(traffic, queue, findings)
    check_origin(traffic, findings)
    check_corruption(traffic, capture, findings)
    check_conservation(traffic, counters, findings)
    _report_undecided(traffic, counters, findings)


def _report_undecided(traffic: Traffic, counters: Mapping[str, Any] | None, findings: Findings) -> None:
    link = traffic.link
    unclear = int(traffic.matched.unclear_out.sum())
    if unclear:
        findings.undecided.append(
            f"{plural(unclear, 'packet')} on {link} are identical to others, so that their own times could "
            f"not be checked."
        )
    unfollowed = own_words(traffic)
    if unfollowed:
        findings.undecided.append(
            f"{plural(unfollowed, 'packet')} on {link} belong to no flow (messages of routers), so that "
            f"they could not be followed."
        )
    if traffic.asked.kind != "none" and counters is None:
        findings.undecided.append(
            f"The record has no counters of {link}, so that its drops could not be compared with them."
        )
