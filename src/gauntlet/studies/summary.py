"""What is kept of a study's run: small enough to commit, enough to decide every claim and draw every figure.

    SUMMARY/
      manifest.json          per experiment: hashes, seed, versions, factors, runs, trusted, failed, times
      verdicts.json          what the ledger says of it (gauntlet.studies.reproduce)
      EXPERIMENT/flows.parquet      one row a flow
      EXPERIMENT/delays.parquet     quantiles of the one-way delay of each flow
      EXPERIMENT/windows.parquet    quantiles of each flow's throughput per window, and of the capacity
      EXPERIMENT/series.parquet     example runs: messages, thinned
      EXPERIMENT/trials.parquet     of threats to safety messages: what trials came to, counted
      BENCH/bench.parquet           of a bench: a row for each condition and repetition

It is made from results folders by `gauntlet.studies.distil`. docs/formats/ledger.md has the columns.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from gauntlet.errors import NotMeasured, RunError, UserError
from gauntlet.metrics.flow_rows import completed
from gauntlet.metrics.steps import Floats
from gauntlet.report.factors import readable
from gauntlet.report.once import found_once
from gauntlet.results import parquet
from gauntlet.results.by_flow import by_flow
from gauntlet.results.files import failures_named, json_bytes, read_json

MANIFEST = "manifest.json"
VERDICTS = "verdicts.json"
FORMAT = {"format": "gauntlet-study-summary", "version": 1}
TABLES = ("flows", "delays", "windows", "series")
TRIALS = "trials"
"""Of experiments whose flows are trials of threats."""
BENCH = "bench"
"""The one table of a bench."""


@dataclass(frozen=True)
class Part:
    """One experiment's share of a summary; tables of a folder are read when they are asked for."""

    manifest: Mapping[str, Any]
    tables: Mapping[str, pa.Table]
    folder: Path | None = None

    def has(self, name: str) -> bool:
        """Whether it has a table."""
        return name in self.tables or (self.folder is not None and (self.folder / f"{name}.parquet").exists())

    def table(self, name: str) -> pa.Table:
        """One of `TABLES`, `TRIALS` or `BENCH`. Raises RunError when the committed file is missing or
        damaged.
        """
        if self.folder is None or name in self.tables:
            return self.tables[name]
        path = self.folder / f"{name}.parquet"
        return parquet.read(path, f"the summary's table {name}")


class Summary:
    """A study's results, reduced. Every accessor raises NotMeasured for an experiment that is not in it."""

    def __init__(
        self,
        study: str,
        parts: Mapping[str, Part],
        home: Path | None = None,
        benches: Mapping[str, Part] | None = None,
    ) -> None:
        self.study = study
        self.home = home
        """The study's folder, whose files say what was not played; None: only what was is known."""
        self._parts = dict(parts)
        self._benches = dict(benches or {})
        self._read: dict[tuple[str, str], pa.Table] = {}

    @classmethod
    def load(cls, folder: Path, home: Path | None = None) -> Self:
        """Open a summary folder of the study in `home`. Raises UserError when there is none, RunError when it
        is damaged.
        """
        if not (folder / MANIFEST).exists():
            raise UserError(
                f"{folder} holds no summary of a study; `gauntlet reproduce STUDY --full --update-summary "
                f"{folder}` makes one."
            )
        whole = read_json(folder / MANIFEST, "the summary's manifest")
        if {key: whole.get(key) for key in FORMAT} != FORMAT:
            raise RunError(f"{folder / MANIFEST} is not of this version's format; make the summary again.")
        parts = {name: Part(part, {}, folder / name) for name, part in whole["experiments"].items()}
        benches = {name: Part(part, {}, folder / name) for name, part in whole.get("benches", {}).items()}
        return cls(str(whole["study"]), parts, home, benches)

    def updated(self, newer: "Summary") -> "Summary":
        """The same with the experiments and benches of a newer one, in place of those that it has too."""
        return Summary(self.study, self._parts | newer._parts, self.home, self._benches | newer._benches)

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments that have runs in it."""
        return tuple(self._parts)

    @property
    def benches(self) -> tuple[str, ...]:
        """The benches that are in it."""
        return tuple(self._benches)

    @property
    def measured(self) -> tuple[str, ...]:
        """Experiments and benches that are in it."""
        return (*self._parts, *self._benches)

    def flows(self, experiment: str) -> pa.Table:
        """One row a flow: `run`, every factor, `protocols`, `repetition`, `trusted`, `outcome`, `completed`
        and `given_s` (not in summaries of before), `flow`, `protocol`, counts, all KPIs and the study's own
        measures. A run that failed has one row without KPIs. Of a bench one row a condition and repetition,
        in columns of the same names.
        """
        return self._table(experiment, BENCH if experiment in self._benches else "flows")

    def flows_done(self, experiment: str) -> tuple[int | None, int, int]:
        """How many flows of trusted runs did what they were to do, how many failed, and how many there are.
        The first is None in a summary of an earlier version, which does not say it; failed are then those
        whose outcome or whose missing time says so.
        """
        rows = [row for row in self.flows(experiment).to_pylist() if row["trusted"]]
        failed = sum(not completed(row) for row in rows)
        said = [row.get("completed") for row in rows]
        return (None if None in said else sum(map(bool, said))), failed, len(rows)

    def delays(self, experiment: str) -> pa.Table:
        """Quantiles of the one-way delay of each flow: `run`, `flow`, `level`, `delay_s`; where flows are
        periodic also of the delays of their messages: `message_delay_s`, `message_delay_with_setup_s`.
        """
        return self._table(experiment, "delays")

    def windows(self, experiment: str) -> pa.Table:
        """Quantiles over the whole windows (1 s) of each flow: `run`, `flow`, `level`, `throughput_bps`,
        `capacity_bps`.
        """
        return self._table(experiment, "windows")

    @found_once
    def quantiles(
        self, experiment: str, table: str, column: str
    ) -> dict[tuple[str, int], tuple[Floats, Floats]]:
        """By (run, flow): the levels and the kept quantiles of a column of `delays` or `windows`.

        Raises NotMeasured when the experiment has no such column.
        """
        kept = self.delays(experiment) if table == "delays" else self.windows(experiment)
        if column not in kept.column_names:
            raise NotMeasured(f"The flows of {experiment} have no {column}.")
        return {
            key: (part["level"], part[column].astype(float))
            for key, part in by_flow(kept, ("level", column)).items()
        }

    def series(self, experiment: str) -> pa.Table:
        """Messages of the example runs: `run`, `flow`, `protocol`, `seq`, `sent_s`, `received_s` (null:
        lost), `every` (one message in so many is kept).
        """
        return self._table(experiment, "series")

    def trials(self, experiment: str) -> pa.Table:
        """What the trials of threats came to (`gauntlet.studies.trialled`)."""
        if not self._part(experiment).has(TRIALS):
            raise NotMeasured(f"{experiment} has no trials of threats.")
        table = self._table(experiment, TRIALS)
        if "distinct" not in table.column_names:
            raise NotMeasured(
                f"The trials of {experiment} were counted by an older version, copies of each other too; "
                "make the summary again."
            )
        return table

    def manifest(self) -> dict[str, dict[str, Any]]:
        """Per experiment: `experiment_sha256`, `seed`, `kernel`, `engine`, `versions`, `options`, `factors`,
        `labels`, `planned`, `runs`, `trusted`, `untrusted` and `failed` (run -> sentence), `wall_s`,
        `virtual_s`, `host`, `workers`.
        """
        return {name: dict(part.manifest) for name, part in self._parts.items()}

    def bench_manifest(self) -> dict[str, dict[str, Any]]:
        """Per bench what its results folder says of it (`gauntlet.benches.keeping`), `factors`, `labels`."""
        return {name: dict(part.manifest) for name, part in self._benches.items()}

    def factors(self, experiment: str) -> dict[str, list[Any]]:
        """Every factor of the whole experiment with its values, whether this summary has runs of them or not;
        `protocols` are the runs', `protocol` the flows'.
        """
        return dict(self._part(experiment).manifest["factors"])

    def label(self, experiment: str, factor: str, value: Any) -> str:
        """A factor's value for people: "25 ms"."""
        labels = self._part(experiment).manifest["labels"].get(factor, {})
        return readable(factor, value, str(labels.get(str(value), value)))

    @cached_property
    def runs(self) -> int:
        """Runs that are in it, failed ones too."""
        return sum(int(part.manifest["runs"]) for part in self._parts.values())

    def write(self, folder: Path, verdicts: Mapping[str, Any]) -> None:
        """Write it as a folder, whole or not at all; a summary that was there is replaced.

        Raises UserError when the folder holds something else, RunError when it cannot be written.
        """
        if folder.exists() and any(folder.iterdir()) and not (folder / MANIFEST).exists():
            raise UserError(f"{folder} is there but holds no summary; choose an empty or a new folder.")
        part, old = (folder.with_name(f".{folder.name}.{word}-{os.getpid()}") for word in ("part", "old"))
        manifest = {**FORMAT, "study": self.study, "experiments": self.manifest()}
        if self._benches:
            manifest["benches"] = self.bench_manifest()
        with failures_named(f"write the summary {folder}"):
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            try:
                for name in self._parts:
                    (part / name).mkdir()
                    for table in TABLES:
                        parquet.write(self._table(name, table), part / name / f"{table}.parquet")
                    if self._parts[name].has(TRIALS):
                        parquet.write(self._table(name, TRIALS), part / name / f"{TRIALS}.parquet")
                for name in self._benches:
                    (part / name).mkdir()
                    parquet.write(self._table(name, BENCH), part / name / f"{BENCH}.parquet")
                (part / MANIFEST).write_bytes(json_bytes(manifest))
                (part / VERDICTS).write_bytes(json_bytes(dict(verdicts)))
                if folder.exists():
                    folder.rename(old)
                part.rename(folder)
            finally:
                shutil.rmtree(part, ignore_errors=True)
                shutil.rmtree(old, ignore_errors=True)

    def _part(self, experiment: str) -> Part:
        if experiment in self._benches:
            return self._benches[experiment]
        if experiment not in self._parts:
            raise NotMeasured(f"No run of {experiment} is among these results.")
        return self._parts[experiment]

    def _table(self, experiment: str, name: str) -> pa.Table:
        if experiment in self._benches and name != BENCH:
            raise NotMeasured(f"{experiment} is a bench and has no {name}.")
        key = (experiment, name)
        if key not in self._read:
            self._read[key] = self._part(experiment).table(name)
        return self._read[key]
