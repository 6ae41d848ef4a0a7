"""The claims of a results folder: of every cell what its trials came to, what it is held against, how it was
tried, and which logs say so. Plain data, as it stands in the pack.
"""

import json
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gauntlet.evidence import FEWEST, Cell, Trial, cells, place, trials
from gauntlet.evidence_pack import layout
from gauntlet.evidence_pack.acts import act
from gauntlet.evidence_pack.archive import sha256
from gauntlet.evidence_pack.requirement import requirement
from gauntlet.experiment.threats import NONE, at_sender
from gauntlet.metrics.numbers import counted, number
from gauntlet.results import layout as of_results
from gauntlet.results.reader import Results, Run

_OF_TRIAL = ("protocol", "threat", "freshness", "flow", "repetition")


def claims(results: Results, name: str) -> list[dict[str, Any]]:
    """The claims of an experiment in the order of its cells, the controls too. Raises as `trials`."""
    told: dict[str, list[tuple[dict[str, Any], Trial]]] = {}

    def noted() -> Iterator[Trial]:
        for trial in trials(results):
            yield trial
            # What a trial has read goes with it; of a study there are many.
            bare = Trial(Run(trial.run.id, trial.run.folder), trial.flow)
            told.setdefault(_key(place(trial)), []).append((_trial(trial, name), bare))

    found = cells(noted())
    sections = {it["name"]: it for it in tomllib.loads(results.experiment).get("threat", [])}
    test = {
        "experiment_file": f"{layout.experiment_folder(name)}/{of_results.EXPERIMENT}",
        "seed": results.manifest.seed,
        "command": again(results, name),
    }
    made = []
    for count, cell in enumerate(found, 1):
        section = sections.get(cell.factors["threat"])
        claim = _claim(cell, told[_key(cell.factors)], section, test)
        made.append({"id": f"{name}-{count:03}", "experiment": name, **claim})
    return made


def _key(factors: Mapping[str, Any]) -> str:
    return json.dumps(factors, sort_keys=True)


def _claim(
    cell: Cell,
    mine: list[tuple[dict[str, Any], Trial]],
    section: Mapping[str, Any] | None,
    test: dict[str, Any],
) -> dict[str, Any]:
    first = mine[0][1]
    flow = first.run.plan["flows"][first.flow]
    condition = _condition(first, flow)
    finding = _finding(cell)
    return {
        "sentence": sentence(section, condition, finding),
        "cell": dict(cell.factors),
        "condition": condition,
        "finding": finding,
        "requirement": requirement(section["kind"], flow) if section else None,
        "test": {
            **test,
            "threat": section,
            "act": act(section, flow) if section else None,
            "with_keys": at_sender(flow) is not None,
        },
        "trials": [row for row, _ in mine],
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


def _trial(trial: Trial, name: str) -> dict[str, Any]:
    run = trial.run
    there = [file for file in layout.RUN_FILES if (run.folder / file).exists()]
    verdict = asdict(trial.verdict)
    return {
        "run": f"{name}/{run.id}",
        "repetition": trial.factors.get("repetition"),
        "flow": trial.flow,
        "seed": run.spec["seed"],
        "verdict": {**verdict, "harms": list(verdict["harms"])},
        "threat_acted_s": _acted_s(trial),
        "logs": {layout.run_file(name, run.id, file): sha256(run.folder / file) for file in there},
        "again": f"gauntlet evidence verify PACK --run {name}/{run.id}",
    }


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
