"""A study's folder: what is read of it, what is wrong with it, and whose Python runs."""

import json
import shutil
from pathlib import Path

import pytest

from gauntlet import studies
from gauntlet.errors import UserError
from gauntlet.studies import reproduce
from gauntlet.studies.model import Quick, Study
from gauntlet.studies.summary import Summary
from tests.cli.conftest import Gauntlet, refused
from tests.experiment import factory as experiments
from tests.studies import factory

STUDY = """
[study]
key = "d00"
title = "A made-up study"
citation = \"\"\"
Nobody: Nothing.
2026.\"\"\"
headlines = ["bbr-keeps"]

[[experiment]]
name = "cbr"
quick = { repetitions = 3, keep = { loss = [0.0] } }
examples = ["tcp-bbr_rep-001"]
measures = ["first_s"]

[measure.first_s]
label = "First arrival"
unit = "ms"
factor = 1e3
higher_is_better = false
definition = "When the first message arrived."
"""
PLUGIN = """
from pathlib import Path

(Path(__file__).parent / "ran").touch()
FUNCTIONS = {"nl": lambda row: 408.0 * row}
MEASURES = {"first_s": lambda flow: 1.0}
"""
FORMULA = """
[[claim]]
id = "nl"
where = "Table 8"
claim = "The formula gives 408."
threshold = "Exactly."
decide = { kind = "expression", value = "nl(1)", what = "packets", at_least = 407, at_most = 409 }
"""
CLASSES = """
by = "D0.0"
channel_delays_s = [0.025]

[[class]]
name = "Voice"
study = ["udp"]
candidates = ["udp", "sctp"]

[[class.need]]
words = "soon"
experiment = "cbr"
kpi = "delay_p95_s"
losses = [0.0]
of_best = 1.1
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of a whole study, with a summary of its experiment."""
    folder = tmp_path / "study"
    (folder / "experiments").mkdir(parents=True)
    (folder / "experiments" / "cbr.toml").write_text("")
    for name, text in (
        ("study.toml", STUDY),
        ("ledger.toml", factory.LEDGER + FORMULA),
        ("plugin.py", PLUGIN),
        ("classes.toml", CLASSES),
        (
            "notes.md",
            "# Of a made-up study\n\nFor its readers.\n\n## A newer kernel\n\nThe study\nused another.\n",
        ),
    ):
        (folder / name).write_text(text)
    bbr = {("tcp-bbr", loss): factory.steady(2e6) for loss in factory.LOSSES}
    factory.summary(factory.flows(bbr)).write(folder / "summary", {})
    return folder


def test_what_is_read(home: Path) -> None:
    found = studies.study(str(home), trust_plugin=True)
    assert (found.key, found.citation) == ("d00", "Nobody: Nothing. 2026.")
    (experiment,) = found.experiments
    assert (experiment.quick, experiment.examples) == (Quick(3, {"loss": [0.0]}), ("tcp-bbr_rep-001",))
    (measure,) = experiment.measures
    assert (measure.name, measure.shown_factor, measure.censored) == ("first_s", 1e3, False)
    assert measure.of_flow is not None
    assert found.notes == (("A newer kernel", "The study used another."),)
    assert found.advice is not None
    assert found.advice.by_name["Voice"].needs[0].delays_s == [0.025]


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        (
            "study.toml",
            'title = "A made-up study"',
            "",
            "study: the key 'title' is missing; add it.",
        ),
        ("study.toml", "quick = ", "quik = ", "unknown key 'quik'; did you mean 'quick'?"),
        ("study.toml", 'name = "cbr"', 'name = "cbr2"', "cbr2.toml; add it."),
        ("study.toml", 'measures = ["first_s"]', 'measures = ["first"]', "experiment 'cbr': unknown measure"),
        (
            "study.toml",
            "[measure.first_s]",
            "[measure.last_s]",
            "'last_s' is no function in MEASURES of",
        ),
        ("study.toml", "[study]", "[study", "study.toml: not valid TOML"),
        ("plugin.py", "MEASURES = ", "MEASURES = 1 / 0 or ", "cannot be run (ZeroDivisionError: "),
        ("plugin.py", "FUNCTIONS = {", "FUNCTIONS = {1, ", "invalid syntax"),
        ("plugin.py", '{"nl": lambda row: 408.0 * row}', "['nl']", "FUNCTIONS must be a mapping of names to"),
        (
            "classes.toml",
            "of_best = 1.1",
            "",
            "there must be one limit; give one of most, least and of_best.",
        ),
        ("classes.toml", 'by = "D0.0"', "", "classes.toml: the key 'by' is missing; add it."),
    ],
)
def test_what_is_wrong_is_one_sentence(home: Path, file: str, old: str, new: str, sentence: str) -> None:
    text = (home / file).read_text()
    assert old in text
    (home / file).write_text(text.replace(old, new))
    with pytest.raises(UserError) as raised:
        studies.study(str(home), trust_plugin=True)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_strangers_plugin_runs_only_when_it_is_trusted(home: Path) -> None:
    withheld = studies.study(str(home))
    assert withheld.plugin.withheld
    assert not (home / "ran").exists()
    assert withheld.measures["first_s"].label == "First arrival"
    assert studies.study(str(home), trust_plugin=True).plugin.functions["nl"](2) == 816
    assert (home / "ran").exists()


def test_one_sentence_says_what_is_undecided_without_it(home: Path, gauntlet: Gauntlet) -> None:
    asked = ("reproduce", str(home), "--from-summary", "--json", "--out", str(home.parent / "out"))
    told = gauntlet(*asked)
    verdicts = {it["id"]: it["verdict"] for it in json.loads(told.stdout)["claims"]}
    assert verdicts == {"bbr-keeps": "reproduced", "nl": "undecided"}
    assert told.stderr.count("\n") == 1
    assert "was not run, so these claims are undecided: nl; read it, and add --trust-plugin" in told.stderr
    trusted = gauntlet(*asked, "--trust-plugin")
    verdicts = {it["id"]: it["verdict"] for it in json.loads(trusted.stdout)["claims"]}
    assert verdicts == {"bbr-keeps": "reproduced", "nl": "reproduced"}
    assert trusted.stderr == ""


def test_a_published_study_is_trusted_by_its_folder_too_and_a_copy_of_it_is_not(tmp_path: Path) -> None:
    published = studies.study("d34")
    assert studies.study(str(published.home)) is published
    copy = tmp_path / "d34"
    shutil.copytree(published.home, copy, ignore=shutil.ignore_patterns("summary"))
    assert studies.study(str(copy)).plugin.withheld


@pytest.mark.parametrize("found", studies.studies().values(), ids=lambda it: it.key)
def test_a_published_study_is_called_as_its_folder_and_has_a_summary(found: Study) -> None:
    """One that waits for its first full run, registered or not, has none until then."""
    assert found.home.name == found.key
    assert not found.summary.exists() or Summary.load(found.summary).study == found.key


EXPERIMENT = experiments.text("x", about={"repetitions": 4})


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("loss = [0.0]", "lost = [0.0]", "study.toml: cbr: the selection has an unknown key 'lost'"),
        ("loss = [0.0]", "loss = [0.2]", "study.toml: cbr: loss = 0.2 matches no run of the experiment"),
        (
            '"tcp-bbr_rep-001"',
            '"tcp_rep-001"',
            "study.toml: cbr: there is no run 'tcp_rep-001' to keep",
        ),
    ],
)
def test_what_is_kept_of_an_experiment_must_be_there(home: Path, old: str, new: str, sentence: str) -> None:
    good = STUDY.replace('"tcp-bbr_rep-001"', '"tcp-bbr_loss-0pct_rep-001"')
    (home / "experiments" / "cbr.toml").write_text(EXPERIMENT)
    (home / "study.toml").write_text(good)
    (task,) = reproduce.tasks(studies.study(str(home)), quick=True)
    assert len(task.specs) == 3
    assert old in STUDY
    (home / "study.toml").write_text((STUDY if "rep" in old else good).replace(old, new))
    with pytest.raises(UserError) as raised:
        reproduce.tasks(studies.study(str(home)), quick=True)
    assert sentence in str(raised.value)


def test_a_claim_that_could_never_be_decided_is_said_before_anything_is_played(
    home: Path, gauntlet: Gauntlet
) -> None:
    """There is no kernel here: if anything had been played first, the sentence would speak of that."""
    (home / "experiments" / "cbr.toml").write_text(EXPERIMENT)
    (home / "ledger.toml").write_text(FORMULA.replace("nl(1)", "2 * nk(1)"))
    (home / "study.toml").write_text(
        STUDY.replace('headlines = ["bbr-keeps"]', "").replace('["tcp-bbr_rep-001"]', "[]")
    )
    told = gauntlet("reproduce", str(home), "--trust-plugin", "--out", str(home.parent / "out"))
    where = (
        f"{home / 'ledger.toml'}: claim 'nl': value, character 5: there is no function 'nk'; there are ratio"
    )
    refused(told, 2, where)


def test_a_folder_without_a_study_is_said(tmp_path: Path, gauntlet: Gauntlet) -> None:
    refused(gauntlet("reproduce", str(tmp_path)), 2, "is no folder of a study: there is no study.toml in it")
