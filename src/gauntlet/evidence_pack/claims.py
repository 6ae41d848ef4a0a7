"""The claims of a results folder: of every cell what its trials came to, what it is held against, how it was
tried, and which logs say so. Plain data, as it stands in the pack.
"""

import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gauntlet.evidence import FEWEST, Cell, Cells, Trial, Verdict, trials_of
from gauntlet.evidence_pack import layout
from gauntlet.evidence_pack.acts import act
from gauntlet.evidence_pack.archive import sha256
from gauntlet.evidence_pack.requirement import requirement
from gauntlet.experiment.threats import NONE, at_sender
from gauntlet.metrics.numbers import counted, number
from gauntlet.results import layout as of_results
from gauntlet.results.reader import Results, Run

_OF_TRIAL = ("protocol", "threat", "freshness", "flow", "repetition")


@dataclass(frozen=True, slots=True)
class _OfRun:
    """What the trials of a run have in common."""

    id: str
    repetition: Any
    seed: int
    hashes: Sequence[bytes | None]
    """Of each of `layout.RUN_FILES`; None where the run has it not."""


@dataclass(frozen=True, slots=True)
class _Row:
    """What is kept of a trial: of a study there are hundreds of thousands."""

    run: _OfRun
    flow: int
    verdict: Verdict
    acted_s: float | None

    @property
    def place(self) -> tuple[str, int]:
        """Where it stands among others."""
        return self.run.id, self.flow

    def to_json(self, name: str) -> dict[str, Any]:
        """As it stands in its claim, in the pack of the experiment `name`."""
        run, verdict = self.run, asdict(self.verdict)
        there = [(file, it) for file, it in zip(layout.RUN_FILES, run.hashes, strict=True) if it is not None]
        return {
            "run": f"{name}/{run.id}",
            "repetition": run.repetition,
            "flow": self.flow,
            "seed": run.seed,
            "verdict": {**verdict, "harms": list(verdict["harms"])},
            "threat_acted_s": self.acted_s,
            "logs": {layout.run_file(name, run.id, file): it.hex() for file, it in there},
            "again": f"gauntlet evidence verify PACK --run {name}/{run.id}",
        }


@dataclass
class _Claimed:
    """What is kept of a cell."""

    cell: Cell
    first: tuple[str, int]
    """The place of the trial that the following is of: the first one."""
    condition: dict[str, str]
    flow: Mapping[str, Any]
    rows: list[_Row] = field(default_factory=list)


class Claims:
    """The claims of an experiment, gathered run by run, in whatever order runs come."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._cells = Cells()
        self._claimed: dict[int, _Claimed] = {}
        self._verdicts: dict[Verdict, Verdict] = {}

    def add(self, run: Run) -> None:
        """Take in the trials of a run. Raises as `trials_of`."""
        of = None
        for trial in trials_of(run):
            of = of or _of_run(run)
            verdict = trial.verdict
            if verdict.delay_s is None:
                verdict = self._verdicts.setdefault(verdict, verdict)
            row = _Row(of, trial.flow, verdict, _acted_s(trial))
            cell = self._cells.add(trial)
            known = self._claimed.get(id(cell))
            if known is None or row.place < known.first:
                flow = run.plan["flows"][trial.flow]
                rows = [] if known is None else known.rows
                known = _Claimed(cell, row.place, _condition(trial, flow), flow, rows)
                self._claimed[id(cell)] = known
            known.rows.append(row)

    def made(self, results: Results) -> Iterator[dict[str, Any]]:
        """The claims in the order of their first trials, the controls too: one at a time, since each has all
        of its trials."""
        sections = {it["name"]: it for it in tomllib.loads(results.experiment).get("threat", [])}
        test = {
            "experiment_file": f"{layout.experiment_folder(self._name)}/{of_results.EXPERIMENT}",
            "seed": results.manifest.seed,
            "command": again(results, self._name),
        }
        for count, it in enumerate(sorted(self._claimed.values(), key=lambda it: it.first), 1):
            claim = _claim(it, sections.get(it.cell.factors["threat"]), test, self._name)
            yield {"id": f"{self._name}-{count:03}", "experiment": self._name, **claim}


def _of_run(run: Run) -> _OfRun:
    paths = [run.folder / file for file in layout.RUN_FILES]
    hashes = [bytes.fromhex(sha256(path)) if path.exists() else None for path in paths]
    return _OfRun(run.id, run.factors.get("repetition"), run.spec["seed"], hashes)


def _claim(
    claimed: _Claimed, section: Mapping[str, Any] | None, test: dict[str, Any], name: str
) -> dict[str, Any]:
    cell, flow = claimed.cell, claimed.flow
    finding = _finding(cell)
    return {
        "sentence": sentence(section, claimed.condition, finding),
        "cell": dict(cell.factors),
        "condition": claimed.condition,
        "finding": finding,
        "requirement": requirement(section["kind"], flow) if section else None,
        "test": {
            **test,
            "threat": section,
            "act": act(section, flow) if section else None,
            "with_keys": at_sender(flow) is not None,
        },
        "trials": [row.to_json(name) for row in sorted(claimed.rows, key=lambda row: row.place)],
    }


def _condition(trial: Trial, flow: Mapping[str, Any]) -> dict[str, str]:
    """What was varied in words: protocol, threat, freshness check, and the rest of the matrix."""
    labels = trial.run.spec.get("labels", {})
    rest = {name: str(label) for name, label in labels.items() if name not in _OF_TRIAL}
    checked = flow["app_params"].get("freshness")
    return {
        "protocol": str(labels.get("protocol", flow["stack"])),
        "threat": trial.threat,
        "freshness check": "on" if checked else "off",
        **rest,
    }


def _finding(cell: Cell) -> dict[str, Any]:
    """What the trials of a cell came to."""
    return {
        "trials": cell.trials,
        "distinct": cell.distinct,
        "verdicts": dict(sorted(cell.verdicts.items())),
        "not_noticed": cell.not_noticed,
        "bound": cell.bound,
        "bound_words": bound_words(cell),
        "copies": cell.copies,
        "control": cell.control,
        "median_delay_s": cell.median_delay_s,
        "accepted_before": cell.accepted_before,
        "told_first_by": dict(sorted(cell.by.items())),
    }


def bound_words(cell: Cell) -> str:
    """What so many trials allow to say, as a sentence."""
    if cell.control:
        return "It is the control, of which no bound is asked."
    if cell.trials == 0:
        return "No trial is valid, so nothing is said."
    n = counted(cell.trials, "trial")
    if cell.not_noticed:
        return f"Unnoticed in {cell.not_noticed} of {n}, so there is no bound 3/N."
    if cell.copies:
        return (
            "Nothing was drawn and the trials are copies of one: it holds for just these instants, and there "
            "is no bound 3/N."
        )
    if cell.distinct < FEWEST:
        but = (
            f"; {counted(cell.distinct, 'trial')}"
            if cell.distinct == cell.trials
            else (f" of {n}; the {cell.distinct} that are no copies")
        )
        return f"Unnoticed in none{but} {'is' if cell.distinct == 1 else 'are'} too few for a bound."
    of = f" of {n}, of which {cell.distinct} are no copies" if cell.distinct < cell.trials else ""
    share = number(3 / cell.distinct)
    return f"Unnoticed in none{of}: with 95 % confidence in a share of at most {share} (3/N)."


def besides(condition: Mapping[str, str]) -> str:
    """A condition in words, but for protocol and threat."""
    return ", ".join(
        f"{what} {value}" for what, value in condition.items() if what not in ("protocol", "threat")
    )


def acted_before(finding: Mapping[str, Any]) -> str:
    """In how many trials the application acted on a wrong message first; empty where in none."""
    count = finding["accepted_before"]
    return f"acted on before anybody was told in {count} of {finding['trials']}" if count else ""


def sentence(
    section: Mapping[str, Any] | None, condition: Mapping[str, str], finding: Mapping[str, Any]
) -> str:
    """The claim in words."""
    what = f"{str(section['kind']).capitalize()} ('{section['name']}')" if section else "No threat (control)"
    whole = sum(finding["verdicts"].values())
    came = ", ".join(f"{verdict} in {n} of {whole}" for verdict, n in finding["verdicts"].items())
    if before := acted_before(finding):
        came += f"; {before}"
    n = f"N = {finding['trials']}"
    return f"{what} over {condition['protocol']}, {besides(condition)}: {came}. {n}. {finding['bound_words']}"


def _acted_s(trial: Trial) -> float | None:
    if not trial.run.trusted or trial.threat == NONE or trial.course.acted_ns is None:
        return None
    return trial.course.acted_ns / 1e9


def again(results: Results, name: str) -> str:
    """The command that plays the whole experiment again, in the unpacked pack."""
    manifest = results.manifest
    file = f"{layout.experiment_folder(name)}/{of_results.EXPERIMENT}"
    words = ["gauntlet", "run", file, "--seed", str(manifest.seed)]
    if "repetitions" in manifest.options:
        words += ["--repetitions", str(manifest.options["repetitions"])]
    if manifest.in_real_time:
        words += ["--engine", "host"]
    return shlex.join([*words, "--out", str(Path("again") / name)])
