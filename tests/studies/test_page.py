"""The page of a study: claims first, every figure with what the study prints, and no network."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from gauntlet.figures.kind import Table
from gauntlet.studies import judging, page, terminal
from gauntlet.studies.judging import Judged
from gauntlet.studies.model import Figure, Study
from gauntlet.studies.summary import Summary
from tests.report.test_report import Page
from tests.studies import factory
from tests.studies.factory import flows, steady, summary

ABOUT = page.About(["gauntlet", "reproduce", "d00"], "The whole study")
SECOND = """
[[claim]]
id = "sctp-on-other"
where = "section 9"
claim = "SCTP is <slower> on the other line."
threshold = "any"
figures = ["20"]

[claim.decide]
kind = "range"
experiment = "other"
kpi = "throughput_bps"
of = { protocol = "sctp" }
at_most = 1e6
"""


@pytest.fixture
def made(tmp_path: Path) -> tuple[Study, Summary, list[Judged]]:
    """A study with a claim that holds and one that was not measured."""
    study = factory.study(tmp_path, factory.LEDGER + SECOND)
    found = summary(flows({("tcp-bbr", 0.01): steady(1.96e6), ("tcp-bbr", 0.0): [2e6] * 10}))
    return study, found, judging.judge(study, found)


def test_the_page_says_what_was_found(made: tuple[Study, Summary, list[Judged]]) -> None:
    text = page.html(*made, ABOUT)
    read = Page(text)
    words = read.text
    assert "BBR keeps its throughput under 1 % loss." in words
    assert "SCTP is <slower> on the other line." in words
    assert re.search(r"✓ reproduced .*0\.980.* 95 %: 0\.9\d+ to 0\.9\d+ n = 10 holds: at least 0\.900", words)
    assert "about 2.2 Mbit/s" in words
    assert "? undecided" in words
    assert "No run of other is among these results." in words
    assert "Not among these results: other. Claims that need them are undecided and not counted." in words
    assert "Figure 18: Throughput of BBR" in words
    assert "2.2 Mbit/s (section 6.2)" in words
    assert "Not drawn: No run of other is among these results." in words
    assert "Table 9: Which protocol for whom" in words
    assert "A newer kernel" in words
    assert "20 of 20 runs are trusted." in words
    assert "12.0 s, 100 times as fast as real time" in words
    assert {"claim-bbr-keeps", "figure-18", "figure-table-9", "chart-18-1"} <= set(read.ids)


def test_the_page_begins_with_the_answer(made: tuple[Study, Summary, list[Judged]]) -> None:
    study, found, judged = made
    words = Page(page.html(replace(study, headlines=("sctp-on-other",)), found, judged, ABOUT)).text
    answer = words[: words.index("Every claim")]
    assert "1 of 1 measured claim reproduced, 0 not, 0 undecided." in answer
    assert "SCTP is <slower> on the other line." in answer
    assert "BBR keeps its throughput" not in answer, "it is no headline"


@pytest.mark.parametrize("parts", [1, 2])
def test_a_main_finding_of_which_nothing_was_played_says_so_once(
    made: tuple[Study, Summary, list[Judged]], parts: int
) -> None:
    """Neither that none of its parts holds, nor a sentence that begins with its second half."""
    study, found, judged = made
    lacking = next(it for it in judged if it.claim.id == "sctp-on-other")
    if parts > 1:
        whole = replace(lacking.decision, what="", parts=(lacking.decision,) * parts)
        lacking = replace(lacking, decision=whole)
    words = Page(page.html(replace(study, headlines=("sctp-on-other",)), found, [lacking], ABOUT)).text
    row = words[words.index("The main findings") : words.index("✓ reproduced, ✗ not reproduced")]
    assert row.strip() == "The main findings ? SCTP is <slower> on the other line. not played"


def test_a_main_finding_without_words_of_its_own_begins_with_its_parts(
    made: tuple[Study, Summary, list[Judged]],
) -> None:
    study, found, judged = made
    keeps = next(it for it in judged if it.claim.id == "bbr-keeps")
    keeps = replace(keeps, decision=replace(keeps.decision, what="", parts=(keeps.decision,) * 2))
    words = Page(page.html(replace(study, headlines=("bbr-keeps",)), found, [keeps], ABOUT)).text
    assert re.search(r"\] 2 of 2 parts hold; holds: at least 0\.900", words)


def test_an_interval_that_allows_for_several_parts_says_so_beside_itself(
    made: tuple[Study, Summary, list[Judged]],
) -> None:
    study, found, judged = made
    keeps = next(it for it in judged if it.claim.id == "bbr-keeps")
    several = replace(
        keeps.decision, parts=(keeps.decision,) * 4, together=4, chosen="the first part that fails"
    )
    words = Page(page.html(study, found, [replace(keeps, decision=several)], ABOUT)).text
    assert re.search(r"95 % for all 4 parts at once: 0\.9\d+ to", words)
    assert "shown is the first part that fails" in words
    assert "Each part at 95 % for itself; the number beside the claim is that of the first part" in words


def test_a_name_with_a_number_keeps_it(made: tuple[Study, Summary, list[Judged]]) -> None:
    study, found, judged = made
    keeps = next(it for it in judged if it.claim.id == "bbr-keeps")
    slow = replace(keeps.decision, value=1230.0, against="times that with RSA 2048")
    words = Page(page.html(study, found, [replace(keeps, decision=slow)], ABOUT)).text
    assert "1,230 times that with RSA 2048" in words


def test_thousands_and_code_are_written_one_way(tmp_path: Path) -> None:
    table = Table("Of `a_key`.", ("protocol", "kB"), (("SCTP", "16400 [16300 to 16500]"),))
    figure = Figure("18", "Times", "Where it has `a_key`.", ("cbr",), lambda _: [table])
    study, found = factory.study(tmp_path, figures=(figure,)), summary(flows({("sctp", 0.0): [2e6] * 10}))
    text = page.html(study, found, judging.judge(study, found), ABOUT)
    assert '<td class="num">16,400 <span class="whole">[16,300 to 16,500]</span></td>' in text
    assert "Where it has <code>a_key</code>." in text and "Of <code>a_key</code>." in text


def test_without_an_experiment_nothing_is_said_of_runs(tmp_path: Path) -> None:
    study = factory.study(tmp_path)
    nothing = Summary(study.key, {}, tmp_path, {})
    words = Page(page.html(study, nothing, judging.judge(study, nothing), ABOUT)).text
    assert "Nothing that decides a claim was played." in words
    assert "No experiment was played." in words
    assert "Provenance not played" in words
    for never in ("0 runs", "0 of 0", "of virtual time"):
        assert never not in words


def test_what_was_measured_names_both_sides_and_the_condition(
    made: tuple[Study, Summary, list[Judged]],
) -> None:
    keeps = next(it for it in made[2] if it.claim.id == "bbr-keeps")
    assert keeps.decision.what == "Throughput, loss 1 % relative to loss 0 % (TCP BBR)"


def test_every_link_of_the_page_leads_into_it(made: tuple[Study, Summary, list[Judged]]) -> None:
    read = Page(page.html(*made, ABOUT))
    assert read.loads
    assert {link.removeprefix("#") for link in read.loads} <= set(read.ids)


def test_every_chart_has_its_data_inside(made: tuple[Study, Summary, list[Judged]]) -> None:
    text = page.html(*made, ABOUT)
    found = re.search(r'<script type="application/json" id="page-data">(.*?)</script>', text, re.S)
    assert found
    figures = json.loads(found[1])["figures"]
    assert list(figures) == ["18-1"]
    assert "x,y\n0,1\n1,2\n" in figures["18-1"]["spec"]["datasets"].values()
    assert re.findall(r'"url"\s*:', found[1]) == []


def test_numbers_and_how_many_arrived_stand_at_the_right_end_of_their_column(tmp_path: Path) -> None:
    table = Table(
        "Times.",
        ("protocol", "alone (s)", "beside others (s)", "remark"),
        (
            ("SCTP", "4.00 [3.90 to 4.10]", "0 of 10 set up", "7 of 10 arrived, and late"),
            ("TCP BBR", "7 of 10 arrived, median 5.00", "–", "1.00"),
        ),
    )
    figure = Figure("18", "Times", "Two files.", ("cbr",), lambda _: [table])
    study, found = factory.study(tmp_path, figures=(figure,)), summary(flows({("sctp", 0.0): [2e6] * 10}))
    text = page.html(study, found, judging.judge(study, found), ABOUT)
    for cell in (
        '<th class="num">alone (s)</th>',
        '<td class="num">4.00 <span class="whole">[3.90 to 4.10]</span></td>',
        '<td class="num counted">7 of 10 arrived, <span class="whole">median 5.00</span></td>',
        '<td class="num counted">0 of 10 set up</td><td>7 of 10 arrived, and late</td>',
        '<td class="num">–</td><td>1.00</td>',
        "<th>remark</th>",
    ):
        assert cell in text, cell


def test_a_quick_look_says_that_it_is_one(made: tuple[Study, Summary, list[Judged]]) -> None:
    quick = page.About(ABOUT.command, "A first look", quick=True)
    assert "`gauntlet reproduce d00 --full` plays all." in Page(page.html(*made, quick)).text


def test_runs_that_are_not_trusted_are_named(tmp_path: Path) -> None:
    table = flows({("tcp-bbr", 0.01): steady(2e6)}, trusted=[False] + [True] * 9)
    study, found = factory.study(tmp_path), summary(table)
    words = Page(page.html(study, found, judging.judge(study, found), ABOUT)).text
    assert "9 of 10 runs are trusted." in words
    assert "a run that bends The link was 2 % too fast." in words


def test_colours_of_figures_are_lightened_on_a_dark_page(made: tuple[Study, Summary, list[Judged]]) -> None:
    text = page.html(*made, ABOUT)
    assert '.chart svg [stroke="#0072B2"]' in text
    assert '.chart svg [stroke="#e4e7eb"]' not in text, "grid lines have a rule of their own"


@pytest.mark.parametrize("width", [80, 132])
def test_the_terminal_has_one_line_a_claim(made: tuple[Study, Summary, list[Judged]], width: int) -> None:
    study, found, judged = made
    screen = Console(width=width, record=True, file=io.StringIO())
    screen.print(terminal.summary_of(study, judged, found, screen.width))
    lines = [line.rstrip() for line in screen.export_text().splitlines()]
    (row,) = [line for line in lines if "bbr-keeps" in line]
    assert row.startswith("✓")
    signs = "✓ reproduced, ✗ not reproduced, ? undecided; [95 % interval]"
    assert lines.index(signs) < lines.index(row)
    assert "0.980 [0.9" in row
    assert " 10  about 2.2" in row
    assert not any("sctp-on-other" in line for line in lines)
    assert "1 measured claim: ✓ 1 reproduced, ✗ 0 not reproduced, ? 0 undecided" in lines
    assert "Not counted: 1 not played." in lines
    assert "All 20 runs are trusted." in lines
    assert any(line.startswith("Not among these results: other. Claims that need them") for line in lines)
    assert max(map(len, lines)) <= width


def test_a_narrow_terminal_has_every_mark(made: tuple[Study, Summary, list[Judged]]) -> None:
    """Where an exact number stands among long ones, it is `deterministic` that goes, not the verdict."""
    first, second = made[2]
    wide = replace(first.decision, value=75e4, low=60.9e4, high=94.1e4, unit="Mbit/s", factor=1e-6)
    exact = replace(
        second,
        claim=replace(second.claim, id="as-long-as-claims-are"),
        decision=replace(first.decision, low=None, high=None, deterministic=True),
    )
    screen = Console(width=80, record=True, file=io.StringIO())
    screen.print(terminal.table([replace(first, decision=wide), exact], 80))
    lines = [line.rstrip() for line in screen.export_text().splitlines()]
    assert lines[1].startswith("✓  bbr-keeps ")
    assert "0.750 Mbit/s [0.609 to 0.941]  10  about 2.2" in lines[1]
    assert lines[2].startswith("✓  as-long-as-claims-are ")
    assert max(map(len, lines)) <= 80


def test_long_names_are_cut_not_wrapped(tmp_path: Path) -> None:
    long = factory.LEDGER.replace("bbr-keeps", "b" * 90).replace("about 2.2 Mbit/s", "words " * 40)
    study = factory.study(tmp_path, long)
    found = summary(flows({("tcp-bbr", 0.01): steady(1.96e6), ("tcp-bbr", 0.0): [2e6] * 10}))
    screen = Console(width=80, record=True, file=io.StringIO())
    screen.print(terminal.table(judging.judge(study, found), 80))
    lines = screen.export_text().splitlines()
    assert len(lines) == 2
    assert "0.980 [0.9" in lines[1]
    assert "  10  w" in lines[1]


def test_what_stands_between_backticks_is_code(tmp_path: Path) -> None:
    """In thresholds and notes alike, and whatever is in it stays text."""
    ledger_text = factory.LEDGER + SECOND.replace(
        'threshold = "any"', 'threshold = "`gauntlet assess` <decides>."\nnote = "See `a<b`, no more."'
    )
    study = factory.study(tmp_path, ledger_text)
    found = summary(flows({("tcp-bbr", 0.01): steady(1.96e6)}))
    text = page.html(study, found, judging.judge(study, found), ABOUT)
    assert "<code>gauntlet assess</code> &lt;decides&gt;." in text
    assert "See <code>a&lt;b</code>, no more." in text
