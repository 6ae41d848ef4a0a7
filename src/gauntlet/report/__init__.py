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
    results_folder: Path, out: Path | None = None, svg_dir: Path | None = None, png_dir: Path | None = None
) -> Path:
    """Write the report of a results folder and return its place (`report.html` in the folder unless `out` is
    given).

    Tables that are missing or older than the runs are made first. With `svg_dir` or `png_dir` every figure is
    written there too. Raises UserError when the folder holds no results, RunError when they are damaged or
    nothing was run yet.
    """
    from gauntlet.report import export, page
    from gauntlet.report.contents import figures
    from gauntlet.results.files import failures_named, write_whole

    evaluation = load(results_folder)
    made = figures(evaluation)
    place = out or results_folder / PAGE
    with failures_named(f"write the report {place}"):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, page.html(evaluation, made).encode())
        export.write(made.all(), svg_dir, png_dir)
    return place


def summary(results_folder: Path) -> dict[str, Any]:
    """The answer as plain data for scripts (JSON): sentences, cells of every KPI, trust, paths."""
    from gauntlet.report.plain import as_data

    return as_data(load(results_folder))


def load(results_folder: Path) -> "Evaluation":
    """The campaign of a results folder, its tables made when they are missing or older than its runs."""
    from gauntlet.report.evaluation import Evaluation

    return Evaluation.load(current(results_folder))
