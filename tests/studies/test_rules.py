"""Each kind of rule says reproduced, not reproduced and undecided when it should, and nothing else."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gauntlet.errors import NotMeasured, UserError
from gauntlet.studies.decide import Decision, Verdict, decided
from gauntlet.studies.plugin import Plugin
from gauntlet.studies.rules import kinds, rule
from tests.studies import factory
from tests.studies.factory import flows, steady, summary

BBR_LOSSY, BBR_CLEAN = {"protocol": "tcp-bbr", "loss": 0.01}, {"protocol": "tcp-bbr", "loss": 0.0}
CUBIC_LOSSY, SCTP_LOSSY = {"protocol": "tcp-cubic", "loss": 0.01}, {"protocol": "sctp", "loss": 0.01}
VERDICTS = (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED)


def decide(
    tmp_path: Path, given: dict[str, Any], values: dict[tuple[str, float], Any], **more: Any
) -> Decision:
    """The decision of a rule on made-up throughputs."""
    return decided(rule(given), factory.context(summary(flows(values), **more), tmp_path))


def measuring(kind: str, **keys: Any) -> dict[str, Any]:
    """A rule about throughput of the made-up experiment."""
    return {"kind": kind, "experiment": "cbr", "kpi": "throughput_bps", **keys}


def test_every_kind_is_tested_here() -> None:
    assert set(kinds()) == {
        "comparison",
        "range",
        "ordering",
        "share",
        "all",
        "expression",
        "prediction",
        "served",
        "unnoticed",  # tests/studies/test_unnoticed.py
        "recovered",  # tests/studies/test_recovered.py
    }


@pytest.mark.parametrize(
    ("kept", "spread", "verdict"), list(zip((0.98, 0.5, 0.9), (0.01, 0.01, 0.2), VERDICTS, strict=True))
)
def test_comparison(tmp_path: Path, kept: float, spread: float, verdict: Verdict) -> None:
    given = measuring("comparison", this=BBR_LOSSY, that=BBR_CLEAN, at_least=0.9)
    clean = [2e6] * 10
    found = decide(tmp_path, given, {("tcp-bbr", 0.01): steady(kept * 2e6, spread), ("tcp-bbr", 0.0): clean})
    assert (found.verdict, found.n) == (verdict, 10)
    assert found.value == pytest.approx(kept, rel=0.01)
    assert found.low is not None and found.high is not None and found.low < kept < found.high


def test_a_comparison_is_paired_by_repetition(tmp_path: Path) -> None:
    """The stretches differ by far more than the protocols: only pairs can see the difference."""
    clean = [1e6 * number for number in range(1, 11)]
    values = {("tcp-bbr", 0.01): [0.85 * value for value in clean], ("tcp-bbr", 0.0): clean}
    given = measuring("comparison", this=BBR_LOSSY, that=BBR_CLEAN, at_least=0.9)
    assert decide(tmp_path, given, values).verdict == Verdict.NOT_REPRODUCED


def test_a_difference_is_in_the_units_of_the_kpi(tmp_path: Path) -> None:
    given = measuring("comparison", this=BBR_LOSSY, that=BBR_CLEAN, measure="difference", at_most=-5e5)
    found = decide(tmp_path, given, {("tcp-bbr", 0.01): steady(1e6), ("tcp-bbr", 0.0): [2e6] * 10})
    assert found.verdict == Verdict.REPRODUCED
    assert found.shown == "−1.00 Mbit/s"
    assert found.bound == "at most −0.500 Mbit/s"


def test_the_number_of_a_comparison_says_what_it_is_of(tmp_path: Path) -> None:
    values = {("tcp-bbr", 0.01): [1e6] * 10, ("tcp-bbr", 0.0): [2e6] * 10}
    given = measuring("comparison", this=BBR_LOSSY, that=BBR_CLEAN, at_least=0.9)
    assert decide(tmp_path, given, values).compared == "0.500 times that with loss 0 %"
    less = measuring("comparison", this=BBR_LOSSY, that=BBR_CLEAN, measure="difference", at_most=-5e5)
    assert decide(tmp_path, less, values).compared == "1.00 Mbit/s less than with loss 0 %"


@pytest.mark.parametrize(("ratio", "verdict"), list(zip((1.0, 1.3, 1.1), VERDICTS, strict=True)))
def test_equivalence_needs_the_whole_interval_inside_the_band(
    tmp_path: Path, ratio: float, verdict: Verdict
) -> None:
    given = measuring("comparison", this=BBR_LOSSY, that=BBR_CLEAN, at_least=0.9, at_most=1.1)
    values = {("tcp-bbr", 0.01): steady(ratio * 2e6), ("tcp-bbr", 0.0): [2e6] * 10}
    assert decide(tmp_path, given, values).verdict == verdict


@pytest.mark.parametrize(
    ("printed", "spread", "verdict"),
    list(zip((2.05e6, 2.5e6, 2.05e6), (0.05, 0.05, 0.6), VERDICTS, strict=True)),
)
def test_prediction(tmp_path: Path, printed: float, spread: float, verdict: Verdict) -> None:
    """A printed value inside; far outside; inside an interval that is too wide to tell anything."""
    given = measuring("prediction", of=BBR_LOSSY, printed=printed)
    found = decide(tmp_path, given, {("tcp-bbr", 0.01): steady(2e6, spread)})
    assert found.verdict == verdict
    assert "a run that is 0." in found.told or "a run that is 1." in found.told


@pytest.mark.parametrize("runs", [1, 4])
def test_a_prediction_holds_for_as_many_of_the_same_as_it_says(tmp_path: Path, runs: int) -> None:
    """Of 300 studies that play so many runs of the very same thing, 95 % print what is inside."""
    rng = np.random.default_rng(16)
    held = 0
    for _ in range(300):
        given = measuring(
            "prediction", of=BBR_LOSSY, runs=runs, printed=float(rng.normal(2e6, 2e5, runs).mean())
        )
        found = decide(tmp_path, given, {("tcp-bbr", 0.01): list(rng.normal(2e6, 2e5, 10))})
        held += found.verdict == Verdict.REPRODUCED
    assert 0.91 < held / 300 < 0.985


def test_what_is_printed_is_rounded(tmp_path: Path) -> None:
    """2 Mbit/s stands for 1.5 to 2.5: values that hardly differ are not told from it."""
    values = {("tcp-bbr", 0.01): steady(2.3e6, 0.001)}
    for rounded, verdict in ((0.0, Verdict.NOT_REPRODUCED), (5e5, Verdict.REPRODUCED)):
        given = measuring("prediction", of=BBR_LOSSY, printed=2e6, rounded=rounded)
        assert decide(tmp_path, given, values).verdict == verdict


def test_about_is_enough_where_means_are_known_well(tmp_path: Path) -> None:
    """Of 2 Mbit/s that vary by 1 % a print of 2.3 is no prediction, and it is "about" within 20 %."""
    values = {("tcp-bbr", 0.01): steady(2e6, 0.01)}
    for about, printed, verdict in (
        (0.0, 2.3e6, Verdict.NOT_REPRODUCED),
        (0.2, 2.3e6, Verdict.REPRODUCED),
        (0.2, 2.6e6, Verdict.NOT_REPRODUCED),
    ):
        given = measuring("prediction", of=BBR_LOSSY, printed=printed, about=about)
        found = decide(tmp_path, given, values)
        assert found.verdict == verdict
        near = f"{0.8 * printed / 1e6:.2f} to {1.2 * printed / 1e6:.2f} Mbit/s"
        assert found.bound.endswith(f" lies inside, or a mean of {near}" if about else " lies inside")


def test_a_prediction_without_spread_is_undecided(tmp_path: Path) -> None:
    given = measuring("prediction", of=BBR_LOSSY, printed=2e6)
    two = decide(tmp_path, given, {("tcp-bbr", 0.01): [2e6, 2.1e6]})
    assert (two.verdict, two.low) == (Verdict.UNDECIDED, None)


def test_what_is_undecided_says_what_could_have_been_seen_and_what_would_decide(tmp_path: Path) -> None:
    """The repetitions that it asks for do decide, when they are as many and as spread."""
    given = measuring("range", of=BBR_LOSSY, at_least=1.97e6)
    values = {("tcp-bbr", 0.01): steady(2e6, 0.05)}
    found = decide(tmp_path, given, values)
    assert found.verdict == Verdict.UNDECIDED
    told = re.fullmatch(
        r"(0\.0\d+) Mbit/s from the bound could have been seen; "
        r"about (\d+) repetitions instead of 10 would decide",
        found.told,
    )
    assert told and found.high is not None and found.low is not None
    assert float(told[1]) * 1e6 == pytest.approx(max(found.high - 2e6, 2e6 - found.low), rel=0.01)
    assert 20 < int(told[2]) < 60
    assert decide(tmp_path, given, {("tcp-bbr", 0.01): steady(2e6, 0.05, 2 * int(told[2]))}).verdict == (
        Verdict.REPRODUCED
    )
    assert decide(tmp_path, given, {("tcp-bbr", 0.01): steady(2e6, 0.05, int(told[2]) // 2)}).verdict == (
        Verdict.UNDECIDED
    )


def test_a_mean_on_its_bound_is_said_to_lie_there(tmp_path: Path) -> None:
    given = measuring("range", of=BBR_LOSSY, at_least=2e6, at_most=3e6)
    found = decide(tmp_path, given, {("tcp-bbr", 0.01): steady(2e6)})
    assert found.told.endswith(
        "a mean lies on its bound, so not even 100 times as many repetitions would decide"
    )


@pytest.mark.parametrize(("mbps", "verdict"), list(zip((2.2, 3.0, 2.42), VERDICTS, strict=True)))
def test_range_around_a_printed_value(tmp_path: Path, mbps: float, verdict: Verdict) -> None:
    given = measuring("range", of=BBR_LOSSY, near=2.2e6, tolerance=0.1)
    found = decide(tmp_path, given, {("tcp-bbr", 0.01): steady(mbps * 1e6)})
    assert found.verdict == verdict
    assert found.bound == "1.98 to 2.42 Mbit/s"


@pytest.mark.parametrize(("bound_s", "verdict"), [(0.2, "reproduced"), (0.1, "not reproduced")])
def test_range_of_a_quantile(tmp_path: Path, bound_s: float, verdict: str) -> None:
    """Delays are uniform from 0 to 0.2 s, so the 75 % quantile is 0.15 s."""
    given = {"kind": "range", "experiment": "cbr", "kpi": "delay_s", "quantile": 0.75, "of": BBR_LOSSY}
    found = decide(tmp_path, {**given, "at_most": bound_s}, {("tcp-bbr", 0.01): steady(2e6)}, delay_s=0.1)
    assert found.verdict == verdict
    assert found.value == pytest.approx(0.15, rel=1e-3)


@pytest.mark.parametrize(("at_least", "verdict"), [(0.7, "reproduced"), (0.8, "not reproduced")])
def test_share_of_the_windows(tmp_path: Path, at_least: float, verdict: str) -> None:
    """Windows are uniform from 0 to 4 Mbit/s, so 75 % of them have 1 Mbit/s and more."""
    given = {"kind": "share", "experiment": "cbr", "kpi": "window_throughput_bps", "of": BBR_LOSSY}
    found = decide(tmp_path, {**given, "from": 1e6, "at_least": at_least}, {("tcp-bbr", 0.01): steady(2e6)})
    assert found.verdict == verdict
    assert found.value == pytest.approx(0.75, abs=0.005)


@pytest.mark.parametrize(("slow", "verdict"), list(zip((0, 10, 3), VERDICTS, strict=True)))
def test_share_of_the_flows(tmp_path: Path, slow: int, verdict: Verdict) -> None:
    given = measuring("share", of=BBR_LOSSY, at_least=0.75, **{"from": 1.5e6})
    values = [1e6] * slow + [2e6] * (10 - slow)
    found = decide(tmp_path, given, {("tcp-bbr", 0.01): values})
    assert found.verdict == verdict
    assert found.value == pytest.approx(1 - slow / 10)


@pytest.mark.parametrize(("middle", "verdict"), list(zip((1.5e6, 4e6, 2e6), VERDICTS, strict=True)))
def test_ordering(tmp_path: Path, middle: float, verdict: Verdict) -> None:
    given = measuring("ordering", of=[BBR_LOSSY, CUBIC_LOSSY, SCTP_LOSSY], order="falling")
    best = steady(2e6, 0.1)
    values = {
        ("tcp-bbr", 0.01): best[::-1],
        ("tcp-cubic", 0.01): steady(middle, 0.1),
        ("sctp", 0.01): [1e6] * 10,
    }
    assert decide(tmp_path, given, values).verdict == verdict


def test_equal_values_are_in_no_order(tmp_path: Path) -> None:
    values = {("tcp-bbr", 0.01): [2e6] * 10, ("tcp-cubic", 0.01): [2e6] * 10}
    for order in ("falling", "rising"):
        given = measuring("ordering", of=[BBR_LOSSY, CUBIC_LOSSY], order=order)
        assert decide(tmp_path, given, values).verdict == Verdict.NOT_REPRODUCED


def test_ordering_may_ask_for_a_margin(tmp_path: Path) -> None:
    values = {("tcp-bbr", 0.01): steady(2e6), ("tcp-cubic", 0.01): steady(1.8e6)}
    rising = {"of": [CUBIC_LOSSY, BBR_LOSSY], "order": "rising"}
    assert decide(tmp_path, measuring("ordering", **rising), values).verdict == Verdict.REPRODUCED
    assert decide(tmp_path, measuring("ordering", **rising, by=0.2), values).verdict == Verdict.NOT_REPRODUCED


@pytest.mark.parametrize(("second", "verdict"), list(zip((0.98, 0.5, 0.9), VERDICTS, strict=True)))
def test_all_parts_must_hold(tmp_path: Path, second: float, verdict: Verdict) -> None:
    part = {"kind": "range", "experiment": "cbr", "kpi": "throughput_bps", "of": {"protocol": "tcp-bbr"}}
    given = {"kind": "all", "part": {**part, "at_least": 1.8e6}, "for_each": {"loss": [0.0, 0.01]}}
    values = {("tcp-bbr", 0.0): steady(2e6), ("tcp-bbr", 0.01): steady(second * 2e6)}
    found = decide(tmp_path, given, values)
    assert found.verdict == verdict
    assert [part.verdict for part in found.parts] == [Verdict.REPRODUCED, verdict]
    failing = verdict == Verdict.NOT_REPRODUCED
    assert found.confidence == ("95 % for both parts at once" if failing else "95 %")
    assert found.value == pytest.approx(2e6 if verdict == Verdict.REPRODUCED else second * 2e6)


def test_one_of_many_parts_that_fails_by_a_hair_does_not_sink_the_claim(tmp_path: Path) -> None:
    """At 95 % the part fails; allowing for twenty parts it does not, and the claim is undecided."""
    part = measuring("range", of=BBR_LOSSY, at_least=2e6)
    values = {("tcp-bbr", 0.01): steady(1.93e6, 0.06)}
    assert decide(tmp_path, part, values).verdict == Verdict.NOT_REPRODUCED
    found = decide(tmp_path, {"kind": "all", "parts": [part] * 20}, values)
    assert found.verdict == Verdict.UNDECIDED
    assert "fails alone, but not where 20 are looked at; as one of 20 parts 0.0" in found.told
    told = re.search(r"about (\d+) repetitions instead of 10 would decide$", found.told)
    assert told
    more = {("tcp-bbr", 0.01): steady(1.93e6, 0.06, 2 * int(told[1]))}
    assert decide(tmp_path, {"kind": "all", "parts": [part] * 20}, more).verdict == Verdict.NOT_REPRODUCED


@pytest.mark.parametrize(("second", "decides"), [(0.98e6, "fails"), (1.0065e6, "holds")])
def test_of_several_open_parts_the_claim_says_which_number_decides_it(
    tmp_path: Path, second: float, decides: str
) -> None:
    """One part would hold. The other is further from the bound and would fail, which alone decides; or is
    nearer to it and would hold, so that both are wanted.
    """
    parts = [measuring("range", of=of, at_least=1e6) for of in (BBR_LOSSY, CUBIC_LOSSY)]
    values = {("tcp-bbr", 0.01): steady(1.01e6, 0.05), ("tcp-cubic", 0.01): steady(second, 0.05)}
    found = decide(tmp_path, {"kind": "all", "parts": parts}, values)
    assert found.verdict == Verdict.UNDECIDED and found.power is not None
    alone = [decide(tmp_path, part, values).power for part in parts]
    needed = [it.repetitions for it in alone if it is not None and it.repetitions is not None]
    assert found.power.holds == (decides == "holds")
    if decides == "holds":
        assert found.power.repetitions == max(needed) > needed[0]
    else:
        assert found.power.repetitions is not None
        assert needed[1] < found.power.repetitions < needed[0]
    assert found.told.startswith("0 of 2 parts hold; ")


def test_a_prediction_that_tells_nothing_says_what_would(tmp_path: Path) -> None:
    """Our own mean can be known better; how far ten runs of the study scatter cannot."""
    values = {("tcp-bbr", 0.01): steady(2e6, 1.0)}
    for runs, end in (
        (
            10,
            "means of 10 runs scatter as much by themselves, "
            "so not even 100 times as many repetitions would decide",
        ),
        (1000, "repetitions instead of 10 would decide"),
    ):
        given = measuring("prediction", of=BBR_LOSSY, printed=2e6, runs=runs, widest=0.2)
        found = decide(tmp_path, given, values)
        assert found.verdict == Verdict.UNDECIDED
        assert " off would be seen; " in found.told and found.told.endswith(end)


@pytest.mark.parametrize(("value", "verdict"), [(408.0, VERDICTS[0]), (500.0, VERDICTS[1])])
def test_a_formula_of_the_study_is_exact(tmp_path: Path, value: float, verdict: Verdict) -> None:
    given = {
        "kind": "expression",
        "value": "2 * nl(8) / 2",
        "what": "packets",
        "at_least": 404,
        "at_most": 412,
    }
    found = summary(flows({("tcp-bbr", 0.0): steady(2e6)}))
    plugin = Plugin(functions={"nl": lambda eight: value * eight / 8})
    decision = decided(rule(given), factory.context(found, tmp_path, plugin=plugin))
    assert (decision.verdict, decision.value, decision.n) == (verdict, value, 0)


def lossy_against_clean(value: str, **keys: Any) -> dict[str, Any]:
    """An expression of BBR's throughput with loss and without."""
    terms = {"lossy": {"of": BBR_LOSSY}, "clean": {"of": BBR_CLEAN}}
    return measuring("expression", value=value, what="kept", terms=terms, **keys)


def test_an_expression_is_paired_by_repetition(tmp_path: Path) -> None:
    """Stretches differ tenfold, what is kept hardly: only pairs can tell."""
    clean = [1e6 * it for it in range(1, 11)]
    values = {("tcp-bbr", 0.01): [0.9 * it for it in clean], ("tcp-bbr", 0.0): clean}
    found = decide(tmp_path, lossy_against_clean("1 - lossy / clean", at_least=0.05, at_most=0.2), values)
    assert (found.verdict, found.n) == (Verdict.REPRODUCED, 10)
    assert (found.value, found.low, found.high) == (pytest.approx(0.1),) * 3


def test_ratio_is_the_geometric_mean_as_comparison_has_it(tmp_path: Path) -> None:
    values = {("tcp-bbr", 0.01): [2e6, 1e6, 4e6], ("tcp-bbr", 0.0): [1e6, 2e6, 1e6]}
    found = decide(tmp_path, lossy_against_clean("ratio(lossy, clean)", at_least=0.5), values)
    compared = measuring("comparison", this=BBR_LOSSY, that=BBR_CLEAN, at_least=0.5)
    same = decide(tmp_path, compared, values)
    assert (found.value, found.low, found.high) == (same.value, same.low, same.high)
    assert found.value == pytest.approx(4 ** (1 / 3))


def test_least_and_greatest_are_of_all_repetitions(tmp_path: Path) -> None:
    values = {("tcp-bbr", 0.01): [2e6, 1e6, 4e6], ("tcp-bbr", 0.0): [1e6, 2e6, 1e6]}
    given = lossy_against_clean("greatest(lossy) / least(clean)", at_least=0.5)
    assert (decide(tmp_path, given, values).value, decide(tmp_path, given, values).n) == (4.0, 3)


def test_an_average_over_factors_is_taken_in_each_repetition(tmp_path: Path) -> None:
    values: dict[tuple[str, float], list[float | None]] = {
        ("tcp-bbr", 0.01): [1e6, 2e6, 3e6],
        ("tcp-bbr", 0.0): [4e6, 4e6, 4e6],
        ("sctp", 0.01): [3e6, 2e6, 1e6],
        ("sctp", 0.0): [8e6, 8e6, 8e6],
    }
    given = measuring(
        "expression",
        value="lossy / clean",
        what="kept",
        at_most=0.6,
        terms={"lossy": {"of": {"loss": 0.01}}, "clean": {"of": {"loss": 0}}},
        average_over=[{"protocol": "tcp-bbr"}, {"protocol": "sctp"}],
    )
    found = decide(tmp_path, given, values)
    assert (found.value, found.n) == (pytest.approx((5 / 16 + 6 / 16 + 7 / 16) / 3), 3)
    # Nor does a repetition count that one of them lacks.
    values["sctp", 0.0][1] = None
    assert decide(tmp_path, given, values).n == 2
    assert [chosen for _, chosen in rule(given).selections()] == [
        {"loss": loss, "protocol": protocol} for protocol in ("tcp-bbr", "sctp") for loss in (0.01, 0)
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("lossy / zero", "What is divided by is 0 in repetition 1."),
        ("ratio(lossy, zero)", "the second is 0 in 3 of the repetitions, so there is no ratio."),
    ],
)
def test_nothing_is_divided_by_zero(tmp_path: Path, value: str, words: str) -> None:
    terms = {"lossy": {"of": BBR_LOSSY}, "zero": {"of": BBR_CLEAN}}
    given = measuring("expression", value=value, what="kept", at_least=1, terms=terms)
    found = decide(tmp_path, given, {("tcp-bbr", 0.01): [1e6] * 3, ("tcp-bbr", 0.0): [0.0] * 3})
    assert (found.verdict, found.reason) == (Verdict.UNDECIDED, words)


def test_one_rule_for_each_set_of_factors(tmp_path: Path) -> None:
    part = measuring(
        "expression",
        value="ratio(lossy, clean)",
        what="kept",
        at_least=0.4,
        terms={"lossy": {"of": {"loss": 0.01}}, "clean": {"of": {"loss": 0}}},
    )
    values = {
        ("tcp-bbr", 0.01): steady(1e6),
        ("tcp-bbr", 0.0): steady(2e6),
        ("sctp", 0.01): steady(0.5e6),
        ("sctp", 0.0): steady(2e6),
    }
    given = {"kind": "all", "part": part, "for_each": [{"protocol": "tcp-bbr"}, {"protocol": "sctp"}]}
    found = decide(tmp_path, given, values)
    assert found.verdict == Verdict.NOT_REPRODUCED
    assert [it.value for it in found.parts] == [pytest.approx(0.5), pytest.approx(0.25)]
    assert [it.what for it in found.parts] == ["kept (TCP BBR)", "kept (SCTP)"]


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_repetitions_decide_nothing(tmp_path: Path, count: int) -> None:
    given = measuring("range", of=BBR_LOSSY, at_least=1e6)
    found = decide(tmp_path, given, {("tcp-bbr", 0.01): [2e6] * count})
    assert found.verdict == Verdict.UNDECIDED
    assert found.reason == f"too few repetitions: {count}, and at least 3 are needed"


@pytest.mark.parametrize(
    ("selection", "sentence"),
    [
        ({"protocol": "tcp-bbr", "los": 0.01}, "unknown key 'los'; did you mean 'loss'?"),
        (
            {"protocol": "tcp-reno"},
            "protocol = 'tcp-reno' matches no run of the experiment; it has tcp-cubic",
        ),
        ({"loss": [0.0, 0.05]}, "loss = 0.05 matches no run of the experiment; it has 0.0, 0.01."),
    ],
)
def test_a_selection_that_matches_nothing_is_an_error(
    tmp_path: Path, selection: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence.replace("(", r"\(").replace("?", r"\?")):
        decide(tmp_path, measuring("range", of=selection, at_least=1), {("tcp-bbr", 0.01): steady(2e6)})


def test_what_was_not_run_leaves_the_claim_undecided(tmp_path: Path) -> None:
    """SCTP belongs to the experiment, but these results (a quick run, say) have none of it."""
    found = decide(tmp_path, measuring("range", of=SCTP_LOSSY, at_least=1), {("tcp-bbr", 0.01): steady(2e6)})
    assert found.verdict == Verdict.UNDECIDED
    assert found.reason == "No run of cbr with protocol = sctp, loss = 0.01 is among these results."


def test_an_experiment_that_was_not_run_leaves_the_claim_undecided(tmp_path: Path) -> None:
    given = {**measuring("range", of=BBR_LOSSY, at_least=1), "experiment": "vbr"}
    found = decide(tmp_path, given, {("tcp-bbr", 0.01): steady(2e6)})
    assert (found.verdict, found.reason) == (Verdict.UNDECIDED, "No run of vbr is among these results.")


def test_runs_that_are_not_trusted_take_no_part_and_are_said(tmp_path: Path) -> None:
    """The two worst repetitions are not trusted: without them the claim holds."""
    table = flows({("tcp-bbr", 0.01): [*steady(2e6, count=8), 1.0, 1.0]}, trusted=[True] * 8 + [False] * 2)
    given = rule(measuring("range", of=BBR_LOSSY, at_least=1.9e6))
    found = decided(given, factory.context(summary(table), tmp_path))
    assert (found.verdict, found.n, found.reason) == (Verdict.REPRODUCED, 8, "left out: 2 not trusted")


def test_a_flow_without_the_number_is_left_out_and_said(tmp_path: Path) -> None:
    given = measuring("range", of=BBR_LOSSY, at_least=1.9e6)
    found = decide(tmp_path, given, {("tcp-bbr", 0.01): [*steady(2e6, count=8), None]})
    assert (found.n, found.reason) == (8, "left out: 1 without this value")


def test_flows_of_a_run_are_combined_as_asked(tmp_path: Path) -> None:
    one = flows({("tcp-bbr", 0.01): [1e6] * 5, ("tcp-cubic", 0.01): [2e6] * 5})
    runs = [f"both_rep-{number:03d}" for number in (1, 2, 3, 4, 5)] * 2
    together = one.set_column(0, "run", [runs]).set_column(1, "flow", [[0] * 5 + [1] * 5])
    together = together.set_column(2, "protocols", [["tcp-bbr"] * 10])
    for over, value in (("mean", 1.5e6), ("sum", 3e6), ("min", 1e6), ("max", 2e6)):
        given = rule(measuring("range", of={"loss": 0.01}, at_least=1, over_flows=over))
        found = decided(given, factory.context(summary(together), tmp_path))
        assert found.value == pytest.approx(value)
        assert found.n == 5


def test_a_repetition_that_lacks_a_condition_is_not_averaged(tmp_path: Path) -> None:
    """Repetition 3 has only the easy condition; averaged, it would look twice as good."""
    values = {("tcp-bbr", 0.0): [3e6] * 3, ("tcp-bbr", 0.01): [1e6] * 2}
    found = decide(tmp_path, measuring("range", of={"protocol": "tcp-bbr"}, at_least=1), values)
    assert (found.value, found.n) == (pytest.approx(2e6), 2)


def test_a_value_that_is_missing_is_said_not_raised(tmp_path: Path) -> None:
    def missing() -> float:
        raise NotMeasured("No run of metro is among these results.")

    given = {"kind": "expression", "value": "f()", "what": "x", "at_least": 1}
    found = summary(flows({("tcp-bbr", 0.0): steady(2e6)}))
    plugin = Plugin(functions={"f": missing})
    decision = decided(rule(given), factory.context(found, tmp_path, plugin=plugin))
    assert decision.reason == "No run of metro is among these results."


def failing(table: pa.Table, runs: int, **columns: Any) -> pa.Table:
    """The last `runs` flows failed, and have no throughput."""
    count = table.num_rows - runs
    outcomes = [*["ok"] * count, *["failed"] * runs]
    values = [*table.column("throughput_bps").to_pylist()[:count], *[None] * runs]
    place = {name: table.column_names.index(name) for name in ("outcome", "throughput_bps")}
    table = table.set_column(place["outcome"], "outcome", [outcomes])
    table = table.set_column(place["throughput_bps"], "throughput_bps", [pa.array(values, pa.float64())])
    for name, column in columns.items():
        table = table.append_column(name, pa.array(column))
    return table


def test_flows_that_were_never_established_count_with_nothing(tmp_path: Path) -> None:
    """A mean over the survivors would be 2 Mbit/s and fulfil the claim."""
    table = failing(flows({("tcp-bbr", 0.01): steady(2e6)}), 5)
    given = rule(measuring("range", of=BBR_LOSSY, at_least=1.9e6))
    found = decided(given, factory.context(summary(table), tmp_path))
    assert (found.verdict, found.n) == (Verdict.NOT_REPRODUCED, 10)
    assert found.value == pytest.approx(1e6, rel=0.02)


def test_a_protocol_that_always_fails_under_loss_is_not_averaged_over_the_rest(tmp_path: Path) -> None:
    values = {("tcp-bbr", 0.0): steady(2e6), ("tcp-bbr", 0.01): steady(2e6)}
    given = rule(measuring("range", of={"protocol": "tcp-bbr"}, at_least=1.9e6))
    found = decided(given, factory.context(summary(failing(flows(values), 10)), tmp_path))
    assert (found.verdict, found.n) == (Verdict.NOT_REPRODUCED, 10)
    assert found.value == pytest.approx(1e6, rel=0.02)


def test_a_condition_without_any_trusted_run_leaves_no_mean_over_the_others(tmp_path: Path) -> None:
    table = flows(
        {("tcp-bbr", 0.0): steady(2e6), ("tcp-bbr", 0.01): steady(2e6)}, trusted=[True] * 10 + [False] * 10
    )
    found = decided(
        rule(measuring("range", of={"protocol": "tcp-bbr"}, at_least=1)),
        factory.context(summary(table), tmp_path),
    )
    assert found.verdict == Verdict.UNDECIDED
    assert "10 not trusted" in found.reason


def test_what_did_not_end_counts_with_its_limit_and_that_is_said(tmp_path: Path) -> None:
    times = [*steady(10.0, count=8), None, None]
    table = failing(
        flows({("tcp-bbr", 0.01): steady(2e6)}),
        2,
        download_time_s=times,
        completed=[True] * 8 + [False] * 2,
        given_s=[100.0] * 10,
    )
    given = {"kind": "range", "experiment": "cbr", "kpi": "download_time_s", "of": BBR_LOSSY, "at_most": 11.0}
    found = decided(rule(given), factory.context(summary(table), tmp_path))
    assert found.value == pytest.approx(28.0)
    assert found.verdict != Verdict.REPRODUCED
    assert found.reason == "2 of 10 flows did not end and count with the limit"


def downloads_compared(
    tmp_path: Path,
    clean_s: Sequence[float | None],
    this: dict[str, Any],
    measure: str,
    bounds: dict[str, float],
) -> Decision:
    """Of download times without loss and under loss, of which none ended within 100 s; of the former those
    did not that are None.
    """
    count = len(clean_s)
    table = flows({("tcp-bbr", 0.0): [2e6] * count, ("tcp-bbr", 0.01): [2e6] * count})
    times = [*clean_s, *[None] * count]
    for name, column in (
        ("download_time_s", pa.array(times, pa.float64())),
        ("completed", pa.array([it is not None for it in times])),
        ("given_s", pa.array([100.0] * len(times))),
    ):
        table = table.append_column(name, column)
    that = BBR_LOSSY if this is BBR_CLEAN else BBR_CLEAN
    given = measuring("comparison", this=this, that=that, measure=measure, **bounds)
    return decided(rule({**given, "kpi": "download_time_s"}), factory.context(summary(table), tmp_path))


@pytest.mark.parametrize(
    ("this", "measure", "shown", "compared"),
    [
        (BBR_CLEAN, "ratio", "at most 0.001", "at most 0.001 times that with loss 1 %, of which none ended"),
        (BBR_LOSSY, "ratio", "at least 3330", "at least 3330 times that with loss 0 %, and none ended"),
        (
            BBR_CLEAN,
            "difference",
            "at most −99.9 s",
            "at least 99.9 s less than with loss 1 %, of which none ended",
        ),
    ],
)
def test_a_side_of_which_nothing_ended_leaves_a_bound_not_a_number(
    tmp_path: Path, this: dict[str, Any], measure: str, shown: str, compared: str
) -> None:
    found = downloads_compared(tmp_path, steady(0.03, 0.001, 10), this, measure, {"at_most": 1.0})
    assert (found.shown, found.interval, found.compared) == (shown, "", compared)
    assert "came to its end, so its limit stands for it; 10 of 20 flows did not end" in found.told


HALF_AT_MOST = (BBR_CLEAN, "ratio")
"""50 s over at least 100 s."""

TWICE_AT_LEAST = (BBR_LOSSY, "ratio")
LESS_BY_AT_LEAST_50 = (BBR_CLEAN, "difference")
MORE_BY_AT_LEAST_50 = (BBR_LOSSY, "difference")


@pytest.mark.parametrize(
    ("sides", "bounds", "verdict"),
    [
        (HALF_AT_MOST, {"at_most": 0.6}, Verdict.REPRODUCED),
        (HALF_AT_MOST, {"at_most": 0.4}, Verdict.UNDECIDED),
        (HALF_AT_MOST, {"at_least": 0.6}, Verdict.NOT_REPRODUCED),
        (HALF_AT_MOST, {"at_least": 0.4}, Verdict.UNDECIDED),
        (HALF_AT_MOST, {"at_least": 0.3, "at_most": 0.8}, Verdict.UNDECIDED),
        (HALF_AT_MOST, {"at_least": 0.6, "at_most": 0.8}, Verdict.NOT_REPRODUCED),
        (HALF_AT_MOST, {"at_least": 0.3, "at_most": 0.4}, Verdict.UNDECIDED),
        (TWICE_AT_LEAST, {"at_least": 1.5}, Verdict.REPRODUCED),
        (TWICE_AT_LEAST, {"at_least": 2.5}, Verdict.UNDECIDED),
        (TWICE_AT_LEAST, {"at_most": 1.5}, Verdict.NOT_REPRODUCED),
        (TWICE_AT_LEAST, {"at_most": 2.5}, Verdict.UNDECIDED),
        (TWICE_AT_LEAST, {"at_least": 1.5, "at_most": 2.5}, Verdict.UNDECIDED),
        (TWICE_AT_LEAST, {"at_least": 1.1, "at_most": 1.5}, Verdict.NOT_REPRODUCED),
        (LESS_BY_AT_LEAST_50, {"at_most": -40.0}, Verdict.REPRODUCED),
        (LESS_BY_AT_LEAST_50, {"at_most": -60.0}, Verdict.UNDECIDED),
        (LESS_BY_AT_LEAST_50, {"at_least": -40.0}, Verdict.NOT_REPRODUCED),
        (LESS_BY_AT_LEAST_50, {"at_least": -60.0, "at_most": -40.0}, Verdict.UNDECIDED),
        (MORE_BY_AT_LEAST_50, {"at_least": 40.0}, Verdict.REPRODUCED),
        (MORE_BY_AT_LEAST_50, {"at_most": 40.0}, Verdict.NOT_REPRODUCED),
        (MORE_BY_AT_LEAST_50, {"at_least": 40.0, "at_most": 60.0}, Verdict.UNDECIDED),
    ],
)
def test_a_bound_decides_only_what_is_so_wherever_beyond_it_the_truth_lies(
    tmp_path: Path, sides: tuple[dict[str, Any], str], bounds: dict[str, float], verdict: Verdict
) -> None:
    found = downloads_compared(tmp_path, steady(50.0, 0.01, 10), *sides, bounds)
    assert found.verdict == verdict
    told = f"what is {found.limited} this may fulfil the claim or not, however often it is repeated"
    assert (told in found.told) == (verdict == Verdict.UNDECIDED)
    assert "would decide" not in found.told


def test_a_bound_that_is_not_known_well_says_how_many_repetitions_would_decide(tmp_path: Path) -> None:
    found = downloads_compared(tmp_path, steady(50.0, 0.2, 10), BBR_CLEAN, "ratio", {"at_most": 0.52})
    assert (found.verdict, found.limited) == (Verdict.UNDECIDED, "at most")
    assert "repetitions instead of 10 would decide" in found.told
    assert "or not" not in found.told


@pytest.mark.parametrize("measure", ["ratio", "difference"])
@pytest.mark.parametrize("bounds", [{"at_most": 2.0}, {"at_least": 2.0}, {"at_least": -2.0, "at_most": 2.0}])
def test_two_sides_of_which_nothing_ended_are_not_compared(
    tmp_path: Path, measure: str, bounds: dict[str, float]
) -> None:
    """100 s over 100 s would be 1.00 times, and is nothing that was measured."""
    found = downloads_compared(tmp_path, [None] * 10, BBR_CLEAN, measure, bounds)
    assert (found.verdict, found.value, found.shown, found.n) == (Verdict.UNDECIDED, None, "–", 0)
    assert found.told == (
        "cbr: download_time_s: none of either side came to its end, so there are only limits to compare "
        "(20 of 20 flows did not end and count with the limit)."
    )


def test_where_no_number_can_be_nothing_is_averaged_over_the_others(tmp_path: Path) -> None:
    """A summary that does not say how long a flow was given, and a delay of flows that delivered nothing."""
    delays = [*steady(0.1, count=8), None, None]
    table = failing(flows({("tcp-bbr", 0.01): steady(2e6)}), 2, delay_p95_s=delays)
    given = {"kind": "range", "experiment": "cbr", "kpi": "delay_p95_s", "of": BBR_LOSSY, "at_most": 1.0}
    found = decided(rule(given), factory.context(summary(table), tmp_path))
    assert found.verdict == Verdict.UNDECIDED
    assert found.reason == "In 2 of 10 repetitions there is no number: nothing arrived, or not all of it."


def test_a_page_without_a_time_did_not_end_whatever_its_outcome_says(tmp_path: Path) -> None:
    """Summaries of before say of such flows that they are ok: 100 of 139 files had arrived."""
    table = flows({("tcp-bbr", 0.01): steady(2e6)})
    table = table.append_column("app", pa.array(["page"] * 10))
    table = table.append_column("download_time_s", pa.array([*steady(5.0, count=8), None, None]))
    given = {"kind": "range", "experiment": "cbr", "kpi": "download_time_s", "of": BBR_LOSSY, "at_most": 9.0}
    found = decided(rule(given), factory.context(summary(table), tmp_path))
    assert found.verdict == Verdict.UNDECIDED
    assert found.reason == "In 2 of 10 repetitions there is no number: nothing arrived, or not all of it."
    assert summary(table).flows_done("cbr") == (None, 2, 10)


def test_zeros_in_a_ratio_are_said_and_no_repetition_is_dropped(tmp_path: Path) -> None:
    clean = [0.0, 0.0, *steady(2e6, count=8)]
    given = measuring("comparison", this=BBR_LOSSY, that=BBR_CLEAN, at_most=2.0)
    found = decide(tmp_path, given, {("tcp-bbr", 0.01): steady(1e6), ("tcp-bbr", 0.0): clean})
    assert found.n == 10
    assert found.value == pytest.approx(1e6 * 10 / 16e6)
    assert found.reason.startswith("the second is 0 in 2 of the repetitions, so ratio of the means")
    none = decide(tmp_path, given, {("tcp-bbr", 0.01): steady(1e6), ("tcp-bbr", 0.0): [0.0] * 10})
    assert none.verdict == Verdict.UNDECIDED
    assert "there is no ratio" in none.reason


def test_equal_lognormal_sides_are_not_told_apart_by_the_mean_of_ratios(tmp_path: Path) -> None:
    """Two and a half as a ratio, and two fifths, are one on average: either side could be `this`."""
    one, other = [2.5e6, 1e6] * 5, [1e6, 2.5e6] * 5
    given = measuring("comparison", this=BBR_LOSSY, that=BBR_CLEAN, at_least=0.9, at_most=1.1)
    found = decide(tmp_path, given, {("tcp-bbr", 0.01): one, ("tcp-bbr", 0.0): other})
    assert found.value == pytest.approx(1.0)


def alike(values: dict[tuple[str, float], Any]) -> pa.Table:
    """Repetitions in which everything is the same, as where nothing is drawn."""
    table = flows(values)
    place = table.column_names.index("received_messages")
    return table.set_column(place, "received_messages", [[100] * table.num_rows])


def test_repetitions_that_are_all_the_same_are_one_without_interval(tmp_path: Path) -> None:
    table = alike({("tcp-bbr", 0.01): [1.8e6] * 3, ("tcp-bbr", 0.0): [2e6] * 3})
    for kind, keys, value in (
        ("range", {"of": BBR_LOSSY, "at_least": 1.7e6}, 1.8e6),
        ("comparison", {"this": BBR_LOSSY, "that": BBR_CLEAN, "at_least": 0.85}, 0.9),
    ):
        found = decided(rule(measuring(kind, **keys)), factory.context(summary(table), tmp_path))
        assert (found.verdict, found.n, found.deterministic) == (Verdict.REPRODUCED, 1, True)
        assert found.value == pytest.approx(value)
        assert (found.low, found.high) == (None, None)
        assert found.reason.startswith("deterministic: nothing was drawn")


def test_numbers_that_happen_to_be_equal_are_not_deterministic(tmp_path: Path) -> None:
    """The same throughput in each repetition, but other packets: chance was at work."""
    found = decide(tmp_path, measuring("range", of=BBR_LOSSY, at_least=1e6), {("tcp-bbr", 0.01): [2e6] * 10})
    assert (found.n, found.deterministic) == (10, False)
