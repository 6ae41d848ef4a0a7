"""Several experiments of a study as one: what a figure shows together but was not played as one matrix."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from gauntlet.errors import UserError
from gauntlet.studies.model import NotMeasured
from gauntlet.studies.summary import TABLES, Part, Summary

JOINED = "joined"
"""Name of the one experiment of a joined summary."""


def joined(
    summary: Summary, experiments: Sequence[str], fixed: Mapping[str, Mapping[str, Any]] | None = None
) -> Summary:
    """A summary whose experiment `JOINED` has the runs of these experiments, of as many as there are.

    `fixed` gives an experiment factors that its own matrix does not have, such as the size that all its runs
    share. Raises NotMeasured when none of them was played, UserError when two have a run of the same id.
    """
    there = [name for name in experiments if name in summary.experiments]
    if not there:
        raise NotMeasured(f"No run of {', '.join(experiments)} is among these results.")
    factors: dict[str, list[Any]] = {}
    labels: dict[str, dict[str, str]] = {}
    tables: dict[str, list[pa.Table]] = {table: [] for table in TABLES}
    manifest = summary.manifest()
    for name in there:
        added = dict((fixed or {}).get(name, {}))
        for factor, values in {**summary.factors(name), **{key: [it] for key, it in added.items()}}.items():
            known = factors.setdefault(factor, [])
            known += [value for value in values if value not in known]
            labels.setdefault(factor, {}).update(manifest[name]["labels"].get(factor, {}))
        tables["flows"].append(_with(summary.flows(name), added))
        tables["delays"].append(summary.delays(name))
        tables["windows"].append(summary.windows(name))
        tables["series"].append(summary.series(name))
    for values in factors.values():
        if all(isinstance(value, int | float) for value in values):
            values.sort()
    whole = {table: pa.concat_tables(parts, promote_options="permissive") for table, parts in tables.items()}
    runs = whole["flows"].select(["run", "flow"])
    if runs.group_by(["run", "flow"]).aggregate([]).num_rows < runs.num_rows:
        raise UserError(
            f"{', '.join(there)} have runs of the same id; join experiments whose factors differ."
        )
    return Summary(summary.study, {JOINED: Part({"factors": factors, "labels": labels}, whole)})


def _with(flows: pa.Table, added: Mapping[str, Any]) -> pa.Table:
    for name, value in added.items():
        flows = flows.append_column(name, pa.array([value] * flows.num_rows))
    return flows
