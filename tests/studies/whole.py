"""A made-up summary of a whole study: every condition of every experiment, numbers by a rule."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gauntlet.benches.contract import Bench
from gauntlet.figures.kind import Chart, Panel
from gauntlet.figures.look import finished
from gauntlet.metrics.message_quantiles import MESSAGE_DELAYS
from gauntlet.studies.model import Experiment, Study
from gauntlet.studies.summary import BENCH, Part, Summary
from tests.studies.some_runs import some_runs

REPETITIONS = 3
LEVELS = np.unique([*np.linspace(0, 1, 11), 0.95])
KPIS = (
    "throughput_bps",
    "delay_median_s",
    "delay_p95_s",
    "download_time_s",
    "fetch_time_s",
    "message_loss_ratio",
    "capacity_utilisation",
    "packets_before_loss",
    "rate_while_on_bps",
    "throughput_with_setup_bps",
    "setup_time_s",
    "message_delay_s",
    "message_delay_with_setup_s",
    "wire_bytes_per_byte",
)

Numbers = Callable[[str, str, Mapping[str, Any]], Mapping[str, Any]]
"""(experiment, protocol of the flow, factors) -> KPIs, or an outcome, that replace the usual ones."""


def summary(study: Study, numbers: Numbers | None = None) -> Summary:
    """Three repetitions of everything; `numbers` replaces KPIs of its choice."""
    parts = {it.name: _part(it, numbers) for it in study.experiments}
    return Summary(study.key, parts, study.home, {it.name: _bench(it.bench) for it in study.benches})


def check_panels(panels: Sequence[Panel]) -> None:
    """Hold what a figure drew against what every figure promises: a caption, and a chart or a full table."""
    assert panels
    for panel in panels:
        assert panel.caption.endswith("."), panel.caption
        if isinstance(panel, Chart):
            assert re.search(r"vega-lite/v\d", finished(panel.chart)["$schema"])
        else:
            assert panel.rows
            assert {len(row) for row in panel.rows} == {len(panel.header)}


def check_measured(panels: Sequence[Panel]) -> None:
    """The same of a figure whose tables say numbers."""
    check_panels(panels)
    for panel in panels:
        if not isinstance(panel, Chart):
            assert any(re.match(r"\d", cell) for row in panel.rows for cell in row[1:])


def usual(protocol: str, factors: Mapping[str, Any], repetition: int) -> dict[str, Any]:
    """KPIs that no test depends on, different for each protocol and repetition."""
    rank = 1 + ("tcp-cubic", "tcp-bbr", "sctp", "udp").index(protocol) if protocol in _RANKED else 5
    value = rank + 0.01 * repetition
    delay_s = float(factors.get("channel_delay_s", 0.0))
    return {
        **dict.fromkeys(KPIS, value),
        "throughput_bps": 1e6 * value,
        "delay_median_s": delay_s + 0.01 * value,
        "delay_p95_s": delay_s + 0.02 * value,
        "message_loss_ratio": 0.0,
        "capacity_utilisation": 0.9,
    }


def _delay_s(kpis: Mapping[str, Any], level: float) -> float:
    """A quantile of the delays of packets: of them the 95th percentile is as the KPI says it."""
    high_s = kpis["delay_p95_s"] or kpis["delay_median_s"]
    median_s = min(kpis["delay_median_s"], high_s)
    return float(np.interp(level, (0, 0.5, 0.95, 1), (median_s / 2, median_s, high_s, 1.05 * high_s)))


_RANKED = ("tcp-cubic", "tcp-bbr", "sctp", "udp")


def _part(experiment: Experiment, numbers: Numbers | None) -> Part:
    specs = some_runs(experiment.file, REPETITIONS)
    flows, delays, windows, series = [], [], [], []
    factors: dict[str, list[Any]] = {"protocols": [], "protocol": []}
    labels: dict[str, dict[str, str]] = {}
    for spec in specs:
        of_run = {name: value for name, value in spec.factors.items() if name != "protocol"}
        of_run["protocols"] = spec.factors["protocol"]
        for name, value in [*of_run.items(), *(("protocol", flow.protocol) for flow in spec.flows)]:
            if value not in factors.setdefault(name, []):
                factors[name].append(value)
            labels.setdefault(name, {})[str(value)] = spec.labels.get(name, str(value))
        for place, flow in enumerate(spec.flows):
            kpis = usual(flow.protocol, of_run, int(of_run["repetition"]))
            kpis.update((numbers or _none)(experiment.name, flow.protocol, of_run))
            outcome = kpis.pop("outcome", "ok")
            key = {"run": spec.id, "flow": place}
            flows.append(
                {**of_run, **key, "protocol": flow.protocol, **kpis}
                | {"trusted": True, "outcome": outcome, "received_messages": 100, "jain_index": 0.8}
            )
            for level in LEVELS.tolist():
                of_messages = dict.fromkeys(MESSAGE_DELAYS, kpis["delay_median_s"] * (0.5 + level))
                delays.append({**key, "level": level, "delay_s": _delay_s(kpis, level), **of_messages})
                throughput_bps = kpis["throughput_bps"] * (0.5 + level)
                windows.append({**key, "level": level, "throughput_bps": throughput_bps, "capacity_bps": 5e6})
            if spec.id in experiment.examples:
                series += [
                    {**key, "protocol": flow.protocol, "seq": seq, "sent_s": 1 + 0.1 * seq, "every": 1}
                    | {"received_s": 1.2 + 0.1 * seq + 0.01 * place}
                    for seq in range(5)
                ]
    tables = {
        "flows": pa.Table.from_pylist(flows),
        "delays": pa.Table.from_pylist(delays),
        "windows": pa.Table.from_pylist(windows),
        "series": pa.Table.from_pylist(series),
    }
    return Part({"factors": factors, "labels": labels, "runs": len(specs)}, tables)


def _bench(bench: Bench) -> Part:
    """Every condition of a bench, also those that it leaves out; its numbers differ by repetition only."""
    names = list(bench.full.factors)
    rows = [
        {**dict(zip(names, condition, strict=True)), "repetition": repetition, "samples": 20}
        | {"flow": 0, "trusted": True, "outcome": "ok", "completed": True}
        | {"run": ",".join(map(str, (*condition, repetition)))}
        | {it.name: min(1e-5 + 1e-7 * repetition, it.most) for it in bench.measures}
        for condition in itertools.product(*bench.full.factors.values())
        for repetition in range(1, REPETITIONS + 1)
    ]
    manifest = {"factors": bench.full.whole, "labels": bench.words, "samples": 20 * len(rows)}
    return Part(manifest, {BENCH: pa.Table.from_pylist(rows)})


def _none(experiment: str, protocol: str, factors: Mapping[str, Any]) -> Mapping[str, Any]:
    return {}
