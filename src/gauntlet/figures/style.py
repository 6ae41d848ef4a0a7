"""How each protocol looks: one colour, one marker and one line style everywhere, in light and in dark."""

import colorsys
import itertools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import MappingProxyType

from gauntlet.experiment.protocols import PROTOCOLS
from gauntlet.figures.palette import PALETTE

_SPARE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#882255", "#117733")
"""For combinations of protocols, which have no colour of their own: Okabe and Ito's palette in another order.
"""

_SPARE_MARKERS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
OF_SUBJECT = ": "
"""Between the name of a subject and a protocol, in a series' key and label."""
_BLACK, _INK_OF_DARK_PAGE = "#000000", "#E6EAEE"
_DARK_PAGE = (0.07, 0.08, 0.10)
_ENOUGH_CONTRAST = 4.5
"""WCAG 2.2, success criterion 1.4.3: contrast of text; lines and markers are held to it too."""


@dataclass(frozen=True)
class Style:
    """One protocol in every table and figure."""

    key: str
    label: str
    colour: str
    marker: str
    dash: tuple[int, ...]
    reliable: bool
    """Whether the transport repeats what is lost."""

    @property
    def dark_colour(self) -> str:
        """The same hue, light enough for a dark page."""
        return lightened(self.colour)


def styles(keys: Iterable[str]) -> list[Style]:
    """Styles of the given protocols: reliable ones first, in the order of the registry; flows beside others
    (`a beside b`) and unknown ones last. Of several subjects (`subject: a`) each protocol looks the same.
    """
    of_subject: dict[str, list[str]] = {}
    for key in sorted(set(keys)):
        subject, between, protocol = key.rpartition(OF_SUBJECT)
        of_subject.setdefault(f"{subject}{between}", []).append(protocol)
    looks = _looks({protocol for protocols in of_subject.values() for protocol in protocols})
    return [
        replace(look, key=f"{subject}{look.key}", label=f"{subject}{look.label}")
        for subject, protocols in of_subject.items()
        for look in looks
        if look.key in protocols
    ]


def apart(found: Iterable[Style]) -> list[Style]:
    """The same with no two in one colour: who comes later gets a spare one, as long as there are any."""
    given = list(found)
    used = {style.colour for style in given}
    drawn = dict.fromkeys([*_SPARE, *(look.colour for look in PALETTE.values())])
    spare = iter([colour for colour in drawn if colour not in used])
    seen: set[str] = set()
    told = []
    for style in given:
        told.append(replace(style, colour=next(spare, style.colour)) if style.colour in seen else style)
        seen.add(style.colour)
    return told


def _looks(wanted: set[str]) -> list[Style]:
    drawn = [PROTOCOLS[key] for key in PROTOCOLS if key in wanted and key in PALETTE]
    known = sorted(drawn, key=lambda it: not it.reliable)
    found = [Style(it.key, it.label, *PALETTE[it.key], it.reliable) for it in known]
    spare = itertools.cycle(colour for colour in _SPARE if colour not in {style.colour for style in found})
    for position, key in enumerate(sorted(wanted - {style.key for style in found})):
        first = key.split()[0]
        own, look = PROTOCOLS.get(first), PALETTE.get(first)
        taken = {style.colour for style in found}
        colour = next(spare) if look is None or look.colour in taken else look.colour
        marker = _SPARE_MARKERS[position % len(_SPARE_MARKERS)]
        dash = (4, 1) if position % 2 else ()
        found.append(Style(key, words(key), colour, marker, dash, own is None or own.reliable))
    return found


_own: ContextVar[Mapping[str, str]] = ContextVar("own stacks", default=MappingProxyType({}))


@contextmanager
def called(labels: Mapping[str, str]) -> Iterator[None]:
    """Call stacks of an experiment's own by its labels (key -> label) in all that is said meanwhile; outside
    of it they read as their keys.
    """
    token = _own.set(labels)
    try:
        yield
    finally:
        _own.reset(token)


def words(key: str) -> str:
    """A series for people, by the words of its key: TCP BBR beside SCTP."""
    own = _own.get()
    if key in own:
        return own[key]
    return " ".join(
        PROTOCOLS[word].label if word in PROTOCOLS else own.get(word, word) for word in key.split()
    )


def lightened(colour: str) -> str:
    """A colour with its lightness raised until it stands out from the dark page; black is ink, and so is as
    light as that of a dark page.
    """
    if colour == _BLACK:
        return _INK_OF_DARK_PAGE
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    while contrast((red, green, blue), _DARK_PAGE) < _ENOUGH_CONTRAST and lightness < 1:
        lightness = min(lightness + 0.02, 1.0)
        red, green, blue = colorsys.hls_to_rgb(hue, lightness, saturation)
    return "#" + "".join(f"{round(part * 255):02X}" for part in (red, green, blue))


def on_dark(colours: Iterable[str]) -> list[str]:
    """Style rules that lighten these colours in the drawn figures of a dark page."""
    return [
        f'.chart svg [{part}="{colour}"] {{ {part}: {lightened(colour)}; }}'
        for colour in sorted(set(colours))
        for part in ("stroke", "fill")
    ]


def contrast(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """Contrast ratio of two sRGB colours as WCAG 2.2 defines it, from 1 to 21."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: tuple[float, float, float]) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
