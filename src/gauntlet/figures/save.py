"""Specifications as pictures: SVG, PNG, PDF, without a browser."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import vl_convert

from gauntlet.errors import UserError
from gauntlet.figures.look import on_paper

PNG_SCALE = 2.0
"""Pixels a CSS pixel: sharp on a slide and in print at half a page."""
_CLIP = re.compile(r"\bclip(\d+)\b")


def svg(spec: Mapping[str, Any]) -> str:
    """The picture as SVG; the same specification gives the same text."""
    drawn = str(vl_convert.vegalite_to_svg(json.dumps(spec)))
    # The library numbers its clip paths on from picture to picture.
    numbers = {given: place for place, given in enumerate(dict.fromkeys(_CLIP.findall(drawn)))}
    return _CLIP.sub(lambda found: f"clip{numbers[found[1]]}", drawn)


def png(spec: Mapping[str, Any]) -> bytes:
    """The picture as PNG."""
    return bytes(vl_convert.svg_to_png(svg(spec), scale=PNG_SCALE))


def pdf(spec: Mapping[str, Any]) -> bytes:
    """The picture as PDF."""
    return bytes(vl_convert.svg_to_pdf(svg(spec)))


WRITERS: Mapping[str, Callable[[Mapping[str, Any]], bytes]] = {
    ".svg": lambda spec: svg(spec).encode(),
    ".png": png,
    ".pdf": pdf,
}
"""By the end of the file's name."""


def target(path: str | Path) -> Path:
    """A file that a picture can be written to. Raises UserError for a name that says nothing of its kind."""
    found = Path(path)
    if found.suffix not in WRITERS:
        raise UserError(f"{found} cannot be drawn: end its name in {', '.join(WRITERS)}.")
    return found


def write(spec: Mapping[str, Any], path: str | Path, *, dark: bool = False) -> Path:
    """Draw a specification on paper of its own into a file, whose name says whether as .svg, .png or .pdf.

    Returns the path. Raises UserError.
    """
    found = target(path)
    try:
        found.write_bytes(WRITERS[found.suffix](on_paper(spec, dark=dark)))
    except OSError as error:
        raise UserError(f"{found} cannot be written: {error.strerror or error}.") from None
    return found
