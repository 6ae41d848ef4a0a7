"""How results are shown: one HTML page, a table for the terminal, JSON for scripts, figures as files.

>>> from pathlib import Path
>>> from gauntlet import report
>>> report.build(Path("results"))  # doctest: +SKIP
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gauntlet.metrics.tables import current

if TYPE_CHECKING:
    from gauntlet.report.evaluation import Evaluation

PAGE = "report.html"
"""Name of the report in a results folder."""


def build(
    results_folder: Path,
    out: Path | None = None,
    svg_dir: Path | None = None,
    png_dir: Path | None = None,
    *,
    classes: Path | None = None,
) -> Path:
    """Write the report of a results folder and return its place (`report.html` in the folder unless `out` is
    given).

    Tables that are missing or older than the runs are made first. `classes` is a file of classes of service
    that the experiment is held against before its own and ours (docs/formats/classes.md). With `svg_dir` or
    `png_dir` every figure is written there too. Raises UserError when the folder holds no results or classes
    are wrong, RunError when results are damaged or nothing was run yet.
    """
    from gauntlet.figures.style import called
    from gauntlet.report import export, page, use
    from gauntlet.report.contents import figures
    from gauntlet.results.files import failures_named, write_whole

    evaluation = load(results_folder)
    place = out or results_folder / PAGE
    with called(evaluation.labels):
        told = use.advice(evaluation, classes)
        made = figures(evaluation)
        text = page.html(evaluation, made, told)
    with failures_named(f"write the report {place}"):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, text.encode())
        export.write(made.all(), svg_dir, png_dir)
    return place


def summary(results_folder: Path, classes: Path | None = None) -> dict[str, Any]:
    """The answer as plain data for scripts (JSON): what to use, sentences, cells of every KPI, trust, paths.
    `classes` as of `build`.
    """
    from gauntlet.figures.style import called
    from gauntlet.report import use
    from gauntlet.report.plain import as_data

    evaluation = load(results_folder)
    with called(evaluation.labels):
        return as_data(evaluation, use.advice(evaluation, classes))


def nothing_came(results_folder: Path) -> str:
    """Why no run of a results folder gave a number, in one sentence; empty where one did."""
    from gauntlet.metrics import flow_rows

    return flow_rows.nothing_came(current(results_folder).table("flows"))


def load(results_folder: Path) -> "Evaluation":
    """The campaign of a results folder, its tables made when they are missing or older than its runs."""
    from gauntlet.report.evaluation import Evaluation

    return Evaluation.load(current(results_folder))
