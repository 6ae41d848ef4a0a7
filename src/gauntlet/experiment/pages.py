"""Web pages as lists of files: two generated ones with published shapes, and the user's own.

docs/formats/page.md describes the recipes, their sources and the file formats.
"""

import csv
import json
import math
import random
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from gauntlet.errors import UserError
from gauntlet.experiment import player
from gauntlet.experiment.strict import Location, Strict, sentence

Http = Literal["1.1-fresh", "1.1", "2", "3", "3-fresh"]
"""Over which connections a page is loaded."""
MOST_CONNECTIONS = 6
"""Connections at a time that a browser keeps to a server with HTTP/1.1, as Chrome and Firefox do."""
LONGEST_NAME = 200
"""Letters of a file's name that are kept; it becomes part of the path that is asked for."""
MOST_ORIGINS = 100
"""Origins of a page. The guest refuses more."""

_QUIC_STACKS = player.stacks_with("http3")
"""Stacks of the guest over which HTTP/3 goes."""
_STREAM_STACKS = player.stacks_with("http")
"""Stacks over which HTTP/1.1 and HTTP/2 go."""
STACKS = _QUIC_STACKS | _STREAM_STACKS
"""Stacks that carry pages."""


@dataclass(frozen=True)
class PageObject:
    """One file of a page."""

    name: str
    size_bytes: int
    after: int = 0
    """The place of the file that names it; of the first, which nothing names, 0."""
    origin: int = 0
    """The number of the origin that it comes from."""

    def planned(self) -> dict[str, str | int]:
        """As the plan has it."""
        graph = {"after": self.after, "origin": self.origin}
        return {
            "object": self.name,
            "size_bytes": self.size_bytes,
            **{key: value for key, value in graph.items() if value},
        }


Page = tuple[PageObject, ...]
"""The files of a page in the order in which they are asked for, each behind the one that names it."""


@dataclass(frozen=True)
class Recipe:
    """A page that is drawn. The constants of `RECIPES` are explained in docs/formats/page.md."""

    index_bytes: int
    fixed_bytes: tuple[int, ...]
    """Large files of a stated size."""
    small: int
    """How many files of 100 to 1,000 bytes there are, log-uniform."""
    others: int
    """How many further files there are; together they make the total."""
    draw: Callable[[random.Random], float]
    """The size of one of these before it is scaled, in bytes."""
    total_bytes: int


def _log_uniform(least: float, most: float) -> Callable[[random.Random], float]:
    return lambda dice: math.exp(dice.uniform(math.log(least), math.log(most)))


def _log_normal(median: float, spread: float, least: float, most: float) -> Callable[[random.Random], float]:
    def draw(dice: random.Random) -> float:
        while not least <= (size := math.exp(dice.gauss(math.log(median), spread))) <= most:
            pass
        return size

    return draw


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "kepler": Recipe(17_000, (125_000,) * 3, 26, 36, _log_uniform(1_000, 50_000), 1_000_000),
        "newspaper": Recipe(580_000, (), 0, 138, _log_normal(10_000, 1.5, 1_000, 400_000), 5_000_000),
    }
)
"""The generated pages by name."""


def generated(name: str) -> Page:
    """A page of `RECIPES`: the same in every experiment."""
    recipe = RECIPES[name]
    dice = random.Random(f"page {name}")
    tiny = _log_uniform(100, 1_000)
    small = [round(tiny(dice)) for _ in range(recipe.small)]
    drawn = [recipe.draw(dice) for _ in range(recipe.others)]
    rest = recipe.total_bytes - recipe.index_bytes - sum(recipe.fixed_bytes) - sum(small)
    others = [round(size * rest / sum(drawn)) for size in drawn]
    others[0] += rest - sum(others)
    sizes = [*recipe.fixed_bytes, *small, *others]
    dice.shuffle(sizes)
    files = [PageObject(f"file-{number:03d}", size) for number, size in enumerate(sizes, start=1)]
    return (PageObject("index.htm", recipe.index_bytes), *files)


def load(name: str, folder: Path) -> Page:
    """The page of this name: a generated one, or a file list in `folder` (TOML, CSV or HAR).

    Raises UserError when there is none, or when it cannot be used.
    """
    if name in RECIPES:
        return generated(name)
    read = _READERS.get(Path(name).suffix.lower())
    if read is None:
        raise UserError(
            f"there is no page '{name}'; choose {' or '.join(RECIPES)}, or a site such as site-12, or give a "
            f"file list ({', '.join(_READERS)})."
        )
    path = folder / name
    try:
        page = read(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise UserError(f"page {path}: there is no such file; give the path of a file list.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"page {path}: the file cannot be read ({error}); give a text in UTF-8.") from None
    except UserError as error:
        raise UserError(f"page {path}: {error}") from None
    if not page:
        raise UserError(f"page {path}: the list is empty; name at least one file.")
    return page


def check_http(http: str, protocol: str, stack: str) -> None:
    """Refuse a version of HTTP that does not go over a protocol (of `STACKS`): UserError says which do."""
    if http.startswith("3") and stack in _STREAM_STACKS:
        raise UserError(
            f'http = "{http}" needs a QUIC protocol (quic-quinn-...), which {protocol} is not; choose one, '
            'or http = "1.1-fresh", "1.1" or "2".'
        )
    if not http.startswith("3") and stack in _QUIC_STACKS:
        raise UserError(
            f'http = "{http}" needs a protocol over TCP, SCTP or TLS, and {protocol} is QUIC; choose '
            'another, or http = "3" or "3-fresh".'
        )


def check_graph(http: str, page: Page) -> None:
    """Refuse files that name each other, or other origins, where a connection takes one request at a time."""
    if http not in ("2", "3") and any(file.after or file.origin for file in page):
        raise UserError(
            f'http = "{http}" loads the files of a page one by one, and those of this page name each other '
            'or come from several origins; choose http = "2" or "3".'
        )


class _Entry(Strict):
    """One file of a list."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    size_bytes: Annotated[int, Field(ge=0)]
    after: str | None = None
    """The file that names it; None: the first."""
    origin: Annotated[int, Field(ge=0, lt=MOST_ORIGINS)] = 0


class _FileList(Strict):
    """A TOML list."""

    object: list[_Entry]


def _place(location: Location) -> str:
    return ", ".join(f"entry {part + 1}" if isinstance(part, int) else f"'{part}'" for part in location)


def _from_toml(text: str) -> Page:
    try:
        entries = _FileList.model_validate(tomllib.loads(text)).object
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"not valid TOML: {error}.") from None
    except ValidationError as error:
        raise UserError(sentence(error, _place)) from None
    places: dict[str, int] = {}
    page = []
    for place, entry in enumerate(entries):
        if entry.after is not None and entry.after not in places:
            raise UserError(
                f"entry {place + 1} ({entry.name}): there is no file '{entry.after}' before it; name one "
                "that stands before it, or leave 'after' out."
            )
        after = 0 if entry.after is None else places[entry.after]
        page.append(PageObject(entry.name, entry.size_bytes, after, entry.origin))
        places.setdefault(entry.name, place)
    return tuple(page)


def _from_csv(text: str) -> Page:
    rows = csv.DictReader(text.splitlines())
    if rows.fieldnames != ["name", "size_bytes"]:
        raise UserError("the first line must be 'name,size_bytes'.")
    page = []
    for number, row in enumerate(rows, start=1):
        try:
            entry = _Entry(name=row["name"], size_bytes=int(row["size_bytes"]))
        except (TypeError, ValueError):
            raise UserError(
                f"entry {number} ({row.get('name')}) is not a file; write its name (at most {LONGEST_NAME} "
                "letters) and its size in bytes."
            ) from None
        page.append(PageObject(entry.name, entry.size_bytes))
    return tuple(page)


def _from_har(text: str) -> Page:
    try:
        entries = json.loads(text)["log"]["entries"]
        found = [(str(entry["request"]["url"]), entry["response"]) for entry in entries]
    except (ValueError, KeyError, TypeError):
        raise UserError("not an HTTP archive (HAR); save one from the network panel of a browser.") from None
    page = []
    for number, (url, response) in enumerate(found, start=1):
        # What was inlined or came over a web socket was not fetched by HTTP.
        if urlsplit(url).scheme not in ("http", "https"):
            continue
        if not response.get("status"):
            raise UserError(
                f"entry {number} ({_short(url)}) was not answered; record the page again, or take it out."
            )
        page.append(PageObject(_name(url), _har_size_bytes(response, f"entry {number} ({_short(url)})")))
    return tuple(page)


def _short(url: str) -> str:
    return url if len(url) <= LONGEST_NAME else f"{url[:LONGEST_NAME]}..."


def _name(url: str) -> str:
    """What a file is called: the last part of its path, or its host's name where there is none."""
    parts = urlsplit(url)
    return (parts.path.rstrip("/").rpartition("/")[2] or parts.hostname or "file")[-LONGEST_NAME:]


def _har_size_bytes(response: Mapping[str, Any], where: str) -> int:
    """What crossed the line of an answer: its body as it was sent, which browsers tell in different ways."""
    content = response.get("content", {})
    sizes = (response.get("bodySize"), response.get("_transferSize"), content.get("size"))
    known = [size for size in sizes if isinstance(size, int) and size >= 0]
    if not known:
        raise UserError(f"{where} has no size; record the page again with an empty cache, or take it out.")
    # Chrome writes 0 for the body of what it counts as transferred.
    return next((size for size in known if size > 0), 0)


_READERS: Mapping[str, Callable[[str], Page]] = MappingProxyType(
    {".toml": _from_toml, ".csv": _from_csv, ".har": _from_har}
)
