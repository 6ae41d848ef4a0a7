"""What a claim rests on is said, only measured ones are counted, and each reading of a sentence is judged."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from gauntlet.errors import UserError
from gauntlet.studies import judging, ledger, page, reproduce, terminal
from gauntlet.studies.decide import Verdict
from gauntlet.studies.judging import Judged
from gauntlet.studies.model import Study
from gauntlet.studies.summary import Summary
from tests.report.test_report import Page
from tests.studies import factory
from tests.studies.factory import flows, steady, summary
from tests.studies.test_ledger import CBR

HELD = summary(flows({("tcp-bbr", 0.01): steady(1.96e6), ("tcp-bbr", 0.0): [2e6] * 10}))
CHOSEN = 'kind = "calibrated"\nbasis = "The rate of the line was chosen so."\n'
HALF = """
[[claim.reading]]
words = "Keeps: not less than all of it."
threshold = "Exactly."
[claim.reading.decide]
kind = "comparison"
experiment = "cbr"
kpi = "throughput_bps"
this = { protocol = "tcp-bbr", loss = 0.01 }
that = { protocol = "tcp-bbr", loss = 0 }
at_least = 0.AT_LEAST
"""


def judged(folder: Path, text: str) -> tuple[Study, Summary, list[Judged]]:
    """A study of this ledger, its results, and what they say."""
    study = factory.study(folder, text)
    return study, HELD, judging.judge(study, HELD)


def with_kind(text: str) -> str:
    """The ledger's claim, calibrated."""
    return text.replace('id = "bbr-keeps"\n', f'id = "bbr-keeps"\n{CHOSEN}')


def test_only_measured_claims_are_counted(tmp_path: Path) -> None:
    second = factory.LEDGER.replace("bbr-keeps", "bbr-keeps-again")
    study, found, both = judged(tmp_path, with_kind(factory.LEDGER) + second)
    assert {group: len(found) for group, found in judging.grouped(both).items()} == {
        "measured": 1,
        "calibrated": 1,
    }
    read = Page(page.html(study, found, both, page.About(["gauntlet"], "The whole study"))).text
    assert "1 of 1 measured claim reproduced, 0 not, 0 undecided." in read
    assert "Not counted: 1 calibrated (1 holds)." in read
    assert "Calibrated: The rate of the line was chosen so." in read
    first = replace(study, headlines=("bbr-keeps", "bbr-keeps-again"))
    listed = Page(page.html(first, found, both, page.About(["gauntlet"], "The whole study"))).text
    findings = listed[listed.index("The main findings") : listed.index("Every claim")]
    assert findings.count("calibrated") == 1
    assert terminal.tally(both).plain == (
        "1 measured claim: ✓ 1 reproduced, ✗ 0 not reproduced, ? 0 undecided\n"
        "Not counted (in brackets): 1 calibrated (1 holds)."
    )
    screen = Console(width=80, record=True, file=io.StringIO())
    screen.print(terminal.table(both, 80))
    rows = [line.split()[:2] for line in screen.export_text().splitlines()[1:]]
    assert rows == [["(✓)", "bbr-keeps"], ["✓", "bbr-keeps-again"]]
    assert judging.verdicts(study, both)["claims"]["bbr-keeps"]["kind"] == "calibrated"


@pytest.mark.parametrize(("at_least", "verdict"), [("90", Verdict.REPRODUCED), ("999", Verdict.UNDECIDED)])
def test_a_claim_holds_when_every_reading_of_it_does(tmp_path: Path, at_least: str, verdict: Verdict) -> None:
    """0.98 is at least 0.90 and not at least 0.999; the claim's own rule asks for 0.90."""
    study, found, (claim,) = judged(tmp_path, factory.LEDGER + HALF.replace("AT_LEAST", at_least))
    assert claim.decision.verdict == verdict
    assert [decision.verdict for _, decision in claim.readings] == [
        Verdict.REPRODUCED,
        Verdict.REPRODUCED if at_least == "90" else Verdict.NOT_REPRODUCED,
    ]
    differ = "it depends on how the sentence is read: reproduced and not reproduced"
    assert (differ in claim.decision.reason) == (verdict is Verdict.UNDECIDED)
    read = Page(page.html(study, found, [claim], page.About(["gauntlet"], "The whole study"))).text
    assert "Keeps: not less than all of it." in read
    assert len(judging.verdicts(study, [claim])["claims"]["bbr-keeps"]["readings"]) == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            factory.LEDGER.replace('id = "bbr-keeps"\n', 'id = "bbr-keeps"\nkind = "formula"\n'),
            "a claim of the kind formula needs basis: ",
        ),
        (
            factory.LEDGER.replace('id = "bbr-keeps"\n', 'id = "bbr-keeps"\nbasis = "So."\n'),
            "basis goes with a kind other than measured: ",
        ),
        (
            factory.LEDGER + HALF.replace("0.AT_LEAST", '"a"'),
            "reading 2, decide: at_least: 'a' is not a number.",
        ),
    ],
)
def test_a_claim_without_its_ground_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "ledger.toml"
    path.write_text(text)
    with pytest.raises(UserError) as raised:
        ledger.load(path)
    assert f"{path}: claim 'bbr-keeps'" in str(raised.value)
    assert sentence in str(raised.value)


def test_what_a_reading_names_is_held_against_the_study(tmp_path: Path) -> None:
    other = HALF.replace("AT_LEAST", "90").replace('experiment = "cbr"', 'experiment = "cbx"')
    study = factory.study(tmp_path, factory.LEDGER + other)
    study.experiments[0].file.write_text(CBR)
    with pytest.raises(UserError, match="has no experiment 'cbx'"):
        reproduce.check_ledger(study, ledger.load(study.ledger))
