"""Which runs can be trusted, which cannot and why, what was not decided, and warnings to the reader."""

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from gauntlet.experiment.beside import varying_beside
from gauntlet.metrics.numbers import counted
from gauntlet.metrics.progress import repetitions_there
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.in_path import idle_rules
from gauntlet.report.nodes import busy
from gauntlet.report.own_network import challenge_remarks
from gauntlet.results.reader import Results

NOT_CHECKED = "not checked"
"""The certificate's answer on a run that could have been checked and was not (docs/formats/certificate.md).
"""


_NUMBERED = re.compile(r"\b(message|request) (\d+)(?= arrived altered)")
"""How a flow's reason names what arrived altered (crates/workload/src/apps)."""


@dataclass(frozen=True)
class Trust:
    """What the trust section lists."""

    planned: int
    present: int
    failed: list[tuple[str, str]]
    """(run, reason)."""
    untrusted: list[tuple[str, list[str]]]
    """(run, sentences of the checks that failed)."""
    unchecked: list[tuple[str, list[str]]]
    """(run, what could have been checked and was not, without any check that failed)."""
    checks: list[tuple[str, int, int]]
    """(check, passed, failed) over all runs."""
    undecided: list[tuple[str, int]]
    """(sentence, how often it was said, with these numbers or others)."""
    flows: int
    """Flows of runs that came to their end."""
    flow_failures: list[tuple[str, str]]
    """(run, reason) of flows that did not do what they were to do, in runs that came to their end."""
    warnings: list[str]
    instants: list[tuple[str, list[str]]]
    """(way of taking instants of receipt, protocols)."""

    @property
    def failed_flows(self) -> str:
        """How many flows failed, in one sentence; empty when none did."""
        if not self.flow_failures:
            return ""
        return (
            f"{len(self.flow_failures)} of {counted(self.flows, 'flow')} failed. They count: what was never "
            "established delivered nothing, what did not end took longer than it was given."
        )

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """Why flows failed, each reason once with how often it was given, the most frequent first."""
        return Counter(reason for _, reason in self.flow_failures).most_common()

    @property
    def trusted(self) -> int:
        """Runs that take part in the answer."""
        return self.present - len(self.failed) - len(self.untrusted) - len(self.unchecked)

    @property
    def in_words(self) -> str:
        """The first screen's line."""
        if self.trusted == self.planned == 1:
            return "The run is trusted: its packets show the link that was asked for."
        if self.trusted == self.planned:
            runs = counted(self.planned, "run")
            return f"All {runs} are trusted: their packets show the link that was asked for."
        parts = [f"{self.trusted} of {counted(self.planned, 'run')} are trusted"]
        if self.untrusted:
            parts.append(f"{len(self.untrusted)} not trusted")
        if self.unchecked:
            parts.append(f"{len(self.unchecked)} not checked")
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        if missing := self.planned - self.present:
            parts.append(f"{missing} not done yet")
        return "; ".join(parts) + ". Only trusted runs count."


def trust(evaluation: Evaluation) -> Trust:
    """Gather it from the tables of runs, flows and certificates."""
    results = evaluation.results
    about = ["run", "outcome", "reason", "trusted", "verdict"]
    there = results.table("runs")
    runs = there.select([name for name in about if name in there.column_names]).to_pylist()
    failed_checks: dict[str, list[str]] = {}
    undecided: dict[str, list[str]] = {}
    unclear: dict[str, list[str]] = {}
    unmade: dict[str, list[str]] = {}
    failed = [(run["run"], run["reason"] or "no reason was given") for run in runs if run["outcome"] != "ok"]
    without_end = {run for run, _ in failed}
    checks = _checks(results, without_end)
    tally = _tally(checks)
    for check in checks.filter(pc.invert(pc.fill_null(checks["passed"], False))).to_pylist():
        if check["passed"] is False:
            failed_checks.setdefault(check["run"], []).append(check["sentence"])
        elif check.get("missing"):
            unmade.setdefault(check["run"], []).append(check["sentence"])
        else:
            unclear.setdefault(check["run"], []).append(check["sentence"])
            # The same statement with other numbers is one statement: a campaign has hundreds of runs.
            undecided.setdefault(re.sub(r"[\d.,]*\d", "#", check["sentence"]), []).append(check["sentence"])
    doubtful = {
        run["run"]: run.get("verdict") for run in runs if run["outcome"] == "ok" and not run["trusted"]
    }
    untrusted = [
        (run, failed_checks.get(run) or unclear.get(run) or ["It has no certificate that holds."])
        for run, verdict in doubtful.items()
        if verdict != NOT_CHECKED
    ]
    unchecked = [(run, unmade[run]) for run, verdict in doubtful.items() if verdict == NOT_CHECKED]
    flows = [row for row in evaluation.rows if row.run not in without_end]
    labels = {style.key: style.label for style in evaluation.styles}
    flow_failures = [
        (row.run, f"{labels[row.protocol]}: {worded(row.reason)}") for row in flows if not row.completed
    ]
    older = sum(run["trusted"] and run.get("verdict") is None for run in runs)
    planned = max(results.manifest.runs_planned, len(runs))
    return Trust(
        planned=planned,
        present=len(runs),
        failed=failed,
        untrusted=untrusted,
        unchecked=unchecked,
        checks=tally,
        undecided=sorted(((_first(each), len(each)) for each in undecided.values()), key=lambda it: -it[1]),
        flows=len(flows),
        flow_failures=flow_failures,
        warnings=_warnings(evaluation, planned - len(runs), older),
        instants=_instants(evaluation),
    )


def worded(reason: str | None) -> str:
    """Why a flow failed, for a reader: a record numbers messages and requests from 0, as its tables do, a
    rule of an in-path node from 1.
    """
    if not reason:
        return "it did not bring all that it was to bring"
    return _NUMBERED.sub(
        lambda it: f"{it[1]} {int(it[2]) + 1} ({it[1]} {it[2]} in the record, from 0)", reason
    )


def _checks(results: Results, without_end: Collection[str]) -> pa.Table:
    """The rows of certificates of runs that came to their end, without what was measured."""
    wanted = ["run", "name", "passed", "sentence", "missing"]
    checks = results.table("certificates")
    checks = checks.select([name for name in wanted if name in checks.column_names])
    ended = pc.invert(pc.is_in(checks["run"], pa.array(sorted(without_end), pa.string())))
    return checks.filter(ended) if without_end else checks


def _tally(checks: pa.Table) -> list[tuple[str, int, int]]:
    """(check, passed, failed), by name."""
    made = (
        checks.filter(pc.is_valid(checks["passed"]))
        .group_by(["name", "passed"])
        .aggregate([([], "count_all")])
    )
    counts: dict[str, Counter[bool]] = {}
    for row in made.to_pylist():
        counts.setdefault(row["name"], Counter())[row["passed"]] = row["count_all"]
    return [(name, count[True], count[False]) for name, count in sorted(counts.items())]


def _first(sentences: list[str]) -> str:
    return (
        sentences[0]
        if len(set(sentences)) == 1
        else f"{sentences[0]} (Elsewhere the same with other numbers.)"
    )


def _instants(evaluation: Evaluation) -> list[tuple[str, list[str]]]:
    """How instants of receipt were taken, and for which protocols."""
    found: dict[str, set[str]] = {}
    columns = ["delivery_instants", "protocol", "stack"]
    told = evaluation.results.table("flows", columns).group_by(columns).aggregate([])
    for flow in told.to_pylist():
        if flow["delivery_instants"]:
            found.setdefault(flow["delivery_instants"], set()).add(flow["protocol"] or flow["stack"])
    labels = {style.key: style.label for style in evaluation.styles}
    return [(way, sorted(labels.get(key, key) for key in keys)) for way, keys in sorted(found.items())]


def _warnings(evaluation: Evaluation, missing: int, older: int) -> list[str]:
    found = [sentence] if (sentence := busy(evaluation)) else []
    found += idle_rules(evaluation)
    found += challenge_remarks(evaluation)
    found += varying_beside(run.spec.get("flows", []) for run in evaluation.results.runs())
    if older:
        found.append(
            f"Of {counted(older, 'run')} the certificate is of version 1: it found no fault and does not "
            "say what was not checked. To know, play again."
        )
    count = len(evaluation.repetitions)
    if missing > 0:
        found.append(
            f"{counted(missing, 'run')} of the experiment {'is' if missing == 1 else 'are'} not there yet; "
            f"the same command continues with them. {_whole(evaluation)}".rstrip()
        )
    if count == 1:
        found.append(
            "There is one repetition: no interval can be given and no difference can be told from chance. "
            "Use --repetitions to make more."
        )
    elif few := evaluation.too_few:
        found.append(
            f"{few}. Nothing is called worse or equal, and an interval is the range of what was "
            "seen, which holds the true mean with less than 95 %."
        )
    found += [alike] if (alike := _alike(evaluation)) else []
    return found


def _whole(evaluation: Evaluation) -> str:
    """Which repetitions of a campaign that was stopped are whole; empty where its manifest does not say how
    many there were to be.
    """
    manifest = evaluation.results.manifest
    repetitions = manifest.options.get("repetitions")
    if not isinstance(repetitions, int):
        return ""
    runs = {row.run: row.repetition for row in evaluation.rows}
    return repetitions_there(Counter(runs.values()), manifest.runs_planned, repetitions)


def _alike(evaluation: Evaluation) -> str:
    """That repetitions are the same one, and in how many cells; empty where in none."""
    places = [(style, it) for style in evaluation.styles for it in evaluation.conditions]
    alike = sum(evaluation.deterministic(style.key, it) for style, it in places)
    if not alike:
        return ""
    where = "everywhere" if alike == len(places) else f"in {alike} of {len(places)} cells of the results"
    return f"Deterministic {where}: nothing was drawn, so all repetitions there are one."
