"""How large a campaign may be: processor time and memory to plan, resume and report 100,000 runs.

The runs are those of a grid on the high-speed line. Their records are made up: one for each protocol and
repetition, with other delays and losses in each, given to all runs of that protocol and repetition; so is one
link for each repetition and delay. Measures (`gauntlet.metrics.measures`) lie beside the records, for workers
make them where runs are played. `tables` is what a campaign does at its end: it puts them together. `report`
is then `gauntlet report`, which finds the tables made. Run it with `python benchmarks/scale.py`; it prints
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
from gauntlet.executor.plan import RunPlan, canonical
from gauntlet.executor.planning import plans
from gauntlet.experiment import Experiment, RunSpec, expand, parse_experiment, ridden
from gauntlet.metrics import measures
from gauntlet.metrics.tables import finalize
from gauntlet.results import layout, pack, parquet, resume, store
from gauntlet.results.manifest import Manifest
from gauntlet.results.reader import Run
from speed import program
from speed.host import host, sentence

FULL_REPETITIONS = 100
SHORT_REPETITIONS = 2
ALLOWED_S = {"plan": 30.0, "resume": 30.0, "report": 60.0}
"""Seconds of one core for 100,000 runs."""
ALLOWED_BYTES = 2_000_000_000
_MESSAGES = 50
_CHECKS = ("rate", "delay", "loss", "queue", "conservation")
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

    exact = True
    """As `Engine.exact`."""

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
    for spec, plan, key in zip(specs, made, keys, strict=True):
        put(results, packed, spec, plan, key)
    parts["making them up"] = time.process_time() - start_s
    del made, keys
    parts["tables"] = seconds(lambda: finalize(results))
    return specs


def put(results: Path, packed: Path, spec: RunSpec, plan: RunPlan, key: str) -> None:
    """Put a run with a made-up record into the results: the files of `store.place_run`, without its syncs
    and with links to the files that many of these runs have in common.
    """
    protocol, repetition, delay_s = (
        spec.factors[name] for name in ("protocol", "repetition", "channel_delay_s")
    )
    record, ridden_by = packed / f"{protocol}-{repetition}", packed / f"link-{repetition}-{delay_s}"
    if not record.exists():
        pack_one(plan.run(), record, seed=len(list(packed.iterdir())) if packed.exists() else 0)
    if not ridden_by.exists():
        ((bearer, table),) = ridden(spec).items()
        named = pa.repeat(pa.scalar(bearer, pa.string()), table.num_rows)
        parquet.write(table.add_column(0, "bearer", named), ridden_by)
    folder = layout.run_folder(results, spec.id)
    folder.mkdir()
    for file in record.iterdir():
        if file.suffix == ".json":
            (folder / file.name).write_bytes(
                file.read_bytes().replace(b'"run": "run"', f'"run": "{spec.id}"'.encode())
            )
        else:
            (folder / file.name).hardlink_to(file)
    (folder / layout.TRACE).hardlink_to(ridden_by)
    for name, content in (
        (layout.SPEC, spec.to_json()),
        (layout.KEY, resume.key_file(key, {}, {}, _ENGINE)),
    ):
        (folder / name).write_text(json.dumps(content, sort_keys=True))
    parts = [
        b'"%s":%s' % (name.encode(), text) for name, text in {**plan.parts, "id": canonical(spec.id)}.items()
    ]
    (folder / layout.PLAN).write_bytes(b"{" + b",".join(parts) + b"}")


def pack_one(run: Mapping[str, Any], packed: Path, *, seed: int) -> None:
    """A record of a short flow and its measures, packed."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as name:
        folder = Path(name)
        sent_ns = np.arange(_MESSAGES) * 1_000_000_000
        received_ns = sent_ns + rng.lognormal(np.log(30e6), 0.5, _MESSAGES).astype(np.int64)
        lost = rng.random(_MESSAGES) < 0.1
        table = pa.table(
            {
                "flow": pa.array(np.zeros(_MESSAGES, dtype=np.uint16)),
                "seq": pa.array(np.arange(_MESSAGES, dtype=np.uint32)),
                "size_bytes": pa.array(np.full(_MESSAGES, 1000, dtype=np.uint32)),
                "sent_ns": pa.array(sent_ns),
                "received_ns": pa.array(received_ns, mask=lost),
            }
        )
        with (
            pa.OSFile(str(folder / "messages.arrow"), "wb") as sink,
            pa.ipc.new_file(sink, table.schema) as to,
        ):
            to.write_table(table)
        received = _MESSAGES - int(lost.sum())
        last_s = float(received_ns[~lost].max()) / 1e9
        (folder / layout.RECORD).write_text(program_record(run, received, last_s))
        packed.mkdir(parents=True)
        checks = [
            {
                "name": name, "link": f"hop{place}>hop{place + 1}", "passed": True,
                "sentence": f"The packets show what was asked of hop {place}: {name}.",
                "measured": {"packets": _MESSAGES, "off_by": float(rng.random())}, "expected": None,
            }
            for place in range(2)
            for name in _CHECKS
        ]  # fmt: skip
        certificate = {
            "format": "gauntlet-certificate", "version": 2, "run": "run", "verdict": "confirmed",
            "trusted": True, "impairments": [], "checks": checks, "undecided": [],
        }  # fmt: skip
        pack.pack(run, folder, packed, certificate)
        measures.keep(Run.packed(packed, run))


def program_record(run: Mapping[str, Any], received: int, last_s: float) -> str:
    """The record of such a flow as JSON."""
    flow = {
        "id": "f0", "stack": "tcp", "app": "cbr", "outcome": "ok", "reason": None, "start_s": 1.0,
        "established_s": 1.06, "first_received_s": 1.1, "last_received_s": last_s, "sent_messages": _MESSAGES,
        "received_messages": received, "received_bytes": 1000 * received, "delivery_instants": "wire",
    }  # fmt: skip
    return json.dumps(
        {
            "format": "gauntlet-record", "version": 1, "run": run["id"], "seed": run["seed"], "outcome": "ok",
            "reason": None, "virtual_s": 61.0, "flows": [flow], "links": [], "taps": [],
            "guest": {"kernel": "made up"}, "paths": [{"flow": "f0", "forward": ["rasa>ra"], "return": []}],
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
