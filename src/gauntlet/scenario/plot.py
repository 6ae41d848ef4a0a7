"""Draws a scenario: the link as a strip along the journey, and where the trains are meanwhile."""

from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.style import context

from gauntlet.errors import UserError
from gauntlet.scenario import plot_panels as panels
from gauntlet.scenario.model import Scenario
from gauntlet.scenario.plot_style import DARK, LIGHT, Style
from gauntlet.scenario.plot_view import Axis, View, view

FORMATS = (".svg", ".png", ".pdf")
WIDTH_INCH = 11.0
NAME_INCH_PER_LETTER = 0.040
"""Height that a letter of a slanting station name takes."""

Panel = tuple[Callable[[Axes, View, Style], None], float]
"""A panel and its height in inches."""


def plot(
    scenario: Scenario,
    path: str | Path,
    start_s: float | None = None,
    duration_s: float | None = None,
    *,
    dark: bool = False,
    axis: Axis = "time",
    bearer: str | None = None,
) -> Path:
    """Draw the scenario, or the stretch of `duration_s` from `start_s`, along time or (`axis="km"`) the line.

    The path's name says whether as .svg, .png or .pdf. Returns the path. Raises `UserError`.
    """
    target = Path(path)
    if target.suffix not in FORMATS:
        raise UserError(f"{target} cannot be drawn: end its name in {', '.join(FORMATS)}.")
    style = DARK if dark else LIGHT
    shown = view(scenario, start_s, duration_s, axis, bearer)
    with context(["default", style.rc()]):
        figure = _figure(shown, style)
        try:
            figure.savefig(target, dpi=150, metadata={"Date": None} if target.suffix == ".svg" else None)
        except OSError as error:
            raise UserError(f"{target} cannot be written: {error.strerror or error}.") from None
    return target


def _panels(shown: View) -> list[Panel]:
    chosen: list[Panel] = [(panels.capacity, 1.9), (panels.delay, 1.0)]
    if shown.rows["loss_up"].any() or shown.rows["loss_down"].any():
        chosen.append((panels.loss, 0.7))
    if shown.line is None:
        return chosen
    chosen = [(panels.ribbon, 0.30), *chosen, (panels.sharers, 0.6), (panels.speed, 0.8)]
    return [*chosen, (panels.trains, 2.9)] if shown.axis == "time" else chosen


def _figure(shown: View, style: Style) -> Figure:
    chosen = _panels(shown)
    top_inch = 1.1 + NAME_INCH_PER_LETTER * panels.longest_name(shown) if shown.line else 0.85
    gap_inch, bottom_inch = 0.16, 0.55
    height_inch = top_inch + bottom_inch + sum(height for _, height in chosen) + gap_inch * (len(chosen) - 1)
    figure = Figure(figsize=(WIDTH_INCH, height_inch))
    figure.text(0.075, 1 - 0.30 / height_inch, shown.title, fontsize=13, weight="bold", va="center")
    figure.text(0.075, 1 - 0.57 / height_inch, shown.subtitle, fontsize=9, color=style.faint, va="center")
    upper_inch = height_inch - top_inch
    for index, (draw, height) in enumerate(chosen):
        rect = (0.075, (upper_inch - height) / height_inch, 0.825, height / height_inch)
        ax = figure.add_axes(rect)
        ax.set_xlim(*shown.x_range)
        if draw not in (panels.ribbon, panels.trains):
            panels.bands(ax, shown, style)
        draw(ax, shown, style)
        ax.yaxis.set_label_coords(-0.048, 0.5)
        if index == len(chosen) - 1:
            ax.set_xlabel(shown.x_label)
        else:
            ax.tick_params(axis="x", labelbottom=False, length=0)
        upper_inch -= height + gap_inch
    return figure
