"""`gauntlet.load`: a results folder as tidy tables."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from gauntlet.errors import UserError
from gauntlet.metrics.tables import current
from gauntlet.notebook import packets, series
from gauntlet.notebook.factors import Factors
from gauntlet.results import layout, store
from gauntlet.table import Table

if TYPE_CHECKING:
    import altair as alt

FAILED = "failed"
"""Outcome of a run that has no numbers: its guest came to no end."""


def load(path: str | Path, *, untrusted: bool = False) -> "Results":
    """What a results folder holds (`gauntlet run`, `gauntlet.run`), as tidy tables.

    *Trusted* is a run that came to its end and of which its own packets, replayed by code that shares nothing
    with the emulator, confirm that the network did what was asked, and the flows what they claim
    (docs/formats/certificate.md). Runs that their packets contradict, and those of which something that could
    have been checked was not, are left out; with `untrusted=True` they are there, `trusted` false in each of
    their rows. Runs that failed are there in any case, as rows without numbers, and so are flows that failed
    in a run that did not.

    Tables of the folder that are missing or older than its runs are made first. Raises UserError when `path`
    is no results folder, RunError when it holds no run or is damaged.
    """
    return Results(current(Path(path)), untrusted=untrusted)


class Results:
    """A results folder. Each table is read when it is first asked for, and has the factors of the experiment
    (`protocol`, `loss`, `repetition`, ...) as columns; a factor that has the name of a column of the table
    is called `run_` and that name.
    """

    def __init__(self, found: store.Results, *, untrusted: bool) -> None:
        self._found = found
        every = found.table("runs")
        if not untrusted:
            failed = pc.equal(every["outcome"], FAILED)
            every = every.filter(pc.or_(every["trusted"], failed))
        self._runs = every
        self._left_out = found.table("runs").num_rows - every.num_rows

    @property
    def folder(self) -> Path:
        """Where the results lie."""
        return self._found.folder

    @property
    def factors(self) -> list[str]:
        """What the experiment varies, protocol and repetition among them: names of columns."""
        return self._factors.names

    @property
    def runs(self) -> Table:
        """One row a run: `run`, its factors, `outcome` (ok, failed), `reason` of a failure, `trusted`, the
        `verdict` of its certificate, `seed`, `virtual_s` (how long it lasted), KPIs of whole runs.
        """
        return Table(self._runs)

    @cached_property
    def flows(self) -> Table:
        """One row a flow, with its KPIs as columns (`throughput_bps`, `delay_p95_s`, ...: null where a flow
        has none), `outcome`, `completed`, and of its run `run_outcome`, `run_reason`, `trusted`, `verdict`.

        A run that failed is one row, whose `flow` and KPIs are null.
        """
        flows = self._found.table("flows")
        of_run = pc.index_in(flows["run"], self._runs["run"])
        missing = pc.invert(pc.is_in(self._runs["run"], flows["run"]))
        both = pa.concat_tables(
            [
                flows.append_column("_place", of_run).filter(pc.is_valid(of_run)),
                self._runs.select(["run"]).append_column("_place", self._factors.places).filter(missing),
            ],
            promote_options="default",
        )
        ordered = both.take(pc.sort_indices(both, [("_place", "ascending"), ("flow", "ascending")]))
        places = ordered["_place"].to_numpy().astype("int64")
        return Table(self._factors.beside(ordered.drop_columns(["_place"]), places, about_run=True))

    @cached_property
    def messages(self) -> Table:
        """One row a message: `run`, factors, `flow`, `seq`, `size_bytes`, `sent_ns` and `received_ns` (from
        the run's start; null: it never arrived).

        Raises UserError when no run kept its messages (`[record] messages = false`).
        """
        parts = [
            (place, table)
            for place, run in self._factors.runs(self._found)
            if (table := run.messages()) is not None
        ]
        return Table(self._factors.joined(parts, "messages", "messages = true under [record]"))

    @cached_property
    def series(self) -> Table:
        """What changes over time, one row a value: `run`, factors, `flow` or `bearer`, `t_s` (from the run's
        start), `quantity` and `value`; units are in the names of the quantities.

        Of flows by windows of a second, which begin at `t_s`: `throughput_bps`, `capacity_bps`,
        `received_bytes`, `sent_messages`, `lost_messages`, `delay_mean_s`, `delay_max_s`. Of their sockets,
        as sampled: `cwnd_bytes`, `srtt_s` and the rest of docs/formats/record.md. Of the link that a run rode
        (`bearer`): the columns of docs/formats/trace.md, each value until the next.
        """
        return Table(series.table(self._found, self._factors))

    @cached_property
    def nodes(self) -> Table:
        """One row a node of each run in real time: `run`, factors, `node`, what it used (`cpu_ns`,
        `peak_memory_bytes` and the rest of docs/formats/record.md; null: the host could not tell), and how
        busy the machine was (`busy_share_before`, `busy_share_after`, `steal_share`).

        Raises UserError for runs in virtual time, where computing costs nothing.
        """
        if not self._found.manifest.in_real_time:
            raise UserError(
                "Runs in virtual time use nothing up, because computing costs nothing there; play the "
                "experiment with gauntlet run --engine host."
            )
        nodes = self._found.table("nodes")
        of_run = pc.index_in(nodes["run"], self._runs["run"])
        known = pc.is_valid(of_run)
        places = of_run.filter(known).to_numpy().astype("int64")
        return Table(self._factors.beside(nodes.filter(known), places))

    @cached_property
    def packets(self) -> Table:
        """One row a packet at each place where packets were captured: `run`, factors, `link` (`a>b`: it
        arrived at b), `t_ns` (from the run's start), `size_bytes`, `source`, `destination` and `transport`
        (tcp, udp, sctp, icmp, or the number) of the innermost IP header, `tunnelled`.

        Raises UserError when no run kept its packets (`gauntlet run --capture`, or `capture=True`).
        """
        parts = [
            (place, packets.table(file))
            for place, run in self._factors.runs(self._found)
            if (file := run.folder / layout.CAPTURE).exists()
        ]
        return Table(self._factors.joined(parts, "packets", "gauntlet run --capture"))

    def chart(self, kind: str, **wanted: str) -> "alt.TopLevelMixin":
        """A figure of the report as an Altair chart, of trusted runs: `gauntlet.notebook.chart.chart`."""
        from gauntlet.notebook.chart import chart

        return chart(self._found, kind, **wanted)

    @cached_property
    def _factors(self) -> Factors:
        return Factors(self._runs)

    def __repr__(self) -> str:
        outcomes = self._runs["outcome"].to_pylist()
        said = [f"{len(outcomes)} runs", f"{outcomes.count(FAILED)} of them failed"]
        if self._left_out:
            said.append(f"{self._left_out} more left out, which are not trusted")
        return f"<Results {self.folder}: {', '.join(said)}>"
