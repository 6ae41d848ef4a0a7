"""Tables of means: one row a way of doing it, one column a number, beside what a study prints."""

from typing import Any, Self

from pydantic import Field, model_validator

from gauntlet.errors import NotMeasured
from gauntlet.experiment.strict import Strict
from gauntlet.figures.kind import Chosen, Kind, Options, Panel, Source, Table, names_of, repetitions
from gauntlet.figures.tidy import add
from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.numbers import MISSING, interval_text, mean_text, number


class Row(Strict):
    """One row, or with `each` (a factor) one row for every one of its `values` (all of them unless given).

    `heads` are its first cells; of `each` the value's name, after `words`.
    """

    heads: list[str] = Field(default_factory=list)
    each: str | None = None
    values: list[Any] | None = None
    words: str = ""
    experiment: str | list[str] | None = None
    of: dict[str, Any] = Field(default_factory=dict)


class Column(Strict):
    """One column: `kpi` of the flows that row and column choose together; or `printed`, a text a row; or from
    two columns named by their heads `ratio`, the first over the second, `saved`, by which share the first is
    smaller, or `paired`, the ratio in each repetition on average, of two columns of one `kpi`.
    """

    head: str
    kpi: str | None = None
    experiment: str | list[str] | None = None
    of: dict[str, Any] = Field(default_factory=dict)
    printed: list[str] | None = None
    ratio: tuple[str, str] | None = Field(None, strict=False)
    saved: tuple[str, str] | None = Field(None, strict=False)
    paired: tuple[str, str] | None = Field(None, strict=False)

    @property
    def named(self) -> tuple[str, ...]:
        """The heads of the columns that it is made from."""
        return self.ratio or self.saved or self.paired or ()

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = (self.kpi, self.printed, self.ratio, self.saved, self.paired)
        if sum(it is not None for it in given) != 1:
            raise ValueError(f"the column '{self.head}' needs one of kpi, printed, ratio, saved, paired")
        return self


class TableOptions(Options):
    """Options in figures.toml: `heads` of the first columns, `row` and `column` tables; or `table`, the name
    of a whole table in the study's plugin.py, whose columns are shown as they are. `interval = false` leaves
    the intervals out.
    """

    heads: list[str] = Field(default_factory=list)
    row: list[Row] = Field(default_factory=list)
    column: list[Column] = Field(default_factory=list)
    experiment: str | list[str] | None = None
    fixed: dict[str, dict[str, Any]] = Field(default_factory=dict)
    of: dict[str, Any] = Field(default_factory=dict)
    interval: bool = True
    table: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.table is not None:
            return self
        if not self.heads or not self.row or not self.column:
            raise ValueError("a table needs heads, row and column, or the name of a table of the plugin")
        names = [column.head for column in self.column]
        kpis = {column.head: column.kpi for column in self.column}
        for column in self.column:
            for head in column.named:
                if head not in names:
                    raise ValueError(f"the column '{column.head}' names '{head}', which is no column")
            paired = {kpis[head] for head in column.paired or ()}
            if len(paired) > 1 or None in paired:
                raise ValueError(f"the column '{column.head}' pairs columns that have not one kpi")
            if column.printed is not None and len(column.printed) != len(self.row):
                raise ValueError(
                    f"the column '{column.head}' prints {len(column.printed)} values for {len(self.row)} rows"
                )
        if len(set(names)) < len(names):
            raise ValueError("two columns have the same head; name each differently")
        return self

    @property
    def experiments(self) -> tuple[str, ...]:
        measured = [column for column in self.column if column.kpi is not None]
        found = [
            names_of(column.experiment or row.experiment or self.experiment)
            for row in self.row
            for column in measured
        ]
        return tuple(dict.fromkeys(name for names in found for name in names))


Cell = tuple[str, float | None]
"""A cell as shown, and its number for ratios."""
_NONE: Cell = (MISSING, None)


def _draw(options: TableOptions, source: Source) -> Panel:
    if options.table is not None:
        given = source.own(options.table)
        cells = zip(*([str(cell) for cell in column] for column in given.values()), strict=True)
        return Table(options.caption, tuple(given), tuple(cells))
    rows: list[tuple[str, ...]] = []
    counts: dict[str, list[Any]] = {"protocol": [], "dash": [], "n": []}
    for place, row in enumerate(options.row):
        for heads, of in _each(options, row, source):
            shown, repeated = _cells(options, row, place, of, source)
            rows.append((*heads, *shown))
            for n in repeated:
                add(counts, ", ".join(heads), "", n)
    measured = [place for place, column in enumerate(options.column, len(options.heads)) if column.kpi]
    if measured and all(row[place] == MISSING for row in rows for place in measured):
        raise NotMeasured("No run that this table needs is among these results.")
    header = (*options.heads, *(column.head for column in options.column))
    caption = f"{options.caption} {repetitions(counts)}." if counts["n"] else options.caption
    return Table(caption, header, tuple(rows))


def _each(options: TableOptions, row: Row, source: Source) -> list[tuple[list[str], dict[str, Any]]]:
    """The heads and the selection of every row that one `row` stands for."""
    if row.each is None:
        return [(row.heads, row.of)]
    experiments = names_of(row.experiment or options.experiment)
    values = source.values(experiments, row.each) if row.values is None else row.values
    found = []
    for value in values:
        word = source.word(experiments, row.each, value)
        found.append(([f"{row.words} {word}".strip()], {**row.of, row.each: value}))
    return found


def _cells(
    options: TableOptions, row: Row, place: int, of: dict[str, Any], source: Source
) -> tuple[list[str], list[int]]:
    """The cells of a row, and how many repetitions its means have."""
    cells: dict[str, Cell] = {}
    counts: list[int] = []
    chosen_by: dict[str, tuple[Chosen, str]] = {}
    for column in options.column:
        if column.printed is not None:
            cells[column.head] = (column.printed[place], _number(column.printed[place]))
        elif column.kpi is not None:
            experiment = column.experiment or row.experiment or options.experiment or []
            chosen = {**options.of, **of, **column.of}
            asked = Chosen(experiment=experiment, fixed=options.fixed, of=chosen)
            chosen_by[column.head] = asked, column.kpi
            # Of several experiments each may have values of its own.
            there = row.each is None or of[row.each] in source.values(names_of(experiment), row.each)
            cells[column.head], n = _measured(asked, column.kpi, source, options) if there else (_NONE, 0)
            counts += [n] if n else []
    for column in options.column:
        if column.ratio is not None:
            cells[column.head] = (number(_over(cells, column.ratio)), None)
        elif column.saved is not None:
            over = _over(cells, column.saved)
            cells[column.head] = (MISSING if over is None else f"{number(100 * (1 - over), 1)} %", None)
        elif column.paired is not None:
            (above, kpi), (below, _) = (chosen_by[head] for head in column.paired)
            both = None not in (cells[head][1] for head in column.paired)
            found = source.ratio(above, below, kpi) if both else None
            cells[column.head] = (_text(found, 1.0, options.interval), None)
    return [cells[column.head][0] for column in options.column], counts


def _measured(asked: Chosen, kpi: str, source: Source, options: TableOptions) -> tuple[Cell, int]:
    """The cell of a quantity and how many repetitions it rests on: the mean; of a time until something is
    over that was not over in every flow how many came to their end, and by when half had. That is no number
    for ratios: times up to a limit are none of what did not end.
    """
    of = source.kpi(kpi)
    measured = source.measured(asked, kpi)
    found, part = measured.mean, measured.partly
    n = 0 if found is None else found.n
    if part is not None:
        half = "" if part.median is None else f", median {number(part.median * of.shown_factor)}"
        return (f"{part.ended} of {part.of} {of.over}{half}", None), n
    shown = None if found is None else found.value * of.shown_factor
    return (_text(found, of.shown_factor, options.interval), shown), n


def _over(cells: dict[str, Cell], of: tuple[str, str]) -> float | None:
    one, other = (cells[head][1] for head in of)
    return None if one is None or not other else one / other


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _text(found: Mean | None, factor: float, with_interval: bool) -> str:
    """The mean with its interval in the unit in which its quantity is shown; a dash for none."""
    if found is None:
        return MISSING
    interval = interval_text(found, factor) if with_interval else ""
    return mean_text(found, factor) + (f" [{interval}]" if interval else "")


KIND = Kind("table", TableOptions, _draw)
