"""Figures as files: SVG and PNG, on white, drawn by the same library as the page, with their data beside
them.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import vl_convert

from gauntlet.report.figures.figure import Figure

PNG_SCALE = 2.0
"""Pixels a CSS pixel: sharp on a slide and in print at half a page."""


def write_svg(figures: Sequence[Figure], folder: Path) -> None:
    """One SVG and one CSV a figure."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        (folder / f"{figure.name}.svg").write_text(vl_convert.vegalite_to_svg(_on_white(figure)))
        (folder / f"{figure.name}.csv").write_text(figure.csv)


def write_png(figures: Sequence[Figure], folder: Path) -> None:
    """One PNG a figure."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        (folder / f"{figure.name}.png").write_bytes(
            vl_convert.vegalite_to_png(_on_white(figure), scale=PNG_SCALE)
        )


def _on_white(figure: Figure) -> str:
    spec: dict[str, Any] = figure.spec | {"background": "white"}
    return json.dumps(spec)
