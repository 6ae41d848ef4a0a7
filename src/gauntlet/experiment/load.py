"""Read an experiment file: TOML to checked conditions. Mistakes are one sentence with file, section, key."""

import itertools
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gauntlet.errors import UserError
from gauntlet.experiment.axes import Axis, AxisValue, axes, overlay
from gauntlet.experiment.in_path import InPathSection
from gauntlet.experiment.known import Answers, Known
from gauntlet.experiment.protocols import Protocol
from gauntlet.experiment.protocols import own as own_protocols
from gauntlet.experiment.schema import (
    MAX_REPETITIONS,
    Condition,
    ExperimentFile,
    ExperimentSection,
    RecordSection,
)
from gauntlet.experiment.strict import Location, sentences
from gauntlet.experiment.threats import ThreatSection

_MISTAKES = 10
"""That are told at once; more are counted."""


@dataclass(frozen=True)
class Point:
    """One condition of the matrix with the axis values that made it."""

    chosen: tuple[tuple[Axis, AxisValue], ...]
    condition: Condition

    @property
    def varied_links(self) -> dict[str, str]:
        """Links of [network] that axes change, and where that is written."""
        of_links = [it for it, _ in self.chosen if it.section == "network" and "." in it.key]
        return {it.key.rpartition(".")[0]: f"[matrix] {it.written}" for it in of_links}


@dataclass(frozen=True)
class Experiment:
    """An experiment as read and checked; `expand` turns it into runs."""

    source: str
    """File name for error sentences."""
    folder: Path
    """Where trace files named in it are looked for."""
    text: str
    """The file as written, kept with the results."""
    about: ExperimentSection
    record: RecordSection
    protocols: tuple[str, ...]
    """Entries of [matrix] protocols; empty when every flow has its own."""
    points: tuple[Point, ...]
    in_path: tuple[InPathSection, ...]
    """Nodes that stand in links."""
    threats: tuple[ThreatSection, ...]
    """Threats to single messages."""
    known: Mapping[str, Protocol]
    """Every protocol that it can name, its own among them."""


def load_experiment(
    path: Path, *, seed: int | None = None, repetitions: int | None = None, answers: Answers | None = None
) -> Experiment:
    """Read an experiment file; `seed` and `repetitions` replace the file's. `answers` refuses a `judge` that
    no flow can answer (`gauntlet.metrics.asked.check`).

    Raises UserError when the file cannot be read or anything in it is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(
            f"{path}: there is no such file; give the path of an experiment file (TOML)."
        ) from None
    except IsADirectoryError:
        raise UserError(f"{path}: that is a folder; give the path of an experiment file (TOML).") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: the file cannot be read ({error}); give a text file in UTF-8.") from None
    return parse_experiment(text, str(path), path.parent, seed=seed, repetitions=repetitions, answers=answers)


def parse_experiment(
    text: str,
    source: str,
    folder: Path,
    *,
    seed: int | None = None,
    repetitions: int | None = None,
    answers: Answers | None = None,
) -> Experiment:
    """As `load_experiment`, from text; `source` names it in error sentences."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{source}: not valid TOML: {error}.") from None
    try:
        file = ExperimentFile.model_validate(raw, context=Known(answers=answers))
    except ValidationError as error:
        raise UserError(_each(source, sentences(error, partial(_written, raw=raw)))) from None
    try:
        about = _about(file.experiment, seed, repetitions)
        own = {name: (section.stack(name, folder), section.label) for name, section in file.stack.items()}
        known = own_protocols(own)
        chosen, found = axes(file.matrix, known)
        points = tuple(_points(file, found, Known(known, answers)))
        if file.load is not None:
            _carry(file.load.test, chosen, known)
    except UserError as error:
        raise UserError(_each(source, str(error))) from None
    nodes, threats = tuple(file.in_path), tuple(file.threat)
    return Experiment(source, folder, text, about, file.record, tuple(chosen), points, nodes, threats, known)


def _each(source: str, mistakes: str) -> str:
    """Mistakes, a line each, with the file before every one."""
    return "\n".join(f"{source}: {line}" for line in mistakes.splitlines())


def _about(about: ExperimentSection, seed: int | None, repetitions: int | None) -> ExperimentSection:
    if seed is not None and not 0 <= seed < 2**53:
        raise UserError(f"the seed {seed} is out of range; give a whole number from 0 to 2^53 - 1.")
    if repetitions is not None and not 1 <= repetitions <= MAX_REPETITIONS:
        raise UserError(f"{repetitions} repetitions are out of range; give 1 to {MAX_REPETITIONS}.")
    changes = {"seed": seed, "repetitions": repetitions}
    return about.model_copy(update={key: value for key, value in changes.items() if value is not None})


def _carry(test: str, chosen: list[str], known: Mapping[str, Protocol]) -> None:
    """See that all protocols hold their sender back, as the load of a test needs it. Raises UserError."""
    for key in chosen:
        if key in known and not known[key].reliable:
            raise UserError(
                f"[matrix] protocols: '{key}' holds no sender back, and the load of {test} is streams that "
                "adapt to the line; take tcp-cubic or another that does."
            )


def _points(file: ExperimentFile, found: list[Axis], known: Known) -> list[Point]:
    if file.workload is not None and file.flow:
        raise UserError(
            "[workload] and [[flow]] both stand here; use [workload] for one flow, [[flow]] for several."
        )
    if file.load is not None and (file.workload is not None or file.flow):
        raise UserError("[load] has flows of its own; leave [workload] and [[flow]] out, or [load].")
    if file.workload is None and not file.flow and file.load is None:
        raise UserError('nothing is sent; add [workload] with an app, such as "cbr" or "bulk".')
    flows = [file.workload] if file.workload is not None else file.flow
    if file.load is not None:
        flows = file.load.flows()
    if all(flow.get("background") is True for flow in flows):
        raise UserError("every flow is in the background, so there is nothing to answer; judge one of them.")
    sections = {
        "scenario": _line(file, found),
        "network": file.network or {},
        "link": file.link,
        "server": file.server,
        "flow": flows,
        "sysctl": file.sysctl,
    }
    points = []
    mistakes: dict[str, None] = {}
    for values in itertools.product(*(axis.values for axis in found)):
        chosen = tuple(zip(found, values, strict=True))
        raw: Mapping[str, Any] = sections
        for axis, value in chosen:
            raw = overlay(raw, axis, value)
        place = partial(_place, chosen=chosen, single_flow=file.workload is not None)
        network = None if file.network is None else raw["network"]
        try:
            checked = check_condition({**raw, "network": network, "flow": tuple(raw["flow"])}, place, known)
        except UserError as error:
            # Those of other conditions too, so that all can be mended at once.
            mistakes.update(dict.fromkeys(str(error).splitlines()))
            continue
        points.append(Point(chosen, checked))
    if mistakes:
        more = len(mistakes) - _MISTAKES
        told = [*mistakes][:_MISTAKES] + [f"and {more} more mistakes."] * (more > 0)
        raise UserError("\n".join(told))
    return points


def _line(file: ExperimentFile, found: list[Axis]) -> dict[str, Any]:
    """[scenario]; with a network of one's own there is none, and its ways do not change."""
    if file.network is None:
        stray = next((axis for axis in found if axis.section == "network"), None)
        if stray is not None:
            raise UserError(f"[matrix] {stray.written}: there is no [network]; add it.")
        if file.scenario is None:
            raise UserError("the key 'scenario' is missing; add it, or [network].")
        return file.scenario
    if file.scenario is not None or any(axis.section == "scenario" for axis in found):
        raise UserError(
            "[scenario] and [network] both stand here; the links of a network have rates of their own."
        )
    return {"name": "constant"}


def check_condition(
    raw: Mapping[str, Any],
    place: Callable[[Location], str] | None = None,
    known: Known | None = None,
) -> Condition:
    """Check raw sections (scenario, network, link, server, flow, sysctl); UserError names the key, in the
    words of `place`.

    `known` is what they may name; None: what every experiment may.
    """
    try:
        return Condition.model_validate(raw, context=known)
    except ValidationError as error:
        raise UserError(sentences(error, place or _section)) from None


def _written(location: Location, raw: Mapping[str, Any]) -> str:
    """As `_section`, with nodes and rules by their names where the file gives them one."""
    if len(location) < 2 or location[0] != "in_path":
        return _section(location)
    place = f"[[in_path]] {_named(raw['in_path'], location[1], str)}"
    rest = list(location[2:])
    if len(rest) > 1 and rest[0] == "rule":
        rules = raw["in_path"][location[1]]["rule"]
        rest[:2] = [f"rule {_named(rules, rest[1], repr)}"]
    return ", ".join([place, *map(str, rest)])


def _named(tables: Any, number: Any, written: Callable[[str], str]) -> str:
    """The name of one of a list's tables, else its number."""
    table = tables[number]
    name = table.get("name") if isinstance(table, dict) else None
    return written(name) if isinstance(name, str) else str(number + 1)


def _section(location: Location) -> str:
    """("experiment", "seed") is "[experiment] seed"."""
    if not location:
        return ""
    head = (
        f"[[{location[0]}]]" if location[0] in ("flow", "in_path", "threat", "class") else f"[{location[0]}]"
    )
    rest = [str(part + 1) if isinstance(part, int) else part for part in location[1:]]
    return " ".join([head, ", ".join(rest)]).strip()


def _place(location: Location, chosen: tuple[tuple[Axis, AxisValue], ...], single_flow: bool) -> str:
    """As `_section`, but where an axis of the matrix set the value, the axis is named."""
    section = "workload" if location[0] == "flow" else location[0]
    key = location[-1] if len(location) > 1 else None
    for axis, value in chosen:
        if (axis.section, axis.key) == (section, key):
            return f"[matrix] {axis.written}, value {value.written!r}"
    if location[0] == "flow" and single_flow:
        return _section(("workload", *location[2:]))
    return _section(location)
