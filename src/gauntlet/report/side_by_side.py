"""A comparison of two results on a terminal."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gauntlet.metrics.compare import too_few
from gauntlet.metrics.ecdf import ALPHA
from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.numbers import MISSING, counted, interval_text, mean_text, number
from gauntlet.report.compared import Compared, Line, Side, ratio_digits

SHOWN_CHANGES = 8
"""Differences that are named; the data has all of them."""

_STYLE = {"better": "bold green", "worse": "bold red"}


def side_by_side(found: Compared, changes: Sequence[str], names: tuple[str, str]) -> RenderableType:
    """The sentence, what the two results (`names`) differ in, and the lines."""
    parts: list[RenderableType] = [Text(found.in_words, style="bold")]
    parts += [_whole(f"{letter}: {name}") for letter, name in zip("AB", names, strict=True)]
    parts += [Text(""), _whole(_changes(changes))]
    parts.append(_table(found.lines))
    parts.append(Text(_legend(found), style="dim"))
    parts += [Text(sentence, style="yellow") for sentence in left_out(found)]
    return Group(*parts)


def _whole(text: str) -> Text:
    """Lines with paths in them, which are never cut nor broken."""
    return Text(text, no_wrap=True, overflow="ignore")


def left_out(found: Compared) -> list[str]:
    """What is not compared, a sentence each."""
    said = [
        f"{counted(count, 'trusted run')} of {letter} {'has' if count == 1 else 'have'} no counterpart in "
        "the other."
        for letter, count in zip("AB", found.unpaired, strict=True)
        if count
    ]
    if found.other_draws:
        said.append(f"{counted(found.other_draws, 'pair')} did not meet the same draws, and take no part.")
    return said


def _changes(changes: Sequence[str]) -> str:
    if not changes:
        return "What differs: nothing that the results know of."
    more = len(changes) - SHOWN_CHANGES
    lines = [f"  {it}" for it in changes[:SHOWN_CHANGES]]
    lines += [f"  and {more} more (--json has them)"] if more > 0 else []
    return "\n".join(["What differs, A → B:", *lines])


def _table(lines: Sequence[Line]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False)
    for head in ("", ""):
        table.add_column(head)
    for head in ("A", "B", "B / A", "pairs"):
        table.add_column(head, justify="right")
    table.add_column("B is")
    for line in lines:
        one, other = line.protocol
        name = one if one == other else f"{one} → {other}"
        kpi = " in ".join(filter(None, (line.kpi.label, line.kpi.shown_unit)))
        table.add_row(
            Text(f"{line.subject}: {name}" if line.subject else name),
            Text(f"{line.condition}\n{kpi}"),
            _side(line, line.before),
            _side(line, line.after),
            _ratio(line),
            str(line.pairs),
            Text(line.word or MISSING, style=_STYLE.get(line.word, "")),
        )
    return table


def _side(line: Line, side: Side) -> str:
    factor = line.kpi.shown_factor
    done = f"{side.completed} of {side.flows}\n" if side.completed < side.flows else ""
    if side.mean is None:
        return f"{done}none"
    least = "≥ " if side.limited else ""
    return f"{done}{least}{_with_interval(side.mean, factor)}"


def _ratio(line: Line) -> str:
    it = line.ratio
    if it is None:
        return MISSING
    digits = ratio_digits(it)
    value = number(it.value, digits)
    if it.low is None or it.high is None or it.low == it.high:
        return value
    return f"{value}\n[{number(it.low, digits)} to {number(it.high, digits)}]"


def _with_interval(mean: Mean, factor: float) -> str:
    interval = interval_text(mean, factor)
    return f"{mean_text(mean, factor)}\n[{interval}]" if interval else mean_text(mean, factor)


def _legend(found: Compared) -> str:
    limited = any(line.before.limited or line.after.limited for line in found.lines)
    alike = any(line.word == "equal" for line in found.lines)
    equal = " Equal: they differ by less than matters." if alike else ""
    few = [line.pairs for line in found.lines if not line.word]
    nothing = f" {MISSING}: {too_few(min(few), 'pair')}." if few else ""
    least = " ≥: some did not end and count with their limit." if limited else ""
    return (
        "[ ] 95 % interval. Paired by run; better and worse are beyond chance "
        f"({100 * ALPHA:g} % for all lines together).{equal}{nothing}{least}"
    )
