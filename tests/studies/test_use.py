"""What to use, by a study's results: tails, queues, settings, calibrated parameters, and how it is told."""

import io
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gauntlet.advice import grid as advice_grid
from gauntlet.advice import words
from gauntlet.advice.grid import Grid
from gauntlet.advice.standing import Grade
from gauntlet.advice.use import Advice
from gauntlet.errors import UserError
from gauntlet.studies import calibrated, judging, page, siblings, studies, study, terminal, use
from gauntlet.studies.advised import FromSummary
from gauntlet.studies.model import Study
from gauntlet.studies.summary import MANIFEST, Summary
from tests.report.test_report import Page
from tests.studies import factory
from tests.studies.whole import summary

D34 = study("d34")
COMMITTED = [it for it in studies().values() if (it.summary / MANIFEST).exists()]


def _numbers(experiment: str, protocol: str, factors: Mapping[str, Any]) -> Mapping[str, Any]:
    """All alike, but UDP loses a twentieth, SCTP is slow beside others, a short queue costs CUBIC half."""
    delay_s = factors.get("channel_delay_s", 0.0)
    told: dict[str, Any] = {"throughput_bps": 2e6, "download_time_s": 10.0, "app": "cbr"}
    told |= {"delay_p95_s": delay_s + 0.01, "delay_median_s": delay_s + 0.005}
    if protocol == "udp":
        told["message_loss_ratio"] = 0.05
    if experiment == "signalling-hsr":
        told["delay_median_s"] = 4.0 if factors["protocols"].startswith("sctp") else 0.2
    if experiment == "queue-128-hsr" and protocol == "tcp-cubic":
        told["throughput_bps"] = 1e6
    return told


@pytest.fixture(scope="module")
def found() -> Summary:
    """The whole of D3.4 with these numbers."""
    return summary(D34, _numbers)


@pytest.fixture(scope="module")
def advice(found: Summary) -> Advice:
    return use.advice(D34, found)


def of(advice: Advice, name: str) -> Grid:
    return next(it for it in advice.classes if it.service.name == name)


def test_messages_have_their_tail_and_what_missed_the_deadline_lost_ones_too(advice: Advice) -> None:
    cell = of(advice, "Critical voice").cells[0]
    udp = next(it for it in cell.candidates if it.protocol == "udp")
    late = next(it for it in udp.standings if it.need.kpi == "delay_p95_s")
    assert late.tail is not None and late.tail.missed is not None
    assert set(late.tail.quantiles_s) == {0.99, 0.999}
    assert late.tail.quantiles_s[0.99].value > 0.025
    # The made-up delays reach from half to one and a half times the median of 30 ms; 55 ms are the limit.
    assert late.tail.missed.value == pytest.approx(0.05), "what is lost is not there in time"
    assert udp.grade is Grade.FAILS
    assert words.distance(udp.deciding) == "1.67 × the limit"


def test_a_relative_need_has_no_deadline_to_miss(advice: Advice) -> None:
    it = of(advice, "Signalling").cells[0].candidates[0]
    assert it.deciding.tail is not None
    assert it.deciding.tail.missed is None


def test_a_class_that_the_study_does_not_have_is_marked_as_such(advice: Advice) -> None:
    own = of(advice, "Signalling beside a greedy CUBIC")
    assert own.by == ""
    worst = {it.protocol: it.grade for it in own.overall()}
    assert worst["tcp-bbr"] is Grade.SERVES
    assert worst["sctp"] is Grade.TENFOLD, "99.9 % within half a second, and it takes six"


def test_the_queue_is_a_condition_where_it_was_varied(advice: Advice) -> None:
    data = of(advice, "Critical data")
    assert {it.queue for it in data.cells} == {"512 kB", "128 kB"}
    short = next(it for it in data.cells if it.queue == "128 kB")
    assert (short.judged, short.of) == (1, 2), "files were not played with it"
    assert {it.protocol: it.grade.serving for it in short.candidates} == {
        "tcp-cubic": False,
        "tcp-bbr": True,
        "sctp": True,
    }


def test_a_candidate_that_the_other_queue_was_not_played_with_is_not_measured_there(found: Summary) -> None:
    """queue-128-hsr has neither UDP nor Reno."""
    data = D34.advice.by_name["Critical data"] if D34.advice else None
    assert data is not None
    of_data = advice_grid.grid(FromSummary(D34, found), replace(data, candidates=("tcp-bbr", "tcp-reno")), "")
    short = next(it for it in of_data.cells if it.queue == "128 kB")
    assert {it.protocol: it.grade for it in short.candidates} == {
        "tcp-bbr": Grade.SERVES,
        "tcp-reno": Grade.UNMEASURED,
    }


def test_experiments_that_differ_in_one_setting_are_found() -> None:
    pairs = {(it.one.name, it.other.name): it for it in siblings.siblings(D34)}
    assert pairs["cbr-hsr", "queue-128-hsr"].key == "link.queue"
    assert pairs["cbr-hsr", "send-buffer-hsr"].values == (None, "104KiB")
    assert ("cbr-hsr", "narrow-hsr-20mhz") not in pairs, "they differ in more than one"


def test_settings_say_their_effect_between_and_within_experiments(advice: Advice) -> None:
    told = {(it.title, it.protocol, it.kpi.name): it for it in advice.settings}
    short = told["Queue before the line 128 kB instead of 512 kB", "tcp-cubic", "throughput_bps"]
    assert [it.ratio.value for it in short.effects] == pytest.approx([0.5] * 6)
    assert short.where == "cbr-hsr and queue-128-hsr"
    titles = {title for title, _, _ in told}
    assert "Send buffer 2 MiB instead of 104 KiB (receive buffer 2 MiB)" in titles
    assert not any("nitial window" in title for title in titles), "nobody measured it"


def test_settings_that_were_not_played_are_not_told() -> None:
    whole = summary(D34, _numbers)
    names = [
        it for it in whole.experiments if it not in ("queue-128-hsr", "sctp-buffers-hsr", "narrow-hsr-20mhz")
    ]
    part = Summary("d34", {name: whole._part(name) for name in names}, D34.home)
    titles = {it.title for it in use.advice(D34, part).settings}
    assert titles
    assert not any("2 MiB" in title or "128 kB" in title for title in titles)


def test_runs_of_unlike_seeds_are_not_paired() -> None:
    whole = summary(D34, _numbers)
    parts = {name: whole._part(name) for name in ("cbr-hsr", "queue-128-hsr")}
    parts["queue-128-hsr"] = replace(
        parts["queue-128-hsr"], manifest={**parts["queue-128-hsr"].manifest, "seed": 9}
    )
    assert use.advice(D34, Summary("d34", parts, D34.home)).settings == ()


def test_absolute_limits_rest_on_calibrated_parameters_and_relative_ones_do_not(advice: Advice) -> None:
    rests = {
        grid.service.name: {it.name for it in those}
        for grid, those in zip(advice.classes, advice.calibrated, strict=True)
    }
    assert rests["Critical voice"] == {"rate of the line", "messages of the slow source"}
    assert rests["Critical data"] == set()
    values = {
        grid.service.name: {it.name for it in those}
        for grid, those in zip(advice.classes, advice.values_calibrated, strict=True)
    }
    assert values["Signalling"] == {"rate of the line", "messages of the slow source"}, (
        "its p99 hangs on them"
    )
    assert values["Critical data"] == {"rate of the line"}
    assert [it.name for it in calibrated.behind(D34, ["overflow"])] == []


def test_settings_that_the_study_does_not_vary_are_said(found: Summary, advice: Advice) -> None:
    """Of some it says where they were varied; those are not named again."""
    assert advice.unvaried == ("connection", "SCTP's first time-out")
    assert list(advice.elsewhere) == ["initial window", "token bucket of the line", "segmentation offload"]
    told = use.advice(replace(D34, elsewhere={"send buffer": "varied here, too"}), found)
    assert dict(told.elsewhere) == {}
    assert "initial window" in told.unvaried


@pytest.mark.parametrize("chosen", COMMITTED, ids=lambda it: it.key)
def test_the_experiments_that_vary_a_setting_elsewhere_are_there(chosen: Study) -> None:
    for name, told in chosen.elsewhere.items():
        files = [Path(it) for it in re.findall(r"experiments/[\w-]+\.toml", told)]
        assert files, name
        assert all((Path(__file__).parents[2] / it).is_file() for it in files), name


def test_a_setting_that_pages_do_not_know_is_refused(tmp_path: Path) -> None:
    from gauntlet.studies.load import load

    (tmp_path / "study.toml").write_text(
        '[study]\nkey = "x"\ntitle = "X"\ncitation = "Y"\n[[experiment]]\nname = "a"\n'
        '[[setting]]\nname = "first window"\nwords = "varied elsewhere"\n'
    )
    with pytest.raises(
        UserError, match="'first window' is no setting that pages tell of; those are send buff"
    ):
        load(tmp_path, trust_plugin=False)


def test_a_calibrated_parameter_that_no_experiment_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "a.toml").write_text("[scenario]\nname = 'constant'\n")
    (tmp_path / "study.toml").write_text(
        '[study]\nkey = "x"\ntitle = "X"\ncitation = "Y"\n[[experiment]]\nname = "a"\n'
        '[[calibrated]]\nname = "rate"\nkey = "scenario.rat"\nwords = "chosen"\n'
    )
    from gauntlet.studies.load import load

    with pytest.raises(UserError, match="no experiment has the calibrated parameter 'rate'"):
        load(tmp_path, trust_plugin=False)


def test_page_terminal_and_json_say_the_same(found: Summary, advice: Advice, tmp_path: Path) -> None:
    told = factory.study(tmp_path)
    told = replace(told, advice=D34.advice, beyond=D34.beyond)
    cbr = factory.summary(factory.flows({("tcp-bbr", 0.01): factory.steady(1.96e6)}))
    about = page.About(["gauntlet"], "All", advice=advice)
    judged = judging.judge(told, cbr)
    shown = Page(page.html(told, cbr, judged, about)).text
    screen = Console(width=500, record=True, file=io.StringIO())
    screen.print(terminal.summary_of(told, judged, cbr, screen.width, advice))
    printed = " ".join(screen.export_text().split())
    data = json.loads(json.dumps(advice.to_json(), allow_nan=False))
    assert shown.index("What should I use?") < shown.index("Does it hold?", shown.index("What should I use?"))
    for grid, plain in zip(advice.classes, data["classes"], strict=True):
        assert plain["answer"] == words.answer(grid)
        assert " ".join(plain["answer"].split()) in printed
        if plain["answer"] == "Not measured.":
            continue  # the page has what was measured
        assert words.conditions(grid) in shown.replace("\N{NO-BREAK SPACE}", " ")
        assert all(words.label(protocol) in shown for protocol in plain["use"])
        assert plain["use"] or words.how_well(grid) in shown.replace("\N{NO-BREAK SPACE}", " ")
    assert {it["title"] for it in data["settings"]} == {it.title for it in advice.settings}
    for title in {it.title for it in advice.settings}:
        assert title in shown.replace("\N{NO-BREAK SPACE}", " ")
    assert shown.index("Under which condition") < shown.index("Settings that were measured")
    text = page.html(told, cbr, judged, about)
    assert '<h4>Signalling <span class="kind"' in text, "milliseconds on a calibrated line wear its badge"
    assert "Not varied in these results: connection and SCTP's first time-out." in shown
    assert "Not varied in these results: connection and SCTP's first time-out." in printed
    assert "Initial window: not varied in these results." in shown
    voice = next(it for it in data["classes"] if it["class"] == "Critical voice")
    udp = next(it for it in voice["cells"][0]["transports"] if it["protocol"] == "udp")
    assert udp["grade"] == "fails"
    assert udp["completed"] == udp["flows"] == 3
    assert {"p99_s", "p99_9_s", "missed"} <= udp["needs"][1].keys()


def test_a_study_without_classes_begins_with_its_claims(tmp_path: Path) -> None:
    told, cbr = (
        factory.study(tmp_path),
        factory.summary(factory.flows({("tcp-bbr", 0.01): factory.steady(2e6)})),
    )
    shown = Page(page.html(told, cbr, judging.judge(told, cbr), page.About(["gauntlet"], "All")))
    assert "What should I use?" not in shown.text
    assert "use" not in shown.ids
    assert "1 Does it hold?" in shown.text


@pytest.mark.parametrize("chosen", COMMITTED, ids=lambda it: it.key)
def test_the_advice_of_a_committed_study_can_be_told(chosen: Study) -> None:
    """Of whatever is in its summary: every class and cell has words, and JSON without infinities."""
    advice = use.advice(chosen, Summary.load(chosen.summary, chosen.home))
    asks = any(chosen.home.glob("classes*.toml"))
    assert bool(advice.classes) == asks
    assert any(cell.judged for grid in advice.classes for cell in grid.cells) == asks
    for grid in advice.classes:
        assert words.answer(grid)
        for cell in grid.cells:
            assert cell.candidates
            assert all(words.distance(it.deciding) and words.whole(it) for it in cell.candidates)
    assert json.dumps(advice.to_json(), allow_nan=False)


@pytest.mark.parametrize("chosen", COMMITTED, ids=lambda it: it.key)
def test_the_grid_and_the_table_of_the_study_agree(chosen: Study) -> None:
    """What serves always by the ledger's rule is what the first screen recommends."""
    if chosen.advice is None:
        return
    from gauntlet.studies.advised import advised, grids

    found = Summary.load(chosen.summary, chosen.home)
    by_name = {it.service.name: it for it in grids(chosen, found)}
    for row in advised(chosen, found):
        serving = {it.protocol for it in by_name[row.service.name].overall() if it.grade.serving}
        assert serving == set(row.always), row.service.name
