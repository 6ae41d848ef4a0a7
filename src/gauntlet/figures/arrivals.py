"""Messages of example runs over time: when each was handed over, when it was received."""

from typing import Any, Self

import altair as alt
from pydantic import Field, model_validator

from gauntlet.figures.kind import Chart, Kind, Options, Panel, Source
from gauntlet.figures.look import Look, legend, multiple_width, small_multiples
from gauntlet.figures.tidy import add, columns_of, data, in_order

SENT, RECEIVED = "handed over", "received"


def arrivals(table: Any, *, look: Look | None = None) -> alt.FacetChart:
    """Draw message numbers over time, one small multiple a `condition`: thin when handed over, thick when
    received.

    Columns: `condition`, `protocol` (the series), `seq` (the message's number), `sent_s`, `received_s`
    (empty: lost). Raises UserError when a column is missing.
    """
    given = columns_of(table, ("condition", "protocol", "seq", "sent_s", "received_s"))
    look = look or Look.of_table(given)
    columns: dict[str, list[Any]] = {key: [] for key in ("condition", "protocol", "dash", "t", "seq")}
    for place, seq in enumerate(given["seq"]):
        for event, at_s in ((SENT, given["sent_s"][place]), (RECEIVED, given["received_s"][place])):
            if at_s not in (None, ""):
                where = (given["condition"][place], given["protocol"][place])
                add(columns, *where, event, round(float(at_s), 4), seq)
    colours = alt.Scale(domain=list(look.names), range=list(look.colours))
    dashes = alt.Scale(domain=[RECEIVED, SENT], range=[[1, 0], [2, 2]])
    lines = (
        alt.Chart()
        .mark_line(strokeWidth=1.6, interpolate="step-after")
        .encode(
            x=alt.X("t:Q", title="time in the run (s)", scale=alt.Scale(zero=False)),
            y=alt.Y("seq:Q", title="message number"),
            color=alt.Color("protocol:N", scale=colours, legend=legend(lines=True)),
            strokeDash=alt.StrokeDash("dash:N", scale=dashes, legend=legend(lines=True)),
        )
    )
    order = in_order(columns["condition"])
    layered = alt.layer(lines, data=data(columns))
    return small_multiples(layered.properties(width=multiple_width(len(order)), height=240), order)


class ArrivalsOptions(Options):
    """Options in figures.toml: example runs, and what their small multiples are called (their protocols
    unless given).
    """

    experiment: str
    runs: list[str] = Field(min_length=1)
    titles: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _a_title_a_run(self) -> Self:
        if self.titles and len(self.titles) != len(self.runs):
            raise ValueError("give as many titles as runs, or none")
        return self

    @property
    def experiments(self) -> tuple[str, ...]:
        return (self.experiment,)


def _draw(options: ArrivalsOptions, source: Source) -> Panel:
    columns = source.messages(options.experiment, options.runs, None)
    titles = dict(zip(options.runs, options.titles, strict=False))
    of_run = zip(columns["run"], columns["protocol"], strict=True)
    columns["condition"] = [titles.get(run, protocol) for run, protocol in of_run]
    return Chart(options.caption, arrivals(columns, look=source.look(in_order(columns["protocol"]))))


KIND = Kind("arrivals", ArrivalsOptions, _draw)
