"""What an expression of a ledger comes to.

A value is a number, which is exact; an extreme, the least or the greatest of some repetitions, which is exact
too and knows their count; a series, one number a repetition, of which only the repetitions count that all
series of an operation have; or an estimate, a mean with its interval, with which nothing more can be done. A
series at the end becomes the mean over its repetitions.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from gauntlet.errors import GauntletError, NotMeasured, UserError
from gauntlet.metrics.ecdf import ALPHA
from gauntlet.metrics.intervals import Mean, mean, the_same
from gauntlet.metrics.ratios import ratio
from gauntlet.metrics.selected import LeftOut
from gauntlet.studies.decide import EXACT
from gauntlet.studies.expression import BadExpression, Call, Name, Number, Operation, Text, Tree


@dataclass(frozen=True)
class Series:
    """One number a repetition."""

    values: Mapping[int, float]
    deterministic: bool = False
    left_out: LeftOut = field(default_factory=LeftOut)


@dataclass(frozen=True)
class Estimate:
    """A mean over repetitions, and what is to be said of it."""

    mean: Mean
    words: str = ""


@dataclass(frozen=True)
class Extreme:
    """The least or the greatest of all repetitions, and what was worked out of it."""

    value: float
    n: int
    """Repetitions that it is of; where several extremes came together, the fewest."""


Value = float | str | Series | Estimate | Extreme
Function = Callable[..., float]

_OPERATIONS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


@dataclass(frozen=True)
class Evaluator:
    """Follows a tree with the terms and the study's own functions at hand."""

    terms: Mapping[str, Series]
    functions: Mapping[str, Function]
    alpha: float = ALPHA

    def value(self, tree: Tree) -> Value:
        """What the tree comes to. Raises BadExpression where values do not go together, NotMeasured where the
        results lack what it needs.
        """
        match tree:
            case Number() | Text():
                return tree.value
            case Name():
                return self.terms[tree.name]
            case Call():
                return self._called(tree, [self.value(it) for it in tree.values])
            case Operation():
                return _worked_out(tree, self.value(tree.left), self.value(tree.right))

    def _called(self, tree: Call, values: list[Value]) -> Value:
        if tree.name in BUILT_IN:
            return BUILT_IN[tree.name](tree, values, self.alpha)
        if any(isinstance(it, Series | Estimate | Extreme) for it in values):
            raise BadExpression(tree.at, f"{tree.name}() takes numbers and texts, and no terms")
        try:
            return float(self.functions[tree.name](*values))
        except GauntletError:
            raise
        except Exception as error:
            raise UserError(f"{tree.name}() of the study's plugin.py failed: {error}.") from error


def ended(value: Value, alpha: float) -> tuple[Mean, str]:
    """The number that a claim is held against, and what is to be said of it."""
    if isinstance(value, Estimate):
        return value.mean, value.words
    if isinstance(value, Series):
        numbers = _numbers(value)
        return (the_same(numbers[0]) if value.deterministic else mean(numbers, alpha)), ""
    if isinstance(value, str):
        raise BadExpression(0, "a text is no result; it must come to a number")
    if isinstance(value, Extreme):
        return Mean(value.value, value.value, value.value, value.n, EXACT), ""
    return Mean(value, value, value, 0, EXACT), ""


def averaged(each: list[Value]) -> Value:
    """The mean of several values, repetition by repetition where they are series."""
    whole = each[0]
    nowhere = Operation("+", Number(0.0, 0), Number(0.0, 0), 0)
    for value in each[1:]:
        whole = _worked_out(nowhere, whole, value)
    return _worked_out(replace(nowhere, sign="/"), whole, float(len(each)))


def _worked_out(tree: Operation, left: Value, right: Value) -> Value:
    if isinstance(left, str | Estimate) or isinstance(right, str | Estimate):
        what = "a text" if isinstance(left, str) or isinstance(right, str) else "what ratio() gives"
        raise BadExpression(tree.at, f"'{tree.sign}' cannot be done with {what}")
    work = _OPERATIONS[tree.sign]
    counts = [it.n for it in (left, right) if isinstance(it, Extreme)]
    left, right = (it.value if isinstance(it, Extreme) else it for it in (left, right))
    if not isinstance(left, Series) and not isinstance(right, Series):
        if tree.sign == "/" and right == 0:
            raise BadExpression(tree.at, "this divides by 0")
        found = work(left, right)
        return Extreme(found, min(counts)) if counts else found
    one, other = _series(left, right), _series(right, left)
    shared = one.values.keys() & other.values.keys()
    for repetition in sorted(shared):
        if tree.sign == "/" and other.values[repetition] == 0:
            raise NotMeasured(f"What is divided by is 0 in repetition {repetition}.")
    values = {it: work(one.values[it], other.values[it]) for it in sorted(shared)}
    return _joined(values, one, other)


def _series(value: Series | float, like: Series | float) -> Series:
    """A series as it is; a number in every repetition of the other side."""
    if isinstance(value, Series):
        return value
    assert isinstance(like, Series)
    return Series(dict.fromkeys(like.values, value), deterministic=True)


def _joined(values: Mapping[int, float], one: Series, other: Series) -> Series:
    return Series(values, one.deterministic and other.deterministic, one.left_out + other.left_out)


def _numbers(series: Series) -> list[float]:
    if not series.values:
        raise NotMeasured(
            f"No repetition has all that is needed ({series.left_out.words or 'none was run'})."
        )
    return list(series.values.values())


def _ratio(tree: Call, values: list[Value], alpha: float) -> Value:
    """The mean ratio of two series over their repetitions, as `comparison` has it."""
    if len(values) != 2 or not all(isinstance(it, Series) for it in values):
        raise BadExpression(tree.at, "ratio() takes two terms, or two expressions of terms")
    one, other = (it for it in values if isinstance(it, Series))
    shared = sorted(one.values.keys() & other.values.keys())
    pairs = _joined(dict.fromkeys(shared, 0.0), one, other)
    _numbers(pairs)
    found = ratio([one.values[it] for it in shared], [other.values[it] for it in shared], alpha)
    if found.mean is None:
        raise NotMeasured(f"{found.words}.")
    return Estimate(the_same(found.mean.value) if pairs.deterministic else found.mean, found.words)


def _extreme(of: Callable[[list[float]], float]) -> Callable[[Call, list[Value], float], Value]:
    def extreme(tree: Call, values: list[Value], _: float) -> Value:
        if len(values) != 1 or not isinstance(values[0], Series):
            raise BadExpression(tree.at, f"{tree.name}() takes one term, or an expression of terms")
        numbers = _numbers(values[0])
        return Extreme(of(numbers), len(numbers))

    return extreme


BUILT_IN: Mapping[str, Callable[[Call, list[Value], float], Value]] = {
    "ratio": _ratio,
    "least": _extreme(min),
    "greatest": _extreme(max),
}
"""Functions of series, in every study: the mean ratio; the least and the greatest of all repetitions."""
