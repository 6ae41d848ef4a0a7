"""The panels of a scenario figure, one function each; all share the x axis of a `View`."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from gauntlet.scenario.plot_style import Style
from gauntlet.scenario.plot_view import Array, View

LABEL_ROOM = 0.024
"""Least distance between station names, as a share of the axis."""


def ribbon(ax: Axes, view: View, style: Style) -> None:
    """Area types, cells and stations above the other panels."""
    assert view.line is not None
    ax.set_ylim(0, 1)
    ax.axis("off")
    for area in view.line["areas"]:
        seen = _visible(view, area)
        if seen:
            ax.broken_barh([(seen[0], seen[1] - seen[0])], (0.0, 0.5), color=style.area(area["type"]), lw=0)
    for cell in view.line["cells"]:
        x = view.x_of(_passing_s(view, cell["km"]), cell["km"])
        if view.x_range[0] <= x <= view.x_range[1]:
            ax.plot([x], [0.78], marker="v", ms=3.2, color=style.faint, mec="none", clip_on=False)
    for station in _legible(view):
        x = view.x_of(station["t_s"], station["km"])
        ax.plot([x, x], [0.0, 1.05], color=style.ink, lw=0.7, clip_on=False)
        weight = "bold" if station["stop_s"] else "normal"
        ax.text(
            x,
            1.12,
            station["name"],
            rotation=38,
            ha="left",
            va="bottom",
            fontsize=8,
            weight=weight,
            clip_on=False,
        )
    _area_key(ax, view, style)


def _area_key(ax: Axes, view: View, style: Style) -> None:
    for index, area in enumerate(dict.fromkeys(area["type"] for area in view.line["areas"])):  # type: ignore[index]
        y = 0.60 - 0.45 * index
        ax.text(1.012, y, "\u25a0", transform=ax.transAxes, color=style.area(area), va="center", fontsize=9)
        ax.text(1.030, y, area, transform=ax.transAxes, va="center", fontsize=8)
    ax.text(1.012, 1.05, "\u25bc cell", transform=ax.transAxes, color=style.faint, va="center", fontsize=8)


def capacity(ax: Axes, view: View, style: Style) -> None:
    """Rate of the link; on a line also what other trains in the cell take away."""
    up, down = view.rows["rate_up_bps"] / 1e6, view.rows["rate_down_bps"] / 1e6
    sharers = view.rows["sharers"]
    ax.set_ylabel("Capacity\nMbit/s")
    if np.isnan(sharers).any() or not np.array_equal(up, down):
        _both_ways(ax, view, style, up, down)
        return
    ax.stairs(up, view.edges, color=style.capacity, lw=1.1)
    ax.stairs(up, view.edges, color=style.capacity, alpha=0.22, lw=0, fill=True)
    alone = np.where(sharers > 1, up * sharers, np.nan)
    ax.stairs(alone, view.edges, baseline=up, color=style.shared, alpha=0.75, lw=0, fill=True)
    ax.set_ylim(0, None)
    _note(ax, 0.85, "this train", style.capacity)
    _note(ax, 0.62, "lost to\nothers in\nthe cell", style.shared)


def delay(ax: Axes, view: View, style: Style) -> None:
    """One-way delay of the bearer in both directions."""
    _both_ways(ax, view, style, view.rows["delay_up_s"] * 1e3, view.rows["delay_down_s"] * 1e3)
    ax.set_ylabel("Delay\nms, one way")


def loss(ax: Axes, view: View, style: Style) -> None:
    """Packet loss in both directions."""
    _both_ways(ax, view, style, view.rows["loss_up"] * 100, view.rows["loss_down"] * 100)
    ax.set_ylabel("Loss\n%")


def sharers(ax: Axes, view: View, style: Style) -> None:
    """Trains in the cell, the reference train among them."""
    count = view.rows["sharers"]
    ax.stairs(count, view.edges, baseline=1, color=style.shared, lw=0, fill=True, alpha=0.85)
    ax.stairs(np.minimum(count, 1), view.edges, color=style.capacity, lw=0, fill=True, alpha=0.3)
    top = int(np.nanmax(count))
    ax.set_ylim(0, top + 0.4)
    ax.set_yticks(range(1, top + 1))
    ax.set_ylabel("Trains\nin cell")


def speed(ax: Axes, view: View, style: Style) -> None:
    """Speed of the reference train."""
    assert view.line is not None
    journey = view.line["journey"]
    x = [view.x_of(t_s, km) for t_s, km in zip(journey["t_s"], journey["km"], strict=True)]
    ax.plot(x, journey["speed_kmh"], color=style.speed, lw=1.2)
    ax.fill_between(x, journey["speed_kmh"], color=style.speed, alpha=0.15, lw=0)
    ax.set_ylim(0, None)
    ax.set_ylabel("Speed\nkm/h")


def trains(ax: Axes, view: View, style: Style) -> None:
    """Position over time of the reference train and all others (as D3.4 Figures 7 to 9)."""
    assert view.line is not None
    for index, cell in enumerate(view.line["cells"]):
        if index % 2 == 0:
            ax.axhspan(cell["from_km"], cell["to_km"], color=style.cell_band, lw=0, zorder=0)
    for train in view.line["trains"]:
        color = style.outbound if train["outbound"] else style.inbound
        ax.plot(np.array(train["t_s"]) / view.seconds_per_unit, train["km"], color=color, lw=0.8, alpha=0.8)
    journey = view.line["journey"]
    ax.plot(np.array(journey["t_s"]) / view.seconds_per_unit, journey["km"], color=style.reference, lw=2.2)
    inside = [view.begin_s <= t_s <= view.end_s for t_s in journey["t_s"]]
    visible = np.array(journey["km"])[inside] if any(inside) else np.array([0.0, view.line["length_km"]])
    whole = view.end_s - view.begin_s > 0.9 * journey["t_s"][-1]
    margin = 0.0 if whole else max(0.6 * (visible.max() - visible.min()), 0.03 * view.line["length_km"])
    low, high = visible.min() - margin, visible.max() + margin
    ax.set_ylim(max(low, 0.0), min(high, view.line["length_km"]))
    ax.grid(False)
    ax.set_ylabel("Position, km")
    _note(ax, 0.92, "this train", style.reference)
    _note(ax, 0.80, "same way", style.outbound)
    _note(ax, 0.68, "other way", style.inbound)
    _note(ax, 0.50, "bands: cells", style.faint)


def bands(ax: Axes, view: View, style: Style) -> None:
    """Every other cell as a band behind a panel."""
    for index, cell in enumerate(view.line["cells"] if view.line else []):
        seen = _visible(view, cell)
        if seen and index % 2 == 0:
            ax.axvspan(*seen, color=style.cell_band, lw=0, zorder=0)


def _visible(view: View, stretch: dict[str, Any]) -> tuple[float, float] | None:
    return view.inside(
        view.x_of(stretch["from_s"], stretch["from_km"]), view.x_of(stretch["to_s"], stretch["to_km"])
    )


def _passing_s(view: View, km: float) -> float:
    assert view.line is not None
    journey = view.line["journey"]
    return float(np.interp(km, journey["km"], journey["t_s"]))


def _priority(station: dict[str, Any]) -> tuple[bool, float]:
    return (not station["end"], -station["stop_s"])


def longest_name(view: View) -> int:
    """Letters of the longest station name in the ribbon."""
    return max((len(station["name"]) for station in _legible(view)), default=0)


def _legible(view: View) -> list[dict[str, Any]]:
    """Stations whose names fit, ends and stops before others."""
    assert view.line is not None
    low, high = view.x_range
    chosen: list[dict[str, Any]] = []
    for station in sorted(_with_ends(view), key=_priority):
        x = view.x_of(station["t_s"], station["km"])
        room = LABEL_ROOM * (high - low)
        # Instants are rounded for figures, so the last station may seem to lie just beyond the end.
        if low <= x <= high + 0.001 * (high - low) and all(
            abs(x - view.x_of(o["t_s"], o["km"])) >= room for o in chosen
        ):
            chosen.append(station)
    return chosen


def _with_ends(view: View) -> list[dict[str, Any]]:
    assert view.line is not None
    stations = view.line["stations"]
    return [{**s, "end": s is stations[0] or s is stations[-1]} for s in stations]


def _both_ways(ax: Axes, view: View, style: Style, up: Array, down: Array) -> None:
    """One line for each direction, or one for both where they are the same."""
    if np.array_equal(up, down):
        ax.stairs(up, view.edges, color=style.up, lw=1.1, baseline=None)
        _note(ax, 0.8, "both ways", style.up)
    else:
        ax.stairs(down, view.edges, color=style.down, lw=0.9, baseline=None)
        ax.stairs(up, view.edges, color=style.up, lw=0.9, baseline=None)
        notes = [("up", style.up), ("down", style.down)]
        # The names stand as the lines do: the higher one on top.
        higher, lower = notes if up.mean() >= down.mean() else notes[::-1]
        _note(ax, 0.8, *higher)
        _note(ax, 0.45, *lower)
    ax.set_ylim(0, 1.1 * max(up.max(), down.max()) or 1.0)


def _note(ax: Axes, y: float, text: str, color: str) -> None:
    """A legend entry beside the panel."""
    ax.text(1.012, y, text, transform=ax.transAxes, color=color, va="top", fontsize=8, linespacing=1.05)
