"""The figures of `benchmarks/run.py` as people read them."""

from collections.abc import Iterable, Mapping
from typing import Any

from speed.host import sentence

_COLUMNS = {
    "virtual_s_per_wall_s": "virtual s / wall s",
    "times_ns3_wall": "times ns-3: wall",
    "times_ns3_cpu": "times ns-3: CPU",
    "peak_bytes": "resident MiB",
}
"""What the tables show of a stack, by its key in the JSON."""


def head(figures: Mapping[str, Any]) -> str:
    """Where and how it is measured."""
    kernel = figures["guest_kernel"]
    return (
        f"{sentence(figures['host'])}; core {figures['core']}, rounds: {figures['rounds']}\n"
        f"guest kernel {kernel['version']} (recipe {kernel['recipe_hash']}, source {kernel['source_hash']})"
    )


def part(part: Mapping[str, Any]) -> str:
    """A part's title and what was measured, after an empty line."""
    title: str = part["title"]
    if "skipped" in part:
        return f"\n{title}: not measured ({part['skipped']})"
    if "stacks" not in part:
        measured = {key: value for key, value in part.items() if isinstance(value, int | float)}
        return f"\n{title}: " + ", ".join(f"{key} {value:.3g}" for key, value in measured.items())
    rows = dict(part["stacks"])
    if len(rows) > 2:
        rows["one after the other"] = part["one_after_the_other"]
    lines = [title, _row("", _COLUMNS.values()), *(_stack(name, figures) for name, figures in rows.items())]
    return "\n" + "\n".join(lines)


def _stack(name: str, figures: Mapping[str, Any]) -> str:
    return _row(name, (_cell(column, figures) for column in _COLUMNS))


def _cell(column: str, figures: Mapping[str, Any]) -> str:
    value = figures.get(column)
    match column:
        case _ if value is None:
            return ""
        case "virtual_s_per_wall_s":
            return f"{value:.0f}"
        case "peak_bytes":
            return f"{value / 2**20:.0f}"
    return f"{value:.2f}"


def _row(name: str, cells: Iterable[str]) -> str:
    return f"  {name:<22}" + "".join(f"{cell:>20}" for cell in cells)
