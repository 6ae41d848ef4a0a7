"""One-way delay of each kept message of example runs."""

from collections.abc import Sequence

from pydantic import Field

from gauntlet.figures.curves import Drawn, curves
from gauntlet.figures.kind import Chart, Kind, Options, Panel, Source
from gauntlet.figures.tidy import Quantity, in_order


class DelaysOptions(Options):
    """Options in figures.toml: example runs, or with `most` the first so many of them that were played; how
    their messages are `drawn`; `first` leaves out all but so many at the beginning; `log` is for a
    logarithmic axis. With `facts` each run has a small multiple, named by these factors and numbers of its
    flow; `upright` is one at which an upright line stands.
    """

    experiment: str
    runs: list[str] = Field(min_length=1)
    most: int | None = Field(None, ge=1)
    drawn: Drawn = "line"
    first: int | None = Field(None, ge=1)
    log: bool = False
    facts: list[str] = Field(default_factory=list)
    upright: str | None = None

    @property
    def experiments(self) -> tuple[str, ...]:
        return (self.experiment,)


def _draw(options: DelaysOptions, source: Source) -> Panel:
    given = source.messages(options.experiment, options.runs, options.most)
    arrived = [
        place
        for place, (received_s, seq, every) in enumerate(
            zip(given["received_s"], given["seq"], given["every"], strict=True)
        )
        if received_s is not None and (options.first is None or seq <= options.first * every)
    ]
    columns = {
        "protocol": [given["protocol"][n] for n in arrived],
        "x": [given["seq"][n] for n in arrived],
        "y": [1e3 * (given["received_s"][n] - given["sent_s"][n]) for n in arrived],
    }
    if options.facts:
        flows = {run: source.flow(options.experiment, run) for run in options.runs if run in given["run"]}
        names = {run: _name(options, source, run) for run in flows}
        columns["condition"] = [names[given["run"][n]] for n in arrived]
        if options.upright:
            columns["upright"] = [flows[given["run"][n]][options.upright] for n in arrived]
    look = source.look(in_order(columns["protocol"]))
    x, y = Quantity("packet"), Quantity("one-way delay", "ms")
    chart = curves(columns, x, y, look=look, drawn=options.drawn, log_y=options.log)
    return Chart(options.caption + _thinned(given["every"]), chart)


def _thinned(every: Sequence[int]) -> str:
    """What the caption says of packets that are left out."""
    least, most = min(every), max(every)
    if most == 1:
        return ""
    return f" One packet in {most if least == most else f'{least} to {most}'} is drawn."


def _name(options: DelaysOptions, source: Source, run: str) -> str:
    """The facts of a run: repetition 4, packet loss 71 %."""
    flow = source.flow(options.experiment, run)
    words = []
    for fact in options.facts:
        value = flow[fact]
        if isinstance(value, float):
            kpi = source.kpi(fact)
            unit = f" {kpi.shown_unit}" if kpi.shown_unit else ""
            words.append(f"{kpi.label.lower()} {value * kpi.shown_factor:.0f}{unit}")
        else:
            words.append(f"{fact} {value}")
    return ", ".join(words)


KIND = Kind("delays", DelaysOptions, _draw)
