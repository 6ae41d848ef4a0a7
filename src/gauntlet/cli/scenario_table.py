"""A scenario's summary as tables for the terminal."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rich.table import Table

from gauntlet import units
from gauntlet.metrics.numbers import listed
from gauntlet.scenario.fitted.comparison import FAR

_PARTS = ("min", "mean", "max")
_ROWS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("rate up", "rate_up_bps", units.format_rate),
    ("rate down", "rate_down_bps", units.format_rate),
    ("delay up", "delay_up_s", units.format_time),
    ("delay down", "delay_down_s", units.format_time),
    ("loss up", "loss_up", units.format_fraction),
    ("loss down", "loss_down", units.format_fraction),
)


_PARAMETERS: Mapping[str, Callable[[float], str]] = {
    "bandwidth": units.format_frequency,
    "delay": units.format_time,
    "duration": units.format_time,
    "ground_delay": units.format_time,
    "handover_interval": units.format_time,
    "handover_outage": units.format_time,
    "headway": units.format_time,
    "loss": units.format_fraction,
    "opposite_lag": units.format_time,
    "queue_limit": units.format_size,
    "rate": units.format_rate,
    "rate_down": units.format_rate,
    "rate_up": units.format_rate,
    "stop": units.format_time,
}
"""How a parameter of a scenario is written; those that are not here have no unit."""


def parameters(params: Mapping[str, Any]) -> str:
    """Parameters as they may be typed again after -p; those that are not set are left out."""
    written = (
        (name, _PARAMETERS.get(name, str)(value)) for name, value in params.items() if value is not None
    )
    return ", ".join(f"{name}={value}" for name, value in written)


def all_parameters(params: Mapping[str, Any]) -> str:
    """Every parameter: first those with defaults, then by their names those that are not set."""
    unset = [name for name, value in params.items() if value is None]
    return ", ".join(filter(None, [parameters(params), *unset]))


_COMPARED: Mapping[str, tuple[tuple[float, str, float], ...]] = {
    "rate": ((1e10, "Gbit/s", 1e-9), (1e5, "Mbit/s", 1e-6), (0.0, "kbit/s", 1e-3)),
    "delay": ((10.0, "s", 1.0), (0.0, "ms", 1e3)),
    "loss": ((0.0, "%", 100.0),),
}
"""Units of a comparison, and from which mean on: one in a row, so that its numbers stand beside each other in
80 columns."""
_NUMBER_WIDTH = 5


def comparison(found: Mapping[str, Any]) -> Iterator[Table]:
    """What was measured beside what the fitted model draws (`gauntlet.scenario.fitted.comparison`): below
    each quantity its unit, below `measured` the model. Lag 1 is the correlation of a step with the next.
    """
    table = Table(
        title=f"measured ({found['measured_steps']:,} steps of {_spaced_time(found['step_s'])}) "
        f"and fitted ({found['fitted_steps']:,} drawn), outside of outages",
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
    )
    for heading in ("", ""):
        table.add_column(heading, no_wrap=True)
    for heading in ("mean", "5 %", "25 %", "50 %", "75 %", "95 %", "lag 1", "distance"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, rows in found["quantities"].items():
        mean = max(rows[which]["mean"] for which in ("measured", "fitted"))
        units_of = _COMPARED[name.partition("_")[0]]
        unit, factor = next((unit, factor) for least, unit, factor in units_of if mean >= least)
        for which in ("measured", "fitted"):
            figures = dict(rows[which])
            persistence = figures.pop("step_to_step")
            first = which == "measured"
            table.add_row(
                name.replace("_", " ") if first else unit,
                which if first else rows["model"],
                *(_narrow(factor * value) for value in figures.values()),
                "" if persistence is None else f"{persistence:.3f}",
                "" if first else f"{rows['distance']:.3f}",
            )
    yield table
    table = Table(title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading in ("", "outages", "mean length", "rates up and down correlate"):
        table.add_column(heading)
    for which in ("measured", "fitted"):
        outages = found["outages"][which]
        length_s, together = outages["mean_length_s"], found["correlation_of_rates"][which]
        table.add_row(
            which,
            units.spaced(units.format_fraction(_three_digits(outages["share"]))) + " of the time",
            "" if length_s is None else _spaced_time(length_s),
            "" if together is None else f"{together:.3f}",
        )
    yield table


def apart(found: Mapping[str, Any]) -> str | None:
    """What the model leaves out of the two directions, in a sentence."""
    said = [f"{what} ({value:.2f})" for what, value in found["drawn_apart"].items()]
    if not said:
        return None
    return (
        f"The model draws up and down apart, and does not keep how they went together: correlation of "
        f"{listed(said)}."
    )


def far(found: Mapping[str, Any]) -> str | None:
    """What the model draws unlike the measured link, in a sentence."""
    said = [f"{name.replace('_', ' ')} ({distance:.2f})" for name, distance in found["far"].items()]
    if not said:
        return None
    return (
        f"Far from what was measured, a distance above {FAR:g}: {listed(said)}. Links of this model are not "
        "like the measured one in this, and reports say so; play the measured link beside them."
    )


def _narrow(value: float) -> str:
    """Three digits, or as many as there is room for in a column."""
    texts = (f"{float(f'{value:.{digits}g}'):g}" for digits in (3, 2, 1))
    return next((text for text in texts if len(text) <= _NUMBER_WIDTH), f"{value:.0e}")


def _spaced_time(seconds: float) -> str:
    return units.spaced(units.format_time(_three_digits(seconds)))


def tables(summary: Mapping[str, Any]) -> Iterator[Table]:
    """One table of facts, then one a bearer: least, mean (over time) and most of each quantity."""
    yield _facts(summary)
    for name, figures in summary["bearers"].items():
        table = Table(title=f"bearer {name}", title_justify="left", box=None, padding=(0, 3, 0, 0))
        table.add_column("")
        for heading in ("least", "mean", "most"):
            table.add_column(heading, justify="right")
        for label, key, show in _ROWS:
            low, mean, high = (units.spaced(show(_three_digits(figures[key][part]))) for part in _PARTS)
            table.add_row(label, low, mean, high)
        table.add_row("queue limit", "", "", units.spaced(units.format_size(figures["queue_limit_bytes"])))
        yield table


def _facts(summary: Mapping[str, Any]) -> Table:
    table = Table(
        title=summary["title"], title_justify="left", box=None, show_header=False, padding=(0, 3, 0, 0)
    )
    duration_s = summary["duration_s"]
    table.add_row("duration", "without end" if duration_s is None else _clock(duration_s))
    table.add_row("highest rate", units.spaced(units.format_rate(_three_digits(summary["max_rate_bps"]))))
    line = summary["line"]
    if line is not None:
        cells = ", ".join(f"{count} {area}" for area, count in line["cells_by_area"].items())
        table.add_row("line", f"{line['length_km']:.0f} km, {len(line['stations'])} stations")
        table.add_row("cells", f"{line['cells']} ({cells})")
        table.add_row("top speed", f"{line['top_speed_kmh']:.0f} km/h")
        table.add_row("a train each", units.spaced(units.format_time(line["headway_s"])))
    table.add_row("parameters", parameters(summary["params"]))
    return table


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60} h {minutes % 60} min {rest} s" if minutes >= 60 else f"{minutes} min {rest} s"


def _three_digits(value: float) -> float:
    return float(f"{value:.3g}")
