"""How closely a campaign knows the means that it judges by: some go on until that is close enough."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from gauntlet.metrics.numbers import counted
from gauntlet.metrics.sequential import closeness
from gauntlet.report.evaluation import Evaluation


@dataclass(frozen=True)
class Known:
    """The mean that one protocol is judged by under one condition."""

    protocol: str
    """Its label."""
    condition: str
    kpi: str
    share: float
    """Half its interval, as a share of the mean."""

    @property
    def words(self) -> str:
        """For people: ±4.1 % (TCP BBR, loss 1 %)."""
        return f"±{_percent(self.share)} ({self.protocol}, {self.condition})"


@dataclass(frozen=True)
class Closeness:
    """All of them at one look."""

    wanted: float
    """The share that none is to exceed."""
    look: int
    repetitions: int
    means: tuple[Known, ...]
    """The widest first. Means that cannot vary (deterministic), and those of which nothing came, are not
    among them.
    """

    @property
    def wide(self) -> tuple[Known, ...]:
        """Those that are not known closely enough."""
        return tuple(it for it in self.means if it.share > self.wanted)

    @property
    def words(self) -> str:
        """Whether it is enough, in one sentence."""
        wanted, count = f"±{_percent(self.wanted)}", counted(self.repetitions, "repetition")
        if not self.means:
            return f"No mean varies, so {wanted} asks for no more than {count}."
        widest = self.means[0].words
        if not self.wide:
            return f"{wanted} is kept with {count} (look {self.look}): the widest is {widest}."
        verb = "is" if len(self.wide) == 1 else "are"
        return (
            f"{len(self.wide)} of {counted(len(self.means), 'mean')} {verb} wider than {wanted} with {count} "
            f"(look {self.look}): the widest is {widest}."
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "share": self.wanted,
            "look": self.look,
            "repetitions": self.repetitions,
            "reached": not self.wide,
            "widest": [asdict(it) | {"share": _finite(it.share)} for it in self.wide],
        }


def known(evaluation: Evaluation, wanted: float, look: int, repetitions: int) -> Closeness:
    """How closely each mean that flows are judged by is known at a look (`gauntlet.metrics.sequential`)."""
    means = sorted(_means(evaluation, look), key=lambda it: -it.share)
    return Closeness(wanted, look, repetitions, tuple(means))


def _means(evaluation: Evaluation, look: int) -> Iterator[Known]:
    for part in evaluation.parts:
        kpi = part.main_kpi
        if kpi is None or part.background:
            continue
        for condition in part.conditions:
            for style in part.styles:
                values = list(part.numbers(kpi, style.key, condition).values())
                if values and not part.deterministic(style.key, condition):
                    yield Known(style.label, part.label(condition), kpi.name, closeness(values, look))


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %" if share < float("inf") else "any %"


def _finite(share: float) -> float | None:
    return share if share < float("inf") else None
