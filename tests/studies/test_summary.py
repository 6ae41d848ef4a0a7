"""A summary keeps what decides claims and draws figures, and is there whole or not at all."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from gauntlet.errors import NotMeasured, RunError, UserError
from gauntlet.experiment.runspec import FlowSpec, LinkConditions, RunSpec, ScenarioRef
from gauntlet.metrics.flow import FlowData
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.message_quantiles import LEVELS
from gauntlet.metrics.quantity import Quantity
from gauntlet.results import store
from gauntlet.studies.distil import SERIES_POINTS, distil
from gauntlet.studies.model import Experiment, Quick
from gauntlet.studies.select import by_repetition
from gauntlet.studies.summary import TABLES, Part, Summary
from tests.report import factory as campaigns
from tests.studies.factory import flows, steady, summary

MADE = campaigns.Campaign(
    protocols=("tcp-cubic", "udp"),
    delays_s=(0.025,),
    repetitions=3,
    duration_s=20,
    untrusted=frozenset({"udp_delay-25ms_loss-1pct_rep-002"}),
    failed=frozenset({"tcp-cubic_delay-25ms_loss-0pct_rep-003"}),
)
EXAMPLE = "tcp-cubic_delay-25ms_loss-1pct_rep-001"


def _first_lost(flow: FlowData) -> float | None:
    lost = np.flatnonzero(~flow.arrived)
    return float(lost[0]) if lost.size else None


FIRST_LOST = Kpi("first_lost", "First lost", "", 1.0, False, "Made up.", of_flow=_first_lost)


def specs() -> list[RunSpec]:
    """The runs of the made-up campaign as the experiment would plan them."""
    flow = FlowSpec("tcp-cubic", "cbr", "up", "b", 1.0, 1448)
    return [
        RunSpec(
            id=place.run,
            factors={
                "protocol": place.protocol,
                "channel_delay_s": place.delay_s,
                "loss": place.loss,
                "repetition": place.repetition,
            },
            labels={"protocol": place.protocol, "channel_delay_s": "25 ms", "loss": f"{place.loss:.0%}"},
            seed=1,
            link_seed=1,
            scenario=ScenarioRef("hsr", {}),
            start_s=0.0,
            duration_s=30.0,
            limit_s=30.0,
            link=LinkConditions("wire"),
            flows=(FlowSpec(**{**asdict(flow), "protocol": place.protocol}),),
            record={},
            sysctls={},
        )
        for place in campaigns.places(MADE)
    ]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder of the made-up campaign."""
    folder = tmp_path_factory.mktemp("summary")
    return campaigns.build(folder / "results", folder / "scratch", MADE)


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """The experiment that those results are of."""
    made = Experiment(
        tmp_path_factory.mktemp("study"), "made-up", examples=(EXAMPLE,), measures=(FIRST_LOST,)
    )
    made.file.parent.mkdir()
    made.file.write_text(campaigns.EXPERIMENT)
    return made


@pytest.fixture(scope="module")
def part(results: Path, experiment: Experiment) -> Part:
    """The results reduced."""
    return distil(experiment, results, specs(), specs())


def test_flows_carry_factors_and_kpis(results: Path, part: Part) -> None:
    rows = {row["run"]: row for row in part.tables["flows"].to_pylist()}
    assert len(rows) == MADE.runs
    original = {row["run"]: row for row in store.Results.open(results).table("flows").to_pylist()}
    row = rows[EXAMPLE]
    assert (row["protocol"], row["protocols"], row["loss"], row["repetition"]) == (
        "tcp-cubic",
        "tcp-cubic",
        0.01,
        1,
    )
    assert row["throughput_bps"] == pytest.approx(original[EXAMPLE]["throughput_bps"], rel=1e-6)
    failed = rows["tcp-cubic_delay-25ms_loss-0pct_rep-003"]
    assert (failed["outcome"], failed["trusted"], failed["throughput_bps"]) == ("failed", False, None)


def test_the_studys_own_measure_is_a_column(part: Part) -> None:
    rows = part.tables["flows"].to_pylist()
    assert all(row["first_lost"] is None for row in rows if row["loss"] == 0.0)
    assert all(row["first_lost"] >= 0 for row in rows if row["protocol"] == "udp" and row["loss"] > 0)


def test_delays_keep_their_quantiles(results: Path, part: Part) -> None:
    messages = store.Results.open(results)
    run = next(run for run in messages.runs() if run.id == EXAMPLE).messages()
    assert run is not None
    delays_s = (run["received_ns"].to_numpy() - run["sent_ns"].to_numpy()) / 1e9
    kept = [row for row in part.tables["delays"].to_pylist() if row["run"] == EXAMPLE]
    assert [row["level"] for row in kept] == list(LEVELS)
    median = next(row["delay_s"] for row in kept if row["level"] == 0.5)
    assert median == pytest.approx(float(np.median(delays_s)), rel=5e-4)


def test_windows_are_whole_windows(results: Path, part: Part) -> None:
    """20 s from the establishment at 1.05 s: 19 whole windows; the rest of 0.95 s is not among them."""
    windows = store.Results.open(results).table("windows").to_pylist()
    mine = [row["throughput_bps"] for row in windows if row["run"] == EXAMPLE and row["duration_s"] > 0.99]
    kept = {row["level"]: row for row in part.tables["windows"].to_pylist() if row["run"] == EXAMPLE}
    assert kept[1.0]["throughput_bps"] == pytest.approx(max(mine), rel=5e-4)
    assert kept[0.0]["throughput_bps"] == pytest.approx(min(mine), rel=5e-4)


def test_series_are_thinned_and_say_so(part: Part) -> None:
    rows = part.tables["series"].to_pylist()
    assert {row["run"] for row in rows} == {EXAMPLE}
    assert 0 < len(rows) <= SERIES_POINTS
    assert [row["seq"] for row in rows] == list(range(0, len(rows) * rows[0]["every"], rows[0]["every"]))


def test_the_manifest_counts_and_names_what_does_not_count(part: Part) -> None:
    found = part.manifest
    assert (found["planned"], found["runs"], found["trusted"]) == (MADE.runs, MADE.runs, MADE.runs - 2)
    assert "2.1 % more" in found["untrusted"]["udp_delay-25ms_loss-1pct_rep-002"]
    assert "no sign of life" in found["failed"]["tcp-cubic_delay-25ms_loss-0pct_rep-003"]
    assert found["factors"] == {
        "protocol": ["tcp-cubic", "udp"],
        "protocols": ["tcp-cubic", "udp"],
        "channel_delay_s": [0.025],
        "loss": [0.0, 0.01],
        "repetition": [1, 2, 3],
    }


def test_a_quick_subset_takes_only_its_runs(results: Path, experiment: Experiment) -> None:
    quick = Quick(2, {"loss": [0.01], "protocols": ["udp"]})
    chosen = [spec for spec in specs() if quick.keeps(spec.factors)]
    part = distil(experiment, results, chosen, specs())
    assert {row["run"] for row in part.tables["flows"].to_pylist()} == {
        "udp_delay-25ms_loss-1pct_rep-001",
        "udp_delay-25ms_loss-1pct_rep-002",
    }
    assert (part.manifest["planned"], part.manifest["factors"]["loss"]) == (2, [0.0, 0.01])


def test_results_of_another_experiment_are_refused(results: Path, tmp_path: Path) -> None:
    other = Experiment(tmp_path, "other")
    other.file.parent.mkdir()
    other.file.write_text(campaigns.EXPERIMENT + "# changed\n")
    with pytest.raises(UserError, match=r"holds results of another version of other\.toml"):
        distil(other, results, specs(), specs())


def test_round_trip(part: Part, tmp_path: Path) -> None:
    made = Summary("d00", {"made-up": part})
    made.write(tmp_path / "kept", {"claims": {}})
    read = Summary.load(tmp_path / "kept")
    assert read.manifest() == json.loads(json.dumps(made.manifest()))
    for name in TABLES:
        accessor = getattr(read, name), getattr(made, name)
        assert accessor[0]("made-up").to_pylist() == accessor[1]("made-up").to_pylist()


def test_equal_summaries_are_equal_bytes(part: Part, tmp_path: Path) -> None:
    for name in ("one", "two"):
        Summary("d00", {"made-up": part}).write(tmp_path / name, {})
    files = [
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in ("one", "two")
    ]
    assert files[0] == files[1]
    assert len(files[0]) == 2 + len(TABLES)


def test_writing_replaces_the_old_summary_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    old, new = (summary(flows({("tcp-bbr", 0.0): steady(value)})) for value in (1e6, 2e6))
    old.write(tmp_path / "kept", {})
    new.write(tmp_path / "kept", {})
    assert Summary.load(tmp_path / "kept").flows("cbr").column("throughput_bps")[9].as_py() > 1.5e6
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept"]


def test_a_summary_that_cannot_be_written_whole_leaves_the_old_one(tmp_path: Path) -> None:
    good = summary(flows({("tcp-bbr", 0.0): steady(1e6)}))
    good.write(tmp_path / "kept", {})
    with pytest.raises(ValueError, match="JSON"):
        good.write(tmp_path / "kept", {"value": float("nan")})
    assert Summary.load(tmp_path / "kept").runs == 10
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept"]


def test_a_folder_of_something_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(UserError, match="holds no summary; choose an empty or a new folder"):
        summary(flows({("tcp-bbr", 0.0): steady(1e6)})).write(tmp_path, {})
    assert (tmp_path / "mine.txt").read_text() == "precious"


def test_a_damaged_summary_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no summary of a study"):
        Summary.load(tmp_path)
    summary(flows({("tcp-bbr", 0.0): steady(1e6)})).write(tmp_path / "kept", {})
    (tmp_path / "kept" / "cbr" / "flows.parquet").write_bytes(b"no parquet")
    with pytest.raises(RunError, match=r"flows\.parquet is damaged"):
        Summary.load(tmp_path / "kept").flows("cbr")
    with pytest.raises(NotMeasured, match="No run of vbr is among these results"):
        Summary.load(tmp_path / "kept").flows("vbr")


def test_of_periodic_flows_the_delays_of_messages_are_kept_with_and_without_set_up(tmp_path: Path) -> None:
    """Two round trips of set-up, then one way: 0.125 s with it, 0.025 s without, whatever the level."""
    made = campaigns.Campaign(
        protocols=("tcp-cubic",),
        delays_s=(0.025,),
        losses=(0.0,),
        repetitions=1,
        duration_s=20,
        periodic=True,
    )
    results = campaigns.build(tmp_path / "results", tmp_path / "scratch", made)
    experiment = Experiment(tmp_path, "made-up")
    experiment.file.parent.mkdir()
    experiment.file.write_text(campaigns.EXPERIMENT)
    run = next(spec for spec in specs() if spec.id == campaigns.places(made)[0].run)
    part = distil(experiment, results, [run], [run])
    delays = part.table("delays").to_pydict()
    assert delays["message_delay_s"] == pytest.approx([0.025] * LEVELS.size, rel=3e-4)
    assert delays["message_delay_with_setup_s"] == pytest.approx([0.125] * LEVELS.size, rel=3e-4)
    of = Summary("d00", {"made-up": part})
    picked = by_repetition(of, "made-up", {}, Quantity("each_message_delay_with_setup_s", 0.5))
    assert picked.values == {1: pytest.approx(0.125, rel=3e-4)}


def test_other_flows_have_no_delays_of_messages(results: Path, experiment: Experiment) -> None:
    part = distil(experiment, results, specs(), specs())
    assert part.table("delays").column_names == ["run", "flow", "level", "delay_s"]
    with pytest.raises(NotMeasured, match="no message_delay_s"):
        by_repetition(Summary("d00", {"made-up": part}), "made-up", {}, Quantity("each_message_delay_s", 0.5))
