"""A part of a study that is measured on this machine's own kernel: kept, and decided like results."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from gauntlet.benches import keeping, registry
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.errors import NotMeasured, RunError, UserError
from gauntlet.experiment.runspec import Factor
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.quantity import Quantity
from gauntlet.studies import judging, ledger, reproduce
from gauntlet.studies.load import load
from gauntlet.studies.model import Measurement, Study
from gauntlet.studies.registration import REGISTRATION, register
from gauntlet.studies.select import by_repetition
from gauntlet.studies.summary import MANIFEST, VERDICTS, Summary
from tests.cli.conftest import Gauntlet
from tests.studies import factory

LEDGER = """
[[claim]]
id = "twice"
where = "section 4.2"
claim = "QUIC takes twice as long as SDLS."
threshold = "Twice: a ratio of 1.8 to 2.2."
figures = []

[claim.decide]
kind = "comparison"
experiment = "cost"
kpi = "made_up_s"
this = { security = "quic", size_bytes = 1024 }
that = { security = "sdls", size_bytes = 1024 }
at_least = 1.8
at_most = 2.2
"""

FIGURES = """
[[figure]]
key = "4.1"
title = "Time"
caption = "Made up."

[[figure.panel]]
kind = "against"
caption = "Means."
experiment = "cost"
kpi = "made_up_s"
x = "size_bytes"
colour = "security"

[[figure]]
key = "table-4.1"
title = "Times"
caption = "Made up."

[[figure.panel]]
kind = "table"
caption = "Means."
experiment = "cost"
heads = ["Security"]
row = [{ each = "security" }]
column = [{ head = "1,024 B (us)", kpi = "made_up_s", of = { size_bytes = 1024 } }]
"""

STUDY = """
[study]
key = "d00"
title = "Made up"
citation = "Nobody."

[[experiment]]
name = "cbr"

[[bench]]
name = "cost"
of = "made-up"
"""

EXPERIMENT = """
[experiment]
name = "d00-cbr"
repetitions = 3
[scenario]
name = "constant"
rate = "2Mbit/s"
delay = "25ms"
[matrix]
protocols = ["tcp-bbr"]
[workload]
app = "cbr"
rate = "max"
duration = "10s"
"""

TIME = Kpi("made_up_s", "Time", "us", 1e6, False, "Made up.")


class Programme:
    """What the made-up bench measures, and how often it was asked to."""

    def __init__(self) -> None:
        self.asked: list[tuple[bool, int]] = []

    def __call__(self, quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
        self.asked.append((quick, seed))
        tell("Measuring.")
        rows = [
            {"security": security, "size_bytes": size, "repetition": repetition, "samples": 20}
            | {"made_up_s": base * 1e-6 * (1 + 0.001 * repetition)}
            for security, base in (("sdls", 20.0), ("quic", 40.0))
            for size in (128, 1024)
            for repetition in range(1, 4 if quick else 11)
        ]
        return Measured(
            pa.Table.from_pylist(rows), {"processor": "Some CPU"}, {"messages": pa.table({"n": [1]})}
        )


def here() -> None:
    """Nothing is needed."""


def absent() -> None:
    """What is needed is not here."""
    raise UserError("The program is not built.")


def bench(programme: Programme) -> Bench:
    """Two securities, two sizes; ten repetitions, for a first look three."""
    factors: dict[str, list[Factor]] = {"security": ["sdls", "quic"], "size_bytes": [128, 1024]}
    labels = {"security": {"sdls": "SDLS", "quic": "QUIC"}}
    plans = Plan(factors, 10), Plan(factors, 3)
    return Bench("made-up", "Nothing.", (TIME,), *plans, programme, here, labels)


@pytest.fixture
def programme(monkeypatch: pytest.MonkeyPatch) -> Programme:
    made = Programme()
    monkeypatch.setitem(registry.BENCHES, "made-up", bench(made))
    return made


@pytest.fixture
def study(programme: Programme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """The only study that the command knows: a folder with a bench."""
    home = tmp_path / "study"
    (home / "experiments").mkdir(parents=True)
    (home / "study.toml").write_text(STUDY)
    (home / "ledger.toml").write_text(LEDGER)
    (home / "figures.toml").write_text(FIGURES)
    (home / "experiments" / "cbr.toml").write_text(EXPERIMENT)
    made = load(home, trust_plugin=False)
    monkeypatch.setattr("gauntlet.studies.studies", lambda: {made.key: made})
    return made


def silent(name: str, words: str) -> None:
    """Nobody to be told."""


def summarised(study: Study, out: Path, *, quick: bool = False) -> Summary:
    """The summary of the bench alone."""
    todo = reproduce.bench_tasks(study, quick=quick)
    reproduce.measure(todo, out, command=["gauntlet", "--out", str(out)], tell=silent)
    return reproduce.summarise(study, [], out, todo)


def test_a_claim_is_decided_from_a_bench(study: Study, tmp_path: Path) -> None:
    reproduce.check_ledger(study, ledger.load(study.ledger))
    (judged,) = judging.judge(study, summarised(study, tmp_path / "out"))
    assert judged.decision.verdict == "reproduced"
    assert judged.decision.value == pytest.approx(2.0)
    assert judged.decision.n == 10
    assert judged.decision.what == "Time, security QUIC relative to security SDLS (size 1 KiB)"


def test_repetitions_are_blocks_and_not_samples(study: Study, tmp_path: Path) -> None:
    found = by_repetition(
        summarised(study, tmp_path / "out"),
        "cost",
        {"security": "sdls", "size_bytes": 128},
        Quantity("made_up_s"),
        measures=study.measures,
    )
    assert len(found.values) == 10


def test_figures_are_drawn_from_a_bench(study: Study, tmp_path: Path) -> None:
    found = summarised(study, tmp_path / "out")
    chart, table = (figure.draw(found)[0] for figure in study.figures)
    assert "SDLS" in json.dumps(chart.chart.to_dict())  # type: ignore[union-attr]
    assert [row[0] for row in table.rows] == ["SDLS", "QUIC"]  # type: ignore[union-attr]
    assert table.rows[1][1].startswith("40.2")  # type: ignore[union-attr]


def test_what_was_measured_is_taken_as_it_is(study: Study, programme: Programme, tmp_path: Path) -> None:
    summarised(study, tmp_path / "out")
    summarised(study, tmp_path / "out")
    assert programme.asked == [(False, reproduce.FIRST_SEED)]
    assert (tmp_path / "out" / "cost" / "raw" / "messages.parquet").exists()


def test_results_of_another_plan_are_neither_taken_nor_replaced(
    study: Study, programme: Programme, tmp_path: Path
) -> None:
    summarised(study, tmp_path / "out", quick=True)
    with pytest.raises(UserError, match="results of another bench, plan or seed"):
        summarised(study, tmp_path / "out")
    assert len(programme.asked) == 1


def test_a_bench_that_does_not_leave_what_it_promises_is_refused(study: Study, tmp_path: Path) -> None:
    (part,) = study.benches

    def other(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
        table = part.bench.measure(quick, seed, tell, parts).table
        return Measured(table.drop_columns(["made_up_s"]), {})

    spoilt = replace(part.bench, measure=other)
    folder = tmp_path / "out" / "cost"
    with pytest.raises(RunError, match="no column made_up_s"):
        keeping.measured(spoilt, folder, quick=True, seed=1, command=[], tell=print)
    assert not folder.exists()


def test_a_summary_keeps_the_bench(study: Study, tmp_path: Path) -> None:
    made = summarised(study, tmp_path / "out")
    verdicts = judging.verdicts(study, judging.judge(study, made))
    made.write(tmp_path / "summary", verdicts)
    assert (tmp_path / "summary" / "cost" / "bench.parquet").exists()
    manifest = json.loads((tmp_path / "summary" / MANIFEST).read_text())
    assert manifest["benches"]["cost"]["machine"] == {"processor": "Some CPU"}
    assert manifest["benches"]["cost"]["samples"] == 2 * 2 * 10 * 20
    assert manifest["benches"]["cost"]["command"] == ["gauntlet", "--out", "out"]
    read = Summary.load(tmp_path / "summary", study.home)
    assert (read.experiments, read.benches) == ((), ("cost",))
    assert judging.verdicts(study, judging.judge(study, read)) == verdicts
    assert json.loads((tmp_path / "summary" / VERDICTS).read_text()) == verdicts


def test_a_bench_has_no_packets(study: Study, tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match="cost is a bench and has no delays"):
        summarised(study, tmp_path / "out").delays("cost")


def test_the_command_measures_and_shows_the_bench(
    study: Study, programme: Programme, gauntlet: Gauntlet, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    told = gauntlet("reproduce", "d00", "--full", "--only", "cost", "--out", str(out))
    assert told.exit_code == 0, told.output
    assert "1 bench on Some CPU: 800 samples." in told.stdout
    assert "cost: Measuring." in told.stderr
    page = (out / "report.html").read_text()
    assert "Measured on this machine" in page
    assert "Some CPU" in page
    assert "Not among these results: cbr." in page


def test_a_bench_that_is_no_part_of_the_quick_run_has_to_be_named(study: Study) -> None:
    unless_named = replace(study, benches=tuple(replace(it, quick=False) for it in study.benches))
    assert reproduce.bench_tasks(unless_named, quick=True) == []
    (task,) = reproduce.bench_tasks(unless_named, quick=True, only=["cost"])
    assert (task.part.name, task.quick) == ("cost", True)
    assert len(reproduce.bench_tasks(unless_named, quick=False)) == 1


def test_a_full_measurement_is_not_begun_beside_something_else(
    study: Study, programme: Programme, tmp_path: Path
) -> None:
    (part,) = study.benches
    alone = replace(study, benches=(replace(part, bench=replace(part.bench, alone=True)),))
    said: list[str] = []

    def measure(of: Study, quick: bool, words: str) -> None:
        todo = reproduce.bench_tasks(of, quick=quick)
        out = tmp_path / str(quick)
        reproduce.measure(
            todo, out, command=[], tell=lambda name, it: said.append(f"{name}: {it}"), busy=lambda: words
        )

    with pytest.raises(UserError, match=r"alone on the machine and cargo takes a core: end that"):
        measure(alone, False, "cargo takes a core")
    assert programme.asked == []
    measure(alone, True, "cargo takes a core")
    assert said[0] == "cost: cargo takes a core, so runs may be invalid."
    measure(alone, False, "")
    # What is there needs no idle machine, and what is no matter of time neither.
    measure(alone, False, "cargo takes a core")
    assert len(programme.asked) == 2
    measure(study, False, "cargo takes a core")


def test_in_a_first_look_a_bench_that_fails_is_said_and_the_others_are_measured(
    study: Study, programme: Programme, tmp_path: Path
) -> None:
    def fail(*_: object) -> Measured:
        raise RunError("Levels have no unit.")

    (part,) = study.benches
    failing = replace(part, name="flood", bench=replace(part.bench, measure=fail))
    both = replace(study, benches=(failing, part))

    def measure(of: Study, quick: bool) -> list[str]:
        todo = reproduce.bench_tasks(of, quick=quick)
        return reproduce.measure(todo, tmp_path / str(quick), command=[], tell=lambda *_: None)

    assert measure(both, True) == ["flood is not measured: Levels have no unit."]
    assert len(programme.asked) == 1
    for of, quick in ((both, False), (replace(study, benches=(failing,)), True)):
        with pytest.raises(RunError, match="Levels have no unit"):
            measure(of, quick)


def test_in_full_what_most_claims_rest_on_comes_first(study: Study) -> None:
    """One claim rests on `cost`, and none on the others."""
    (part,) = study.benches
    three = replace(study, benches=tuple(replace(part, name=name) for name in ("first", "cost", "last")))
    names = [it.part.name for it in reproduce.bench_tasks(three, quick=False)]
    assert names == ["cost", "first", "last"]
    named = reproduce.bench_tasks(three, quick=False, only=["last", "cost"])
    assert [it.part.name for it in named] == ["cost", "last"]
    assert [it.part.name for it in reproduce.bench_tasks(three, quick=True)] == ["first", "cost", "last"]


def test_how_long_it_takes_is_reckoned_from_the_kept_summary(
    study: Study, gauntlet: Gauntlet, tmp_path: Path
) -> None:
    todo = reproduce.bench_tasks(study, quick=False)
    assert reproduce.reckoned_s(study, todo, tmp_path / "out") == {"cost": None}
    found = summarised(study, tmp_path / "out")
    found.write(study.summary, judging.verdicts(study, judging.judge(study, found)))
    told = json.loads((study.summary / MANIFEST).read_text())
    told["benches"]["cost"]["wall_s"] = 1200.0
    (study.summary / MANIFEST).write_text(json.dumps(told))
    assert reproduce.reckoned_s(study, todo, tmp_path / "out") == {}, "it is there"
    assert reproduce.reckoned_s(study, todo, tmp_path / "other") == {"cost": 1200.0}
    said = gauntlet("reproduce", "d00", "--full", "--only", "cost", "--out", str(tmp_path / "other"))
    assert "d00: in the last full run these took 20 min: cost 20 min." in said.stderr
    told["benches"]["cost"]["resumed_parts"] = 2
    (study.summary / MANIFEST).write_text(json.dumps(told))
    assert reproduce.reckoned_s(study, todo, tmp_path / "third") == {"cost": None}


def test_what_cannot_be_measured_here_is_said_and_left_out(study: Study, tmp_path: Path) -> None:
    (part,) = study.benches
    without = replace(study, benches=(replace(part, bench=replace(part.bench, ready=absent)),))
    todo = reproduce.bench_tasks(without, quick=True)
    assert reproduce.ready(todo, tmp_path / "out") == (
        [],
        ["cost is not measured: The program is not built."],
    )


def test_what_was_measured_needs_no_program(study: Study, tmp_path: Path) -> None:
    summarised(study, tmp_path / "out", quick=True)
    (part,) = study.benches
    without = replace(study, benches=(replace(part, bench=replace(part.bench, ready=absent)),))
    todo = reproduce.bench_tasks(without, quick=True)
    assert reproduce.ready(todo, tmp_path / "out") == (todo, [])


def test_a_bench_alone_that_cannot_be_measured_is_refused(
    study: Study, programme: Programme, gauntlet: Gauntlet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry.BENCHES, "made-up", replace(bench(programme), ready=absent))
    made = load(study.home, trust_plugin=False)
    monkeypatch.setattr("gauntlet.studies.studies", lambda: {made.key: made})
    told = gauntlet("reproduce", "d00", "--full", "--only", "cost", "--out", str(tmp_path / "out"))
    assert told.exit_code != 0
    assert "cost is not measured: The program is not built." in told.stderr


def test_only_an_experiment_measures_no_bench(study: Study) -> None:
    assert reproduce.bench_tasks(study, quick=True, only=["cbr"]) == []
    assert reproduce.tasks(study, quick=False, only=["cost"]) == []


def test_a_registration_fixes_what_is_measured(study: Study, programme: Programme, tmp_path: Path) -> None:
    register(study, 4711)
    assert "plan_sha256" in (study.home / REGISTRATION).read_text()
    (judged,) = judging.judge(study, summarised(study, tmp_path / "out"))
    assert programme.asked == [(False, 4711)]
    assert judged.departure == ""
    (judged,) = judging.judge(study, summarised(study, tmp_path / "quick", quick=True))
    assert judged.departure == "cost has not been measured as it was registered"


def test_another_plan_than_the_registered_one_departs_from_it(study: Study, tmp_path: Path) -> None:
    register(study, 4711)
    (part,) = study.benches
    fewer = replace(part.bench, full=replace(part.bench.full, repetitions=10, details={"samples": 5}))
    changed = replace(study, benches=(Measurement("cost", fewer),))
    (judged,) = judging.judge(changed, summarised(changed, tmp_path / "out"))
    assert judged.departure == "cost has not been measured as it was registered"


def test_an_unknown_bench_is_refused(study: Study) -> None:
    (study.home / "study.toml").write_text(STUDY.replace('"made-up"', '"made-down"'))
    with pytest.raises(UserError, match=r"bench 'cost': unknown bench 'made-down'"):
        load(study.home, trust_plugin=False)


def test_an_experiment_and_a_bench_have_no_name_in_common(study: Study) -> None:
    (study.home / "study.toml").write_text(STUDY.replace('name = "cost"', 'name = "cbr"'))
    with pytest.raises(UserError, match="'cbr' stands twice"):
        load(study.home, trust_plugin=False)


def test_a_claim_about_a_condition_that_a_bench_does_not_have_is_refused(study: Study) -> None:
    study.ledger.write_text(LEDGER.replace('"quic"', '"tls"'))
    with pytest.raises(UserError, match="security = 'tls' matches no run"):
        reproduce.check_ledger(study, ledger.load(study.ledger))


def test_the_summary_of_a_study_without_benches_is_as_before(tmp_path: Path) -> None:
    made = factory.summary(factory.flows({("tcp-bbr", 0.0): [1.0, 2.0]}))
    made.write(tmp_path / "summary", {})
    assert "benches" not in json.loads((tmp_path / "summary" / MANIFEST).read_text())


def in_two_parts(asked: list[str], stops: list[str]) -> Programme:
    """A bench whose parts are measured one by one; it is stopped at those that are named."""
    whole = Programme()

    def measure(name: str) -> pa.Table:
        asked.append(name)
        if name in stops:
            raise RunError("stopped")
        return pa.table({"n": [len(asked)]})

    class Stopped(Programme):
        def __call__(self, quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
            for name in ("first", "second"):
                parts.take(name, {"cores": 2}, partial(measure, name))
            return whole(quick, seed, tell, parts)

    return Stopped()


def test_a_bench_that_was_stopped_goes_on_with_what_is_missing(study: Study, tmp_path: Path) -> None:
    (part,) = study.benches
    asked: list[str] = []
    stops = ["second"]
    stopped = replace(part.bench, measure=in_two_parts(asked, stops))
    folder = tmp_path / "out" / "cost"

    def go(seed: int = 1) -> keeping.Kept:
        return keeping.measured(stopped, folder, quick=True, seed=seed, command=[], tell=print)

    with pytest.raises(RunError, match="stopped"):
        go()
    assert not folder.exists()
    with pytest.raises(RunError):
        go(seed=2)
    assert asked == ["first", "second", "first", "second"], "another seed has parts of its own"
    asked.clear()
    stops.clear()
    assert go().about["resumed_parts"] == 1
    assert asked == ["second"]
    assert [it.name for it in folder.parent.iterdir()] == ["cost"], "nothing is left behind"


def test_a_part_of_another_machine_is_measured_again(tmp_path: Path) -> None:
    parts = Parts(tmp_path / "begun", {"seed": 1})
    for value, facts in enumerate(({"cores": 2}, {"cores": 4}, {"cores": 2})):
        found = parts.take("first", facts, partial(pa.table, {"n": [value]}))
        assert found["n"].to_pylist() == [0 if facts == {"cores": 2} else value]
    assert parts.found == 1
