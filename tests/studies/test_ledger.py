"""A ledger that is wrong is refused with a sentence that says where and what would be right."""

from pathlib import Path

import pytest

from gauntlet.errors import UserError
from gauntlet.studies import ledger, reproduce
from tests.experiment import factory as experiments
from tests.studies import factory

GOOD = factory.LEDGER
CBR = experiments.text("cbr", scenario={"rate": "2Mbit/s"})


def refused(tmp_path: Path, text: str) -> str:
    """The sentence with which a ledger is refused, without its file."""
    path = tmp_path / "ledger.toml"
    path.write_text(text)
    with pytest.raises(UserError) as raised:
        ledger.load(path)
    sentence = str(raised.value)
    assert sentence.startswith(f"{path}: ")
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))
    return sentence.removeprefix(f"{path}: ")


def test_a_good_ledger_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.toml"
    path.write_text(GOOD)
    (claim,) = ledger.load(path)
    assert (claim.id, claim.figures, claim.rule.experiments(factory.study(tmp_path / "of"))) == (
        "bbr-keeps",
        ("18",),
        ("cbr",),
    )
    assert claim.claim == "BBR keeps its throughput under 1 % loss."


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('id = "bbr-keeps"\n', "", "claim number 1: the key 'id' is missing; add it."),
        ('where = "section 6.2, Figure 18"\n', "", "claim 'bbr-keeps': the key 'where' is missing; add it."),
        ("threshold =", "treshold =", "unknown key 'treshold'; did you mean 'threshold'?"),
        ("figures =", "figure =", "unknown key 'figure'; did you mean 'figures'?"),
        ('threshold = "practically the same: within 10 %"', 'threshold = ""', "threshold: '' does not fit"),
        (
            'kind = "comparison"',
            'kind = "comparision"',
            "unknown kind 'comparision'; did you mean 'comparison'?",
        ),
        ('kind = "comparison"\n', "", "decide: the key 'kind' is missing; choose "),
        ("at_least = 0.9", "", "there is no bound; add at_least, at_most or both."),
        ("at_least = 0.9", "at_least = 0.9\nat_most = 0.8", "at_least is not below at_most"),
        ("at_least = 0.9", 'at_least = "0.9"', "at_least: '0.9' is not a number."),
        ("at_least = 0.9", "at_least = 0.9\nquantile = 2.0", "quantile: 2.0 is out of range"),
        ("that = ", "than = ", "unknown key 'than'; did you mean 'that'?"),
        (
            'kpi = "throughput_bps"',
            'kpi = "delay_s"',
            "delay_s is a distribution; add quantile, such as 0.5.",
        ),
        (
            "loss = 0 }",
            "loss = [] }",
            "loss = [] is no value of a factor; write one value or a list of values.",
        ),
        ("[claim.decide]", "[claim.decide", "not valid TOML"),
        (
            "[[claim]]",
            "[[claims]]",
            "unknown key 'claims'; a ledger has [[claim]] tables and adjusted_for_capacity.",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    assert old in GOOD
    assert sentence in refused(tmp_path, GOOD.replace(old, new))


def test_ids_are_unique(tmp_path: Path) -> None:
    assert refused(tmp_path, GOOD + GOOD) == "the id 'bbr-keeps' stands twice; ids are unique."


def test_an_empty_ledger_is_none(tmp_path: Path) -> None:
    assert refused(tmp_path, "") == "there is no claim; add [[claim]] tables."


@pytest.mark.parametrize(
    ("decide", "sentence"),
    [
        ('kind = "all"\nparts = []', "give either parts, or part and for_each."),
        (
            'kind = "all"\npart = { kind = "range" }',
            "part and for_each belong together; give both, or parts instead.",
        ),
        (
            'kind = "all"\nparts = [{ kind = "range", experiment = "cbr", kpi = "x", of = {} }, {}]',
            "there must be one kind of bound; give at_least and/or at_most, or near and tolerance.",
        ),
        (
            'kind = "range"\nexperiment = "cbr"\nkpi = "throughput_bps"\nof = {}\nnear = 2e6',
            "near and tolerance belong together; give both or neither.",
        ),
        (
            'kind = "share"\nexperiment = "cbr"\nkpi = "throughput_bps"\nof = {}\nat_least = 0.5',
            "nothing says what is counted; add from, to or both.",
        ),
        (
            'kind = "ordering"\nexperiment = "cbr"\nkpi = "throughput_bps"\nof = [{}, {}]\norder = "down"',
            "order: 'down' is not known; choose 'falling' or 'rising'.",
        ),
        (
            'kind = "expression"\nvalue = "(a + 1"\nwhat = "x"\nat_least = 0',
            "value: character 7: the bracket of character 1 is not closed by ')'.",
        ),
        (
            'kind = "expression"\nvalue = "1 + lossy"\nwhat = "x"\nat_least = 0\n'
            'terms = { lost = { kpi = "throughput_bps", experiment = "cbr" } }',
            "value, character 5: unknown term 'lossy'; did you mean 'lost'?",
        ),
        (
            'kind = "expression"\nvalue = "2 * 3"\nwhat = "x"\nat_least = 0\n'
            'terms = { lost = { kpi = "throughput_bps", experiment = "cbr" } }',
            "the term 'lost' is not in the expression; use it or leave it out.",
        ),
        (
            'kind = "expression"\nvalue = "a"\nwhat = "x"\nat_least = 0\nterms = { a = {} }\nkpi = "k"',
            "the term 'a' has no experiment; give it there or for all terms.",
        ),
    ],
)
def test_rules_that_cannot_decide_are_refused(tmp_path: Path, decide: str, sentence: str) -> None:
    head, _, _ = GOOD.partition("[claim.decide]")
    assert refused(tmp_path, f"{head}[claim.decide]\n{decide}\n").endswith(sentence)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            'figures = ["18"]',
            'figures = ["19"]',
            "there is no figure '19'; there are 18, 20, extra, table-9.",
        ),
        ('"cbr"', '"vbr"', "The study d00 has no experiment 'vbr'; it has cbr, other."),
        ("loss = 0.01", "loss = 0.02", "loss = 0.02 matches no run of the experiment; it has 0.0, 0.01."),
        ("throughput_bps", "goodput_bps", "unknown key 'goodput_bps'; did you mean 'throughput_bps'?"),
    ],
)
def test_a_ledger_is_held_against_its_study(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    """Without any results: a claim that can never be decided is found before anything is played."""
    good = factory.study(tmp_path)
    good.experiments[0].file.write_text(CBR)
    reproduce.check_ledger(good, ledger.load(good.ledger))
    wrong = factory.study(tmp_path, GOOD.replace(old, new))
    with pytest.raises(UserError) as raised:
        reproduce.check_ledger(wrong, ledger.load(wrong.ledger))
    assert str(raised.value).startswith(f"{wrong.ledger}: claim 'bbr-keeps': ")
    assert sentence in str(raised.value)


def test_a_headline_that_is_no_claim_is_said(tmp_path: Path) -> None:
    study = factory.study(tmp_path, headlines=("bbr-keeps", "bbr-gives", "bbr-takes"))
    study.experiments[0].file.write_text(CBR)
    with pytest.raises(UserError, match=r"ledger\.toml: the study's headlines name a claim 'bbr-gives'"):
        reproduce.check_ledger(study, ledger.load(study.ledger))


def test_a_function_that_the_study_lacks_is_said(tmp_path: Path) -> None:
    head, _, _ = GOOD.partition("[claim.decide]")
    text = f'{head}[claim.decide]\nkind = "expression"\nvalue = "2 * nl(1)"\nwhat = "packets"\nat_least = 1\n'
    lacking = factory.study(tmp_path, text)
    with pytest.raises(
        UserError, match=r"claim 'bbr-keeps': value, character 5: there is no function 'nl'; there are ratio"
    ):
        reproduce.check_ledger(lacking, ledger.load(lacking.ledger))
