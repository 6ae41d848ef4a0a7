"""Tables of means: one row a way of doing it, one column a number, beside what a study prints."""

from typing import Any, Self

from pydantic import Field, model_validator

from gauntlet.errors import NotMeasured
from gauntlet.experiment.strict import Strict
from gauntlet.figures.kind import Chosen, Kind, Options, Panel, Source, Table, names_of
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
    two columns named by their heads `ratio`, the first over the second, or `saved`, by which share the first
    is smaller.
    """

    head: str
    kpi: str | None = None
    experiment: str | list[str] | None = None
    of: dict[str, Any] = Field(default_factory=dict)
    printed: list[str] | None = None
    ratio: tuple[str, str] | None = Field(None, strict=False)
    saved: tuple[str, str] | None = Field(None, strict=False)

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if sum(it is not None for it in (self.kpi, self.printed, self.ratio, self.saved)) != 1:
            raise ValueError(f"the column '{self.head}' needs one of kpi, printed, ratio, saved")
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
        for column in self.column:
            for head in (*(column.ratio or ()), *(column.saved or ())):
                if head not in names:
                    raise ValueError(f"the column '{column.head}' names '{head}', which is no column")
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


def _draw(options: TableOptions, source: Source) -> Panel:
    if options.table is not None:
        given = source.own(options.table)
        cells = zip(*([str(cell) for cell in column] for column in given.values()), strict=True)
        return Table(options.caption, tuple(given), tuple(cells))
    rows: list[tuple[str, ...]] = []
    for place, row in enumerate(options.row):
        for heads, of in _each(options, row, source):
            rows.append((*heads, *_cells(options, row, place, of, source)))
    measured = [place for place, column in enumerate(options.column, len(options.heads)) if column.kpi]
    if measured and all(row[place] == MISSING for row in rows for place in measured):
        raise NotMeasured("No run that this table needs is among these results.")
    header = (*options.heads, *(column.head for column in options.column))
    return Table(options.caption, header, tuple(rows))


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


def _cells(options: TableOptions, row: Row, place: int, of: dict[str, Any], source: Source) -> list[str]:
    cells: dict[str, Cell] = {}
    for column in options.column:
        if column.printed is not None:
            cells[column.head] = (column.printed[place], _number(column.printed[place]))
        elif column.kpi is not None:
            experiment = column.experiment or row.experiment or options.experiment or []
            chosen = {**options.of, **of, **column.of}
            asked = Chosen(experiment=experiment, fixed=options.fixed, of=chosen)
            # Of several experiments each may have values of its own.
            there = row.each is None or of[row.each] in source.values(names_of(experiment), row.each)
            found = source.mean(asked, column.kpi) if there else None
            factor = source.kpi(column.kpi).shown_factor
            shown = None if found is None else found.value * factor
            cells[column.head] = (_text(found, factor, options.interval), shown)
    for column in options.column:
        if column.ratio is not None:
            cells[column.head] = (number(_over(cells, column.ratio)), None)
        elif column.saved is not None:
            over = _over(cells, column.saved)
            cells[column.head] = (MISSING if over is None else f"{number(100 * (1 - over), 1)} %", None)
    return [cells[column.head][0] for column in options.column]


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
