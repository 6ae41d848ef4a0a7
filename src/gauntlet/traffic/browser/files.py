"""What is in the files of a site, so that a browser loads them as their graph has it: each names the files
behind it in the words of its kind, and is filled up to its size.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from gauntlet.experiment.pages import Page, PageObject
from gauntlet.experiment.sites import DOCUMENT

TYPES: Mapping[str, str] = MappingProxyType(
    {
        DOCUMENT: "text/html",
        "style": "text/css",
        "script": "text/javascript",
        "font": "font/woff2",
        "image": "image/svg+xml",
        "data": "application/octet-stream",
    }
)
"""Kind of a file, which its name begins with, and its media type."""

_FILLER = b"\n"
"""HTML, CSS, JavaScript and SVG mean the same with empty lines behind; fonts and data nobody reads."""

_LOADERS = (
    "<script>"
    "function s(u){var e=document.createElement('script');e.src=u;document.head.append(e)}"
    "function i(u){(window.k=window.k||[]).push(new Image());k.at(-1).src=u}"
    "function d(u){fetch(u).then(r=>r.arrayBuffer())}"
    "</script>"
)
"""How scripts ask for scripts, images and data."""


def page(objects: str) -> Page:
    """The files of a flow, from the variable GAUNTLET_OBJECTS."""
    return tuple(
        PageObject(it["object"], it["size_bytes"], it.get("after", 0), it.get("origin", 0))
        for it in json.loads(objects)
    )


def kind(file: PageObject) -> str:
    """What it is. Raises ValueError for a file of a page that is no site."""
    found = file.name.partition("-")[0]
    if found not in TYPES:
        raise ValueError(f"{file.name} is none of {', '.join(TYPES)}: the page is no site")
    return found


def host(origin: int) -> str:
    """The name of an origin, below a domain that nobody can have (RFC 6761)."""
    return f"o{origin}.test"


def url(file: PageObject, port: int) -> str:
    """Where a file is."""
    return f"https://{host(file.origin)}:{port}/{file.name}"


def contents(files: Page, port: int) -> dict[str, bytes]:
    """Each file by its name, as long as the page has it.

    Raises ValueError where a file is too short to name those behind it.
    """
    found = {}
    for place, file in enumerate(files):
        text = _text(files, place, port).encode()
        if len(text) > file.size_bytes:
            raise ValueError(
                f"{file.name} has {file.size_bytes} bytes and takes {len(text)} to name its files"
            )
        found[file.name] = text + _FILLER * (file.size_bytes - len(text))
    return found


def fits(files: Page, port: int = 65_535) -> bool:
    """Whether each file is long enough to name those behind it."""
    try:
        contents(files, port)
    except ValueError:
        return False
    return True


def _text(files: Page, place: int, port: int) -> str:
    named = {later: file for later, file in enumerate(files) if later and file.after == place}
    return _SAYS[kind(files[place])](files, named, port)


def _document(files: Page, named: Mapping[int, PageObject], port: int) -> str:
    shown = (it for it in _shown(files))
    tags = "".join(_TAGS[kind(file)](_short(file, port), place) for place, file in named.items())
    head = '<!doctype html><meta charset="utf-8"><title>-</title><link rel="icon" href="data:,">'
    return f"{head}{_LOADERS}{tags}{''.join(shown)}"


def _shown(files: Page) -> Iterator[str]:
    """Elements that need what style sheets name: a browser asks for it when something is shown with it."""
    for place, file in enumerate(files):
        by = kind(files[file.after])
        if place and kind(file) == "font":
            yield f'<p style="font-family:c{place}">x</p>'
        elif place and kind(file) == "image" and by == "style":
            yield f'<p class="c{place}">x</p>'


_TAGS: Mapping[str, Callable[[str, int], str]] = MappingProxyType(
    {
        "style": lambda address, _: f'<link rel="stylesheet" href="{address}">',
        "script": lambda address, _: f'<script src="{address}" defer></script>',
        "image": lambda address, _: f'<img src="{address}" alt="">',
        "font": lambda address, place: f"<style>{_face(address, place)}</style>",
        "data": lambda address, _: f'<script>d("{address}")</script>',
    }
)
"""How a document names a file of each kind."""


def _style(_: Page, named: Mapping[int, PageObject], port: int) -> str:
    return "".join(
        _face(_short(file, port), place)
        if kind(file) == "font"
        else f".c{place}{{background:url({_short(file, port)})}}"
        for place, file in named.items()
    )


def _script(_: Page, named: Mapping[int, PageObject], port: int) -> str:
    """Calls of a document's loaders, each by the first letter of what it loads."""
    return "".join(f'{kind(file)[0]}("{_short(file, port)}")\n' for file in named.values())


def _face(address: str, place: int) -> str:
    return f"@font-face{{font-family:c{place};src:url({address})}}"


def _short(file: PageObject, port: int) -> str:
    return url(file, port).removeprefix("https:")


_SAYS: Mapping[str, Callable[[Page, Mapping[int, PageObject], int], str]] = MappingProxyType(
    {
        DOCUMENT: _document,
        "style": _style,
        "script": _script,
        "font": lambda *_: "",
        "image": lambda *_: '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>',
        "data": lambda *_: "",
    }
)
"""What a file of each kind says."""
