"""The results folder, read: lazily, and with a sentence for whatever is missing or damaged."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from gauntlet.errors import UserError
from gauntlet.results import layout, parquet
from gauntlet.results.by_flow import Arrays, of_file
from gauntlet.results.files import read_json
from gauntlet.results.manifest import Manifest


@dataclass(frozen=True)
class Run:
    """One run; nothing is read before it is asked for."""

    id: str
    folder: Path

    @classmethod
    def packed(cls, folder: Path, plan: Mapping[str, Any]) -> Self:
        """A run of which its packed files are there, and its plan: it has no place in an experiment yet."""
        run = cls(str(plan["id"]), folder)
        run.__dict__.update(plan=dict(plan), spec={})
        return run

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The RunSpec as JSON: id, factors, labels, seeds, scenario, chunk, flows."""
        return read_json(self.folder / layout.SPEC, f"the specification of run {self.id}")

    @cached_property
    def plan(self) -> dict[str, Any]:
        """The run object of the plan."""
        return read_json(self.folder / layout.PLAN, f"the plan of run {self.id}")

    @cached_property
    def record(self) -> dict[str, Any]:
        """What the guest wrote (docs/formats/record.md), without its columns."""
        return read_json(self.folder / layout.RECORD, f"the record of run {self.id}")

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """What the packets say about the run (docs/formats/certificate.md)."""
        return read_json(self.folder / layout.CERTIFICATE, f"the certificate of run {self.id}")

    @property
    def factors(self) -> dict[str, Any]:
        """The run's place in the matrix: protocol, conditions, repetition."""
        factors = self.spec.get("factors", {})
        return dict(factors)

    @property
    def ok(self) -> bool:
        """Whether the run came to its end."""
        return bool(self.record.get("outcome") == "ok")

    @property
    def trusted(self) -> bool:
        """Whether the run came to its end and its certificate holds."""
        return self.ok and bool(self.certificate.get("trusted"))

    @property
    def verdict(self) -> str | None:
        """What its certificate says: confirmed, contradicted or not checked.

        None for a failed run, and for one whose certificate is of version 1 and found no fault: it did not
        say what it had not checked.
        """
        if not self.ok:
            return None
        if "verdict" in self.certificate:
            return str(self.certificate["verdict"])
        return None if self.certificate.get("trusted") else "contradicted"

    def messages(self, columns: list[str] | None = None) -> pa.Table | None:
        """One row a message, by flow and number; None when messages were not recorded."""
        return self._table(layout.MESSAGES, "the messages", columns)

    def sockets(self, columns: list[str] | None = None) -> pa.Table | None:
        """One row a socket sample, by flow and instant; None when sockets were not sampled."""
        return self._table(layout.SOCKETS, "the socket samples", columns)

    def exchanges(self, columns: list[str] | None = None) -> pa.Table | None:
        """One row an object that a flow exchanged, by flow and number; None when no flow exchanges any."""
        return self._table(layout.EXCHANGES, "the exchanges", columns)

    def in_path(self, columns: list[str] | None = None) -> pa.Table | None:
        """One row an event at an in-path node, in the order in which things happened; None without such
        nodes."""
        return self._table(layout.IN_PATH, "what in-path nodes did", columns)

    def safety(self, columns: list[str] | None = None) -> pa.Table | None:
        """One row an event at a receiver that judges its messages, by flow and instant; None without one."""
        return self._table(layout.SAFETY, "what receivers made of their messages", columns)

    def trace(self) -> pa.Table | None:
        """The stretch of trace of each bearer, with a first column `bearer`; None when there is none."""
        return self._table(layout.TRACE, "the trace", None)

    def _table(self, name: str, what: str, columns: list[str] | None) -> pa.Table | None:
        path = self.folder / name
        return parquet.read(path, f"{what} of run {self.id}", columns) if path.exists() else None


@dataclass(frozen=True)
class Results:
    """A results folder."""

    folder: Path
    manifest: Manifest

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a results folder.

        Raises UserError when there is none, RunError when its manifest is damaged.
        """
        if not (folder / layout.MANIFEST).exists():
            raise UserError(
                f"{folder} is not a results folder (it has no {layout.MANIFEST}); give the folder that "
                "`gauntlet run` wrote"
            )
        return cls(folder, Manifest.read(folder))

    def runs(self) -> Iterator[Run]:
        """The runs that are there, by id; failed ones too."""
        for run_id, folder in layout.run_folders(self.folder):
            yield Run(run_id, folder)

    def table(self, name: str, columns: list[str] | None = None) -> pa.Table:
        """One of the campaign's tables, or some of its columns: runs, flows, windows, links, certificates,
        of runs in real time nodes.

        Raises RunError when the tables are not made yet (`gauntlet.metrics.tables.finalize`).
        """
        return parquet.read(self._place(name), f"the table {name!r}", columns)

    def by_flow(self, name: str, columns: Iterable[str]) -> dict[tuple[str, int], Arrays]:
        """Columns of the table of windows or of delays, as NumPy arrays by (run, flow). Raises as `table`."""
        return of_file(self._place(name), f"the table {name!r}", columns)

    def _place(self, name: str) -> Path:
        return layout.tables_folder(self.folder) / f"{name}.parquet"

    def has_current_tables(self) -> bool:
        """Whether the campaign's tables are made, after the last run came or was replaced."""
        tables, runs = layout.tables_folder(self.folder), layout.runs_folder(self.folder)
        return tables.is_dir() and tables.stat().st_mtime_ns >= runs.stat().st_mtime_ns

    @cached_property
    def experiment(self) -> str:
        """The text of the experiment file, empty when it was not kept."""
        path = self.folder / layout.EXPERIMENT
        return path.read_text() if path.exists() else ""

    @cached_property
    def scenario(self) -> dict[str, Any] | None:
        """Plain data of the whole line, when the scenario has one."""
        path = self.folder / layout.SCENARIO
        return read_json(path, "the scenario's figure data") if path.exists() else None

    @cached_property
    def map(self) -> dict[str, Any] | None:
        """The map from which runs took their paths, when they had one in common."""
        path = self.folder / layout.MAP
        return read_json(path, "the map") if path.exists() else None
