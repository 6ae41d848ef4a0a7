"""Residual errors for a terminal."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gauntlet.residual.answers import LIMIT, MONITORS_MIN, Answer, Point, method, per_hour
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
                one.code.label, _length(one), f"{point.p:g}", _undetected(point), _share(point.conditional)
            )
    return Group(table, Text(), *_worst(found))


def _worst(found: Sequence[Answer]) -> Iterator[RenderableType]:
    for one in found:
        who = Text.assemble((f"{one.code.label}, {_length(one)}: ", "bold"))
        if one.worst is None:
            yield who.append(
                f"{method(one.code)}; the worst over all bit error probabilities is not looked for."
            )
            continue
        if one.distance:
            many = "pattern" if one.patterns == 1 else "patterns"
            yield who.append(
                f"{one.distance} flipped bits can stay undetected ({one.patterns:,} {many} of so many)."
            )
        else:
            yield who.append(f"{method(one.code)}.")
        verb = "keeps" if one.keeps else "exceeds"
        share = _share(one.worst.conditional)
        rates = ", ".join(f"{number:.1e}" for number in per_hour(one.worst.conditional).values())
        minutes = ", ".join(map(str, MONITORS_MIN))
        yield Text(
            f"  At the worst, with {one.worst.p:.1e} bit errors, {share} of the wrong "
            f"messages pass: {verb} OPC UA Safety's {LIMIT:.0e}.\n"
            f"  With a monitor that lets one in {minutes} min be wrong: at most {rates} undetected an hour."
        )
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
