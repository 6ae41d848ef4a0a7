"""What threats to safety messages came to, by threat, protocol and condition: the verdicts of the trials."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gauntlet.errors import UserError
from gauntlet.evidence import A_TRIAL, FEWEST, Cell, Cells, Trial, trials
from gauntlet.evidence.verdict import NOT_NOTICED
from gauntlet.experiment.threats import NONE
from gauntlet.metrics.numbers import counted, listed, named, number
from gauntlet.report.evaluation import Evaluation

COLUMNS = ("Verdicts", "Told after", "Acted on before", "Bound")
"""What is told of a cell."""

WORDS = (
    f"{A_TRIAL} Told after: the middle of the times from the threat's first act to "
    "the first signal. Acted on before: trials in which the application acted on a wrong message before "
    "anybody was told. Bound: where none of N trials went unnoticed, the share in which one may, 3/N; copies "
    f"of a trial count once, and fewer than {FEWEST} trials give none, as does the control, and a cell where "
    "one went unnoticed."
)
"""What the columns mean."""


@dataclass(frozen=True)
class Row:
    """The trials of one protocol under one condition."""

    protocol: str
    condition: str
    """What is varied beside protocol and threat, and the flow where there are several."""
    values: tuple[str, ...]
    """In the order of `COLUMNS`; empty where there is nothing to tell."""


@dataclass(frozen=True)
class Group:
    """The trials of one threat."""

    threat: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class Threats:
    """The section of the report."""

    groups: Sequence[Group]
    lacking: str = ""
    """Why there are no verdicts; empty where there are."""
    overview: str = ""
    """All verdicts on trials with a threat in a sentence; empty without such trials."""
    unnoticed: str = ""
    """What the application acted on or lacked while nobody was told, in a sentence; empty without trials
    with a threat."""


def verdicts(evaluation: Evaluation) -> Threats | None:
    """The verdicts, threats, protocols and conditions in the report's order, the control last; None without
    flows of safety.
    """
    if not evaluation.of_safety:
        return None
    gathered, harms = Cells(), _Harms()
    try:
        for trial in trials(evaluation.results):
            harms.add(trial, gathered.add(trial))
    except UserError as error:
        return Threats((), str(error))
    found = list(gathered)
    several = len({cell.factors["flow"] for cell in found}) > 1
    order = {factor.name: list(factor.values) for factor in evaluation.factors}
    protocols = [style.key for style in evaluation.styles]

    def place(cell: Cell) -> tuple[int, ...]:
        protocol = str(cell.factors.get("protocol", ""))
        return (
            protocols.index(protocol) if protocol in protocols else len(protocols),
            *(values.index(cell.factors[name]) for name, values in order.items() if name != "threat"),
        )

    names = order.get("threat") or list(dict.fromkeys(cell.factors["threat"] for cell in found))
    groups = [
        Group(
            "no threat (control)" if threat == NONE else str(threat),
            [
                Row(_protocol(evaluation, cell), _condition(evaluation, cell, several), _values(cell))
                for cell in sorted((it for it in found if it.factors["threat"] == threat), key=place)
            ],
        )
        for threat in sorted(names, key=lambda it: it == NONE)
    ]
    overview = _overview(found)
    return Threats(
        [group for group in groups if group.rows],
        overview=overview,
        unnoticed=harms.words(lambda cell: _protocol(evaluation, cell)) if overview else "",
    )


class _Harms:
    """What the application suffered in trials with a threat that nobody noticed, by kind."""

    def __init__(self) -> None:
        self._trials: Counter[str] = Counter()
        self._cells: dict[str, list[Cell]] = {}

    def add(self, trial: Trial, cell: Cell) -> None:
        """Take in a trial and the cell that it is in."""
        if cell.control or trial.verdict.verdict not in NOT_NOTICED:
            return
        for harm in trial.verdict.harms:
            self._trials[harm] += 1
            those = self._cells.setdefault(harm, [])
            if not any(it is cell for it in those):
                those.append(cell)

    def words(self, protocol: Callable[[Cell], str]) -> str:
        """A sentence; `protocol` names that of a cell."""
        if not self._trials:
            return "No trial had the application act on a wrong message or lack one with nobody told."
        each = [
            f"{harm} in {counted(trials, 'trial')} "
            f"({named(list(dict.fromkeys(protocol(cell) for cell in self._cells[harm])))})"
            for harm, trials in self._trials.most_common()
        ]
        return f"Messages that the application acted on or lacked, and nobody was told: {listed(each)}."


def _overview(found: Sequence[Cell]) -> str:
    threatened = [cell for cell in found if cell.factors["threat"] != NONE]
    verdicts = sum((cell.verdicts for cell in threatened), Counter[str]())
    if not verdicts:
        return ""
    threats = counted(len({cell.factors["threat"] for cell in threatened}), "threat")
    each = listed([f"{count} {verdict}" for verdict, count in verdicts.most_common()])
    return f"Of {counted(verdicts.total(), 'trial')} of {threats}: {each}."


def _protocol(evaluation: Evaluation, cell: Cell) -> str:
    key = str(cell.factors.get("protocol", ""))
    return next((style.label for style in evaluation.styles if style.key == key), key)


def _condition(evaluation: Evaluation, cell: Cell, several: bool) -> str:
    parts = [
        f"{factor.words} {factor.label(cell.factors[factor.name])}"
        for factor in evaluation.factors
        if factor.name != "threat"
    ]
    return ", ".join([*parts, *([f"flow {cell.factors['flow']}"] if several else [])])


def _values(cell: Cell) -> tuple[str, ...]:
    delay = cell.median_delay_s
    return (
        ", ".join(f"{count} {verdict}" for verdict, count in cell.verdicts.most_common()),
        "" if delay is None else f"{number(delay)} s",
        f"{cell.accepted_before} of {counted(cell.trials, 'trial')}" if cell.accepted_before else "",
        "" if cell.bound is None or cell.distinct < FEWEST else number(cell.bound),
    )
