"""An experiment of a study's committed summary as a results folder: real numbers for tests of the report.

A summary keeps what tables of results have of flows and of their delays; messages, packets and windows it
does not keep, so the page has no figures that need them.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from gauntlet.experiment import expand, load_experiment
from gauntlet.metrics import measures
from gauntlet.results import facts, layout, parquet, store
from gauntlet.results.manifest import Manifest
from gauntlet.studies import study
from gauntlet.studies.summary import Summary

Kept = Callable[[Mapping[str, Any]], bool]
"""Which rows of the summary's flows are taken."""


def results(folder: Path, key: str, experiment: str, kept: Kept = lambda row: True) -> Path:
    """Write the results folder of an experiment of a published study and return it."""
    chosen = study(key)
    summary = Summary.load(chosen.summary, chosen.home)
    file = chosen.experiment(experiment).file
    told = summary.manifest()[experiment]
    loaded = load_experiment(file, seed=told["seed"])
    flows = sorted(summary.flows(experiment).to_pylist(), key=lambda row: (row["run"], row["flow"]))
    rows = [row for row in flows if kept(row)]
    there = {row["run"]: row for row in rows}
    specs = sorted((spec for spec in expand(loaded) if spec.id in there), key=lambda spec: spec.id)
    manifest = Manifest.new(
        experiment=loaded.text,
        seed=told["seed"],
        runs_planned=len(specs),
        name=loaded.about.name,
        title=loaded.about.title,
        command=["gauntlet", "run", file.name],
        engine=told["engine"],
    )
    store.create(folder, loaded.text, manifest)
    for spec in specs:
        place = layout.run_folder(folder, spec.id)
        place.mkdir(parents=True)
        (place / layout.SPEC).write_text(json.dumps(spec.to_json()))
        (place / layout.RECORD).write_text(json.dumps({"outcome": there[spec.id]["outcome"], "guest": {}}))
    with store.tables(folder) as tables:

        def write(name: str, table: pa.Table) -> None:
            parquet.write(table, tables / f"{name}.parquet")

        run_facts = [
            facts.Told(spec.id, spec.factors, {**dict.fromkeys(_FACTS), "outcome": "ok", "trusted": True})
            for spec in specs
        ]
        write("runs", facts.runs_table(run_facts))
        write("flows", pa.Table.from_pylist([_flow(row) for row in rows]))
        delays = summary.delays(experiment)
        of_these = pa.array([run in there for run in delays.column("run").to_pylist()])
        write("delays", delays.filter(of_these).select(["run", "flow", "level", "delay_s"]))
        none = pa.table({"run": pa.array([], pa.string())})
        write("windows", none)
        write("links", none)
        write("certificates", facts.NO_CHECKS)
        (tables / layout.MADE_WITH).write_text(measures.made_with())
    return folder


_FACTS = ("outcome", "reason", "trusted", "verdict", "seed", "virtual_s")
_NOT_OF_FLOWS = {"repetition", "trusted", "protocols"}


def _flow(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the table of the flows: everything but what its run has, and nothing of what was not kept."""
    own = {name: value for name, value in row.items() if name not in _NOT_OF_FLOWS}
    return {"reason": None, "stack": row["protocol"].partition("-")[0], "delivery_instants": "wire", **own}
