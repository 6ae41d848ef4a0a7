"""What to use, on constructed results: who serves with which margin, a miss told from a failure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from gauntlet.advice import lateness, words
from gauntlet.advice.classes import Need, ServiceClass
from gauntlet.advice.grid import Candidate, Cell, Grid, Sample, Variant, grid
from gauntlet.advice.serves import Condition
from gauntlet.advice.shown import shown
from gauntlet.advice.standing import Grade, Tail
from gauntlet.advice.use import Advice, class_json
from gauntlet.errors import NotMeasured
from gauntlet.metrics.intervals import mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.quantity import Quantity
from gauntlet.metrics.quantity import shown as shown_as

DELAY = Need(
    words="soon enough", experiment="slow", kpi="delay_p95_s", delays_s=[0.025], losses=[0.0], most=0.1
)
RATE = Need(
    words="about the best",
    experiment="fast",
    kpi="throughput_bps",
    delays_s=[0.025],
    losses=[0.0],
    of_best=1.1,
)
SOON = RATE.model_copy(update={"kpi": "download_time_s"})
Values = Mapping[str, Sequence[float] | None]
"""Protocol -> a value for each repetition; None where nothing arrived."""


@dataclass
class Results:
    """Results as a test says them: by experiment and, where it differs, condition."""

    values: Mapping[tuple[str, Condition] | str, Values]
    tails: Mapping[str, Tail] = field(default_factory=dict)
    done: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    other_queues: Mapping[str, str] = field(default_factory=dict)
    kept_by: Mapping[tuple[str, Condition], tuple[int, int]] = field(default_factory=dict)

    def kpi(self, need: Need) -> Kpi:
        return shown_as(Quantity(need.kpi, need.quantile), {})

    def sample(self, need: Need, protocol: str, condition: Condition) -> Sample | None:
        name = str(need.experiment)
        there = self.values.get((name, condition), self.values.get(name, {}))
        if protocol not in there:
            raise NotMeasured("nothing was run")
        each = there[protocol]
        return None if each is None else Sample(mean(list(each)), dict(enumerate(each, 1)))

    def tail(self, need: Need, protocol: str, condition: Condition, deadline_s: float | None) -> Tail | None:
        return self.tails.get(protocol)

    def completed(self, need: Need, protocol: str, condition: Condition) -> tuple[int, int]:
        return self.done.get(protocol, (10, 10))

    def kept(self, need: Need, protocol: str, condition: Condition) -> tuple[int, int] | None:
        return self.kept_by.get((protocol, condition))

    def variants(self, need: Need) -> Mapping[Variant, Need]:
        others = {
            Variant(queue): need.model_copy(update={"experiment": name})
            for queue, name in self.other_queues.items()
        }
        return {Variant("512 kB"): need, **others}


def around(centre: float, spread: float = 0.01) -> list[float]:
    """Ten repetitions about a centre."""
    return [centre * (1 + spread * (it - 4.5) / 4.5) for it in range(10)]


def made(
    results: Results, *needs: Need, candidates: Sequence[str] = ("tcp-cubic", "tcp-bbr", "sctp", "udp")
) -> Grid:
    return grid(results, ServiceClass("Voice", ("tcp-bbr",), tuple(candidates), needs), "D0.0")


def found(cell: Cell, protocol: str) -> Candidate:
    return next(it for it in cell.candidates if it.protocol == protocol)


def test_a_class_that_is_served_says_with_which_margin() -> None:
    of = made(Results({"slow": {"tcp-bbr": around(0.04), "sctp": around(0.08)}}), DELAY)
    assert [it.protocol for it in of.cells[0].serving] == ["tcp-bbr", "sctp"], "best first"
    assert found(of.cells[0], "tcp-bbr").deciding.margin == pytest.approx(0.6)
    assert words.distance(found(of.cells[0], "sctp").deciding) == "20 % to spare"
    assert words.value(found(of.cells[0], "tcp-bbr").deciding).startswith("40.0 ms [39.")


@pytest.mark.parametrize(
    ("centre", "spread", "grade", "said"),
    [
        (0.05, 0.01, Grade.SERVES, "50 % to spare"),
        (0.098, 0.2, Grade.NARROWLY, "2 % to spare"),
        (0.105, 0.001, Grade.NEAR_MISS, "1.05 × the limit"),
        (0.109, 0.001, Grade.NEAR_MISS, "1.09 × the limit"),
        (0.12, 0.001, Grade.FAILS, "1.20 × the limit"),
        (0.12, 0.9, Grade.UNSURE, "1.20 × the limit"),
        (0.99, 0.001, Grade.FAILS, "9.90 × the limit"),
        (1.01, 0.001, Grade.TENFOLD, "10.1 × the limit"),
    ],
)
def test_a_near_miss_is_told_from_a_tenfold_failure(
    centre: float, spread: float, grade: Grade, said: str
) -> None:
    of = made(Results({"slow": {"sctp": around(centre, spread)}}), DELAY, candidates=["sctp"])
    assert of.cells[0].candidates[0].grade is grade
    assert words.distance(of.cells[0].candidates[0].deciding) == said


def test_against_the_best_what_decides_is_paired_by_repetition() -> None:
    """Stretches differ by a factor of three; in each SCTP has nine tenths of what BBR has."""
    stretches = [1e6 * (1 + it / 5) for it in range(10)]
    close = {
        "tcp-bbr": stretches,
        "sctp": [0.95 * it for it in stretches],
        "udp": [0.5 * it for it in stretches],
    }
    cell = made(Results({"fast": close}), RATE).cells[0]
    assert found(cell, "sctp").grade is Grade.SERVES, "unpaired, the interval would reach beyond the limit"
    assert words.distance(found(cell, "sctp").deciding) == "95 % of the best"
    assert words.distance(found(cell, "tcp-bbr").deciding) == "the best"
    assert found(cell, "udp").grade is Grade.FAILS


def test_an_interval_that_reaches_beyond_a_kept_limit_stands_beside_the_margin_that_decides() -> None:
    """By hand: BBR has 1.0 to 2.8 Mbit/s, 1.9 in the mean, so 1.73 are asked; SCTP has 1.81, and in each
    repetition 0.95 - 1 / 1.1 of what BBR has to spare, 77.7 kbit/s in the mean.
    """
    stretches = [1e6 * (1 + it / 5) for it in range(10)]
    values = {"tcp-bbr": stretches, "sctp": [0.95 * it for it in stretches]}
    of = made(Results({"fast": values}), RATE, candidates=["tcp-bbr", "sctp"])
    sctp = found(of.cells[0], "sctp").deciding
    assert sctp.grade is Grade.SERVES
    assert sctp.mean is not None and sctp.mean.low is not None and sctp.mean.low < sctp.limit
    margin = sctp.paired
    assert margin is not None and margin.low is not None
    assert 0 < margin.low < margin.value == pytest.approx(77_727, rel=1e-4)
    assert ", at least 1.73 Mbit/s, paired margin 0.0777 Mbit/s [0.0" in words.decided(sctp)
    assert words.decided(sctp) in words.whole(found(of.cells[0], "sctp"))
    assert words.PAIRED_RULE in words.rules([of])
    told = class_json(of, ())["cells"][0]["transports"][1]["needs"][0]
    assert told["paired_margin"] == margin.value
    assert told["paired_margin_low"] == margin.low
    absolute = made(Results({"slow": {"sctp": around(0.05)}}), DELAY, candidates=["sctp"])
    assert "paired" not in words.decided(absolute.cells[0].candidates[0].deciding)
    assert words.rules([absolute]) == []


@pytest.mark.parametrize(
    ("need", "values", "grade", "said"),
    [
        (RATE, (1e6, 0.95e6), Grade.SERVES, "95 % of the best"),
        (RATE, (1e6, 0.85e6), Grade.NEAR_MISS, "94 % of the limit and 85 % of the best"),
        (RATE, (1e6, 0.05e6), Grade.TENFOLD, "1/18 of the limit and 1/20 of the best"),
        (SOON, (1.0, 1.05), Grade.SERVES, "1.05 × the best"),
        (SOON, (1.0, 1.18), Grade.NEAR_MISS, "1.07 × the limit and 1.18 × the best"),
        (SOON, (1.0, 12.1), Grade.TENFOLD, "11.0 × the limit and 12.1 × the best"),
    ],
)
def test_beyond_a_limit_against_the_best_the_distance_is_the_one_that_the_grade_goes_by(
    need: Need, values: tuple[float, float], grade: Grade, said: str
) -> None:
    best, other = (around(it, 0.001) for it in values)
    cell = made(Results({"fast": {"tcp-bbr": best, "sctp": other}}), need).cells[0]
    assert found(cell, "sctp").grade is grade
    assert words.distance(found(cell, "sctp").deciding) == said


def test_a_miss_of_a_least_value_is_a_share_of_it() -> None:
    least = RATE.model_copy(update={"of_best": None, "least": 1e6})
    cell = made(Results({"fast": {"sctp": around(0.94e6, 0.001)}}), least, candidates=["sctp"]).cells[0]
    assert words.distance(cell.candidates[0].deciding) == "94 % of the limit"


def test_who_delivers_nothing_serves_nothing() -> None:
    cell = made(
        Results({"slow": {"udp": None, "sctp": around(2.0)}}), DELAY, candidates=["udp", "sctp"]
    ).cells[0]
    assert [it.protocol for it in cell.candidates] == ["sctp", "udp"], "something beats nothing"
    assert cell.candidates[1].grade is Grade.NOTHING
    assert words.distance(cell.candidates[1].deciding) == "not everything arrives"


def test_flows_that_were_not_completed_are_counted() -> None:
    results = Results({"slow": {"sctp": around(0.05)}}, done={"sctp": (19, 20)})
    assert (
        words.unfinished(made(results, DELAY, candidates=["sctp"]).cells[0].candidates[0])
        == "19 of 20 completed"
    )


def test_what_was_not_run_is_not_judged() -> None:
    of = made(Results({"slow": {"sctp": around(0.05)}}), DELAY, candidates=["sctp", "udp"])
    assert found(of.cells[0], "udp").grade is Grade.UNMEASURED
    assert [it.protocol for it in of.cells[0].serving] == ["sctp"]
    nothing = made(Results({}), DELAY, RATE)
    assert nothing.cells[0].judged == 0
    assert words.answer(nothing) == "Not measured."


def test_a_cell_of_which_one_need_was_measured_says_so() -> None:
    cell = made(Results({"slow": {"sctp": around(0.05)}}), DELAY, RATE, candidates=["sctp"]).cells[0]
    assert (cell.judged, cell.of) == (1, 2)
    assert cell.candidates[0].grade is Grade.SERVES


def test_the_need_that_is_furthest_from_kept_decides() -> None:
    results = Results(
        {
            "slow": {"sctp": around(0.05), "udp": around(0.01)},
            "fast": {"sctp": around(1e6), "udp": around(1e5)},
        }
    )
    cell = made(results, DELAY, RATE, candidates=["udp", "sctp"]).cells[0]
    assert found(cell, "udp").deciding.need is RATE
    assert found(cell, "udp").grade is Grade.FAILS
    assert [it.protocol for it in cell.candidates] == ["sctp", "udp"]


def test_the_tail_and_the_deadlines_missed_stand_beside_the_value() -> None:
    tail = Tail({0.99: mean(around(0.2)), 0.999: mean(around(0.4))}, mean(around(0.02)))
    results = Results({"slow": {"sctp": around(0.05)}}, tails={"sctp": tail})
    it = made(results, DELAY, candidates=["sctp"]).cells[0].candidates[0]
    assert words.slowest(it) == "p99 200 ms, p99.9 400 ms, 2.00 % late or lost (at most 5 %)"
    assert "soon enough: 50.0 ms" in words.whole(it)


def test_of_a_limit_of_seconds_the_tail_is_in_seconds() -> None:
    tail = Tail({0.99: mean(around(3.17))}, mean(around(0.02)))
    results = Results({"slow": {"sctp": around(2.0)}}, tails={"sctp": tail})
    late = DELAY.model_copy(update={"most": 2.0})
    it = made(results, late, candidates=["sctp"]).cells[0].candidates[0]
    assert words.slowest(it).startswith("p99 3.17 s, ")


IN_TIME = DELAY.model_copy(
    update={"words": "99.9 % in time", "kpi": "each_message_delay_s", "quantile": 0.999, "most": 0.5}
)
NONE = [0.0] * 9


def late(
    shares: Sequence[float], delays_s: Sequence[float], between: tuple[float, float] | None = None
) -> Grid:
    """One transport with so many messages late or lost by repetition, and such a p99.9."""
    tails = {"sctp": Tail({0.999: mean(delays_s)}, mean(shares), between)}
    return made(Results({"slow": {"sctp": delays_s}}, tails), IN_TIME, candidates=["sctp"])


@pytest.mark.parametrize(
    ("shares", "grade", "said", "by_missed"),
    [
        ([0.0] * 10, Grade.SERVES, "40 % to spare", False),
        ([0.0009] * 10, Grade.SERVES, "40 % to spare", False),
        ([*NONE, 0.006], Grade.NARROWLY, "40 % to spare", True),
        (around(0.00105, 0.001), Grade.NEAR_MISS, "1.05 × the limit", True),
        ([*NONE, 0.0246], Grade.UNSURE, "2.46 × the limit", True),
        (around(0.00246), Grade.FAILS, "2.46 × the limit", True),
        (around(0.02), Grade.TENFOLD, "20.0 × the limit", True),
    ],
)
def test_more_messages_late_than_may_be_are_not_served_whatever_the_mean_delay_is(
    shares: Sequence[float], grade: Grade, said: str, by_missed: bool
) -> None:
    """0.3 s of 0.5 s in the mean of p99.9, and one in a thousand may be late."""
    it = late(shares, around(0.3)).cells[0].candidates[0]
    assert it.grade is grade
    assert words.distance(it.deciding) == said
    assert it.deciding.by_missed is by_missed


def test_the_share_that_decides_is_told_with_its_interval_and_what_may_be() -> None:
    of = late([*NONE, 0.0246], around(0.3))
    it = of.cells[0].candidates[0]
    assert words.decided(it.deciding).startswith("0.246 % [0 to 0.")
    assert words.decided(it.deciding).endswith(" late or lost, at most 0.1 %")
    assert words.slowest(it, missed=False) == "p99.9 300 ms", "the share is told once"
    assert words.answer(of) == (
        "None serves it at 25 ms, 0 % loss; nearest is SCTP (2.46 × the limit: messages late or lost)."
    )
    assert words.rules([of]) == [words.TAIL_RULE, words.LATE_RULE]
    need = class_json(of, ())["cells"][0]["transports"][0]["needs"][0]
    assert (need["grade"], need["decided_by"], need["may_miss"]) == ("misses by the mean", "missed", 0.001)
    assert need["value"] == pytest.approx(0.3)
    assert need["missed"] == pytest.approx(0.00246)
    assert need["missed_low"] == 0 < need["missed"] < need["missed_high"]


@pytest.mark.parametrize(
    ("between", "said"),
    [
        ((0.0005, 0.0015), "0.0500 to 0.150 % by the quantiles kept"),
        ((0.001, 0.0015), "0.100 to 0.150 % by the quantiles kept"),
        ((0.0, 0.001), ""),
        ((0.0011, 0.0015), ""),
        (None, ""),
    ],
)
def test_where_kept_quantiles_leave_open_whether_the_share_keeps_its_limit_both_ends_are_told(
    between: tuple[float, float] | None, said: str
) -> None:
    of = late([0.0008] * 10, around(0.3), between)
    deciding = of.cells[0].candidates[0].deciding
    assert words.tail(deciding).endswith(f"late or lost (at most 0.1 %{said and f'; {said}'})")
    need = class_json(of, ())["cells"][0]["transports"][0]["needs"][0]
    assert (need["missed_least"], need["missed_most"]) == (between or (None, None))
    decided = late([*NONE, 0.0246], around(0.3), between).cells[0].candidates[0].deciding
    assert words.decided(decided).endswith(f" late or lost, {said and f'{said}, '}at most 0.1 %")


def test_where_the_delay_misses_its_limit_it_decides() -> None:
    it = late([0.0] * 10, around(0.6)).cells[0].candidates[0]
    assert it.grade is Grade.FAILS
    assert words.distance(it.deciding) == "1.20 × the limit"
    assert not it.deciding.by_missed


@pytest.mark.parametrize(
    ("change", "allowed"),
    [
        ({"quantile": 0.9}, 0.1),
        ({"kpi": "delay_p95_s", "quantile": None}, 0.05),
        ({"kpi": "delay_median_s", "quantile": None}, 0.5),
        ({"kpi": "message_delay_s", "quantile": None}, None),
        ({"kpi": "message_loss_ratio", "quantile": None}, None),
        ({"most": None, "of_best": 1.1}, None),
    ],
)
def test_how_many_may_be_late_follows_from_the_quantile(
    change: Mapping[str, object], allowed: float | None
) -> None:
    assert lateness.may_miss(IN_TIME.model_copy(update=change)) == allowed


def test_each_queue_that_was_measured_has_cells_of_its_own() -> None:
    results = Results(
        {"slow": {"sctp": around(0.05)}, "short": {"sctp": around(0.2)}}, other_queues={"128 kB": "short"}
    )
    of = made(results, DELAY, candidates=["sctp"])
    assert [(it.queue, bool(it.serving)) for it in of.cells] == [("512 kB", True), ("128 kB", False)]
    assert of.overall()[0].grade is Grade.SERVES, "the answer is that of the queue that the needs name"
    unplayed = Results({"slow": {"sctp": around(0.05)}}, other_queues={"128 kB": "short"})
    assert [it.queue for it in made(unplayed, DELAY, candidates=["sctp"]).cells] == ["512 kB"]


LOSSY = DELAY.model_copy(update={"losses": [0.0, 0.01]})


def test_the_answer_names_who_serves_under_every_condition_and_where_it_is_worst() -> None:
    results = Results(
        {
            ("slow", (0.025, 0.0)): {"sctp": around(0.01), "udp": around(0.02)},
            ("slow", (0.025, 0.01)): {"sctp": around(0.4), "udp": around(0.06)},
        }
    )
    of = made(results, LOSSY, candidates=["sctp", "udp"])
    assert words.answer(of) == (
        "UDP serves it under both conditions. It has 40 % to spare at the worst "
        "of 2 conditions (25 ms, 1 % loss: one-way delay, 95th percentile)."
    )


def test_over_all_conditions_the_worst_one_ranks() -> None:
    results = Results(
        {
            ("slow", (0.025, 0.0)): {"sctp": around(0.01), "udp": around(0.02)},
            ("slow", (0.025, 0.01)): {"sctp": around(0.09, 0.001), "udp": around(0.06)},
        }
    )
    of = made(results, LOSSY, candidates=["sctp", "udp"])
    assert [it.protocol for it in of.overall()] == ["udp", "sctp"]
    assert of.where(of.overall()[0]) is of.cells[1]


def test_where_none_serves_the_nearest_is_named_with_its_distance() -> None:
    results = Results(
        {
            ("slow", (0.025, 0.0)): {"sctp": around(0.01), "udp": around(0.02)},
            ("slow", (0.025, 0.01)): {"sctp": around(0.105, 0.001), "udp": around(3.0)},
        }
    )
    assert words.answer(made(results, LOSSY, candidates=["sctp", "udp"])) == (
        "SCTP and UDP serve it at 25 ms, 0 % loss, not at 25 ms, 1 % loss; nearest there is SCTP "
        "(a near miss, 1.05 × the limit at 25 ms, 1 % loss: one-way delay, 95th percentile)."
    )


def test_where_each_serves_elsewhere_none_is_said_to_serve_it() -> None:
    results = Results(
        {
            ("slow", (0.025, 0.0)): {"sctp": around(0.01), "udp": around(3.0)},
            ("slow", (0.025, 0.01)): {"sctp": around(0.105, 0.001), "udp": around(0.02)},
        }
    )
    assert words.answer(made(results, LOSSY, candidates=["sctp", "udp"])) == (
        "None serves it under both conditions; nearest is SCTP (a near miss, 1.05 × the limit at "
        "25 ms, 1 % loss: one-way delay, 95th percentile). SCTP serves it under "
        "1 of 2 conditions and UDP under 1."
    )


def test_what_is_asked_of_flows_is_served_where_all_of_them_kept_it() -> None:
    """The mean of the one keeps the limit, its flows do not all; of the other they do."""
    here = (0.025, 0.0)
    results = Results(
        {"slow": {"sctp": around(0.09), "tcp-bbr": [0.01] * 9 + [0.2], "tcp-cubic": around(0.3)}},
        kept_by={("sctp", here): (10, 10), ("tcp-bbr", here): (9, 10), ("tcp-cubic", here): (0, 10)},
    )
    (cell,) = made(results, DELAY, candidates=["tcp-bbr", "tcp-cubic", "sctp"]).cells
    assert [(it.protocol, it.grade) for it in cell.candidates] == [
        ("sctp", Grade.SERVES),
        ("tcp-bbr", Grade.IN_PART),
        ("tcp-cubic", Grade.FAILS),
    ]
    assert words.distance(cell.candidates[1].deciding) == "kept by 9 of 10 flows"


def test_a_mean_within_the_limit_that_no_flow_kept_serves_nobody() -> None:
    results = Results({"slow": {"sctp": around(0.05)}}, kept_by={("sctp", (0.025, 0.0)): (0, 10)})
    assert found(made(results, DELAY, candidates=["sctp"]).cells[0], "sctp").grade == Grade.NOTHING


def test_of_one_transport_it_is_said_where_it_serves_and_where_not() -> None:
    results = Results(
        {("slow", (0.025, 0.0)): {"udp": around(0.05)}, ("slow", (0.025, 0.01)): {"udp": around(0.5)}}
    )
    assert words.answer(made(results, LOSSY, candidates=["udp"])) == (
        "UDP serves it at 25 ms, 0 % loss, not at 25 ms, 1 % loss (5.00 × the limit: one-way delay, "
        "95th percentile)."
    )


def test_every_grade_has_a_sign_and_words() -> None:
    assert set(words.MARKS) == set(Grade) == {grade for grade, _ in words.LEGEND}
    assert len(set(words.MARKS.values())) == len(Grade)


def test_of_what_is_half_played_it_says_so_and_names_nobody() -> None:
    results = Results({("slow", (0.025, 0.0)): {"sctp": around(0.01), "udp": around(0.02)}})
    of = made(results, LOSSY, candidates=["sctp", "udp"])
    assert words.answer(of) == (
        "Measured under 1 of 2 conditions so far. SCTP serves it under 1 of 2 conditions and UDP under 1."
    )
    assert words.answer(made(Results({}), LOSSY)) == "Not measured."


def test_only_the_best_mean_is_called_the_best_in_sentence_and_cell_alike() -> None:
    """Of 50.5 ms and 50.6 ms both read as about the same, and one is the best."""
    need = SOON.model_copy(update={"losses": [0.0, 0.01]})
    values: dict[tuple[str, Condition] | str, Values] = {
        ("fast", (0.025, 0.0)): {"tcp-bbr": [0.0506] * 3, "sctp": [0.0505] * 3},
        ("fast", (0.025, 0.01)): {"tcp-bbr": [0.0600] * 3, "sctp": [0.0640] * 3},
    }
    of = made(Results(values), need, candidates=["tcp-bbr", "sctp"])
    assert words.answer(of) == (
        "TCP BBR and SCTP serve it under both conditions. Of these TCP BBR is within 0.5 % of the best at "
        "the worst of 2 conditions (25 ms, 0 % loss: download time)."
    )
    lossless, lossy = of.cells
    assert [words.distance(it.deciding) for it in lossless.candidates] == ["the best", words.NEXT_TO_BEST]
    assert words.label(lossless.candidates[0].protocol) == "SCTP"
    assert [words.distance(it.deciding) for it in lossy.candidates] == ["the best", "1.07 × the best"]
    assert words.conditions(of) == "2 conditions: 25 ms one way; 0 and 1 % loss; queue 512 kB"
    assert words.worst(of, of.overall()[0]) == "within 0.5 % of the best, at 25 ms, 0 % loss"


def test_those_that_differ_by_less_than_matters_are_told_alike() -> None:
    """Of 50.5 ms and 50.9 ms neither is called the best where 1 % matters; 60 ms are told apart."""
    results = Results({"fast": {"tcp-bbr": [0.0509] * 3, "sctp": [0.0505] * 3, "udp": [0.0600] * 3}})
    service = ServiceClass("Voice", ("tcp-bbr",), ("tcp-bbr", "sctp", "udp"), (SOON,))
    of = grid(results, service, "D0.0", matters=0.01)
    distances = {it.protocol: words.distance(it.deciding) for it in of.cells[0].candidates}
    assert distances["sctp"] == distances["tcp-bbr"] == "within 1 % of the best"
    assert distances["udp"].endswith("1.19 × the best")
    assert "They are within 1 % of the best" in words.answer(of)
    apart = grid(results, service, "D0.0", matters=0.001)
    assert words.distance(apart.cells[0].candidates[0].deciding) == "the best"


def test_what_the_answer_names_is_never_folded_away_and_one_delay_has_its_losses_across() -> None:
    """At 0 % four others are ahead of it by a trace; three are shown at most besides."""
    names = ["udp", "tcp-cubic", "tcp-reno", "sctp", "tcp-bbr"]
    need = SOON.model_copy(update={"losses": [0.0, 0.01]})
    ahead = {it: [1.0 + 0.001 * place] * 3 for place, it in enumerate(names)}
    values: dict[tuple[str, Condition] | str, Values] = {
        ("fast", (0.025, 0.0)): ahead,
        ("fast", (0.025, 0.01)): {it: [1.0 if it == "tcp-bbr" else 1.08] * 3 for it in names},
    }
    of = made(Results(values), need, candidates=names)
    assert of.overall()[0].protocol == "tcp-bbr"
    (told,) = shown(Advice((of,), (), ((),), ((),)))["classes"]
    assert told["columns"] == ["0 % loss", "1 % loss"]
    assert [row["heading"] for row in told["rows"]] == ["25 ms one way"]
    seen = [[it["label"] for it in cell["first"]] for cell in told["rows"][0]["cells"]]
    assert seen[0] == ["UDP", "TCP CUBIC", "TCP Reno", "TCP BBR"]
    assert seen[1][0] == "TCP BBR"
    assert told["use"][0]["worst"] == "within 0.5 % of the best, at 25 ms, 0 % loss"
    assert len(told["use"]) + len(told["also"]) == 5
