"""Why claims are not reproduced: named in data, grouped and counted; naming one changes no registration."""

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from gauntlet.errors import UserError
from gauntlet.studies import causes, explained, judging, ledger, page, studies, terminal
from gauntlet.studies.decide import Verdict
from gauntlet.studies.model import Study
from gauntlet.studies.registration import Registration
from gauntlet.studies.summary import VERDICTS
from tests.report.test_report import Page
from tests.studies import factory

STUDIES = list(studies().values())
SUMMARISED = [it for it in STUDIES if (it.summary / VERDICTS).exists()]
CAUSES = """
[cause.timer]
name = "The first timer"
words = '''It is
1 s.'''

[cause.other]
name = "Another"
words = "It is another."
"""


def claims(*given: tuple[str, str, float]) -> str:
    """A ledger of claims (id, cause, least throughput)."""
    return "".join(
        f'[[claim]]\nid = "{name}"\nwhere = "1"\nclaim = "It is fast."\nthreshold = "any"\n'
        + (f'cause = "{cause}"\n' if cause else "")
        + '[claim.decide]\nkind = "range"\nexperiment = "cbr"\nkpi = "throughput_bps"\n'
        + f'of = {{ protocol = "tcp-bbr" }}\nat_least = {least}\n'
        for name, cause, least in given
    )


@pytest.fixture
def made(tmp_path: Path) -> Study:
    ledger_text = claims(
        ("one", "other", 9e6),
        ("two", "timer", 9e6),
        ("three", "timer", 9e6),
        ("holds", "timer", 1e6),
        ("lost", "", 9e6),
    )
    (tmp_path / "causes.toml").write_text(CAUSES)
    return factory.study(tmp_path, ledger_text, causes=causes.load(tmp_path))


def test_disagreements_are_grouped_by_cause_the_commonest_first(made: Study) -> None:
    found = factory.summary(factory.flows({("tcp-bbr", 0.01): factory.steady(2e6)}))
    judged = judging.judge(made, found)
    groups = explained.explained(judged, made.causes)
    assert [(it.name, [one.claim.id for one in it.claims]) for it in groups] == [
        ("The first timer", ["two", "three"]),
        ("Another", ["one"]),
        (explained.UNKNOWN, ["lost"]),
    ]
    assert groups[0].words == "It is 1 s."
    assert "2  The first timer: two, three" in said(made, judged)
    shown = Page(page.html(made, found, judged, page.About(["gauntlet"], "All")))
    assert "2 The first timer. It is 1 s. two three" in shown.text
    assert shown.text.index("Why claims are not reproduced") < shown.text.index("Every claim")


def said(study: Study, judged: Sequence[judging.Judged]) -> str:
    """What the terminal has of causes."""
    screen = Console(width=100, record=True, file=io.StringIO())
    screen.print(terminal.disagreements(study, judged))
    return screen.export_text()


def test_the_terminal_says_which_of_them_are_not_counted(made: Study) -> None:
    found = factory.summary(factory.flows({("tcp-bbr", 0.01): factory.steady(2e6)}))
    judged = [
        replace(it, departure="the seed differs") if it.claim.id == "two" else it
        for it in judging.judge(made, found)
    ]
    words = said(made, judged)
    assert "2  The first timer (1 of them not counted): (two), three" in words
    assert "1  Another: one" in words


def test_a_cause_that_is_not_there_or_that_nobody_names_is_refused(made: Study) -> None:
    read = ledger.load(made.ledger)
    explained.check(made.home, read, made.causes)
    with pytest.raises(UserError, match=r"there is no cause 'timer'; .*causes.toml has other"):
        explained.check(made.home, read, {"other": made.causes["other"]})
    with pytest.raises(UserError, match="no claim names the cause 'more'"):
        explained.check(made.home, read, {**made.causes, "more": causes.Cause("more", "More", "More.")})


@pytest.mark.parametrize(
    ("text", "said"), [("[cause]\ntimer = 1", "timer"), ("[cause.timer]\nname = 'x'", "words")]
)
def test_a_file_of_causes_that_is_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "causes.toml").write_text(text)
    with pytest.raises(UserError, match=said):
        causes.load(tmp_path)


def test_naming_a_cause_does_not_change_how_a_claim_is_decided(tmp_path: Path) -> None:
    plain, named = tmp_path / "plain.toml", tmp_path / "named.toml"
    plain.write_text(claims(("one", "", 1e6)))
    named.write_text(claims(("one", "timer", 1e6)))
    assert ledger.load(plain)[0].canonical == ledger.load(named)[0].canonical


@pytest.mark.parametrize("study", STUDIES, ids=lambda it: it.key)
def test_no_claim_was_changed_after_its_registration(study: Study) -> None:
    """Words, causes and notes may be mended; rules, classes.toml and plugins that claims rest on may not, and
    no registered claim may go.
    """
    registered = Registration.of(study)
    if registered is None:
        return
    claims = {claim.id: claim for claim in ledger.load(study.ledger)}
    assert registered.claims.keys() <= claims.keys()
    for name in registered.claims:
        departure = registered.departure(study, claims[name], {})
        assert "after the registration" not in departure, f"{name}: {departure}"


@pytest.mark.parametrize("study", SUMMARISED, ids=lambda it: it.key)
def test_claims_that_were_added_after_the_registration_do_not_count(study: Study) -> None:
    registered = Registration.of(study)
    if registered is None:
        return
    verdicts = json.loads((study.summary / VERDICTS).read_text())["claims"]
    added = {claim.id for claim in ledger.load(study.ledger)} - registered.claims.keys()
    assert {name for name in added if not verdicts[name]["not_registered"]} == set()


@pytest.mark.parametrize("study", SUMMARISED, ids=lambda it: it.key)
def test_each_claim_that_is_not_reproduced_names_its_cause_and_no_other_does(study: Study) -> None:
    """Of a claim of which nothing was run nobody knows; a fuller run may have found its cause."""
    verdicts = json.loads((study.summary / VERDICTS).read_text())["claims"]
    told = {it: verdict for it, verdict in verdicts.items() if verdict["value"] is not None}
    claims = [it for it in ledger.load(study.ledger) if it.id in told]
    failed = {it.id for it in claims if told[it.id]["verdict"] == Verdict.NOT_REPRODUCED}
    named = {it.id for it in claims if it.cause}
    assert failed - named == set(), "name a cause of causes.toml in the ledger"
    assert named - failed == set(), "take the cause away; what an undecided claim hangs on, its note says"
