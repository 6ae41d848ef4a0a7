"""What D3.5's files and pages make of a summary whose times follow a rule."""

from collections.abc import Mapping
from typing import Any

import pytest

from gauntlet.errors import NotMeasured
from gauntlet.figures.kind import Table
from gauntlet.studies import ledger, study
from gauntlet.studies.decide import Context
from gauntlet.studies.summary import Summary
from tests.studies.whole import summary

STUDY = study("d35")
RULES = {claim.id: claim.rule for claim in ledger.load(STUDY.ledger)}


def times(experiment: str, protocol: str, factors: Mapping[str, Any]) -> Mapping[str, float]:
    """Ten round trips, 1 s a MB, which 1 % of loss doubles; TLS: three round trips more. No repetition is
    like another, so that only pairs are sharp.
    """
    if not experiment.startswith("files"):
        return {}
    round_trip_s = 2 * factors["channel_delay_s"]
    trips = 13 if factors.get("app") == "ftps" else 10
    bytes_s = factors["size_bytes"] / 1e6 * (1 + 100 * factors["loss"])
    time_s = trips * round_trip_s + bytes_s + 5 * factors["repetition"]
    return {"download_time_s": time_s, "fetch_time_s": time_s}


@pytest.fixture(scope="module")
def made_up() -> Summary:
    return summary(STUDY, times)


def test_every_figure_and_experiment_of_files_and_pages_is_there() -> None:
    assert {str(number) for number in range(9, 27)} <= {figure.key for figure in STUDY.figures}
    mine = {path.stem for path in (STUDY.ledger.parent / "experiments").glob("[fp][ia][lg]es*.toml")}
    assert len(mine) == 17
    assert mine <= {it.name for it in STUDY.experiments}
    assert mine <= {name for figure in STUDY.figures for name in figure.experiments}


@pytest.mark.parametrize(
    ("claim", "seconds"),
    [
        ("ftp-loss-grows-with-size", 4.0 - 0.5),
        ("ftps-loss-grows-with-size", 4.0 - 0.5),
        ("ftps-more-with-delay", 3 * (0.3 - 0.05)),
    ],
)
def test_differences_of_differences_are_paired(claim: str, seconds: float, made_up: Summary) -> None:
    found = RULES[claim].decide(Context(STUDY, made_up))
    assert (found.value, found.low, found.high) == pytest.approx((seconds,) * 3)


def test_a_difference_needs_all_four_times() -> None:
    with pytest.raises(NotMeasured):
        RULES["ftps-more-with-delay"].decide(Context(STUDY, Summary("d35", {})))


def test_a_table_has_a_row_a_way_and_a_column_a_condition(made_up: Summary) -> None:
    figure = next(it for it in STUDY.figures if it.key == "one-stream")
    small, _ = figure.draw(made_up)
    assert isinstance(small, Table)
    assert [row[0] for row in small.rows[:4]] == [
        "FTP over TCP CUBIC",
        "FTP over TCP BBR",
        "FTPS over TCP CUBIC",
        "FTPS over TCP BBR",
    ]
    assert small.header[1:] == (
        "25 ms, loss 0 % (s)", "25 ms, loss 1 % (s)", "150 ms, loss 0 % (s)", "150 ms, loss 1 % (s)",
    )  # fmt: skip
    # The mean of repetitions 1 to 3 adds 10 s.
    assert [cell.partition(" ")[0] for cell in small.rows[0][1:]] == ["11.0", "11.5", "13.5", "14.0"]


def test_of_ways_that_were_not_played_there_are_no_rows(made_up: Summary) -> None:
    figure = next(it for it in STUDY.figures if it.key == "one-stream")
    parts = {name: made_up._parts[name] for name in ("files",)}
    table = figure.draw(Summary("d35", parts))[0]
    assert isinstance(table, Table)
    assert {row[0].split()[0] for row in table.rows} == {"FTP", "FTPS"}
    with pytest.raises(NotMeasured):
        figure.draw(Summary("d35", {}))
