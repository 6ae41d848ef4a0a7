"""unnoticed: trials are counted, not repetitions; and trials stand beside the cells of assess."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gauntlet.defences import compare, data
from gauntlet.errors import NotMeasured, UserError
from gauntlet.studies.decide import Decision, Verdict
from gauntlet.studies.rules import rule
from gauntlet.studies.rules.unnoticed import interval
from gauntlet.studies.summary import Part, Summary
from gauntlet.studies.tried import tried
from tests.studies import factory

FACTORS = {"protocol": ["udp", "sctp"], "threat": ["deletion"], "freshness": [False, True]}


def row(
    verdict: str,
    trials: int,
    *,
    distinct: int | None = None,
    protocol: str = "sctp",
    harms: str = "",
    freshness: bool = False,
) -> dict[str, Any]:
    return {
        "protocol": protocol,
        "threat": "deletion",
        "freshness": freshness,
        "verdict": verdict,
        "harms": harms,
        "by": "",
        "accepted_before": False,
        "trials": trials,
        "distinct": trials if distinct is None else distinct,
        "told_after_s": None,
    }


def summary(*rows: dict[str, Any]) -> Summary:
    return Summary("d00", {"threats": part(*rows)})


def part(*rows: dict[str, Any]) -> Part:
    manifest = {"factors": FACTORS, "labels": {}, "runs": 1}
    tables = {
        name: pa.table({"run": pa.array([], pa.string())})
        for name in ("flows", "delays", "windows", "series")
    }
    return Part(manifest, {**tables, "trials": pa.Table.from_pylist(list(rows))})


def decide(tmp_path: Path, *rows: dict[str, Any], **keys: Any) -> Decision:
    of = {"protocol": "sctp", "threat": "deletion", "freshness": False}
    made = rule({"kind": "unnoticed", "experiment": "threats", "of": of, **keys})
    return made.decide(factory.context(summary(*rows), tmp_path))


@pytest.mark.parametrize(
    ("trials", "verdict"), [(1000, Verdict.REPRODUCED), (299, Verdict.REPRODUCED), (290, Verdict.UNDECIDED)]
)
def test_none_of_n_bounds_the_share_at_three_over_n(tmp_path: Path, trials: int, verdict: Verdict) -> None:
    found = decide(tmp_path, row("prevented", trials), at_most=0.01)
    assert (found.verdict, found.value, found.n) == (verdict, 0.0, trials)
    assert found.high == pytest.approx(3 / trials, rel=0.02)


def test_what_was_signalled_is_noticed_and_invalid_trials_say_nothing(tmp_path: Path) -> None:
    rows = row("detected and signalled", 300, harms="missing"), row("invalid", 700)
    found = decide(tmp_path, *rows, at_most=0.01)
    assert (found.verdict, found.n) == (Verdict.REPRODUCED, 300)
    assert "700 invalid" in found.reason


def test_copies_of_a_trial_count_once(tmp_path: Path) -> None:
    found = decide(tmp_path, row("prevented", 1000, distinct=3), at_most=0.01)
    assert (found.verdict, found.n) == (Verdict.UNDECIDED, 3)
    assert "left out: 997 copies" in found.reason
    summary(row("prevented", 1000, distinct=3)).write(tmp_path / "summary", {})
    told = tried(data.default(), tmp_path / "summary")
    assert told["sctp", "deletion"].startswith(
        "without freshness check 0 of 3 trials unnoticed (at most 63.2"
    )


def test_a_summary_that_does_not_say_which_are_copies_is_not_used(tmp_path: Path) -> None:
    old = {key: value for key, value in row("prevented", 1000).items() if key != "distinct"}
    with pytest.raises(NotMeasured, match="counted by an older version"):
        decide(tmp_path, old, at_most=0.01)


@pytest.mark.parametrize("verdict", ["silently dropped", "delivered late unnoticed", "undetected"])
def test_each_way_not_to_notice_counts(tmp_path: Path, verdict: str) -> None:
    found = decide(tmp_path, row(verdict, 100), row("prevented", 900), at_most=0.01)
    assert (found.verdict, found.value) == (Verdict.NOT_REPRODUCED, 0.1)


def test_a_reading_by_harm_counts_that_harm_alone(tmp_path: Path) -> None:
    late = row("delivered late unnoticed", 1000, harms="late")
    assert decide(tmp_path, late, at_most=0.01).verdict == Verdict.NOT_REPRODUCED
    assert decide(tmp_path, late, at_most=0.01, harms=["missing"]).verdict == Verdict.REPRODUCED
    both = row("delivered late unnoticed", 1000, harms="late, missing")
    assert decide(tmp_path, both, at_most=0.01, harms=["missing"]).verdict == Verdict.NOT_REPRODUCED


def test_only_the_selection_is_read(tmp_path: Path) -> None:
    others = row("undetected", 50, protocol="udp"), row("undetected", 50, freshness=True)
    assert decide(tmp_path, row("prevented", 400), *others, at_most=0.01).value == 0.0
    with pytest.raises(NotMeasured, match="No valid trial"):
        decide(tmp_path, *others, at_most=0.01)


def test_a_factor_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="tcp"):
        decide(tmp_path, row("prevented", 1), of={"protocol": "tcp"}, at_most=0.01)


def test_the_exact_interval_is_that_of_tables() -> None:
    """Clopper and Pearson for 5 of 100 at 95 %."""
    assert interval(5, 100, 0.05) == pytest.approx((0.01643, 0.11284), abs=1e-5)
    assert interval(100, 100, 0.05) == (pytest.approx(0.9705, abs=1e-4), 1.0)


def test_trials_stand_beside_the_cells_that_they_are_of(tmp_path: Path) -> None:
    rows = row("prevented", 1000), row("undetected", 7, protocol="udp"), row("invalid", 2, protocol="udp")
    summary(*rows).write(tmp_path / "summary", {})
    known = data.default()
    told = tried(known, tmp_path / "summary")
    assert told["sctp", "deletion"] == "without freshness check 0 of 1,000 trials unnoticed (at most 0.299 %)"
    assert told["udp", "deletion"] == "without freshness check 7 of 7 trials unnoticed"
    assert set(told) == {("sctp", "deletion"), ("udp", "deletion")}
    cells = {it.row: it.tried for it in compare.threats(known, known.protocol("udp"), told)}
    assert cells["deletion"] == told["udp", "deletion"]
    assert cells["delay"] == compare.NOT_TRIED


@pytest.mark.parametrize(
    ("by", "before", "value"),
    [("application", False, 1.0), ("transport", True, 1.0), ("transport", False, 0.0)],
)
def test_a_transport_notices_what_it_tells_before_the_application_acts(
    tmp_path: Path, by: str, before: bool, value: float
) -> None:
    told = {**row("detected and signalled", 400), "by": by, "accepted_before": before}
    assert decide(tmp_path, told, at_most=0.01).value == 0.0
    found = decide(tmp_path, told, at_most=0.01, noticed_by="transport")
    assert found.value == value
    assert found.verdict == (Verdict.NOT_REPRODUCED if value else Verdict.REPRODUCED)


def test_what_was_acted_on_first_is_told_beside_a_cell(tmp_path: Path) -> None:
    """Noticed afterwards is not prevented."""
    late = {**row("detected and signalled", 400, freshness=True), "by": "application"}
    summary({**late, "trials": 100, "distinct": 100}, {**late, "accepted_before": True}).write(
        tmp_path / "summary", {}
    )
    assert tried(data.default(), tmp_path / "summary")["sctp", "deletion"] == (
        "with freshness check 0 of 500 trials unnoticed (at most 0.597 %), "
        "acted on before anybody was told in 400"
    )


def test_trials_of_two_experiments_are_not_added_up(tmp_path: Path) -> None:
    """One registered seed draws both, so a trial of the second may be one of the first again."""
    both = {"threats": part(row("prevented", 1000)), "more": part(row("prevented", 400))}
    Summary("d00", both).write(tmp_path / "summary", {})
    assert tried(data.default(), tmp_path / "summary")["sctp", "deletion"] == (
        "without freshness check 0 of 400 trials unnoticed (at most 0.746 %); "
        "in another experiment without freshness check 0 of 1,000 trials unnoticed (at most 0.299 %)"
    )


def test_certificates_at_both_ends_are_another_protocol(tmp_path: Path) -> None:
    """Trials of an experiment with them stand beside its cells alone, and the others not beside these."""
    experiments = {
        "both-sides": part(row("prevented", 400, protocol="tls-cubic")),
        "threats": part(row("undetected", 300, protocol="tls-cubic")),
    }
    Summary("d00", experiments).write(tmp_path / "summary", {})
    assert tried(data.default(), tmp_path / "summary") == {
        ("tcp-mtls", "deletion"): "without freshness check 0 of 400 trials unnoticed (at most 0.746 %)",
        ("tcp-tls", "deletion"): "without freshness check 300 of 300 trials unnoticed",
    }


def test_early_data_are_another_protocol(tmp_path: Path) -> None:
    """Their trials stand beside the row of QUIC with 0-RTT, those of no early data beside that of QUIC."""
    over_quic = row("prevented", 400, protocol="quic-quinn-cubic")
    afterwards = {**over_quic, "threat": "repetition-afterwards", "verdict": "undetected", "distinct": 3}
    experiments = {"quic-0rtt": part(over_quic, afterwards), "threats": part({**over_quic, "distinct": 300})}
    Summary("d00", experiments).write(tmp_path / "summary", {})
    assert tried(data.default(), tmp_path / "summary") == {
        ("quic", "deletion"): "without freshness check 0 of 300 trials unnoticed (at most 0.994 %)",
        ("quic-0rtt", "deletion"): "without freshness check 0 of 400 trials unnoticed (at most 0.746 %)",
        ("quic-0rtt", "repetition"): (
            "once the session was over without freshness check 3 of 3 trials unnoticed"
        ),
    }
