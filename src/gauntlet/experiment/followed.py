"""Links of a network of one's own that follow a scenario: from its trace to entries of a plan's timeline.

Towards the link's second end packets meet what the scenario says of the way up, towards its first what it
says of the way down.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from gauntlet.experiment import links, stretches
from gauntlet.experiment.links import State
from gauntlet.experiment.runspec import LinkConditions, RunSpec, ScenarioRef
from gauntlet.experiment.scenario_section import FollowedSection

_ANY_SEED = 0
"""What no draw changes (length, highest rate, mean delay) is asked of these."""
OF_RATE = ("rate_bps", "queue_limit_bytes", "queue")
"""Keys of a link direction that stand where its rate does; all others stand where its delay does."""


@dataclass(frozen=True)
class Followed:
    """What a link follows, and what is typical of it."""

    section: FollowedSection
    ref: ScenarioRef
    up: Mapping[str, Any]
    """By keys of a plan's timeline: the highest rate, the first queue, the longest delay, the mean loss."""
    down: Mapping[str, Any]

    @property
    def words(self) -> str:
        """Name and parameters, for people."""
        own = ", ".join(f"{key} {value}" for key, value in self.ref.params.items())
        return f"{self.ref.name} ({own})" if own else self.ref.name

    def to_json(self) -> dict[str, Any]:
        """What runs keep of it."""
        stretch = {"chunk": self.section.chunk, "start": self.section.start}
        return {"scenario": dataclasses.asdict(self.ref), **stretch}


def of(section: FollowedSection, folder: Path) -> Followed:
    """What a link follows; a file is looked for in `folder`. Raises UserError for what there is not."""
    ref = stretches.referred(section, section.params, folder)
    stretches.refuse_bare_numbers(section, ref, _ANY_SEED)
    found = links.scenario(ref, _ANY_SEED)
    trace = links.bearer(ref, found)
    until_s = found.duration_s if found.ends else float(trace.column("t_s")[-1]) or 1.0
    up, down = (
        {
            "rate_bps": links.max_rate_bps(ref, found, side),
            "queue_limit_bytes": int(trace.column("queue_limit_bytes")[0]),
            "delay_s": float(trace.column(f"delay_{side}_s").max()),
            "loss": trace.mean(f"loss_{side}", 0.0, until_s),
        }
        for side in ("up", "down")
    )
    return Followed(section, ref, up, down)


def timeline(spec: RunSpec) -> list[State]:
    """The timeline of a run over a network of one's own: everything at 0, later only what changes."""
    own = spec.link.own or {}
    found = [dict(entry) for entry in own["timeline"]]
    for link in own.get("followed", ()):
        rows = _rows(link, spec)
        for side in ("up", "down"):
            state = link[side]["state"]
            rate = {key: value for key, value in state.items() if key in OF_RATE}
            channel = {key: value for key, value in state.items() if key not in OF_RATE}
            conditions = LinkConditions(spec.link.network, **channel)
            for hop, columns, made in (
                (
                    link[side]["rate"],
                    links.RATE_COLUMNS,
                    partial(links.rate_state, conditions, side, rate or None),
                ),
                (
                    link[side]["channel"],
                    links.CHANNEL_COLUMNS,
                    partial(links.channel_state, conditions, side, 0.0),
                ),
            ):
                found += [entry for _, _, entry in links.entries(rows, [hop], columns[side], made)]
    return sorted(found, key=lambda entry: entry["at_s"])


def ridden(spec: RunSpec) -> dict[str, pa.Table]:
    """The way of a run's first flow over its time, where one of its links follows the run's scenario: the
    link's trace with what else the way does to a packet (docs/formats/trace.md).
    """
    (name, table), *_ = links.ridden(spec).items()
    for side, rest in (spec.link.own or {})["rest"].items():
        rates = [min(own, rest["rate_bps"] or own) for own in table.column(f"rate_{side}_bps").to_pylist()]
        delays = [round(own + rest["delay_s"], links.DELAY_DIGITS)
                  for own in table.column(f"delay_{side}_s").to_pylist()]  # fmt: skip
        losses = [round(1 - (1 - own) * (1 - rest["loss"]), 12)
                  for own in table.column(f"loss_{side}").to_pylist()]  # fmt: skip
        for key, values in (
            (f"rate_{side}_bps", rates),
            (f"delay_{side}_s", delays),
            (f"loss_{side}", losses),
        ):
            table = links.with_column(table, key, values)
    return {name: table}


def _rows(link: Mapping[str, Any], spec: RunSpec) -> Sequence[State]:
    ref = ScenarioRef(**link["scenario"])
    found = links.scenario(ref, spec.link_seed)
    asked = stretches.Asked(ref.name, link["chunk"], link["start"])
    start_s, _ = stretches.stretch(asked, found, spec.link_seed, spec.limit_s)
    return links.rows_of(links.bearer(ref, found), start_s, min(spec.limit_s, found.duration_s - start_s))
