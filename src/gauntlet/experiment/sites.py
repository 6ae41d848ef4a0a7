"""Web sites by number: each a page whose files name each other, drawn once, and what a visit finds of it.

docs/formats/page.md says what the numbers below rest on.
"""

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from gauntlet.experiment.pages import Page, PageObject

_NAME = re.compile(r"site-(0|[1-9]\d{0,5})")

DOCUMENT = "document"


@dataclass(frozen=True)
class Kind:
    """What files of a kind are like. Numbers and sizes are log-normal."""

    count: float
    """The median of how many there are."""
    count_spread: float
    size_bytes: float
    """The median."""
    size_spread: float
    named_by: tuple[str, ...] = ()
    """Kinds that name it, besides the document."""
    deep: float = 0.0
    """The share that is named by one of these, if there is one before it."""
    foreign: float = 0.0
    """The share from another origin than the document's."""
    changing: float = 0.0
    """The share that is not the same at every visit."""


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "style": Kind(3, 0.5, 12_000, 1.0, foreign=0.2),
        "script": Kind(12, 0.5, 15_000, 1.0, ("script",), deep=0.35, foreign=0.5, changing=0.1),
        "font": Kind(2, 0.5, 30_000, 0.4, ("style",), deep=1.0, foreign=0.4),
        "image": Kind(9, 0.7, 25_000, 1.2, ("style", "script"), deep=0.3, foreign=0.3, changing=0.3),
        "data": Kind(4, 0.6, 4_000, 1.0, ("script",), deep=1.0, foreign=0.4, changing=1.0),
    }
)
"""Files other than the document, by kind, in the order in which a page names them."""

DOCUMENT_BYTES, DOCUMENT_SPREAD = 18_000, 0.7
LEAST_BYTES, MOST_BYTES = 200, 500_000
MOST_OF_A_KIND = 60
MOST_FOREIGN_ORIGINS = 5

SESSION_SPREAD, VISIT_SPREAD = 0.3, 0.15
"""Of the logarithm of a size that changes: from session to session, and between visits of one."""
DOCUMENT_CHANGE = 0.1
"""The share of these that the document's own size has."""
ABSENT = 0.2
"""How often a file that changes is not there."""


@dataclass(frozen=True)
class Resource:
    """One file of a site."""

    kind: str
    size_bytes: float
    """Its median over visits."""
    after: int
    """The place of the file that names it; 0: the document."""
    origin: int
    change: float
    """The share of `SESSION_SPREAD` and `VISIT_SPREAD` that its size has; 0: it never changes."""


def number(page: str) -> int | None:
    """The number of the site that a page's name means; None: it means no site."""
    found = _NAME.fullmatch(page)
    return None if found is None else int(found[1])


@lru_cache(maxsize=1024)
def resources(site: int) -> tuple[Resource, ...]:
    """The files of a site, the document first, each behind the one that names it: the same in every
    experiment.
    """
    dice = random.Random(f"site {site}")
    drawn = [Resource(DOCUMENT, _size(dice, DOCUMENT_BYTES, DOCUMENT_SPREAD), 0, 0, DOCUMENT_CHANGE)]
    foreign = dice.randint(1, MOST_FOREIGN_ORIGINS)
    for name, kind in KINDS.items():
        for _ in range(min(MOST_OF_A_KIND, round(_log_normal(dice, kind.count, kind.count_spread)))):
            naming = [place for place, it in enumerate(drawn) if it.kind in kind.named_by]
            after = dice.choice(naming) if naming and dice.random() < kind.deep else 0
            origin = dice.randint(1, foreign) if dice.random() < kind.foreign else 0
            change = 1.0 if dice.random() < kind.changing else 0.0
            drawn.append(
                Resource(name, _size(dice, kind.size_bytes, kind.size_spread), after, origin, change)
            )
    return tuple(drawn)


def usual(site: int) -> Page:
    """The page with all files and their median sizes."""
    found = resources(site)
    return _page(found, {place: it.size_bytes for place, it in enumerate(found)})


def visit(site: int, session: int, place: int) -> Page:
    """What a visit finds with a cold cache; `session` seeds what its visits share, `place` tells them apart.

    Files that change have a size of the session, and around it one of the visit; some are not there, and
    then what they name is not either.
    """
    of_session = random.Random(f"session {session} of site {site}")
    of_visit = random.Random(f"visit {place} in session {session} of site {site}")
    sizes: dict[int, float] = {}
    for index, it in enumerate(resources(site)):
        # All dice are thrown whatever comes of them: one file that is not there changes no other.
        shift = SESSION_SPREAD * of_session.gauss() + VISIT_SPREAD * of_visit.gauss()
        absent = of_visit.random() < ABSENT and it.change == 1.0
        if not absent and (index == 0 or it.after in sizes):
            sizes[index] = it.size_bytes * math.exp(it.change * shift)
    return _page(resources(site), sizes)


def _page(found: Sequence[Resource], sizes: Mapping[int, float]) -> Page:
    """The files that have a size, with places as they are without the others."""
    places = {index: place for place, index in enumerate(sizes)}
    return tuple(
        PageObject(
            f"{found[index].kind}-{index}",
            max(LEAST_BYTES, round(size)),
            places[found[index].after],
            found[index].origin,
        )
        for index, size in sizes.items()
    )


def _log_normal(dice: random.Random, median: float, spread: float) -> float:
    return math.exp(dice.gauss(math.log(median), spread))


def _size(dice: random.Random, median: float, spread: float) -> float:
    return min(MOST_BYTES, max(LEAST_BYTES, _log_normal(dice, median, spread)))
