"""`gauntlet reproduce`: whole results are taken as they are, wrong wishes are sentences."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from gauntlet.executor.planning import plans
from gauntlet.experiment import RunSpec, expand, load_experiment
from gauntlet.metrics.tables import finalize
from gauntlet.results import layout, resume, store
from gauntlet.results.manifest import Manifest
from gauntlet.studies import reproduce
from gauntlet.studies.model import Experiment, Quick, Study
from gauntlet.studies.summary import VERDICTS, Summary
from tests.cli.conftest import Gauntlet, refused
from tests.experiment import factory as experiments
from tests.report import factory as campaigns
from tests.studies import factory

CBR = experiments.text(
    "d00-cbr",
    about={"repetitions": 4},
    scenario={"rate": "2Mbit/s"},
    factors={"channel_delay": ["25ms"]},
)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """The only study that the command knows."""
    experiment = Experiment(tmp_path / "study", "cbr", Quick(3, {"loss": [0.0, 0.01]}))
    made = factory.study(tmp_path / "study", experiments=(experiment,))
    experiment.file.write_text(CBR)
    monkeypatch.setattr("gauntlet.studies.studies", lambda: {made.key: made})
    return made


@pytest.fixture
def results(study: Study, tmp_path: Path) -> Path:
    """Whole results of the study's experiment, as `gauntlet run` would have left them."""
    file = study.experiments[0].file
    specs = expand(load_experiment(file))
    made_up(tmp_path / "results", tmp_path / "scratch", specs)
    return tmp_path / "results"


def made_up(out: Path, scratch: Path, specs: Sequence[RunSpec]) -> None:
    """A results folder of these runs, with the made-up physics of the report's tests."""
    folder, campaign = out / "cbr", campaigns.Campaign(duration_s=10)
    manifest = Manifest.new(
        experiment=CBR,
        seed=1,
        runs_planned=len(specs),
        options={"repetitions": 4},
        command=["gauntlet", "run"],
    )
    store.create(folder, CBR, manifest)
    for spec in specs:
        loss, repetition = float(spec.factors["loss"]), int(spec.factors["repetition"])
        trace = campaigns.trace_table(300.0, 20)
        campaigns.write_record(
            scratch / spec.id, campaign, campaigns.Place("tcp-bbr", 0.025, loss, repetition), trace
        )
        plan = {
            "id": spec.id,
            "seed": 1,
            "flows": [{"id": "f0", "app": "cbr", "app_params": {"duration_s": 10.0}}],
        }
        certificate = campaigns.certificate(spec.id, trusted=True)
        record_dir = scratch / spec.id
        campaigns.put(folder, spec.to_json(), plan, record_dir, {"lte": trace}, certificate=certificate)
    finalize(folder)


def test_whole_results_need_no_kernel(study: Study, results: Path, gauntlet: Gauntlet) -> None:
    """There is no kernel here: if anything had to be played, this would fail."""
    told = gauntlet("reproduce", "d00", "--full", "--out", str(results))
    assert told.exit_code == 0, told.output
    assert "bbr-keeps" in told.stdout
    assert "All 8 runs are trusted." in told.stdout
    assert (results / "report.html").stat().st_size > 100_000


def test_what_is_missing_has_to_be_played(study: Study, results: Path, gauntlet: Gauntlet) -> None:
    shutil.rmtree(results / "cbr" / "runs" / "tcp-bbr_delay-25ms_loss-1pct_rep-004")
    told = gauntlet("reproduce", "d00", "--full", "--out", str(results), "--quiet")
    assert told.exit_code == 1
    assert "kernel" in told.stderr


def test_no_run_judges_what_is_there(study: Study, results: Path, gauntlet: Gauntlet) -> None:
    shutil.rmtree(results / "cbr" / "runs" / "tcp-bbr_delay-25ms_loss-1pct_rep-004")
    told = gauntlet("reproduce", "d00", "--full", "--no-run", "--out", str(results), "--json")
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    assert found["claims"][0]["n"] == 3
    assert (found["experiments"]["cbr"]["planned"], found["experiments"]["cbr"]["runs"]) == (8, 7)
    assert {kind: sum(each.values()) for kind, each in found["counts"].items()} == {"measured": 1}


def test_results_with_other_options_are_not_taken_for_whole(study: Study, results: Path) -> None:
    """The quick subset is another set of runs; so are four repetitions when the folder has another seed."""
    (quick,) = reproduce.tasks(study, quick=True)
    (full,) = reproduce.tasks(study, quick=False)
    assert full.is_whole(results)
    assert not quick.is_whole(results)
    assert len(quick.specs) == 6
    manifest = Manifest.read(results / "cbr")
    manifest.model_copy(update={"seed": 2}).write(results / "cbr")
    assert not full.is_whole(results)


def test_results_of_other_plans_are_not_taken_for_whole(study: Study, results: Path) -> None:
    """A page or a program that changed is not in the experiment's text; it is in the keys of its runs."""
    (full,) = reproduce.tasks(study, quick=False)
    engine = {"ground": "made up", "kernel_sha256": "5" * 64}
    folder = full.folder(results)
    manifest = Manifest.read(folder)
    manifest.model_copy(update={"engine": {"kernel": "6.12", **engine}}).write(folder)
    for spec, plan in zip(full.specs, plans(full.specs), strict=True):
        key = resume.key_file(plan.key(engine), {}, {}, engine)
        (layout.run_folder(folder, spec.id) / layout.KEY).write_text(json.dumps(key))
    assert full.is_whole(results)
    key = resume.key_file("0" * 64, {}, {}, engine)
    (layout.run_folder(folder, full.specs[0].id) / layout.KEY).write_text(json.dumps(key))
    assert not full.is_whole(results)


def test_quick_runs_are_runs_of_the_full_one(study: Study) -> None:
    (quick,) = reproduce.tasks(study, quick=True)
    full = {spec.id: spec for spec in reproduce.tasks(study, quick=False)[0].specs}
    assert all(full[spec.id] == spec for spec in quick.specs)


def test_a_committed_summary_gives_the_same_verdicts(study: Study, results: Path, gauntlet: Gauntlet) -> None:
    wanted = (
        "reproduce",
        "d00",
        "--full",
        "--out",
        str(results),
        "--update-summary",
        str(study.summary),
        "--json",
    )
    made = json.loads(gauntlet(*wanted).stdout)
    assert Summary.load(study.summary).runs == 8
    kept = json.loads((study.summary / VERDICTS).read_text())["claims"]["bbr-keeps"]
    told = gauntlet("reproduce", "d00", "--from-summary", "--json", "--out", str(results / "again"))
    again = json.loads(told.stdout)
    assert (results / "again" / "report.html").exists()
    for key in ("verdict", "value", "low", "high", "n", "bound"):
        assert made["claims"][0][key] == again["claims"][0][key] == kept[key]


def test_verdicts_can_be_decided_anew_from_a_committed_summary(
    study: Study, results: Path, gauntlet: Gauntlet
) -> None:
    folder = str(study.summary)
    gauntlet("reproduce", "d00", "--full", "--out", str(results), "--update-summary", folder, "--json")
    flows = (study.summary / "cbr" / "flows.parquet").read_bytes()
    study.ledger.write_text(study.ledger.read_text().replace("at_least = 0.9", "at_least = 9.0"))
    gauntlet("reproduce", "d00", "--from-summary", "--update-summary", folder, "--out", str(results / "r"))
    kept = json.loads((study.summary / VERDICTS).read_text())["claims"]["bbr-keeps"]
    assert kept["bound"] == "at least 9.00"
    assert (study.summary / "cbr" / "flows.parquet").read_bytes() == flows
    told = gauntlet("reproduce", "d00", "--from-summary", "--update-summary", str(results / "no"))
    refused(told, 2, "holds no summary of a study")


def test_a_summary_is_renewed_in_parts(study: Study, results: Path, gauntlet: Gauntlet) -> None:
    """Playing one experiment again leaves what the summary has of the others."""
    whole = gauntlet(
        "reproduce", "d00", "--full", "--out", str(results), "--update-summary", str(study.summary), "--json"
    )
    before = Summary.load(study.summary)
    other = before.updated(Summary("d00", {"other": before._parts["cbr"]}))
    other.write(study.summary, {})
    part = gauntlet(
        "reproduce",
        "d00",
        "--full",
        "--only",
        "cbr",
        "--out",
        str(results),
        "--update-summary",
        str(study.summary),
        "--json",
    )
    assert json.loads(part.stdout)["claims"] == json.loads(whole.stdout)["claims"]
    found = Summary.load(study.summary)
    assert set(found.experiments) == {"cbr", "other"}
    assert found.flows("other").equals(before.flows("cbr"))


def test_a_summary_says_which_flows_completed(study: Study, results: Path, gauntlet: Gauntlet) -> None:
    folder = str(study.summary)
    gauntlet("reproduce", "d00", "--full", "--out", str(results), "--update-summary", folder, "--json")
    found = Summary.load(study.summary)
    assert found.flows_done("cbr") == (8, 0, 8)
    assert set(found.flows("cbr").column("completed").to_pylist()) == {True}
    assert (results / "report.html").read_text().count("8 of 8 completed") == 1


def test_more_repetitions_are_the_same_runs_and_further_ones(study: Study) -> None:
    (task,) = reproduce.tasks(study, quick=False)
    (more,) = reproduce.tasks(study, quick=False, repetitions=6)
    assert len(more.specs) == len(task.specs) * 6 // 4
    assert {spec.id for spec in task.specs} < {spec.id for spec in more.specs}


def test_studies_are_listed(study: Study, gauntlet: Gauntlet) -> None:
    assert "d00" in gauntlet("reproduce").stdout
    assert json.loads(gauntlet("reproduce", "--json").stdout)[0]["key"] == "d00"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("d0",), ("The study 'd0' is not known", "did you mean 'd00'?")),
        (("d00", "--only", "vbr"), ("no experiment 'vbr'", "it has cbr")),
        (("d00", "--repetitions", "9"), ("--repetitions goes with --full",)),
        (
            ("d00", "--full", "--repetitions", "9", "--update-summary", "x"),
            ("neither --from-summary nor --update-summary",),
        ),
        (("d00", "--no-run"), ("holds no results of the study d00 yet",)),
        (("d00", "--update-summary", "x"), ("--update-summary is for the whole study", "--full")),
        (("d00", "--from-summary", "--only", "cbr"), ("--from-summary plays nothing",)),
        (
            ("d00", "--from-summary"),
            (
                "No full run of `d00` is kept yet",
                "A first look: `gauntlet reproduce d00`;",
                "`gauntlet reproduce d00 --full --update-summary ",
            ),
        ),
    ],
)
def test_wrong_wishes(
    study: Study, gauntlet: Gauntlet, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    refused(gauntlet("reproduce", *arguments), 2, *words)


def test_an_experiment_without_a_quick_subset_is_said(
    study: Study, gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = factory.study(study.home, experiments=(Experiment(study.home, "cbr"),))
    monkeypatch.setattr("gauntlet.studies.studies", lambda: {made.key: made})
    refused(gauntlet("reproduce", "d00", "--only", "cbr"), 2, "has no quick subset; play it with --full")


def test_results_of_another_version_of_the_file_are_refused(
    study: Study, results: Path, gauntlet: Gauntlet
) -> None:
    file = study.experiments[0].file
    file.write_text(CBR.replace("10s", "11s"))
    told = gauntlet("reproduce", "d00", "--full", "--no-run", "--out", str(results))
    refused(told, 2, "holds results of another version of cbr.toml")
