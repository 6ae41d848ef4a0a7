"""How large a campaign may be: processor time and memory to plan, resume and report 100,000 runs.

The runs are those of a grid on the high-speed line; their records are made up (one record, given to every run
under its name), for what they say does not matter here. Run it with `python benchmarks/scale.py`; it prints
what it measured beside what is allowed and writes `build/bench-scale.json`.
"""

import json
import resource
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gauntlet import campaign, report
from gauntlet.executor.planning import plans
from gauntlet.experiment import Experiment, RunSpec, expand, parse_experiment, ridden
from gauntlet.metrics.tables import finalize
from gauntlet.results import layout, pack, resume, store
from gauntlet.results.manifest import Manifest
from speed import program
from speed.host import host, sentence

FULL_REPETITIONS = 100
SHORT_REPETITIONS = 2
ALLOWED_S = {"plan": 30.0, "resume": 30.0, "report": 60.0}
"""Seconds of one core for 100,000 runs."""
ALLOWED_BYTES = 2_000_000_000
_MESSAGES = 50
_ENGINE = {"ground": "made up", "kernel_sha256": "0" * 64, "guest_sha256": "1" * 64}

TEXT = """
[experiment]
name = "scale"
repetitions = {repetitions}
[scenario]
name = "hsr"
chunk = "2min"
[matrix]
protocols = ["tcp-cubic", "tcp-bbr", "tcp-reno", "sctp", "udp"]
channel_delay = ["25ms", "50ms", "75ms", "100ms", "150ms"]
loss = ["0%", "0.1%", "0.2%", "0.5%", "1%", "2%", "3%", "5%"]
queue = ["64kB", "128kB", "256kB", "512kB", "1MB"]
[workload]
app = "cbr"
rate = "1Mbit/s"
packet = "1000B"
duration = "1min"
"""

_FEWER = ('"0.2%", "0.5%", "1%", "2%", "3%", "5%"]\nqueue = ["64kB", "128kB", "256kB", "512kB", "1MB"]', "]")


class MadeUp:
    """An engine that plays nothing: every run has to be there."""

    def identity(self) -> dict[str, str]:
        """As `Engine.identity`."""
        return dict(_ENGINE)

    def describe(self) -> dict[str, str]:
        """As `Engine.describe`."""
        return dict(_ENGINE)

    def refusals(self, runs: Sequence[Mapping[str, Any]]) -> list[str | None]:
        """As `Engine.refusals`."""
        return [None for _ in runs]

    def play(self, run: Mapping[str, Any], out: Path, *, place: Any, on_event: Any = None) -> Path:
        """As `Engine.play`, which must not be asked for."""
        raise AssertionError(
            f"a run that is there was played again, at {place}: {run['flows']}, {out}, {on_event}"
        )


def main() -> None:
    """Measure, print, write the JSON."""
    parser = program.options(
        "scale", "How large a campaign may be.", f"{SHORT_REPETITIONS} repetitions, fewer cells"
    )
    parser.add_argument("--repetitions", type=int, default=FULL_REPETITIONS, help="of each of 1,000 cells")
    chosen = parser.parse_args()
    text = TEXT.format(repetitions=SHORT_REPETITIONS if chosen.short else chosen.repetitions)
    experiment = parse_experiment(text.replace(*_FEWER) if chosen.short else text, "scale.toml", Path())
    parts: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as name:
        specs = make(experiment, Path(name) / "results", Path(name) / "packed", parts)
        parts["resume"] = seconds(lambda: again(experiment, specs, Path(name) / "results"))
        parts["report"] = seconds(lambda: report.build(Path(name) / "results"))
    most_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    measured = {
        "host": host(),
        "short": chosen.short,
        "runs": len(specs),
        "cpu_s": parts,
        "most_bytes": most_bytes,
    }
    print(sentence(measured["host"]))
    print(f"  {len(specs):,} runs; at most {most_bytes / 1e6:,.0f} MB ({ALLOWED_BYTES / 1e6:,.0f} allowed)")
    for part, spent_s in parts.items():
        allowed = f"  of {ALLOWED_S[part]:.0f} s for 100,000" if part in ALLOWED_S else ""
        print(f"  {part:<8}{spent_s:9.2f} s of one core, {1e6 * spent_s / len(specs):7.0f} us a run{allowed}")
    program.write(measured, chosen)


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds of this process that `work` takes."""
    start_s = time.process_time()
    work()
    return time.process_time() - start_s


def make(experiment: Experiment, results: Path, packed: Path, parts: dict[str, float]) -> list[RunSpec]:
    """Plan the experiment and write its results with made-up records and tables; returns its runs."""
    start_s = time.process_time()
    specs = expand(experiment)
    made = plans(specs)
    keys = [plan.key(_ENGINE) for plan in made]
    parts["plan"] = time.process_time() - start_s
    start_s = time.process_time()
    manifest = Manifest.new(
        experiment=experiment.text, seed=experiment.about.seed, runs_planned=len(specs), name="scale",
        options=campaign.options(experiment, specs), engine=dict(_ENGINE),
    )  # fmt: skip
    store.create(results, experiment.text, manifest)
    pack_one(made[0].run(), packed)
    trace = ridden(specs[0])
    for spec, plan, key in zip(specs, made, keys, strict=True):
        about = resume.key_file(key, {}, {}, _ENGINE)
        place = layout.run_folder(results, spec.id)
        if place != store.place_run(results, spec.to_json(), plan.run(spec.id), packed, trace, key=about):
            raise AssertionError(place)
    parts["making them up"] = time.process_time() - start_s
    parts["tables"] = seconds(lambda: finalize(results))
    return specs


def pack_one(run: Mapping[str, Any], packed: Path) -> None:
    """A record of a short flow, packed."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as name:
        folder = Path(name)
        sent_ns = np.arange(_MESSAGES) * 1_000_000_000
        table = pa.table(
            {
                "flow": pa.array(np.zeros(_MESSAGES, dtype=np.uint16)),
                "seq": pa.array(np.arange(_MESSAGES, dtype=np.uint32)),
                "size_bytes": pa.array(np.full(_MESSAGES, 1000, dtype=np.uint32)),
                "sent_ns": pa.array(sent_ns),
                "received_ns": pa.array(sent_ns + 30_000_000),
            }
        )
        with (
            pa.OSFile(str(folder / "messages.arrow"), "wb") as sink,
            pa.ipc.new_file(sink, table.schema) as to,
        ):
            to.write_table(table)
        (folder / layout.RECORD).write_text(program_record(run))
        packed.mkdir()
        certificate = {
            "format": "gauntlet-certificate", "version": 2, "run": "run", "verdict": "confirmed",
            "trusted": True, "impairments": [], "checks": [], "undecided": [],
        }  # fmt: skip
        pack.pack(run, folder, packed, certificate)


def program_record(run: Mapping[str, Any]) -> str:
    """The record of such a flow as JSON."""
    flow = {
        "id": "f0", "stack": "tcp", "app": "cbr", "outcome": "ok", "reason": None, "start_s": 1.0,
        "established_s": 1.06, "first_received_s": 1.1, "last_received_s": 60.0, "sent_messages": _MESSAGES,
        "received_messages": _MESSAGES, "received_bytes": 1000 * _MESSAGES, "delivery_instants": "wire",
    }  # fmt: skip
    return json.dumps(
        {
            "format": "gauntlet-record", "version": 1, "run": run["id"], "seed": run["seed"], "outcome": "ok",
            "reason": None, "virtual_s": 61.0, "flows": [flow], "links": [], "taps": [],
            "paths": [{"flow": "f0", "forward": ["rasa>ra"], "return": []}],
            "timeline": [{"at_s": 0.0, "link": "rasa>ra", "rate_bps": 2_000_000}],
        }
    )  # fmt: skip


def again(experiment: Experiment, specs: list[RunSpec], results: Path) -> None:
    """The same command once more: the campaign looks for what is missing, and nothing is."""
    outcome = campaign.run(
        specs, results, experiment=experiment.text, seed=experiment.about.seed, name="scale",
        options=campaign.options(experiment, specs), engine=MadeUp(), cached=False,
    )  # fmt: skip
    if outcome.present_before != len(specs):
        raise AssertionError(f"{outcome.present_before} of {len(specs)} runs were found again")


if __name__ == "__main__":
    program.end(main)
