"""The tables of a results folder as the report's rows: a flow of a run with its factors and KPIs."""

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import pyarrow as pa

from gauntlet.figures.style import OF_SUBJECT, Style, words
from gauntlet.metrics.flow import UNSUPPORTED
from gauntlet.metrics.flow_rows import completed
from gauntlet.metrics.registry import registry
from gauntlet.report.channel import Channel, channel_of
from gauntlet.report.factors import NOT_CONDITIONS, Factor
from gauntlet.report.rows import Row
from gauntlet.report.subjects import is_greedy, subjects_of
from gauntlet.results.reader import Results


def specifications(results: Results) -> dict[str, dict[str, Any]]:
    """What a report needs of the specification of each run; equal parts of them are one object."""
    known: dict[str, Any] = {}
    channels: dict[Channel, Channel] = {}

    def once(part: Any) -> Any:
        return known.setdefault(json.dumps(part), part)

    found = {}
    for run in results.runs():
        spec = run.spec
        labels = {name: text for name, text in spec.get("labels", {}).items() if name not in NOT_CONDITIONS}
        found[run.id] = {
            "factors": {name: once(value) for name, value in spec.get("factors", {}).items()},
            "labels": once(labels),
            "called": once(spec.get("labels", {}).get("protocol", "")),
            "flows": once(spec.get("flows", [])),
            "start_s": once(spec.get("start_s")),
            "link": once({"loss_direction": (spec.get("link") or {}).get("loss_direction", "both")}),
            "channel": channels.setdefault(channel := channel_of(spec), channel),
        }
    return found


def labels_of(specs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What an experiment calls its protocols, by their keys: a run of `a+b` has both labels, `A + B`."""
    found: dict[str, str] = {}
    for spec in specs:
        keys = str(spec["factors"].get("protocol", "")).split("+")
        labels = spec["called"].split(" + ") if len(keys) > 1 else [spec["called"]]
        if len(keys) == len(labels):
            found.update((key, label) for key, label in zip(keys, labels, strict=True) if label)
    return found


_OF_FLOW = (
    "run", "flow", "protocol", "stack", "app", "outcome", "completed", "given_s", "reason", "received_bytes",
    "observed_until_s", "download_time_s",
)  # fmt: skip
"""Columns of the flows besides their KPIs."""

_ROWS_AT_A_TIME = 4096

BESIDE = " beside "
"""Between a flow's protocol and those of the flows beside it, in a series' key and label."""


def rows_of(results: Results, specs: Mapping[str, Mapping[str, Any]], varied: list[Factor]) -> list[Row]:
    """A row for each flow of each run; of a run without flows one for each that was planned."""
    subjects = subjects_of(list(specs.values()))
    untold = _untold(specs.values(), subjects)
    table, runs = results.table("flows"), results.table("runs")
    kpis = [name for name, kpi in registry().items() if kpi.of_flow and _told(table, name)]
    kpis_of_run = [name for name, kpi in registry().items() if kpi.of_flows and _told(runs, name)]
    facts = [name for name in _OF_FLOW if name in table.column_names]
    flows_of_run = _by_run(table.select(list(dict.fromkeys([*facts, *kpis]))))
    upcoming = next(flows_of_run, None)
    known: dict[Any, Any] = {}

    def once(value: Any) -> Any:
        return known.setdefault(value, value)

    rows = []
    for run in _each(runs.select(["run", "outcome", "trusted", "reason", *kpis_of_run])):
        spec = specs[run["run"]]
        factors, planned = spec["factors"], spec["flows"]
        numbered = [{**flow, "flow": place} for place, flow in enumerate(planned)]
        flows: list[dict[str, Any]] = []
        if upcoming is not None and upcoming[0] == run["run"]:
            flows, upcoming = upcoming[1], next(flows_of_run, None)
        of_run = {name: run[name] for name in kpis_of_run}
        condition = once(tuple(factors.get(factor.name) for factor in varied))
        for flow in flows or [{"flow": place, "protocol": None} for place in range(max(len(planned), 1))]:
            asked = planned[flow["flow"]] if flow["flow"] < len(planned) else {}
            subject = subjects.get(flow["flow"], "")
            own = {**flow, "protocol": flow["protocol"] or asked.get("protocol")}
            series = _protocol_of(own, flows or numbered, factors, untold.get(flow["flow"], ()))
            rows.append(
                Row(
                    run=run["run"],
                    flow=flow["flow"],
                    protocol=once(f"{subject}{OF_SUBJECT}{series}" if subject else series),
                    condition=condition,
                    repetition=int(factors.get("repetition", 1)),
                    ok=run["outcome"] == "ok",
                    trusted=run["trusted"],
                    reason=run["reason"] or flow.get("reason"),
                    kpis={name: flow.get(name) for name in kpis} | of_run,
                    subject=subject,
                    app=once(str(flow.get("app") or asked.get("app") or "")),
                    greedy=is_greedy(asked),
                    upward=asked.get("direction") == "up",
                    completed=completed(flow),
                    supported=flow.get("outcome") != UNSUPPORTED,
                    given_s=flow.get("given_s"),
                    received_bytes=int(flow.get("received_bytes") or 0),
                    start_s=spec["start_s"],
                    asked=asked,
                    channel=spec["channel"],
                    observed_until_s=flow.get("observed_until_s"),
                )
            )
    return rows


def _told(table: pa.Table, name: str) -> bool:
    """Whether a table has a column with any value."""
    return name in table.column_names and table.column(name).null_count < table.num_rows


def _each(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a table, not all at once."""
    for batch in table.to_batches(max_chunksize=_ROWS_AT_A_TIME):
        yield from batch.to_pylist()


def _by_run(table: pa.Table) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The rows of each run of a table that stands in their order."""
    for run, rows in itertools.groupby(_each(table), key=itemgetter("run")):
        yield run, list(rows)


def _protocol_of(
    flow: Mapping[str, Any],
    flows: Sequence[Mapping[str, Any]],
    factors: Mapping[str, Any],
    untold: Collection[int],
) -> str:
    """The series a flow belongs to: its protocol; beside flows of other protocols those are named too, but
    not those at the places `untold`.
    """
    own = str(flow["protocol"] or factors.get("protocol") or flow.get("stack") or "flow")
    beside = (str(it["protocol"]) for it in flows if it["protocol"] and it.get("flow") not in untold)
    others = sorted(set(beside) - {own})
    return f"{own}{BESIDE}{' and '.join(others)}" if others else own


def _untold(specs: Iterable[Mapping[str, Any]], subjects: Mapping[int, str]) -> Mapping[int, frozenset[int]]:
    """For each place of a flow the places of those that its series does not name: they have one protocol in
    all runs, and other work or none that anything is answered about, so they tell no two series apart.
    """
    found: dict[int, set[str | None]] = {}
    background: set[int] = set()
    for spec in specs:
        for place, flow in enumerate(spec["flows"]):
            found.setdefault(place, set()).add(flow.get("protocol"))
            background |= {place} if flow.get("background") else set()
    fixed = {place for place, those in found.items() if len(those) == 1 and None not in those}
    return {
        place: frozenset(it for it in fixed if it in background or subjects.get(it) != subjects.get(place))
        for place in found
    }


def beside_labels(rows: Iterable[Row]) -> dict[str, str]:
    """What series are called of which only what is beside them differs, by their keys: a call that is always
    over UDP is `call beside TCP BBR`. None of those that several subjects have.
    """
    of_subject: dict[str, set[str]] = {}
    for row in rows:
        of_subject.setdefault(row.subject, set()).add(row.protocol.removeprefix(f"{row.subject}{OF_SUBJECT}"))
    found: dict[str, str] = {}
    for subject, series in of_subject.items():
        own = {it.partition(BESIDE)[0] for it in series}
        elsewhere = set().union(*(those for other, those in of_subject.items() if other != subject))
        if subject and len(series) > 1 and len(own) == 1 and all(BESIDE in it for it in series):
            found |= {it: f"{subject}{BESIDE}{words(it.partition(BESIDE)[2])}" for it in series - elsewhere}
    return found


def named_once(style: Style) -> Style:
    """The same where its label begins with its subject twice: `call: call beside TCP BBR`."""
    subject, between, label = style.label.partition(OF_SUBJECT)
    return replace(style, label=label) if between and label.startswith(f"{subject}{BESIDE}") else style
