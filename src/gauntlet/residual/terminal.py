"""Residual errors for a terminal."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gauntlet.residual.answers import LIMIT, MONITORS_MIN, Answer, Point, method
from gauntlet.residual.codes import CODES


def codes() -> RenderableType:
    """Every code that can be asked for."""
    table = _table("code", "what it is", "bits", "used by")
    for it in CODES.values():
        table.add_row(it.key, it.label, str(it.bits), it.used)
    return table


def answers(found: Sequence[Answer]) -> RenderableType:
    """What is undetected at each bit error probability, then the worst and the limit."""
    table = _table("code", "length", "bit errors", "undetected", "of the wrong ones")
    for one in found:
        for point in one.points:
            table.add_row(
                one.code.label, _length(one), f"{point.p:.1e}", _undetected(point), _share(point.conditional)
            )
    return Group(table, Text(), *_worst(found))


def _worst(found: Sequence[Answer]) -> Iterator[RenderableType]:
    known = [(it, it.worst) for it in found if it.worst is not None]
    if known:
        table = _table(
            "code", "length", "fewest flips", "patterns", "worst share", "at bit errors", f"{LIMIT:.0e}"
        )
        for one, worst in known:
            flips = ("–", "") if one.distance is None else (str(one.distance), f"{one.patterns:,}")
            keeps = "kept" if one.keeps else "exceeded"
            share = _share(worst.conditional)
            table.add_row(one.code.label, _length(one), *flips, share, f"{worst.p:.1e}", keeps)
        yield table
        per_hour = [f"{60 / it:g}" for it in MONITORS_MIN]
        yield Text(
            "\nFewest flips: the least number of flipped bits that can pass, and how many patterns of so "
            "many do. Worst share: of the wrong messages, over all bit error probabilities; the limit is "
            f"OPC UA Safety's. A monitor that lets one message in {', '.join(map(str, MONITORS_MIN))} min "
            f"be wrong leaves {', '.join(per_hour)} times the worst share undetected an hour at most, if all "
            "errors are of this channel.",
            style="dim",
        )
    for code in {it.code.key: it.code for it in found if it.worst is None}.values():
        yield Text(f"{code.label}: {method(code)}; the worst is not looked for.", style="dim")
    yield Text("No safety integrity level follows from a code alone, and none is claimed.", style="dim")


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading)
    return table


def _length(one: Answer) -> str:
    return f"{one.bits // 8} B"


def _undetected(point: Point) -> str:
    if point.low is None or point.high is None:
        return _share(point.undetected)
    if point.low <= 0:
        return f"{_share(point.undetected)} (too rare to be drawn)"
    return f"{_share(point.undetected)} [{_share(point.low)} to {_share(point.high)}]"


def _share(value: float) -> str:
    return f"{value:.2e}" if value else "0"
