"""The conditions of an experiment: its factors beside the protocol and the repetition, and how they read."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from gauntlet import units
from gauntlet.errors import UserError
from gauntlet.report.channel import way_of

NOT_CONDITIONS = ("protocol", "repetition")

_SHARES = ("loss", "loss_up", "loss_down", "duplicate", "corrupt")
"""Factors that are fractions and are shown in per cent."""

_OF_ONE_WAY = ("loss", "burst_loss")
"""Factors that the direction of a link's losses is about."""

_SYSCTL = "sysctl"
"""The table of an experiment file whose keys are settings of the kernel."""

_NETWORK = "network"
"""The table of a network of one's own, whose keys may be those of a link: west-mid.queue."""

_SPANS = re.compile(r"\b(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)(ms|s|min|h)\b")
"""From when to when, as an outage is written: 0.5-3.5s."""

_UNITS: tuple[tuple[str, str], ...] = (
    ("_s", "s"),
    ("_bps", "bit/s"),
    ("_hz", "Hz"),
    ("_bytes", "B"),
    ("_kmh", "km/h"),
    ("_km", "km"),
    ("_segments", "segments"),
)

_ENDS = {"none": 0, "off": 0, "max": 2}
"""Words beside quantities: what comes before all of them, and what behind."""

_SIZES = (units.time_s, units.size_bytes, units.rate_bps, units.fraction, units.frequency_hz)

Condition = tuple[Any, ...]
"""One value of each factor, in the order of the factors."""


@dataclass(frozen=True)
class Factor:
    """One factor that the experiment varies."""

    name: str
    words: str
    """What people call it, without a unit: channel delay."""
    unit: str
    """Of `shown`; empty for names."""
    values: tuple[Any, ...]
    labels: Mapping[Any, str]
    scale: float = 1.0

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers that can stand on an axis."""
        return all(isinstance(value, int | float) for value in self.values)

    def shown(self, value: float) -> float:
        """A value in the unit shown."""
        return value * self.scale

    def label(self, value: Any) -> str:
        """A value for people, with its unit."""
        return self.labels.get(value, str(value))


def factors_of(
    specs: Sequence[Mapping[str, Any]], written: Mapping[str, Sequence[Any]] = MappingProxyType({})
) -> tuple[list[Factor], dict[str, str]]:
    """The factors that vary, and those that do not as {words: label}.

    `specs` are RunSpecs as JSON. The order of the factors is that in which the specifications name them,
    which is the order of the experiment file; `written` has the values of factors in the file's order.
    """
    names = list(dict.fromkeys(name for spec in specs for name in spec.get("factors", {})))
    varying, constant = [], {}
    for name in names:
        if name in NOT_CONDITIONS:
            continue
        labels: dict[Any, str] = {}
        for spec in specs:
            value = spec.get("factors", {}).get(name)
            labels.setdefault(value, spec.get("labels", {}).get(name) or str(value))
        first = [value for value in written.get(name, ()) if value in labels]
        labels = {value: labels[value] for value in dict.fromkeys([*first, *labels])}
        factor = factor_of(name, labels)
        if name in _OF_ONE_WAY and "loss_direction" not in names:
            factor = replace(factor, words=f"{factor.words} {_way(specs)}".rstrip())
        if len(labels) > 1:
            varying.append(factor)
        else:
            constant[factor.words] = next(iter(labels.values()))
    return varying, constant


def _way(specs: Sequence[Mapping[str, Any]]) -> str:
    """The one direction in which the links of all runs lose packets; empty for both."""
    ways = {way_of(spec.get("link") or {}) for spec in specs}
    return ways.pop() if len(ways) == 1 else ""


def factor_of(name: str, labels: dict[Any, str]) -> Factor:
    """A factor by its name; `labels` are its values and how they read."""
    labels = {value: readable(name, value, label) for value, label in labels.items()}
    values = tuple(labels)
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    values = tuple(sorted(values)) if numeric else _by_size(values, labels)
    suffix, unit = next(((end, unit) for end, unit in _UNITS if name.endswith(end)), ("", ""))
    words = _called(name.removesuffix(suffix))
    scale = 1.0
    if numeric and name.rpartition(".")[2] in _SHARES:
        unit, scale = "%", 100.0
    elif numeric and unit == "s" and max(values) < 1:
        unit, scale = "ms", 1e3
    elif numeric and unit == "bit/s":
        unit, scale = "Mbit/s", 1e-6
    elif numeric and unit == "Hz":
        unit, scale = "MHz", 1e-6
    elif numeric and unit == "B":
        unit, scale = _size_unit(values)
    return Factor(name, words, unit if numeric else "", values, labels, scale)


def _by_size(values: tuple[Any, ...], labels: Mapping[Any, str]) -> tuple[Any, ...]:
    """Quantities that are written as text in the order of their size; anything else as the file has it."""
    sized = [value for value in values if labels[value] not in _ENDS]
    for read in _SIZES:
        try:
            sizes = {value: float(read(labels[value])) for value in sized}
        except UserError:
            continue
        places = {value: (_ENDS.get(labels[value], 1), sizes.get(value, 0.0)) for value in values}
        return tuple(sorted(values, key=lambda value: places[value]))
    return values


def _called(name: str) -> str:
    """A factor's name for people: that of a sysctl is the kernel's own, that of a link of one's own
    network has the link in it, any other is its last part, for the table of the file in which it stands tells
    nothing more.
    """
    table, _, key = name.partition(".")
    if table == _SYSCTL and key:
        return f"{_SYSCTL} {key}"
    if table == _NETWORK and key:
        return key.replace(".", " ").replace("_", " ")
    return name.rpartition(".")[2].replace("_", " ")


def assigned(words: str, label: str) -> str:
    """A factor with its value: channel delay 25 ms; sysctl net.ipv4.tcp_sack = 0."""
    return f"{words} = {label}" if words.startswith(f"{_SYSCTL} ") else f"{words} {label}"


def readable(name: str, value: Any, label: str) -> str:
    """How a factor's value reads: a size in the unit, decimal or binary, in which it has the fewest digits
    (2,097,152 bytes are 2 MiB, 512,000 are 512 kB), a share in per cent, a span of time with a blank before
    its unit, whatever results of an earlier version call it.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        if name.endswith("_bytes"):
            return units.spaced(units.format_size(value))
        return f"{100 * value:g} %" if name.rpartition(".")[2] in _SHARES else label
    return _SPANS.sub(r"\1 to \2 \3", label)


_SMALLER = {"MiB": "KiB", "KiB": "B"}


def _size_unit(values: Sequence[Any]) -> tuple[str, float]:
    """The unit of an axis of sizes: that of the largest as it reads, so that its ticks are round numbers;
    bytes where that reads with two decimals or more, as lengths of messages do. Of KiB and MiB there are
    whole ones only: a smaller unit where one of the sizes has none.
    """
    shown, _, unit = readable("_bytes", max(values), "").rpartition(" ")
    if len(shown.partition(".")[2]) > 1:
        unit = "B"
    while unit in _SMALLER and any(value % units.size_bytes(f"1{unit}") for value in values):
        unit = _SMALLER[unit]
    return unit, 1 / units.size_bytes(f"1{unit}")
