"""`run`, `demo`, `report` and `exec`: what they ask of the engine and how they tell what came out.

The engine and the report are replaced by recorders here; tests with the guest play real campaigns.
"""

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.progress import Progress

import gauntlet.engine
import gauntlet.report
from gauntlet.campaign import Event, Outcome
from gauntlet.cli.output import CampaignProgress
from gauntlet.cli.rounds import rounds
from gauntlet.engine import guest
from gauntlet.experiment import RunSpec, check_plan
from gauntlet.report.closeness import Closeness, Known
from tests.experiment.conftest import CONSTANT
from tests.report.flows import Constructed, Did, build

from .conftest import Gauntlet

ONE_FLOW = '[workload]\napp = "bulk"\nsize = "1MB"\nprotocol = "udp"\n'


class Recorder:
    """Stands for the engine: notes how it was called and ends every run as it was told to."""

    def __init__(self) -> None:
        self.specs: Sequence[RunSpec] = []
        self.named: dict[str, Any] = {}
        self.failed: dict[str, str] = {}
        self.untrusted: list[str] = []
        self.unchecked: list[str] = []
        self.cached = self.uncaptured = 0
        self.programs: dict[str, Any] = {}
        self.nothing = ""
        self.virtual_s = 1000.0

    def run(self, specs: Sequence[RunSpec], out: Path, **named: Any) -> Outcome:
        self.specs, self.named = specs, {**named, "out": out}
        present = {folder.name for folder in (out / "runs").glob("*")}
        missing = [spec for spec in specs if spec.id not in present]
        for spec in missing:
            for kind in ("started", "failed" if spec.id in self.failed else "finished"):
                named["on_event"](Event(kind, spec.id))
        finished = len(missing) - len(self.failed) - self.cached
        doubtful = (self.untrusted, self.unchecked)
        outcome = Outcome(
            out, len(specs), len(present), finished, self.failed, *doubtful, 10.0, self.virtual_s
        )
        return replace(outcome, cached=self.cached, uncaptured=self.uncaptured)

    def run_programs(self, run: dict[str, Any], **named: Any) -> int:
        self.programs = run
        named["on_output"]("program", "stdout", "hello\n")
        named["on_output"]("server", "stdout", "listening\n")
        return 3


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Recorder:
    """The recorder, in the place of the engine and the report; an experiment in own.toml."""
    recorder = Recorder()
    interactive = SimpleNamespace(run_programs=recorder.run_programs)
    monkeypatch.setattr("gauntlet.campaign.run", recorder.run)
    monkeypatch.setattr(gauntlet.engine, "interactive", interactive, raising=False)
    monkeypatch.setitem(sys.modules, "gauntlet.engine.interactive", interactive)
    monkeypatch.setattr("gauntlet.report.terminal.summary", lambda folder, _classes: f"answer of {folder}")
    monkeypatch.setattr(gauntlet.report, "build", lambda folder, *_args, **_named: folder / "report.html")
    monkeypatch.setattr(gauntlet.report, "summary", lambda _folder, _classes: {"best": "udp"})
    monkeypatch.setattr(gauntlet.report, "nothing_came", lambda _folder: recorder.nothing)
    (tmp_path / "own.toml").write_text(CONSTANT)
    return recorder


def test_run_tells_the_answer_and_where_it_is(gauntlet: Gauntlet, engine: Recorder) -> None:
    result = gauntlet("run", "own.toml")
    assert result.exit_code == 0
    assert "16 runs (2 protocols x 4 conditions x 2 repetitions), seed 7" in result.stderr
    assert "16 runs in 10.0 s; 1000 virtual s, 100 times as fast as real time" in result.stderr
    assert "answer of results/small" in result.stdout
    assert result.stdout.endswith("Results: results/small\nReport:  results/small/report.html\n")
    assert len(engine.specs) == 16
    assert engine.named["experiment"] == CONSTANT
    assert engine.named["seed"] == 7
    assert engine.named["options"] == {"repetitions": 2}


def test_how_fast_runs_were_is_told_where_it_says_something(gauntlet: Gauntlet, engine: Recorder) -> None:
    engine.virtual_s = 30.0
    result = gauntlet("run", "own.toml")
    assert "16 runs in 10.0 s; 30 virtual s.\n" in result.stderr


def test_runs_in_real_time_are_not_said_to_be_faster(gauntlet: Gauntlet, engine: Recorder) -> None:
    result = gauntlet("run", "own.toml", "--engine", "host")
    assert "16 runs in 10.0 s, in real time." in result.stderr
    assert engine.named["engine"].identity()["ground"] == "host"


def test_what_the_command_line_changes_is_told_to_the_engine(gauntlet: Gauntlet, engine: Recorder) -> None:
    gauntlet(
        "run", "own.toml", "--seed", "9", "--repetitions", "1", "--workers", "2", "--out", "here", "--capture"
    )
    assert len(engine.specs) == 8
    assert engine.named["seed"] == 9
    assert engine.named["options"] == {"repetitions": 1}
    assert engine.named["workers"] == 2
    assert engine.named["out"] == Path("here")
    assert engine.named["capture"] is True


def test_the_content_of_a_trace_is_part_of_what_was_measured(gauntlet: Gauntlet, engine: Recorder) -> None:
    header = "t_s,rate_up_bps,rate_down_bps,delay_up_s,delay_down_s,loss_up,loss_down,queue_limit_bytes"
    Path("own.csv").write_text(f"{header}\n0,1e6,4e6,0.02,0.02,0,0,64000\n")
    Path("own.toml").write_text(CONSTANT.replace('"constant"\nrate = "5.2Mbit/s"', '"own.csv"'))
    assert gauntlet("run", "own.toml").exit_code == 0
    digest = hashlib.sha256(Path("own.csv").read_bytes()).hexdigest()
    assert engine.named["options"] == {"repetitions": 2, "sha256 of own.csv": digest}


def test_where_runs_come_from_is_told(gauntlet: Gauntlet, engine: Recorder) -> None:
    assert "Of 16 runs" not in gauntlet("run", "own.toml").stderr
    assert engine.named["cached"] is True
    engine.cached = 15
    told = gauntlet("run", "own.toml", "--no-cache")
    assert "Of 16 runs 0 were there, 15 came from the cache, 1 was played." in told.stderr
    assert engine.named["cached"] is False
    assert json.loads(gauntlet("run", "own.toml", "--json").stdout)["cached"] == 15
    engine.uncaptured = 3
    assert "1 was played. 3 runs had been kept without packets." in gauntlet("run", "own.toml").stderr


@pytest.mark.usefixtures("engine")
def test_quiet_prints_only_the_path(gauntlet: Gauntlet) -> None:
    result = gauntlet("run", "own.toml", "--quiet")
    assert (result.stdout, result.stderr) == ("results/small/report.html\n", "")


@pytest.mark.usefixtures("engine")
def test_json_is_one_document(gauntlet: Gauntlet) -> None:
    result = gauntlet("run", "own.toml", "--json")
    told = json.loads(result.stdout)
    assert result.stderr == ""
    assert told["finished"] == told["planned"] == 16
    assert told["report"] == "results/small/report.html"
    assert told["answer"] == {"best": "udp"}


def test_failed_and_untrusted_runs_are_told(gauntlet: Gauntlet, engine: Recorder) -> None:
    name = "udp_delay-25ms_loss-0pct_rep-001"
    engine.failed = {name: "the guest ran out of memory."}
    engine.untrusted = ["udp_delay-25ms_loss-0pct_rep-002"]
    result = gauntlet("run", "own.toml", "--quiet")
    assert result.exit_code == 1
    assert f"Run {name} failed: the guest ran out of memory." in result.stderr
    assert "1 run is not trusted" in result.stderr
    assert "not checked" not in result.stderr
    assert result.stdout == "results/small/report.html\n"


def test_runs_that_were_not_checked_are_not_called_untrusted(gauntlet: Gauntlet, engine: Recorder) -> None:
    engine.unchecked = ["udp_delay-25ms_loss-0pct_rep-001", "udp_delay-25ms_loss-0pct_rep-002"]
    result = gauntlet("run", "own.toml", "--quiet")
    assert result.exit_code == 0
    assert result.stderr == "2 runs are not checked: the report says why.\n"
    told = json.loads(gauntlet("run", "own.toml", "--json", "--out", "results/other").stdout)
    assert (told["untrusted"], told["unchecked"]) == ([], engine.unchecked)


def test_many_failures_are_counted(gauntlet: Gauntlet, engine: Recorder) -> None:
    engine.failed = {f"run-{number}": "it stood still." for number in range(9)}
    result = gauntlet("run", "own.toml", "--quiet")
    assert result.stderr.count("failed:") == 5
    assert "4 more runs failed" in result.stderr


def test_where_every_run_failed_there_is_no_report(gauntlet: Gauntlet, engine: Recorder) -> None:
    Path("own.toml").write_text(
        CONSTANT.partition("[matrix]")[0].replace("repetitions = 2", "repetitions = 1") + ONE_FLOW
    )
    engine.failed = {"udp_rep-001": "the guest ran out of memory."}
    result = gauntlet("run", "own.toml")
    assert result.exit_code == 1
    assert "Run udp_rep-001 failed: the guest ran out of memory." in result.stderr
    assert "no report" in result.stderr
    assert result.stdout == ""


def test_where_no_run_gave_a_number_the_exit_code_and_a_sentence_say_so(
    gauntlet: Gauntlet, engine: Recorder
) -> None:
    engine.nothing = "No run gave a number: the client does not do this: no bulk."
    for option in ("--json", "--quiet"):
        result = gauntlet("run", "own.toml", option)
        assert result.exit_code == 1
        assert result.stderr == f"{engine.nothing}\n"
    assert json.loads(gauntlet("run", "own.toml", "--json").stdout)["planned"] == 16


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The looks of campaigns whose only mean is known to ±4 % with 14 repetitions, and to ±8 % with fewer."""
    found: list[tuple[int, int]] = []

    def known(_evaluation: object, wanted: float, look: int, repetitions: int) -> Closeness:
        found.append((look, repetitions))
        share = 0.04 if repetitions >= 14 else 0.08
        return Closeness(wanted, look, repetitions, (Known("UDP", "loss 1 %", "throughput_bps", share),))

    monkeypatch.setattr("gauntlet.report.closeness.known", known)
    monkeypatch.setattr(gauntlet.report, "load", lambda _folder: None)
    return found


def test_repetitions_are_added_until_means_are_known(
    gauntlet: Gauntlet, engine: Recorder, looked: list[tuple[int, int]]
) -> None:
    result = gauntlet("run", "own.toml", "--until", "5%")
    assert result.exit_code == 0
    assert looked == [(1, 6), (2, 9), (3, 14)]
    assert len(engine.specs) == 8 * 14
    assert engine.named["options"] == {"repetitions": 14}
    assert "1 of 1 mean is wider than ±5 % with 9 repetitions (look 2)" in result.stderr
    kept = "±5 % is kept with 14 repetitions (look 3): the widest is ±4 % (UDP, loss 1 %)."
    assert kept in result.stderr
    assert result.stdout.count("answer of results/small") == 1
    told = json.loads(gauntlet("run", "own.toml", "--until", "5%", "--json").stdout)
    at = {"share": 0.05, "look": 3, "repetitions": 14}
    assert told["until"] == {**at, "reached": True, "widest": []}


def test_adding_repetitions_ends_where_it_is_told_to(
    gauntlet: Gauntlet, engine: Recorder, looked: list[tuple[int, int]]
) -> None:
    told = json.loads(gauntlet("run", "own.toml", "--until", "1%", "--at-most", "20", "--json").stdout)
    assert looked == [(1, 6), (2, 9), (3, 14), (4, 20)]
    assert told["until"]["reached"] is False
    assert told["until"]["widest"][0]["share"] == 0.04
    assert told["planned"] == len(engine.specs) == 8 * 20


def test_runs_that_fail_end_adding(
    gauntlet: Gauntlet, engine: Recorder, looked: list[tuple[int, int]]
) -> None:
    engine.failed = {"udp_delay-25ms_loss-0pct_rep-001": "the guest ran out of memory."}
    assert gauntlet("run", "own.toml", "--until", "5%").exit_code == 1
    assert looked == [(1, 6)]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--until", "0%"], "no number of repetitions makes an interval vanish"),
        (["--until", "5"], "--until"),
        (["--until", "5%", "--at-most", "5"], "--until begins with 6; give more"),
        (["--until", "5%", "--repetitions", "30", "--at-most", "20"], "--until begins with 30; give more"),
    ],
)
def test_bounds_that_cannot_be_are_refused(gauntlet: Gauntlet, options: list[str], words: str) -> None:
    result = gauntlet("run", "own.toml", *options)
    assert result.exit_code == 2
    assert words in result.stderr


def test_looks_that_a_folder_is_beyond_count_and_are_passed_over(tmp_path: Path) -> None:
    made = Constructed(("tcp-bbr",), lambda *_: Did(10.0), repetitions=10)
    there = build(tmp_path / "there", tmp_path / "scratch", made)
    assert list(rounds(0.05, 6, 20, there)) == [(3, 14), (4, 20)]
    assert next(iter(rounds(0.05, 6, 20, tmp_path / "absent"))) == (1, 6)
    assert list(rounds(None, 6, 20, there)) == [(1, 6)]


def test_demo_is_the_grid_that_is_promised(gauntlet: Gauntlet, engine: Recorder) -> None:
    result = gauntlet("demo")
    assert result.exit_code == 0
    assert result.stdout.endswith("Report:  demo-results/report.html\n")
    factors = {
        (run.factors["protocol"], run.factors["channel_delay_s"], run.factors["loss"]) for run in engine.specs
    }
    protocols = ("tcp-cubic", "tcp-bbr", "tcp-reno", "sctp", "udp")
    assert factors == {
        (name, delay, loss) for name in protocols for delay in (0.025, 0.15) for loss in (0.0, 0.01)
    }
    # Fewer repetitions could not tell five protocols apart.
    assert len(engine.specs) == 6 * len(factors)


@pytest.mark.usefixtures("engine")
def test_report_makes_and_tells(gauntlet: Gauntlet) -> None:
    assert gauntlet("report", "there").stdout == "answer of there\nReport: there/report.html\n"
    assert gauntlet("report", "there", "--quiet").stdout == "there/report.html\n"
    told = json.loads(gauntlet("report", "there", "--json").stdout)
    assert told == {"report": "there/report.html", "answer": {"best": "udp"}}


def test_exec_puts_programs_on_both_sides(gauntlet: Gauntlet, engine: Recorder) -> None:
    arguments = [
        "--scenario",
        "hsr",
        "--side",
        "train",
        "--start",
        "25min",
        "--channel-delay",
        "50ms",
        "--loss",
        "1%",
    ]
    result = gauntlet("exec", *arguments, "--server", "echo listening", "--", "echo", "--hello")
    assert result.exit_code == 3
    assert (result.stdout, result.stderr) == ("hello\n", "server: listening\n")
    plan = check_plan(guest.plan([engine.programs])).runs[0]
    program, server = plan.programs
    assert (program.node, program.wait, program.start_s) == ("tc1", True, 0.0)
    assert program.argv[-1] == "--hello"
    assert all(Path(it).is_absolute() for it in (program.argv[0], program.argv[-2]))
    assert (server.node, server.wait, server.start_s) == ("tsb1", False, 0.0)
    for own in (program, server):
        assert own.private_tmp
        assert own.names == {"train": "tc1", "trackside": "tsb1"}
    assert server.argv[-1] == "echo listening"
    assert server.argv[3] == program.argv[3], "the file that one makes when it listens, and the other awaits"
    start = {entry.link: entry for entry in plan.timeline if entry.at_s == 0}
    assert start["rabc>rb"].delay_s == pytest.approx(0.035)
    assert start["ra>rabc"].loss == 0.01


def test_exec_on_the_trackside_of_a_constant_link(gauntlet: Gauntlet, engine: Recorder) -> None:
    gauntlet("exec", "--scenario", "constant", "-p", "rate=1Mbit/s", "--side", "trackside", "--", "true")
    assert [program["node"] for program in engine.programs["programs"]] == ["server"]
    assert engine.programs["programs"][0]["start_s"] == 0.0
    assert engine.programs["timeline"][0]["rate_bps"] == 1_000_000


def test_what_a_stopped_campaign_finished_is_counted(gauntlet: Gauntlet, engine: Recorder) -> None:
    done = Path("results/small/runs/udp_delay-25ms_loss-0pct_rep-001")
    done.mkdir(parents=True)
    (done / "record.json").write_text(json.dumps({"outcome": "ok"}))
    result = gauntlet("run", "own.toml")
    assert len(engine.specs) == 16
    assert "16/16" in result.stderr
    assert "15 runs in" in result.stderr


def test_titles_are_printed_as_written(gauntlet: Gauntlet, engine: Recorder) -> None:
    Path("own.toml").write_text(CONSTANT.replace('name = "small"', 'name = "small"\ntitle = "[bold] claims"'))
    assert "[bold] claims: 16 runs" in gauntlet("run", "own.toml").stderr
    assert engine.named["title"] == "[bold] claims"


def test_progress_counts_parts_of_runs() -> None:
    with Progress(disable=True) as bar:
        task = bar.add_task("", total=5)
        progress = CampaignProgress(bar, task, planned=5, present=1)
        progress(Event("finished", "a"))
        progress(Event("failed", "b"))
        progress(Event("progress", "c", 0.25))
        assert bar.tasks[0].completed == 3.25
        assert bar.tasks[0].fields["count"] == "3/5"
        assert "1 failed" in bar.tasks[0].fields["failures"]
