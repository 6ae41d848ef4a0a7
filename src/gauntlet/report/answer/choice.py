"""Which queue, or other setting? Where an experiment varies settings alone and asks something of flows over
one protocol: which value to take, how the others do, and what it costs the flows beside.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gauntlet.advice.settings import Effect, setting_of
from gauntlet.metrics.asked import Asked
from gauntlet.metrics.compare import Standing, against_best, tellable, too_few
from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.numbers import interval_text, listed, mean_text, number
from gauntlet.metrics.observation import Observation, State
from gauntlet.metrics.ratios import ratio
from gauntlet.metrics.registry import registry
from gauntlet.report.answer.keeping import valued, why_none
from gauntlet.report.answer.wording import Sentence, capital
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Condition
from gauntlet.report.tails import Tail, tails

_PLAIN = "FIFO"
"""How labels of queues without any discipline begin (`gauntlet.experiment.queues`)."""


def choice(evaluation: Evaluation) -> list[Sentence]:
    """Which of the settings to take, what the others keep, and what it costs. Nothing where something else
    than settings is varied, where different things are asked, and where flows are over several protocols.
    """
    parts = [part for part in evaluation.parts if part.asked is not None]
    asked = {part.asked for part in parts}
    settings = evaluation.factors and all(setting_of(it.name) for it in evaluation.factors)
    if len(asked) != 1 or not settings or any(len(part.styles) != 1 for part in parts):
        return []
    found = {condition: _Stand.of(parts, condition) for condition in evaluation.conditions}
    judged = {condition: it for condition, it in found.items() if it.judged}
    if len(judged) < 2:
        return []
    (one,) = asked
    assert one is not None
    return [_Choice(evaluation, one, judged).sentence]


@dataclass(frozen=True)
class _Stand:
    """The flows of which something is asked under one condition, taken together."""

    flows: int
    keeping: int
    """Flows that keep it in every repetition."""
    kept: int
    """Flows of single repetitions that kept it."""
    judged: int
    worst: Mapping[int, Observation]
    """By repetition: the flow that is furthest from what is asked."""
    furthest: Tail | None
    """The flow that is furthest by its mean; None where nothing is known."""
    alike: bool
    """Whether nothing was drawn that reached any of them."""

    @property
    def share(self) -> float:
        """By what settings are ordered: how many flows keep it in every repetition, then how many of single
        repetitions do; from 0 to 1.
        """
        return (self.keeping + self.kept / self.judged) / (self.flows + 1)

    @classmethod
    def of(cls, parts: Sequence[Evaluation], condition: Condition) -> "_Stand":
        """By the flows under this condition."""
        each = [(part, it) for part in parts for it in tails(part) if it.condition == condition and it.judged]
        more = bool(parts[0].asked and parts[0].asked.kpi.higher_is_better)
        those = [it for _, it in each]
        return cls(
            flows=len(those),
            keeping=sum(it.word == "kept" for it in those),
            kept=sum(it.kept for it in those),
            judged=sum(it.judged for it in those),
            worst=_worst(those, higher_is_better=more),
            furthest=_furthest(those, higher_is_better=more),
            alike=all(part.deterministic(it.protocol, condition) for part, it in each),
        )


def _furthest(those: Sequence[Tail], *, higher_is_better: bool) -> Tail | None:
    sign = -1 if higher_is_better else 1

    def distance(it: Tail) -> tuple[int, float]:
        return it.never, float("inf") if it.value is None else sign * it.value.value

    return max(those, key=distance, default=None)


def _worst(those: Sequence[Tail], *, higher_is_better: bool) -> dict[int, Observation]:
    sign = -1 if higher_is_better else 1

    def badness(seen: Observation) -> tuple[bool, float]:
        return seen.state == State.NEVER, sign * seen.value

    by_repetition: dict[int, list[Observation]] = {}
    for it in those:
        for repetition, seen in it.each.items():
            by_repetition.setdefault(repetition, []).append(seen)
    return {repetition: max(each, key=badness) for repetition, each in by_repetition.items()}


@dataclass(frozen=True)
class _Choice:
    """The conditions of which one is to be taken."""

    evaluation: Evaluation
    asked: Asked
    stands: Mapping[Condition, _Stand]

    @property
    def sentence(self) -> Sentence:
        """Take CAKE: 2 of 2 flows keep the deadline of 100 ms, p99 at worst 20 ms. What the others keep (FIFO
        (drop-tail): 1 of 2, 1340 ms), what it costs, and how sure that is, stand behind.
        """
        taken, *others = self._order
        lead = f"{self._name(taken)}: {self._kept(taken)} {self._value(taken)}"
        lead = f"Take {lead}" if self.stands[taken].kept else f"None is good enough; nearest is {lead}"
        each = [
            f"{self._name(it)}: {self._kept(it, short=True)} {self._value(it, short=True)}" for it in others
        ]
        rest = [f"{'; '.join(each)}.", _cost(self.evaluation, taken, self._name)]
        rest.append(self._certainty(taken, others))
        return Sentence(self._question, f"{lead}.", " ".join(filter(None, rest)))

    @property
    def _question(self) -> str:
        factors = self.evaluation.factors
        return f"Which {factors[0].words}?" if len(factors) == 1 else "Which settings?"

    def _name(self, condition: Condition) -> str:
        """A condition as one takes it; a queue without any discipline is what people call drop-tail."""
        factors = self.evaluation.factors
        name = factors[0].label(condition[0]) if len(factors) == 1 else self.evaluation.label(condition)
        plain = len(factors) == 1 and name.startswith(_PLAIN)
        return f"{name} (drop-tail)" if plain else name

    def _kept(self, condition: Condition, *, short: bool = False) -> str:
        """2 of 2 flows keep the deadline of 100 ms, short: 2 of 2; of one flow whether it does."""
        it = self.stands[condition]
        if it.flows > 1:
            count = f"{it.keeping} of {it.flows}"
            return f"{count}," if short else f"{count} flows keep {self.asked.limit},"
        word = "kept" if it.keeping else "kept in some repetitions" if it.kept else "not kept"
        return f"{word}," if short else f"{self.asked.limit} is {word},"

    def _value(self, condition: Condition, *, short: bool = False) -> str:
        """p99 at worst 19.6 ms [18.8 to 20.5]; short: without what it is."""
        it = self.stands[condition]
        what = "" if short else f"{self.asked.what}{' at worst' * (it.flows > 1)} "
        if it.furthest is None or it.furthest.value is None:
            why = "" if it.furthest is None else f", since {why_none(self.asked, [it.furthest])}"
            return f"no {self.asked.what}{why}"
        return f"{what}{valued(self.asked, it.furthest.value, it.furthest)}"

    @cached_property
    def _standings(self) -> Mapping[Condition, Standing]:
        """By the one rule for all comparisons; those with which more flows keep it come first."""
        kept = any(it.kept for it in self.stands.values())
        found = against_best(
            {str(condition): it.worst for condition, it in self.stands.items()},
            self.asked.kpi.higher_is_better,
            completed={str(key): it.share for key, it in self.stands.items()} if kept else None,
            deterministic={str(condition) for condition, it in self.stands.items() if it.alike},
            matters=self.evaluation.about.matters,
        )
        return {condition: found[str(condition)] for condition in self.stands}

    @property
    def _order(self) -> list[Condition]:
        """The best first, then who keeps it more often, then who is nearer."""
        sign = -1 if self.asked.kpi.higher_is_better else 1

        def place(condition: Condition) -> tuple[bool, float, float]:
            it = self.stands[condition]
            never = any(seen.state == State.NEVER for seen in it.worst.values())
            total = sum(seen.value for seen in it.worst.values()) / max(len(it.worst), 1)
            far = float("inf") if never else sign * total
            return not self._standings[condition].best, -it.share, far

        return sorted(self.stands, key=place)

    def _certainty(self, taken: Condition, others: Sequence[Condition]) -> str:
        """Which others cannot be told from the one that is taken; that nothing can be told of so few."""
        repetitions = min(len(it.worst) for it in self.stands.values())
        if not all(it.alike for it in self.stands.values()) and not tellable(repetitions):
            return f"{too_few(repetitions)}."
        level = [
            it
            for it in others
            if self._standings[it].word in ("level", "equal", "ahead")
            and self.stands[it].share == self.stands[taken].share
        ]
        if not level:
            return ""
        names = listed([self._name(it) for it in level])
        return f"By {self.asked.what} {names} cannot be told from it."


def _cost(evaluation: Evaluation, taken: Condition, name: Callable[[Condition], str]) -> str:
    """What the flows in the background carry with the one that is taken, and with the one with which they
    carry most; empty without such flows.
    """
    carried = {condition: _carried(evaluation, condition) for condition in evaluation.conditions}
    if not all(carried.values()):
        return ""
    upward = {row.upward for row in evaluation.rows if row.asked.get("background")}
    one_way = "the upload" if True in upward else "the download"
    # One of several may have less while all together have more.
    several = len({row.flow for row in evaluation.rows if row.asked.get("background")}) > 1
    whose = f"{one_way}{'s' * several}" if len(upward) == 1 else "what is sent beside"
    plural = several and len(upward) == 1
    has = "have" if plural else "has"
    kpi = registry()["throughput_bps"]
    totals = {condition: sum(it.values()) / len(it) for condition, it in carried.items()}
    most = max(totals, key=lambda it: totals[it])
    shown = f"{number(totals[taken] * kpi.shown_factor)} {kpi.shown_unit}{' together' * several}"
    if most == taken:
        return f"It costs {whose} nothing{' in sum' * several}: {shown}, the most of all."
    found = _ratio(carried[taken], carried[most])
    beside = f"with {name(most)} {number(totals[most] * kpi.shown_factor)}"
    if found is None:
        return f"{capital(whose)} {has} {shown}; {beside}."
    low, high = (None if it is None else 1 - it for it in (found.high, found.low))
    less = Mean(1 - found.value, low, high, found.n, found.method)
    interval = interval_text(less, 100)
    share = f"{mean_text(less, 100)} %{f' [{interval}]' * bool(interval)}"
    effect = Effect("", found)
    if effect.sure:
        return f"It costs {whose} {share} of {'their' if plural else 'its'} throughput: {shown}; {beside}."
    chance = ", no difference beyond chance or worth telling" if effect.tellable else ""
    return f"{capital(whose)} {has} {shown}; {beside}: {share} less{chance}."


def _ratio(one: Mapping[int, float], other: Mapping[int, float]) -> Mean | None:
    """One over the other by repetition; None where none is shared, or there is no ratio."""
    shared = sorted(one.keys() & other.keys())
    return ratio([one[it] for it in shared], [other[it] for it in shared]).mean if shared else None


def _carried(evaluation: Evaluation, condition: Condition) -> dict[int, float]:
    """The throughput of all flows in the background together, by repetition, of trusted runs."""
    found: dict[int, float] = {}
    for row in evaluation.rows:
        if row.trusted and row.condition == condition and row.asked.get("background"):
            found[row.repetition] = found.get(row.repetition, 0.0) + (row.kpis.get("throughput_bps") or 0.0)
    return found
