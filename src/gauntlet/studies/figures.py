"""The figures of a study: figures.toml, strictly checked. docs/formats/figures.md is the reference."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from gauntlet.errors import UserError
from gauntlet.experiment.strict import Strict
from gauntlet.experiment.tomlfile import checked, toml
from gauntlet.figures.kind import Kind, Options, Panel
from gauntlet.figures.registry import KINDS
from gauntlet.studies.model import Figure, Printed, Study
from gauntlet.studies.repeat import repeated
from gauntlet.studies.source import SummarySource
from gauntlet.studies.summary import Summary

FIGURES = "figures.toml"
"""Name of the file in the study's folder."""
_TOP = ("words", "figure")


class _Printed(Strict):
    what: str = Field(min_length=1)
    value: str = Field(min_length=1)
    where: str = ""


class _Figure(Strict):
    """One [[figure]]."""

    key: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]*$")
    title: str = Field(min_length=1)
    caption: str = Field(min_length=1)
    beyond: bool = False
    experiments: list[str] = Field(default_factory=list)
    printed: list[_Printed] = Field(default_factory=list)
    panel: list[dict[str, Any]] = Field(min_length=1)

    @field_validator("title", "caption")
    @classmethod
    def _one_line(cls, text: str) -> str:
        return " ".join(text.split())


def load_figures(study: Study) -> tuple[Figure, ...]:
    """The figures of a study's folder: its own by number, then its tables, then what is beyond it. They are
    drawn with the study's measures, advice and plugin.

    Raises UserError with the file, the figure, the key and what would be right.
    """
    path = study.home / FIGURES
    raw = _read(path)
    words = raw.get("words", {})
    given = raw.get("figure")
    if not isinstance(words, dict):
        raise UserError(f"{path}: [words] is not a table of names; write [words] and name = value below it.")
    if not isinstance(given, list) or not given:
        raise UserError(f"{path}: there is no figure; add [[figure]] tables.")
    figures: list[Figure] = []
    for place, entry in enumerate(given, 1):
        where = f"{path}: {_named(entry, place)}"
        for one in repeated([entry], repeated(words, {}, f"{path}: [words]"), where):
            figures.append(_figure(f"{path}: {_named(one, place)}", one, study))
    keys = [figure.key for figure in figures]
    for key in keys:
        if keys.count(key) > 1:
            raise UserError(f"{path}: the key '{key}' stands twice; keys are unique.")
    return tuple(sorted(figures, key=_place))


def _read(path: Path) -> dict[str, Any]:
    raw = toml(path, "figures")
    for key in raw:
        if key not in _TOP:
            raise UserError(f"{path}: unknown key '{key}'; figures.toml has [words] and [[figure]] tables.")
    return raw


def _named(entry: Any, place: int) -> str:
    key = entry.get("key") if isinstance(entry, dict) else None
    return f"figure '{key}'" if isinstance(key, str) else f"figure number {place}"


def _figure(where: str, given: Any, study: Study) -> Figure:
    read = checked(_Figure, given, where)
    panels = [_panel(f"{where}, panel {place}", it) for place, it in enumerate(read.panel, 1)]
    named = [name for _, options in panels for name in options.experiments]
    return Figure(
        key=read.key,
        title=read.title,
        caption=read.caption,
        experiments=tuple(read.experiments or dict.fromkeys(named)),
        draw=partial(_draw, panels, study),
        printed=tuple(Printed(it.what, it.value, it.where) for it in read.printed),
        beyond=read.beyond,
    )


def _panel(where: str, given: dict[str, Any]) -> tuple[Kind, Options]:
    kind = KINDS.get(str(given.get("kind")))
    if kind is None:
        known = ", ".join(KINDS)
        said = f"'{given['kind']}' is no kind of chart" if "kind" in given else "the key 'kind' is missing"
        raise UserError(f"{where}: {said}; kinds are {known}.")
    return kind, checked(kind.options, given, where)


def _draw(panels: Sequence[tuple[Kind, Options]], study: Study, summary: Summary) -> Sequence[Panel]:
    source = SummarySource(study, summary)
    return [kind.draw(options, source) for kind, options in panels]


def _place(figure: Figure) -> tuple[bool, bool, str, int]:
    """The study's figures by number, chapter by chapter, then its tables, then what it has not."""
    if figure.beyond:
        return True, False, "", 0
    kind, _, number = figure.key.rpartition("-")
    chapter, _, place = number.rpartition(".")
    return False, kind == "table", chapter, int(place) if place.isdigit() else 0
