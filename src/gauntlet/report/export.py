"""Figures as files: SVG and PNG, on white, drawn by the same library as the page, with their data beside
them.
"""

from collections.abc import Sequence
from pathlib import Path

from gauntlet.figures import save
from gauntlet.figures.look import on_paper
from gauntlet.report.figures.figure import Figure


def write(figures: Sequence[Figure], svg_dir: Path | None, png_dir: Path | None) -> None:
    """One SVG and one CSV a figure into `svg_dir`, one PNG a figure into `png_dir`, where given."""
    for folder in (svg_dir, png_dir):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        spec = on_paper(figure.spec)
        if svg_dir is not None:
            (svg_dir / f"{figure.name}.svg").write_text(save.svg(spec))
            (svg_dir / f"{figure.name}.csv").write_text(figure.csv)
        if png_dir is not None:
            (png_dir / f"{figure.name}.png").write_bytes(save.png(spec))
