"""Two results side by side, run by run: before and after a kernel, a stack, a setting.

A run of one is paired with the run of the other that has the same protocol, conditions and repetition, and
that met the same draws: then what a stretch does to both cancels out. All lines are tested at once by
flipping the signs of whole repetitions (`gauntlet.metrics.compare.sign_flips`), so that the chance to call
any line better or worse that is not stays about 5 %.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gauntlet.errors import UserError
from gauntlet.figures.style import OF_SUBJECT
from gauntlet.metrics.compare import comparable, sign_flips, tellable, too_few
from gauntlet.metrics.ecdf import ALPHA
from gauntlet.metrics.intervals import Mean, the_same, typical_mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import counted, listed, number
from gauntlet.metrics.observation import Observation, State, averaged, common_limit, restricted, scores
from gauntlet.metrics.ratios import ratio
from gauntlet.metrics.registry import registry
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import NOT_CONDITIONS
from gauntlet.report.rows import Row

Place = tuple[str, str, tuple[tuple[str, Any], ...]]
"""Subject, protocol of the first results, conditions: what a line is of."""


@dataclass(frozen=True)
class Side:
    """One protocol under one condition in one of the results, over the paired repetitions."""

    mean: Mean | None
    """None where nothing came in any of them. What did not end counts with the limit that both share."""
    completed: int
    flows: int
    limited: bool
    """Whether something did not end, so that the mean is a least one."""


@dataclass(frozen=True)
class Line:
    """One protocol under one condition in both."""

    subject: str
    protocol: tuple[str, str]
    """Its label in either."""
    condition: str
    kpi: Kpi
    before: Side
    after: Side
    ratio: Mean | None
    """The second over the first, pair by pair; None where something never came, and of zeros alone."""
    pairs: int
    p_value: float | None
    """Adjusted for all lines; None without a test."""
    word: str
    """better, worse, equal or level of the second; the same, where no pair differs; empty where so few pairs
    tell nothing.
    """
    runs: tuple[str, str]
    """The ids of a pair of them, one of either."""


@dataclass(frozen=True)
class Compared:
    """All lines, and what was left out."""

    lines: tuple[Line, ...]
    unpaired: tuple[int, int]
    """Trusted runs of either that have no counterpart in the other."""
    other_draws: int
    """Pairs that did not meet the same draws, and are left out."""

    @property
    def in_words(self) -> str:
        """Of one line how the second does; of several how many are better, worse and neither."""
        if len(self.lines) == 1:
            return _in_words(*self.lines)
        counts = {word: sum(it.word == word for it in self.lines) for word in WORDS}
        told = [f"{word} in {count}" for word, count in counts.items() if count and word]
        if counts[""]:
            fewest = min(it.pairs for it in self.lines if not it.word)
            told.append(f"not to be told in {counts['']} ({too_few(fewest, 'pair')})")
        return f"B against A over {counted(len(self.lines), 'line')}: {', '.join(told)}."

    def to_json(self) -> dict[str, Any]:
        """Plain data, values in SI units."""
        return {
            "format": "gauntlet-comparison",
            "version": 1,
            "in_words": self.in_words,
            "lines": [_json(it) for it in self.lines],
            "unpaired": list(self.unpaired),
            "other_draws": self.other_draws,
        }


def _in_words(line: Line) -> str:
    """Build 2 is better than Build 1: capacity used 1.05 times [1.04 to 1.06]; 10 pairs."""
    one, other = line.protocol if line.protocol[0] != line.protocol[1] else ("A", "B")
    said = {"": "may be better or worse than", "the same": "is the same as", "equal": "is equal to"}
    verb = said.get(line.word, f"is {line.word} than")
    if line.word == "level":
        verb = "cannot be told from"
    name = f"{line.kpi.label[0].lower()}{line.kpi.label[1:]}"
    times = "" if line.ratio is None else f": {name} {times_words(line.ratio)}"
    why = too_few(line.pairs, "pair") if not line.word else counted(line.pairs, "pair")
    return f"{other} {verb} {one}{times}; {why}."


CLOSE, CLOSE_DIGITS = 0.05, 4
"""Ratios that are nearer to 1 than this have so many digits after the point."""


def ratio_digits(it: Mean) -> int | None:
    """So many digits that two which are close can be told from each other."""
    return CLOSE_DIGITS if abs(it.value - 1) < CLOSE else None


def times_words(it: Mean) -> str:
    """1.0004 times [1.0002 to 1.0005]."""
    digits = ratio_digits(it)
    if it.low is None or it.high is None or it.low == it.high:
        return f"{number(it.value, digits)} times"
    return f"{number(it.value, digits)} times [{number(it.low, digits)} to {number(it.high, digits)}]"


WORDS = ("better", "worse", "equal", "level", "the same", "")
"""What is said of a line; equal: the two differ by less than matters to who asks, with the whole interval."""


@dataclass(frozen=True)
class _Results:
    """One of the results, its rows by place and repetition."""

    evaluation: Evaluation

    @cached_property
    def specs(self) -> Mapping[str, Mapping[str, Any]]:
        """The specification of each run."""
        return {run.id: run.spec for run in self.evaluation.results.runs()}

    @cached_property
    def parts(self) -> Mapping[str, Evaluation]:
        """Flows with the same work, by their name."""
        return {part.subject: part for part in self.evaluation.parts}

    def rows(self, part: Evaluation) -> Mapping[Place, Mapping[int, list[Row]]]:
        """Rows of trusted runs."""
        found: dict[Place, dict[int, list[Row]]] = {}
        for row in part.rows:
            if row.ok and row.trusted:
                found.setdefault(self.place(row), {}).setdefault(row.repetition, []).append(row)
        return found

    def place(self, row: Row) -> Place:
        """What a row is of."""
        factors = self.specs[row.run].get("factors", {})
        conditions = sorted((key, value) for key, value in factors.items() if key not in NOT_CONDITIONS)
        return row.subject, row.protocol.rpartition(OF_SUBJECT)[2], tuple(conditions)

    def draws(self, row: Row) -> tuple[Any, ...]:
        """What chance gave to a run's link."""
        spec = self.specs[row.run]
        return spec.get("link_seed"), spec.get("start_s")


def compared(
    before: Evaluation,
    after: Evaluation,
    *,
    kpi: str | None = None,
    pairs: Mapping[str, str] | None = None,
) -> Compared:
    """Lay two results side by side.

    `kpi` is the KPI to compare by (default: what the flows are judged by), `pairs` the protocols of the
    second that stand for others of the first (first -> second); with any given, only these are compared.
    Raises UserError when nothing can be compared.
    """
    one, other = _Results(before), _Results(after)
    found = _Pairing(one, other, pairs)
    for subject, part in one.parts.items():
        if subject not in other.parts:
            continue
        chosen = _kpi(part, kpi)
        if chosen is not None:
            found.add(part, other.parts[subject], chosen)
    if not found.drafts:
        raise UserError(_nothing(before, after, found, pairs))
    asked = (set(pairs), set(pairs.values())) if pairs else (None, None)
    left = (_runs(one, asked[0]) - len(found.runs[0]), _runs(other, asked[1]) - len(found.runs[1]))
    matters = max(before.about.matters, after.about.matters)
    return Compared(tuple(_judged(found.drafts, matters)), left, found.other_draws)


def _runs(of: _Results, protocols: set[str] | None) -> int:
    """How many trusted runs there are, of these protocols or of all."""
    return len(
        {
            row.run
            for row in of.evaluation.rows
            if row.ok and row.trusted and (not protocols or of.place(row)[1] in protocols)
        }
    )


@dataclass(frozen=True)
class _Draft:
    """A line before it is tested."""

    line: Line
    observed: tuple[Mapping[int, Observation], Mapping[int, Observation]]
    deterministic: bool


class _Pairing:
    """Lines as they are found."""

    def __init__(self, one: _Results, other: _Results, pairs: Mapping[str, str] | None) -> None:
        self.one = one
        self.other = other
        self.pairs = pairs
        self.drafts: list[_Draft] = []
        self.runs: tuple[set[str], set[str]] = (set(), set())
        self.other_draws = 0

    def add(self, part: Evaluation, counterpart: Evaluation, kpi: Kpi) -> None:
        """The lines of flows with the same work."""
        theirs = self.other.rows(counterpart)
        for place, mine in self.one.rows(part).items():
            subject, protocol, conditions = place
            if self.pairs and protocol not in self.pairs:
                continue
            named = self.pairs[protocol] if self.pairs else protocol
            yours = theirs.get((subject, named, conditions), {})
            shared = [it for it in sorted(mine.keys() & yours.keys()) if self._alike(mine[it], yours[it])]
            told = [(it, _seen(mine[it], kpi), _seen(yours[it], kpi)) for it in shared]
            both = [(it, this, that) for it, this, that in told if this is not None and that is not None]
            if not both:
                continue
            for it, *_ in both:
                self.runs[0].update(row.run for row in mine[it])
                self.runs[1].update(row.run for row in yours[it])
            first, second = {it: this for it, this, _ in both}, {it: that for it, _, that in both}
            alike = part.deterministic(mine[shared[0]][0].protocol, mine[shared[0]][0].condition)
            alike &= counterpart.deterministic(yours[shared[0]][0].protocol, yours[shared[0]][0].condition)
            limit = common_limit([*first.values(), *second.values()])
            rows = [row for it in first for row in mine[it]], [row for it in first for row in yours[it]]
            line = Line(
                subject=subject,
                protocol=(_label(part, rows[0][0]), _label(counterpart, rows[1][0])),
                condition=part.label(rows[0][0].condition),
                kpi=kpi,
                before=_side(rows[0], first, limit, kpi, alike=alike),
                after=_side(rows[1], second, limit, kpi, alike=alike),
                ratio=_ratio(first, second, limit, alike=alike),
                pairs=len(first),
                p_value=None,
                word="",
                runs=(rows[0][0].run, rows[1][0].run),
            )
            self.drafts.append(_Draft(line, (first, second), alike))

    def _alike(self, mine: Sequence[Row], yours: Sequence[Row]) -> bool:
        """Whether the runs of two places met the same draws; those that did not are counted."""
        alike = self.one.draws(mine[0]) == self.other.draws(yours[0])
        self.other_draws += not alike
        return alike


def _label(part: Evaluation, row: Row) -> str:
    return part.style(row.protocol).label.removeprefix(f"{part.subject}{OF_SUBJECT}")


def _kpi(part: Evaluation, name: str | None) -> Kpi | None:
    """The KPI to compare flows by; None where they have none. Raises UserError for one that there is not."""
    if name is None:
        return part.main_kpi
    if name not in registry():
        raise UserError(f"--kpi: there is no KPI '{name}'; choose one of {', '.join(registry())}.")
    return next((it for it in part.kpis if it.name == name), None)


def _seen(rows: Sequence[Row], kpi: Kpi) -> Observation | None:
    """What the flows of one run say, of those with the same work together."""
    said = [seen for row in rows if (seen := row.observed(kpi)) is not None]
    return averaged(said) if said else None


def _side(
    rows: Sequence[Row], seen: Mapping[int, Observation], limit: float | None, kpi: Kpi, *, alike: bool
) -> Side:
    numbers = restricted(seen.values(), limit)
    mean = None
    if numbers.size:
        mean = (the_same(float(numbers[0])) if alike else typical_mean(numbers)).within(kpi.least, kpi.most)
    limited = any(it.state == State.CENSORED for it in seen.values())
    carried = [row for row in rows if row.supported]
    return Side(mean, sum(row.completed for row in carried), len(carried), limited)


def _ratio(
    first: Mapping[int, Observation], second: Mapping[int, Observation], limit: float | None, *, alike: bool
) -> Mean | None:
    every = [*first.values(), *second.values()]
    if any(it.state == State.NEVER for it in every) or any(it.value < 0 for it in every):
        return None
    below, above = (list(restricted(it.values(), limit)) for it in (first, second))
    found = ratio(above, below).mean
    return the_same(found.value) if alike and found is not None else found


def _judged(drafts: Sequence[_Draft], matters: float) -> Iterator[Line]:
    """The lines with what the test of all of them says; `matters` is the share below which a difference is
    called none.
    """
    differences = [_differences(it) for it in drafts]
    tested = [place for place, it in enumerate(drafts) if tellable(it.line.pairs) and not it.deterministic]
    repetitions = sorted({number for place in tested for number in differences[place]})
    p_values: dict[int, float] = {}
    if tested:
        # A repetition that a line lacks says nothing of it: a zero has no sign to flip.
        table = np.array([[differences[place].get(it, 0.0) for it in repetitions] for place in tested])
        p_values = dict(zip(tested, (float(it) for it in sign_flips(table)), strict=True))
    for place, draft in enumerate(drafts):
        lead = sum(differences[place].values()) * (1 if draft.line.kpi.higher_is_better else -1)
        side = "better" if lead > 0 else "worse"
        p_value = p_values.get(place)
        ratio_ = draft.line.ratio
        if not any(differences[place].values()):
            word = "the same"
        elif not tellable(draft.line.pairs, alike=draft.deterministic):
            word = ""
        elif ratio_ is not None and _within(ratio_, matters):
            word = "equal"
        elif p_value is None:
            word = side
        else:
            word = side if p_value < ALPHA and lead != 0 else "level"
        yield replace(draft.line, p_value=p_value, word=word)


def _within(ratio_: Mean, matters: float) -> bool:
    """Whether a ratio is nearer to 1 than matters, with the whole of its interval where it has one."""
    ends = [ratio_.value if end is None else end for end in (ratio_.low, ratio_.high)]
    return all(abs(end - 1) < matters for end in ends)


def _differences(draft: _Draft) -> Mapping[int, float]:
    """The second minus the first, by repetition, in numbers that can be compared whatever is known."""
    given = {"before": draft.observed[0], "after": draft.observed[1]}
    numbers = comparable(given, scores(given, draft.line.kpi.higher_is_better))
    return {it: numbers["after"][it] - numbers["before"][it] for it in sorted(draft.observed[0])}


def _nothing(before: Evaluation, after: Evaluation, found: _Pairing, pairs: Mapping[str, str] | None) -> str:
    """Why nothing can be compared, and what would be right."""
    if found.other_draws:
        seeds = before.results.manifest.seed, after.results.manifest.seed
        return (
            f"The runs of the two results did not meet the same draws (seeds {seeds[0]} and {seeds[1]}), so "
            "they are no pairs; play one of them again with the seed and the scenario of the other."
        )
    here, there = ({style.key.rpartition(OF_SUBJECT)[2] for style in it.styles} for it in (before, after))
    if not pairs and not here & there:
        return (
            f"The two results have no protocol in common ({', '.join(sorted(here))}; "
            f"{', '.join(sorted(there))}); say with --pair OLD=NEW which stand for each other."
        )
    if pairs and (missing := sorted((set(pairs) - here) | (set(pairs.values()) - there))):
        return (
            f"--pair: there is no {missing[0]} in these results; A has {', '.join(sorted(here))}, B has "
            f"{', '.join(sorted(there))}."
        )
    varied = [_varied(it) for it in (before, after)]
    apart = [name for name in dict.fromkeys([*varied[0], *varied[1]]) if _apart(name, *varied)]
    where = "; ".join(
        f"{letter} has {name} {listed(of.get(name, []))}"
        for name in apart
        for letter, of in zip("AB", varied, strict=True)
    )
    return (
        "No trusted run of the one has a counterpart in the other: same protocol, same values of all that is "
        f"varied, same repetition, and a number of what is compared{f' ({where})' * bool(where)}."
    )


def _varied(evaluation: Evaluation) -> dict[str, list[str]]:
    """The conditions of results in words, and their values, also where there is but one."""
    found = {name: [label] for name, label in evaluation.constants.items()}
    return {**found, **{it.words: [it.label(value) for value in it.values] for it in evaluation.factors}}


def _apart(name: str, one: Mapping[str, list[str]], other: Mapping[str, list[str]]) -> bool:
    """Whether no value of a condition is one of both."""
    return not set(one.get(name, ())) & set(other.get(name, ()))


def _json(line: Line) -> dict[str, Any]:
    return {
        "subject": line.subject,
        "protocol": list(line.protocol),
        "condition": line.condition,
        "kpi": line.kpi.name,
        "before": asdict(line.before),
        "after": asdict(line.after),
        "ratio": asdict(line.ratio) if line.ratio else None,
        "pairs": line.pairs,
        "p_value": line.p_value,
        "verdict": line.word or None,
    }
