"""What the links of a run do over its time, whether they are a preset's or of a network of one's own."""

import pyarrow as pa

from gauntlet.experiment import followed, links
from gauntlet.experiment.links import State
from gauntlet.experiment.runspec import RunSpec


def timeline(spec: RunSpec) -> list[State]:
    """The timeline of a run's plan: everything at 0, later only what changes."""
    return links.timeline(spec) if spec.link.own is None else followed.timeline(spec)


def ridden(spec: RunSpec) -> dict[str, pa.Table]:
    """The link of a run over its time, per bearer, as a trace table (docs/formats/trace.md)."""
    own = spec.link.own or {}
    return followed.ridden(spec) if own.get("rest") else links.ridden(spec)
