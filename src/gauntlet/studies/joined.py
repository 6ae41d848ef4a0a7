"""Several experiments of a study as one: what a figure shows together but was not played as one matrix."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gauntlet.errors import NotMeasured, UserError
from gauntlet.experiment import expand, load_experiment
from gauntlet.studies.distil import factors_of
from gauntlet.studies.model import Experiment
from gauntlet.studies.summary import Part, Summary

JOINED = "joined"
"""Name of the one experiment of a joined summary."""


def joined(
    summary: Summary, experiments: Sequence[str], fixed: Mapping[str, Mapping[str, Any]] | None = None
) -> Summary:
    """A summary whose experiment `JOINED` has the runs of these experiments, of as many as were played; its
    factors are those of all. It has the repetitions that each of them has, so that means of one and of
    another are over the same stretches.

    `fixed` gives an experiment factors that its own matrix does not have, such as the size that all its runs
    share. Raises NotMeasured when none of them was played, UserError when two have a run of the same id.
    """
    there = [name for name in experiments if name in summary.experiments]
    if not there:
        raise NotMeasured(f"No run of {', '.join(experiments)} is among these results.")
    factors: dict[str, list[Any]] = {}
    labels: dict[str, dict[str, str]] = {}
    for name in experiments:
        own_factors, own_labels = _factors(summary, name)
        added = {factor: [value] for factor, value in (fixed or {}).get(name, {}).items()}
        for factor, values in {**own_factors, **added}.items():
            known = factors.setdefault(factor, [])
            known += [value for value in values if value not in known]
            labels.setdefault(factor, {}).update(own_labels.get(factor, {}))
    for values in factors.values():
        if all(isinstance(value, int | float) for value in values):
            values.sort()
    shared = min(max(summary.factors(name)["repetition"]) for name in there)
    flows = [summary.flows(name).filter(pc.less_equal(pc.field("repetition"), shared)) for name in there]
    tables = {
        "flows": [_with(each, (fixed or {}).get(name, {})) for name, each in zip(there, flows, strict=True)],
        "delays": [summary.delays(name) for name in there],
        "windows": [summary.windows(name) for name in there],
        "series": [summary.series(name) for name in there],
    }
    whole = {table: pa.concat_tables(parts, promote_options="permissive") for table, parts in tables.items()}
    runs = whole["flows"].select(["run", "flow"])
    if runs.group_by(["run", "flow"]).aggregate([]).num_rows < runs.num_rows:
        raise UserError(
            f"{', '.join(there)} have runs of the same id; join experiments whose factors differ."
        )
    return Summary(summary.study, {JOINED: Part({"factors": factors, "labels": labels}, whole)}, summary.home)


def _factors(summary: Summary, experiment: str) -> tuple[dict[str, list[Any]], dict[str, dict[str, str]]]:
    """The factors of an experiment and how their values read, from its file where it was not played."""
    if experiment in summary.experiments or summary.home is None:
        return summary.factors(experiment), summary.manifest()[experiment]["labels"]
    return factors_of(expand(load_experiment(Experiment(summary.home, experiment).file)))


def _with(flows: pa.Table, added: Mapping[str, Any]) -> pa.Table:
    for name, value in added.items():
        flows = flows.append_column(name, pa.array([value] * flows.num_rows))
    return flows
