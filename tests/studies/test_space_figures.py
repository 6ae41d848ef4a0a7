"""Every figure and table of chapter 4 has its counterpart in three columns, and each draws."""

import pytest

from gauntlet.studies import judging, ledger, study
from gauntlet.studies.ledger import Kind
from gauntlet.studies.model import Figure
from gauntlet.studies.summary import Summary
from tests.studies.whole import check_measured, summary

STUDY = study("space")


@pytest.fixture(scope="module")
def made_up() -> Summary:
    return summary(STUDY)


@pytest.mark.parametrize("figure", STUDY.figures, ids=lambda figure: figure.key)
def test_a_figure_draws(figure: Figure, made_up: Summary) -> None:
    check_measured(figure.draw(made_up))


def test_every_figure_and_table_of_chapter_4_has_its_counterpart() -> None:
    keys = {figure.key for figure in STUDY.figures if not figure.beyond}
    assert keys == {f"4.{n}" for n in (1, 2, 3)} | {f"table-4.{n}" for n in range(1, 6)}


@pytest.mark.parametrize("key", ["table-4.1", "table-4.2", "table-4.3"])
def test_a_table_of_times_has_three_columns(key: str, made_up: Summary) -> None:
    (figure,) = (it for it in STUDY.figures if it.key == key)
    for panel in figure.draw(made_up):
        assert panel.header[-3:] == ("printed", "method again", "corrected")  # type: ignore[union-attr]


def test_memory_has_its_three_columns_twice(made_up: Summary) -> None:
    (figure,) = (it for it in STUDY.figures if it.key == "table-4.4")
    (table,) = figure.draw(made_up)
    heads = table.header  # type: ignore[union-attr]
    columns = ("printed", "method again", "corrected")
    for what in ("heap", "resident set"):
        assert [it for it in heads if it.startswith(f"{what}:")] == [
            f"{what}: {column}" for column in columns
        ]


def test_the_conversation_is_played_again_and_compared_at_equal_promises(made_up: Summary) -> None:
    (figure,) = (it for it in STUDY.figures if it.key == "table-4.5")
    again, corrected = figure.draw(made_up)
    assert again.caption.startswith("The method again")
    promises = [row[1] for row in corrected.rows]  # type: ignore[union-attr]
    assert promises == ["once or not at all"] * 3 + ["once, in order"] * 4


def test_every_experiment_and_bench_is_drawn() -> None:
    files = {path.stem for path in (STUDY.ledger.parent / "experiments").glob("*.toml")}
    assert files == {experiment.name for experiment in STUDY.experiments}
    assert set(STUDY.parts) == {name for figure in STUDY.figures for name in figure.experiments}


def test_the_ledger_covers_chapter_4() -> None:
    claims = ledger.load(STUDY.ledger)
    assert len(claims) >= 40
    assert sum(claim.kind is Kind.MEASURED for claim in claims) >= 40
    places = " ".join(claim.where for claim in claims)
    for place in ("section 4.2", "4.2.1", "4.3", "4.4", "4.5", "4.6", "chapter 5"):
        assert place in places


def test_the_slips_are_claims_by_formula() -> None:
    by_id = {claim.id: claim for claim in ledger.load(STUDY.ledger)}
    assert by_id["p-256-total"].kind is Kind.FORMULA
    assert "P-512" in by_id["handshake-p-521"].claim


def test_what_is_said_of_a_stream_is_decided_without_a_rest() -> None:
    """The study's method has two seconds before each message; its sentences except no stream."""
    for claim in ledger.load(STUDY.ledger):
        rests = {
            chosen["gap_s"]
            for rule in claim.rules[:1]
            for name, chosen in rule.selections()
            if name in ("messages", "frames")
        }
        if claim.id.endswith(("-stream", "-equal")):
            assert rests == {0.0}, claim.id
        elif claim.id != "handshake-most-costly":
            assert rests <= {2.0}, claim.id


def test_every_claim_can_be_decided_from_a_whole_run(made_up: Summary) -> None:
    """With three repetitions of everything no claim may say that what it needs was not run."""
    for judged in judging.judge(STUDY, made_up):
        parts = judged.decision.parts or (judged.decision,)
        assert all(part.value is not None for part in parts), judged.claim.id
