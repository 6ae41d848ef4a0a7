"""Specifications as pictures: SVG, PNG, PDF, without a browser."""

import json
import re
from collections.abc import Mapping
from typing import Any

import vl_convert

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
