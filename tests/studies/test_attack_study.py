"""The study of QUIC and TLS over TCP under attack: its section 5, sentence by sentence, and its figures."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from gauntlet.attack.kinds import FLOOD, H1, H2, H3, KINDS
from gauntlet.attack.measures import INVALID
from gauntlet.benches import attack_flood, attack_weaknesses
from gauntlet.errors import NotMeasured
from gauntlet.figures.kind import Chart
from gauntlet.studies import judging, ledger, study
from gauntlet.studies.decide import Verdict
from gauntlet.studies.ledger import Kind
from gauntlet.studies.model import Figure
from gauntlet.studies.summary import BENCH, Part, Summary
from tests.studies.test_lines import ROW, lines
from tests.studies.whole import check_measured, summary

STUDY = study("attack")

Number = Callable[[Mapping[str, Any], str], float | None]
"""What a made-up run says: of its condition, by a measure's name."""

ASSERTED = (
    172,
    174,
    176,
    178,
    180,
    182,
    190,
    192,
    194,
    198,
    200,
    202,
    204,
    208,
    219,
    221,
    223,
    225,
    230,
    231,
    238,
    240,
)
"""Lines of section 5 with a sentence that says something."""


@pytest.fixture(scope="module")
def made_up() -> Summary:
    return summary(STUDY)


@pytest.mark.parametrize("figure", STUDY.figures, ids=lambda figure: figure.key)
def test_a_figure_draws(figure: Figure, made_up: Summary) -> None:
    check_measured(figure.draw(made_up))


@pytest.mark.parametrize("key", ["1", "2", "3", "4", "5", "table-3"])
def test_figures_stand_in_three_columns(key: str, made_up: Summary) -> None:
    (figure,) = (it for it in STUDY.figures if it.key == key)
    first = figure.draw(made_up)[0]
    assert not isinstance(first, Chart)
    heads = " ".join(first.header)
    assert all(word in heads for word in ("published", "method again", "corrected"))


def test_figure_6_has_its_columns_one_below_the_other(made_up: Summary) -> None:
    """What is published of it are words, and each of the others takes a table."""
    (figure,) = (it for it in STUDY.figures if it.key == "6")
    tables = [it for it in figure.draw(made_up)[1:] if not isinstance(it, Chart)]
    assert [it.caption.partition(",")[0] for it in tables] == ["Method again", "Corrected"]
    assert all("published" in it.header for it in tables)


def test_each_attack_stands_in_the_table_of_each_protocol_that_it_has(made_up: Summary) -> None:
    drawn = [it.draw(made_up) for it in STUDY.figures if it.key.startswith("weaknesses")]
    shown = [[row[0] for row in it.rows] for (it,) in drawn if not isinstance(it, Chart)]
    known = [it for it in KINDS.values() if it.key != FLOOD]
    tried = {(it["attack"], it["over"]) for it in attack_weaknesses.conditions(quick=False)}
    # The last is of further libraries, over HTTP/3 as the first.
    assert shown == [[it.key for it in known if (it.key, over) in tried] for over in (H3, H2, H1, H3)]
    # Below HTTP, HTTP/1.1 and HTTP/2 are the same.
    left_out = {(it.key, over) for it in known for over in it.protocols} - tried
    assert left_out == {("flood-initial", H1), ("handshake-stall", H1)}


def found_by(conditions: Mapping[str, Sequence[Mapping[str, Any]]], number: Number) -> Summary:
    """A summary of benches, a run for each of these conditions, whose measures are what `number` says."""
    of_a_run = {"repetition": 1, "samples": 1, "flow": 0, "trusted": True, "outcome": "ok", "completed": True}
    benches = {it.name: it.bench for it in STUDY.benches if it.name in conditions}
    parts = {}
    for name, bench in benches.items():
        rows = [
            {
                **it,
                **of_a_run,
                "run": str(place),
                **{kpi.name: number(it, kpi.name) for kpi in bench.measures},
            }
            for place, it in enumerate(conditions[name])
        ]
        manifest = {"factors": bench.full.whole, "labels": bench.words, "samples": len(rows)}
        parts[name] = Part(manifest, {BENCH: pa.Table.from_pylist(rows)})
    return Summary(STUDY.key, {}, STUDY.home, parts)


def test_a_first_look_at_weaknesses_has_its_table() -> None:
    """It has HTTP/3 alone: that there is nothing over HTTP/2 and HTTP/1.1 takes nothing from it."""
    found = found_by({"weaknesses": attack_weaknesses.conditions(quick=True)}, lambda *_: 1.0)
    figures = {it.key: it for it in STUDY.figures if it.key.startswith("weaknesses")}
    (table,) = figures.pop("weaknesses").draw(found)
    assert not isinstance(table, Chart)
    shown = {row[0]: row[1:] for row in table.rows}
    assert shown["handshake-stall"][0].startswith("100")
    assert set(shown["rapid-reset"]) == {"–"}
    for figure in figures.values():
        with pytest.raises(NotMeasured):
            figure.draw(found)


def test_a_run_that_tells_nothing_is_shown_as_invalid_and_without_a_number() -> None:
    def told(condition: Mapping[str, Any], kpi: str) -> float | None:
        spoilt = (condition["over"], condition["load"]) == (H3, 2.0)
        return float(spoilt) if kpi == INVALID else None if spoilt else 1.0

    floods = attack_flood.conditions(quick=False)
    found = found_by({"flood": floods, "flood-long": [it for it in floods if it["load"] == 2.0]}, told)
    (figure,) = (it for it in STUDY.figures if it.key == "1")
    table = figure.draw(found)[0]
    assert not isinstance(table, Chart)
    shown = {tuple(row[:2]): dict(zip(table.header, row, strict=True)) for row in table.rows}
    for level, number, invalid in (("1.5 times (75)", "1000", "0"), ("twice (100)", "–", "100")):
        row = shown["QUIC", level]
        for column, mean in (("method again", "of the served"), ("corrected", "up to the limit")):
            assert row[f"{column}, mean {mean} (ms)"].startswith(number)
            assert row[f"{column}, invalid runs (%)"].startswith(invalid)


def test_loss_and_its_opposite_do_not_stand_side_by_side(made_up: Summary) -> None:
    (figure,) = (it for it in STUDY.figures if it.key == "1")
    table = figure.draw(made_up)[1]
    assert not isinstance(table, Chart)
    assert [
        head for head in table.header if head.startswith(("published", "method again, s", "corrected"))
    ] == [
        "published, served (%)",
        "method again, served (%)",
        "corrected, served (%)",
    ]


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("flood-twenty-times", "times that over HTTP/3"),
        ("replay-longer-than-echo", "times that in echo"),
        ("echo-quic-slower", "times that with TLS over TCP CUBIC"),
    ],
)
def test_a_ratio_says_in_english_what_it_is_of(made_up: Summary, claim: str, words: str) -> None:
    (found,) = (it.decision for it in judging.judge(STUDY, made_up) if it.claim.id == claim)
    assert found.against == words


def test_every_bench_that_this_machine_can_spoil_has_its_invalid_runs_in_a_table(made_up: Summary) -> None:
    spoilt = {it.name for it in STUDY.benches if INVALID in {kpi.name for kpi in it.bench.measures}}
    assert len(spoilt) >= 10
    counted: set[str] = set()
    for figure in STUDY.figures:
        tables = [it for it in figure.draw(made_up) if not isinstance(it, Chart)]
        if any("invalid" in head for table in tables for head in table.header):
            counted |= set(figure.experiments)
    assert spoilt - counted == set()


def test_what_traffic_analysis_has_to_tell_is_shown(made_up: Summary) -> None:
    heads = {
        it.key: {head for panel in it.draw(made_up) if not isinstance(panel, Chart) for head in panel.header}
        for it in STUDY.figures
    }
    assert {"found (%)", "false alarms (%)", "precision (%)"} <= heads["open-world"]
    assert {"more bytes (%)", "more time (%)"} <= heads["padding"]
    assert {"from (%)", "to (%)", "near-identical (%)"} <= heads["one-set"]


def test_every_experiment_and_bench_is_drawn() -> None:
    files = {path.stem for path in (STUDY.home / "experiments").glob("*.toml")}
    assert files == {experiment.name for experiment in STUDY.experiments}
    assert set(STUDY.parts) == {name for figure in STUDY.figures for name in figure.experiments}


def test_every_line_of_section_5_is_claimed_or_listed_with_a_reason() -> None:
    claimed = {
        line
        for it in ledger.load(STUDY.ledger)
        for line in lines(" ".join(re.findall(r"lines? ([\d ,toand]+)", it.where)))
    }
    text = (STUDY.home / "not-claimed.md").read_text()
    listed = {line for row in ROW.findall(text) for line in lines(row)}
    assert set(ASSERTED) - claimed - listed == set()


def test_claims_that_the_list_names_are_there() -> None:
    text = (STUDY.home / "not-claimed.md").read_text()
    named = set(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", text))
    assert named
    assert named <= {it.id for it in ledger.load(STUDY.ledger)}


def test_there_are_claims_and_hypotheses_enough() -> None:
    claims = ledger.load(STUDY.ledger)
    assert sum(it.kind is Kind.MEASURED for it in claims) >= 40
    assert sum(it.where.startswith("beyond the study") for it in claims) >= 15


def test_what_its_own_logs_say_is_decided_by_formula(made_up: Summary) -> None:
    found = {it.claim.id: it for it in judging.judge(STUDY, made_up) if it.claim.kind is Kind.FORMULA}
    held = {name for name, it in found.items() if it.decision.verdict is Verdict.REPRODUCED}
    assert held == {"table-3-quic-is-accuracy", "table-3-tcp-is-accuracy"}
    assert all(
        it.decision.verdict is Verdict.NOT_REPRODUCED for name, it in found.items() if name not in held
    )
    assert all(it.claim.cause and it.claim.note for name, it in found.items() if name not in held)


def test_a_corrected_claim_has_its_sentence_by_the_studys_method() -> None:
    """The corrected one never rests on the study's server or on the mean over those that were served."""
    by_id = {it.id: it for it in ledger.load(STUDY.ledger)}
    for name, claim in by_id.items():
        if not name.endswith("-corrected"):
            continue
        where = by_id.get(name.removesuffix("-corrected"))
        assert where is None or where.where == claim.where, name
        for rule in claim.rules:
            assert "delay_of_served_mean_s" not in str(rule), name


def test_every_claim_can_be_decided_from_a_whole_run(made_up: Summary) -> None:
    """With three repetitions of everything no claim may say that what it needs was not run."""
    for judged in judging.judge(STUDY, made_up):
        parts = judged.decision.parts or (judged.decision,)
        assert all(part.value is not None for part in parts), judged.claim.id


def test_conditions_that_are_asked_for_are_measured() -> None:
    """A selection fits the factors by itself; here it has to be one of the conditions, too."""
    from gauntlet.benches import (
        attack_cost,
        attack_flood,
        attack_memory,
        attack_prediction,
        attack_recovery,
        attack_slow,
        attack_syn_cookies,
        traffic_browser,
        traffic_sites,
    )

    modules = {
        "flood": attack_flood, "slow": attack_slow, "cost": attack_cost, "memory": attack_memory,
        "recovery": attack_recovery, "weaknesses": attack_weaknesses, "sites": traffic_sites,
        "browser": traffic_browser, "prediction": attack_prediction, "syn-cookies": attack_syn_cookies,
    }  # fmt: skip
    conditions = {name: it.conditions(False) for name, it in modules.items()}
    conditions["flood-long"] = [it for it in conditions["flood"] if it["load"] == 2.0]
    conditions["weaknesses-tcp"] = attack_weaknesses.over_tcp(False)
    conditions["weaknesses-libraries"] = attack_weaknesses.over_further_libraries(False)
    for claim in ledger.load(STUDY.ledger):
        for rule in claim.rules:
            for name, selection in rule.selections():
                if name not in conditions:
                    continue
                asked = {key: value for key, value in selection.items() if key != "experiment"}
                assert any(
                    all(it[key] == value for key, value in asked.items()) for it in conditions[name]
                ), (claim.id, selection)
