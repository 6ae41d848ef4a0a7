"""Throughput of example runs over time, from the messages that are kept of them."""

from typing import Any

from pydantic import Field

from gauntlet.figures.curves import curves
from gauntlet.figures.kind import Chart, Kind, Options, Panel, Source
from gauntlet.figures.tidy import Quantity, add, in_order


class RatesOptions(Options):
    """Options in figures.toml: example runs, as many of them as were played; whole windows of `window_s`
    until `until_s`; the application's bytes of a message.
    """

    experiment: str
    runs: list[str] = Field(min_length=1)
    window_s: float = Field(gt=0)
    until_s: float = Field(gt=0)
    message_bytes: int = Field(gt=0)

    @property
    def experiments(self) -> tuple[str, ...]:
        return (self.experiment,)


def rates(
    messages: dict[str, list[Any]], *, window_s: float, until_s: float, message_bytes: int
) -> dict[str, list[Any]]:
    """Rate at which messages arrive: `protocol`, `x` (s, where a window begins), `y` (Mbit/s).

    `messages` has `run`, `protocol`, `received_s` and `every`.
    """
    windows = int(until_s / window_s)
    counts: dict[tuple[str, str], list[float]] = {}
    names = ("run", "protocol", "received_s", "every")
    for run, protocol, received_s, every in zip(*(messages[name] for name in names), strict=True):
        of_run = counts.setdefault((run, protocol), [0.0] * windows)
        if received_s is not None and received_s < windows * window_s:
            of_run[int(received_s / window_s)] += every
    columns: dict[str, list[Any]] = {"protocol": [], "x": [], "y": []}
    for (_, protocol), of_run in counts.items():
        for place, count in enumerate([*of_run, of_run[-1]]):
            add(columns, protocol, place * window_s, count * 8 * message_bytes / window_s / 1e6)
    return columns


def _draw(options: RatesOptions, source: Source) -> Panel:
    messages = source.messages(options.experiment, options.runs, len(options.runs))
    columns = rates(
        messages,
        window_s=options.window_s,
        until_s=options.until_s,
        message_bytes=options.message_bytes,
    )
    x, y = Quantity("time in the run", "s"), Quantity("throughput", "Mbit/s")
    chart = curves(columns, x, y, look=source.look(in_order(columns["protocol"])), drawn="steps")
    return Chart(options.caption, chart)


KIND = Kind("rates", RatesOptions, _draw)
