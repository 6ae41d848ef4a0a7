"""Every study that comes with Gauntlet: its ledger fits it, its committed verdicts stand."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gauntlet.studies import decide, judging, ledger, reproduce, studies
from gauntlet.studies.model import Study
from gauntlet.studies.summary import VERDICTS, Summary

STUDIES = list(studies().values())
PLAYED_WHOLE = ("d34", "d35", "restp")
"""Of the published studies those whose full run is committed with all its experiments and nothing else."""

FIRST = 4
"""Examples and quick subsets are of the first three repetitions."""

SUMMARISED = [study for study in STUDIES if (study.summary / VERDICTS).exists()]


def named(study: Study) -> str:
    """The study's name in the list of tests."""
    return study.key


@pytest.mark.parametrize("study", STUDIES, ids=named)
def test_claims_name_only_what_the_study_has(study: Study) -> None:
    reproduce.check_ledger(study, ledger.load(study.ledger))


@pytest.mark.parametrize("study", STUDIES, ids=named)
def test_names_are_unique(study: Study) -> None:
    for names in ([it.name for it in study.experiments], [it.key for it in study.figures]):
        assert len(set(names)) == len(names)
    assert all(it.file.stem == it.name for it in study.experiments)


@pytest.mark.parametrize("study", STUDIES, ids=named)
def test_figures_name_experiments_of_the_study(study: Study) -> None:
    for figure in study.figures:
        assert set(figure.experiments) <= set(study.parts), figure.key


@pytest.mark.parametrize("study", STUDIES, ids=named)
def test_quick_subsets_are_not_empty_and_hold_the_examples_that_full_runs_keep(study: Study) -> None:
    full = reproduce.tasks(study, quick=False, repetitions=FIRST)
    ids = {task.experiment.name: {spec.id for spec in task.specs} for task in full}
    for task in full:
        if task.experiment.quick is not None:
            quick = {spec.id for spec in replace(task, quick=True).specs}
            assert quick <= ids[task.experiment.name]
            assert quick, f"{task.experiment.name} keeps no run in its quick subset"
    for experiment in study.experiments:
        assert set(experiment.examples) <= ids[experiment.name], experiment.name


@pytest.mark.parametrize("study", SUMMARISED, ids=named)
def test_committed_verdicts_follow_from_the_committed_summary(study: Study) -> None:
    """Decided again from the summary, every claim has the verdict and the numbers that were committed."""
    kept = json.loads((study.summary / VERDICTS).read_text())
    judged = judging.judge(study, Summary.load(study.summary))
    now = judging.verdicts(study, judged)
    assert kept["registration_sha256"] == now["registration_sha256"]
    committed, again = kept["claims"], now["claims"]
    assert committed.keys() == again.keys()
    for claim, decision in again.items():
        assert decision["verdict"] == committed[claim]["verdict"], claim
        assert decision["n"] == committed[claim]["n"], claim
        for number in ("value", "low", "high"):
            expected = committed[claim][number]
            near = expected if expected is None else pytest.approx(expected, rel=1e-6)
            assert decision[number] == near, claim
        # A rule that was loosened without another verdict; words hold the registration's mark.
        for words in ("bound", "not_registered"):
            assert decision[words] == committed[claim][words], claim


@pytest.mark.parametrize("study", SUMMARISED, ids=named)
def test_what_is_not_reproduced_has_a_reason(study: Study) -> None:
    verdicts = json.loads((study.summary / "verdicts.json").read_text())["claims"]
    unexplained = [
        claim.id
        for claim in ledger.load(study.ledger)
        if verdicts[claim.id]["verdict"] == "not reproduced" and not claim.note
    ]
    assert unexplained == []


@pytest.mark.parametrize("study", SUMMARISED, ids=named)
def test_the_committed_summary_is_of_these_experiment_files(study: Study) -> None:
    import hashlib

    manifest = Summary.load(study.summary).manifest()
    for name, part in manifest.items():
        text = Path(study.experiment(name).file).read_bytes()
        assert hashlib.sha256(text).hexdigest() == part["experiment_sha256"], name


@pytest.mark.parametrize("study", SUMMARISED, ids=named)
def test_the_committed_summary_is_small(study: Study) -> None:
    assert sum(path.stat().st_size for path in study.summary.rglob("*")) < 4e6


@pytest.mark.parametrize("study", SUMMARISED, ids=named)
def test_the_documents_have_the_counts_of_the_committed_verdicts(study: Study) -> None:
    """README's table, and what a study's own page says in words."""
    every = json.loads((study.summary / VERDICTS).read_text())["claims"].values()
    claims = [it for it in every if it["kind"] == ledger.Kind.MEASURED and not it["not_registered"]]
    held = [sum(it["verdict"] == verdict for it in claims) for verdict in decide.Verdict]
    home = Path(__file__).parents[2]
    row = next(
        line
        for line in (home / "README.md").read_text().splitlines()
        if f"gauntlet reproduce {study.key} --from-summary" in line and line.strip().startswith("| [")
    )
    numbers = [cell.strip().replace(",", "") for cell in row.split("|")[2:7]]
    assert numbers == [str(Summary.load(study.summary).runs), str(len(claims)), *map(str, held)]
    kinds = (ledger.Kind.CALIBRATED, ledger.Kind.FORMULA, ledger.Kind.UNAVOIDABLE)
    others = [sum(it["kind"] == kind for it in every) for kind in kinds]
    others.append(len(every) - len(claims) - sum(others))
    assert row.split("|")[7].strip() == ", ".join(map(str, others))
    page = (home / "docs" / "studies" / f"{study.key}.md").read_text()
    for told in re.findall(
        r"of (\d+) measured claims (\d+) are reproduced, (\d+) are not, (\d+) stay undecided", page
    ):
        assert [int(it) for it in told] == [len(claims), *held]


@pytest.mark.parametrize("study", [it for it in SUMMARISED if it.key in PLAYED_WHOLE], ids=named)
def test_what_is_undecided_says_what_could_have_been_seen_and_what_would_decide(study: Study) -> None:
    claims = json.loads((study.summary / VERDICTS).read_text())["claims"]
    silent = [
        name
        for name, it in claims.items()
        if it["verdict"] == "undecided"
        and not (
            re.search("(could have been|would be) seen", it["reason"]) and "would decide" in it["reason"]
        )
    ]
    assert silent == []


@pytest.mark.parametrize("study", [it for it in SUMMARISED if it.key in PLAYED_WHOLE], ids=named)
def test_the_page_divides_a_full_run_into_sittings_of_at_most_100_minutes(study: Study) -> None:
    """By the wall times of the committed summary; the page's minutes are these."""
    minutes = {name: part["wall_s"] / 60 for name, part in Summary.load(study.summary).manifest().items()}
    page = (Path(__file__).parents[2] / "docs" / "studies" / f"{study.key}.md").read_text()
    text = page[page.index("## What a full run takes") :]
    longest = max(minutes, key=lambda name: minutes[name])
    assert f"The longest took {minutes[longest]:.1f} min (`{longest}`)" in text
    assert re.search(rf"All {len(minutes)} together[^.]* took {sum(minutes.values()):.0f} min", text)
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    sittings = re.findall(r"(gauntlet [^#]*)#\D*(\d+) min", "".join(blocks))
    left = dict(minutes)
    for command, said in sittings:
        names = re.findall(r"--only (\S+)", command) or list(left)
        took = sum(left.pop(name) for name in names)
        assert took <= 100 and f"{took:.0f}" == said
    assert not left or (not sittings and sum(left.values()) <= 100)
