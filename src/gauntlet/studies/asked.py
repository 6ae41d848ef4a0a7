"""Which transport for a class of service, by the summaries of the published studies: what `gauntlet advise`
answers.

It is the first screen of each study (`gauntlet.studies.advised`), for one class, one line and one delay and
loss of the channel, where these are asked for.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from gauntlet import units
from gauntlet.advice import classes
from gauntlet.advice.classes import Classes, Empty, Need, ServiceClass
from gauntlet.advice.grid import Grid, grid, unknown_last
from gauntlet.advice.use import Badge
from gauntlet.errors import UserError
from gauntlet.metrics.numbers import listed
from gauntlet.scenario import available
from gauntlet.studies.advised import FromSummary
from gauntlet.studies.calibrated import behind
from gauntlet.studies.model import Study
from gauntlet.studies.siblings import CONDITIONS, settings_of
from gauntlet.studies.summary import MANIFEST, Summary


@dataclass(frozen=True)
class Question:
    """What is asked. None: all of it."""

    service: str | None = None
    """A class: critical-data."""
    scenario: str | None = None
    """The line; None: the one that the study's own table rests on."""
    delay_s: float | None = None
    """One way, of the channel."""
    loss: float | None = None


@dataclass(frozen=True)
class Row:
    """A class of a study with its answer."""

    study: Study
    name: str
    """The class."""
    by: str
    """Whose class it is: D3.4."""
    scenarios: tuple[str, ...]
    """The lines that it was measured on."""
    grid: Grid | None = None
    """The conditions that were asked for; None where the row is silent."""
    silent: str = ""
    """Why there is no answer."""
    calibrated: tuple[Badge, ...] = ()
    """What absolute limits are held against."""
    between: str = ""
    """How the conditions differ from those that were asked for."""


def rows(question: Question, studies: Sequence[Study]) -> list[Row]:
    """The rows that a question is about, in the order of the studies. Raises UserError for a class or a line
    that none of them has.
    """
    asking = [it for it in studies if _given(it) and (it.summary / MANIFEST).exists()]
    wanted = _wanted(question, asking)
    return [row for study in asking for row in _of_study(study, replace(question, service=wanted))]


def with_classes(file: Path, studies: Sequence[Study]) -> Study:
    """The study that the classes of a file ask for measurements of, with these in place of its own. Raises
    UserError when the file is wrong, or no study has all the experiments that it names.
    """
    given = classes.load(file)
    named = {name for it in given.classes for need in it.needs for name in need.experiments}
    for study in studies:
        if named <= {it.name for it in study.experiments}:
            return replace(study, advice=given, applications=None, beyond=None)
    known = sorted({it.name for study in studies for it in study.experiments})
    odd = next((it for it in sorted(named) if it not in known), None)
    if odd is None:
        raise UserError(
            f"{file}: the experiments {listed(sorted(named))} are of several studies; make a file for each."
        )
    raise UserError(f"{file}: no study has the experiment '{odd}'; {_hint(odd, known)}")


def slug(name: str) -> str:
    """A class as one types it: critical-data. Behind a colon stands which part of a class."""
    return re.sub(r"[^a-z0-9]+", "-", name.partition(":")[0].lower()).strip("-")


def known(studies: Sequence[Study]) -> list[str]:
    """Every class that can be asked for, as one types it."""
    every: dict[str, None] = {}
    for of in (it for study in studies for it in _given(study)):
        every |= dict.fromkeys([*(slug(it.name) for it in of.classes), *(slug(it.name) for it in of.empty)])
    return list(every)


def _given(study: Study) -> list[Classes]:
    return [it for it in (study.advice, study.applications, study.beyond) if it is not None]


def _wanted(question: Question, studies: Sequence[Study]) -> str | None:
    """The class that is meant, after a look at class and line."""
    if not studies:
        raise UserError(
            "No study with results is here; `pip install gauntlet-net-studies` brings the published ones."
        )
    if question.scenario is not None:
        _check_scenario(question.scenario, studies)
    if question.service is None:
        return None
    there = known(studies)
    if slug(question.service) not in there:
        raise UserError(
            f"The class '{question.service}' is not known; {_hint(slug(question.service), there)}"
        )
    return slug(question.service)


def _check_scenario(name: str, studies: Sequence[Study]) -> None:
    measured = sorted({line for study in studies for line in _lines(study)} - {"constant"})
    if name in measured:
        return
    if name in {it.name for it in available()}:
        raise UserError(
            f"No class was measured on the line '{name}'; there are {listed(measured)}. "
            "An experiment of your own on it gives the same advice: see `gauntlet run --help`."
        )
    raise UserError(f"The scenario '{name}' is not known; {_hint(name, measured)}")


def _lines(study: Study) -> set[str]:
    """The lines that some need of a class was measured on."""
    every = {_scenario(study, it.name) for it in study.experiments}
    needs = [need for of in _given(study) for service in of.classes for need in service.needs]
    return {line for line in every if any(_on(study, need, line) is not None for need in needs)}


def _hint(given: str, there: Sequence[str]) -> str:
    close = get_close_matches(given, there, n=1) or [it for it in there if given in it]
    return f"did you mean '{close[0]}'?" if close else f"there are {', '.join(there)}."


def _of_study(study: Study, question: Question) -> Iterator[Row]:
    source = FromSummary(study, Summary.load(study.summary, study.home))
    empty = {slug(it.name): it for of in _given(study) for it in of.empty}
    told = set()
    for of in _given(study):
        for service in of.classes:
            name = slug(service.name)
            if not _meant(question, name):
                continue
            row = empty.get(name)
            if row is None or (_filled(row, source.summary) and _fills(row, service)):
                yield _row(source, of, service, question)
            elif name not in told and not _filled(row, source.summary):
                yield _silent(study, of.by, row)
            told.add(name)
    for name, it in empty.items():
        if _meant(question, name) and name not in told:
            yield _silent(study, _given(study)[0].by, it)


def _filled(row: Empty, summary: Summary) -> bool:
    """Whether what a row waited for is measured."""
    return bool(row.until) and all(name in summary.manifest() for name in row.until)


def _fills(row: Empty, service: ServiceClass) -> bool:
    """Whether a class is what a row waited for, and not a stand-in."""
    return all(name in row.until for need in service.needs for name in need.experiments)


def _meant(question: Question, name: str) -> bool:
    """Whether a class is asked for: by its name, or by the words that its name begins with."""
    return question.service is None or f"{name}-".startswith(f"{question.service}-")


def _silent(study: Study, by: str, empty: Empty) -> Row:
    return Row(study, empty.name, by, (), silent=f"Empty: {empty.words}.")


def _row(source: FromSummary, of: Classes, service: ServiceClass, question: Question) -> Row:
    """One class. The needs are looked for on the line that is asked for, one by one."""
    study = source.study
    here = [_on(study, need, question.scenario) for need in service.needs]
    needs = tuple(it for it in here if it is not None)
    lines = tuple(
        dict.fromkeys(_scenario(study, name) for need in service.needs for name in need.experiments)
    )
    row = Row(study, service.name, of.by, lines)
    if not needs:
        return replace(row, silent=f"Not measured on {question.scenario}, only on {listed(list(lines))}.")
    found = grid(source, replace(service, needs=needs), of.by if of is not study.beyond else "")
    found = replace(found, service=service)
    absolute = [name for need in needs if need.bound is not None for name in need.experiments]
    row = replace(row, scenarios=(question.scenario,) if question.scenario else lines)
    row = replace(row, calibrated=tuple(behind(study, absolute)))
    if not any(cell.judged for cell in found.cells):
        return replace(row, silent="Not measured: no run of it is in the study's summary.")
    if len(needs) < len(service.needs):
        lacking = listed([need.words for need, it in zip(service.needs, here, strict=True) if it is None])
        row = replace(row, between=f"Not measured on {question.scenario}: {lacking}.")
    return _under(row, found, question)


def _under(row: Row, found: Grid, question: Question) -> Row:
    """The row with the conditions that are asked for: those that were measured, or the two on either side."""
    chosen: dict[str, list[float | None]] = {}
    said = [row.between] if row.between else []
    asked: Mapping[str, float | None] = {"delay_s": question.delay_s, "loss": question.loss}
    for name, value in asked.items():
        there = sorted({getattr(cell, name) for cell in found.cells if cell.judged}, key=unknown_last)
        chosen[name] = there
        if value is None:
            continue
        around = _around(value, [it for it in there if it is not None])
        if not around:
            return replace(row, silent=f"{_judged(name, value, there)}; run your own experiment there.")
        chosen[name] = list(around)
        if len(around) > 1:
            said.append(
                f"{_judged(name, value, there)}; {listed([_shown(name, it) for it in around])} both count."
            )
    cells = tuple(it for it in found.cells if it.delay_s in chosen["delay_s"] and it.loss in chosen["loss"])
    if not any(it.own for it in cells):
        return replace(row, silent="Its needs do not count under this delay and loss.")
    return replace(row, grid=replace(found, cells=cells), between=" ".join(said))


def _around(value: float, there: Sequence[float]) -> tuple[float, ...]:
    """The value itself where it was measured, else its neighbours; nothing outside of what was measured."""
    same = [it for it in there if abs(it - value) <= 1e-9 + 1e-6 * it]
    if same:
        return (same[0],)
    below, above = [it for it in there if it < value], [it for it in there if it > value]
    return (below[-1], above[0]) if below and above else ()


def _judged(name: str, value: float, there: Sequence[float | None]) -> str:
    """Under which conditions a class is judged; other classes may have been under more."""
    what = f"{_shown(name, value)} {OF[name]}"
    return f"{what}: this class is judged under {listed([_shown(name, it) for it in there])} only"


OF = {"delay_s": "one way", "loss": "loss"}
"""What is said of the value of a condition."""


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return "drawn"
    return units.spaced(units.format_time(value) if name == "delay_s" else units.format_fraction(value))


def _scenario(study: Study, experiment: str) -> str:
    """The line of an experiment."""
    return str(settings_of(study.experiment(experiment).file).get("scenario.name", ""))


def _on(study: Study, need: Need, scenario: str | None) -> Need | None:
    """The need where it was measured on this line: by the same experiments, or by those that differ from them
    in the line alone; None where there are none.
    """
    if scenario is None:
        return need
    found = [_counterpart(study, name, scenario) for name in need.experiments]
    names = [it for it in found if it is not None]
    if len(names) < len(found):
        return None
    return need.model_copy(update={"experiment": names[0] if isinstance(need.experiment, str) else names})


OF_A_LINE = frozenset({"scenario.name", "scenario.ip_scale"})
"""What two experiments on two lines may differ in: the line, and what makes its rates those that a study
prints.
"""


def _counterpart(study: Study, experiment: str, scenario: str) -> str | None:
    if _scenario(study, experiment) == scenario:
        return experiment
    own = settings_of(study.experiment(experiment).file)
    for it in study.experiments:
        other = settings_of(it.file)
        if other.get("scenario.name") != scenario:
            continue
        unlike = {key for key in own.keys() | other.keys() if own.get(key) != other.get(key)}
        if all(key in OF_A_LINE or key.removeprefix("matrix.") in CONDITIONS for key in unlike):
            return it.name
    return None
