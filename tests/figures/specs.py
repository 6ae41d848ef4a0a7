"""What a specification draws: rows, encodings, marks."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import altair as alt

from gauntlet.figures.look import finished


def rows(chart: alt.TopLevelMixin) -> list[dict[str, str]]:
    """The rows of the chart's one table that came as columns."""
    (text,) = (it for it in finished(chart)["datasets"].values() if isinstance(it, str))
    return list(csv.DictReader(io.StringIO(text)))


def parts(spec: Any) -> Iterator[dict[str, Any]]:
    """Every table of keys in a specification."""
    if isinstance(spec, dict):
        yield spec
        for value in spec.values():
            yield from parts(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from parts(value)


def marks(chart: alt.TopLevelMixin, kind: str) -> list[dict[str, Any]]:
    """The layers of one kind of mark, each with what it encodes."""
    return [part for part in parts(finished(chart)) if _mark(part) == kind]


def _mark(part: dict[str, Any]) -> str | None:
    mark = part.get("mark")
    return str(mark["type"]) if isinstance(mark, dict) else mark


def scale(chart: alt.TopLevelMixin, channel: str) -> dict[str, Any]:
    """The first scale of a channel."""
    found = (part[channel] for part in parts(finished(chart)) if isinstance(part.get(channel), dict))
    return next(dict(it["scale"]) for it in found if "scale" in it)
