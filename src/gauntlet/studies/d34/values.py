"""Results of the study that no KPI holds, for claims to name: lines and cells, formulas, Table 9."""

from collections.abc import Mapping

from gauntlet.scenario import load_scenario
from gauntlet.studies.d34 import rasta
from gauntlet.studies.d34.overflow import TABLE_8, overflow
from gauntlet.studies.d34.recommend import CLASSES
from gauntlet.studies.d34.scenarios import (
    average_rate_bps,
    handover_steps,
    most_others,
    scenario,
    shared_part,
    track,
)
from gauntlet.studies.model import Value
from gauntlet.studies.recommend import share_served
from gauntlet.studies.summary import Summary

_ROWS = {row.name: row for row in TABLE_8}
_RTT_S = 0.1
_SMALL_LOSS = 1e-4
"""So small that a second loss between two is left out of account."""


def _cells(line: str, area: str | None = None) -> Value:
    def count(_: Summary) -> float:
        return float(sum(area in (None, cell.area) for cell in track(scenario(line)).cells))

    return count


def _highest_rate(_: Summary) -> float:
    """With the radio's rates, as section 5.2 has it: in Mbit/s."""
    return load_scenario("hsr").max_rate_bps / 1e6


def _regional_capacity(_: Summary) -> float:
    """Mean capacity over the whole journey, the regional line's over the high-speed line's."""
    regional, fast = (scenario(line).trace.mean("rate_up_bps") for line in ("regional", "hsr"))
    return regional / fast


def _formula(name: str) -> Value:
    """NL by the formula, from the printed DR on, over the printed NL."""
    row = _ROWS[name]
    return lambda _: overflow(row.channel_bps, gain_bps=row.gain_bps).packets / row.packets


def _gain(_: Summary) -> float:
    """DR of Table 8's second row by its own first step, over the printed one."""
    row = _ROWS["UDP_2"]
    return overflow(row.channel_bps).gain_bps / row.gain_bps


def _rasta_loss_ratio(_: Summary) -> float:
    """How many times as much RaSTA loses when losses are twice as likely."""
    none, one, two = (rasta.rasta_throughput_bps(_RTT_S, loss=it * _SMALL_LOSS) for it in (0, 1, 2))
    return (none - two) / (none - one)


def _tcp_loss_ratio(_: Summary) -> float:
    """The same of TCP with a window of 20 segments, from 1 to 2 %: below, the window holds it back first."""
    none, one, two = (rasta.tcp_throughput_bps(_RTT_S, it * 0.01) for it in (0, 1, 2))
    return (none - two) / (none - one)


VALUES: Mapping[str, Value] = {
    "cells-hsr": _cells("hsr"),
    "cells-hsr-urban": _cells("hsr", "urban"),
    "cells-regional": _cells("regional"),
    "handover-steps": lambda _: handover_steps(scenario("hsr")),
    "most-others-hsr": lambda _: most_others(scenario("hsr")),
    "most-others-regional": lambda _: most_others(scenario("regional")),
    "most-others-5min": lambda _: most_others(scenario("hsr", 300.0)),
    "shared-part-ratio": lambda _: shared_part(scenario("hsr", 300.0)) / shared_part(scenario("hsr")),
    "regional-capacity": _regional_capacity,
    "highest-rate-mbps": _highest_rate,
    "average-rate-mbps": lambda _: average_rate_bps() / 1e6,
    **{f"formula-{name.lower()}": _formula(name) for name in _ROWS},
    "formula-gain-udp2": _gain,
    "rasta-over-tcp": lambda _: rasta.ratio(_RTT_S),
    "rasta-proportion": lambda _: rasta.ratio(_RTT_S) / (_RTT_S / rasta.HEARTBEAT_S),
    "rasta-loss-ratio": _rasta_loss_ratio,
    "tcp-loss-ratio": _tcp_loss_ratio,
    **{f"table-9-{service.name.lower().replace(' ', '-')}": share_served(service) for service in CLASSES},
}
"""By the name that a claim of the kind `value` gives."""
