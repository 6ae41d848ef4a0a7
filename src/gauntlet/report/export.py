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


def write(figures: Sequence[Figure], svg_dir: Path | None, png_dir: Path | None) -> None:
    """One SVG and one CSV a figure into `svg_dir`, one PNG a figure into `png_dir`, where given."""
    for folder in (svg_dir, png_dir):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    if svg_dir is None and png_dir is None:
        return
    for figure in figures:
        spec: dict[str, Any] = figure.spec | {"background": "white"}
        svg = vl_convert.vegalite_to_svg(json.dumps(spec))
        if svg_dir is not None:
            (svg_dir / f"{figure.name}.svg").write_text(svg)
            (svg_dir / f"{figure.name}.csv").write_text(figure.csv)
        if png_dir is not None:
            (png_dir / f"{figure.name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=PNG_SCALE))
