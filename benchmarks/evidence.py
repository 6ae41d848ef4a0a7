"""What it takes to build and to verify the evidence pack of a study: memory and processor time.

The runs are those of the study en50159. Their logs are made up: every message arrives as it was sent, and
each threat acted on the message that was meant. So every claim and trial of the study is there, and all of
them follow from their logs. Run it with `python benchmarks/evidence.py`; it prints what it measured beside
what is allowed and writes `build/bench-evidence.json`.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from gauntlet.engine.hashes import sha256_of_file
from gauntlet.executor.planning import planned_one_by_one
from gauntlet.experiment import load_experiment
from gauntlet.experiment.expand import one_by_one
from gauntlet.experiment.threats import FIRST_SOURCE_PORT, at_sender, count
from gauntlet.results import layout, parquet
from gauntlet.results.files import json_bytes
from gauntlet.results.manifest import Manifest
from gauntlet.results.resume import key_file
from gauntlet.studies import studies
from speed import program
from speed.host import host, sentence
from speed.turns import Turn, measured

STUDY = "en50159"
SHORT = ("control",)
ALLOWED_BYTES = {"verify": 300_000_000}
_ENGINE = {"ground": "made up", "kernel_sha256": "0" * 64, "guest_sha256": "1" * 64}
_WAY_NS = 20_000_000
_S = 1_000_000_000


def main() -> None:
    """Measure, print, write the JSON."""
    chosen = program.options(
        "evidence", "The pack of a study.", f"only {SHORT[0]}, one repetition"
    ).parse_args()
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as name:
        results, pack = Path(name) / "results", Path(name) / "pack.zip"
        home = studies()[STUDY]
        parts = SHORT if chosen.short else tuple(it.name for it in home.experiments)
        repetitions = 1 if chosen.short else None
        runs = sum(
            make(home.experiment(part).file, results / part, repetitions=repetitions) for part in parts
        )
        turns = {
            "build": measured(partial(_gauntlet, "build", str(results), "--out", str(pack))),
            "verify": measured(partial(_gauntlet, "verify", str(pack))),
        }
        pack_bytes = pack.stat().st_size
    print(sentence(host()))
    print(f"  {runs:,} runs, a pack of {pack_bytes / 1e6:,.1f} MB")
    for part, turn in turns.items():
        allowed = f" ({ALLOWED_BYTES[part] / 1e6:,.0f} allowed)" if part in ALLOWED_BYTES else ""
        print(f"  {part:<8}{turn.cpu_s:9.1f} s of one core; at most {turn.peak_bytes / 1e6:,.0f} MB{allowed}")
    program.write({"host": host(), "runs": runs, "pack_bytes": pack_bytes, **_figures(turns)}, chosen)


def _figures(turns: Mapping[str, Turn]) -> dict[str, dict[str, float]]:
    return {
        part: {"cpu_s": turn.cpu_s, "wall_s": turn.wall_s, "peak_bytes": turn.peak_bytes}
        for part, turn in turns.items()
    }


def _gauntlet(*words: str) -> float:
    subprocess.run(
        [sys.executable, "-m", "gauntlet", "evidence", *words], check=True, stdout=subprocess.DEVNULL
    )
    return 0.0


def make(file: Path, folder: Path, *, repetitions: int | None) -> int:
    """Write the results of an experiment; returns how many runs they have."""
    experiment = load_experiment(file, repetitions=repetitions)
    made = 0
    for spec, plan in planned_one_by_one(one_by_one(experiment)):
        run = layout.run_folder(folder, spec.id)
        run.mkdir(parents=True)
        planned = plan.run(spec.id)
        (run / layout.SPEC).write_bytes(json_bytes(spec.to_json()))
        (run / layout.PLAN).write_bytes(json_bytes(planned))
        key = key_file(plan.key(_ENGINE), plan.files, plan.libraries, _ENGINE)
        (run / layout.KEY).write_bytes(json_bytes(key))
        _write_logs(run, planned, [count(flow) for flow in spec.flows])
        made += 1
    (folder / layout.EXPERIMENT).write_text(experiment.text)
    about = experiment.about
    Manifest(
        title=about.title,
        name=about.name or file.stem,
        seed=about.seed,
        experiment_sha256=sha256_of_file(folder / layout.EXPERIMENT),
        runs_planned=made,
        options={"repetitions": about.repetitions},
        engine=_ENGINE,
    ).write(folder)
    return made


def _write_logs(run: Path, plan: Mapping[str, Any], messages: Sequence[int]) -> None:
    """A run in which every message of each flow arrived, and each rule of the threat acted once."""
    rules = [rule for node in plan.get("in_path", []) for rule in node["rules"]]
    record = {
        "run": plan["id"],
        "seed": plan["seed"],
        "outcome": "ok",
        "guest": {"gauntlet": "made up", "libraries": {}},
        "in_path": [
            {
                "node": node["node"],
                "rules": [{"matched_packets": 1, "unfit_packets": 0} for _ in node["rules"]],
            }
            for node in plan.get("in_path", [])
        ],
    }
    certificate = {"run": plan["id"], "trusted": True, "verdict": "confirmed", "undecided": []}
    (run / layout.RECORD).write_bytes(json_bytes(record))
    (run / layout.CERTIFICATE).write_bytes(json_bytes(certificate))
    sent = [
        {"flow": flow, "seq": number, "sent_ns": round(told["start_s"] * 1e9) + number * _S}
        for flow, (told, many) in enumerate(zip(plan["flows"], messages, strict=True))
        for number in range(many)
    ]
    parquet.write(pa.Table.from_pylist(sent), run / layout.MESSAGES)
    parquet.write(pa.Table.from_pylist(list(_judged(plan, sent))), run / layout.SAFETY)
    if rules:
        acts = sorted((_acts_ns(plan, rule), number) for number, rule in enumerate(rules))
        matched = [{"node": 0, "t_ns": t_ns, "event": "matched", "rule": number} for t_ns, number in acts]
        parquet.write(pa.Table.from_pylist(matched), run / layout.IN_PATH)


def _judged(plan: Mapping[str, Any], sent: Sequence[Mapping[str, int]]) -> Iterator[dict[str, Any]]:
    for row in sent:
        threat = at_sender(plan["flows"][row["flow"]])
        number, sent_ns = row["seq"], row["sent_ns"]
        about = {"flow": row["flow"], "number": number, "stamp_ns": sent_ns}
        if threat is not None and threat["message"] == number + 1:
            yield {**about, "event": "threat", "t_ns": sent_ns, "verdict": threat["kind"], "genuine": None}
        yield {**about, "event": "message", "t_ns": sent_ns + _WAY_NS, "verdict": "accepted", "genuine": True}


def _acts_ns(plan: Mapping[str, Any], rule: Mapping[str, Any]) -> int:
    """When the message passes that a rule is about."""
    conditions = rule["match"]
    if "at_s" in conditions:
        return round(float(conditions["at_s"]) * 1e9)
    if "message" in conditions:
        flow, number = (
            int(conditions["message"]["flow"].removeprefix("f")),
            int(conditions["message"]["number"]),
        )
    else:
        nth = conditions["nth"]
        flow = int(conditions["source_port"]) - FIRST_SOURCE_PORT
        number = int(nth[0] if isinstance(nth, list) else nth)
    return round(float(plan["flows"][flow]["start_s"]) * 1e9) + (number - 1) * _S + 1000


if __name__ == "__main__":
    program.end(main)
