"""The conditions of an experiment: its factors beside the protocol and the repetition, and how they read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet import units

NOT_CONDITIONS = ("protocol", "repetition")

_SHARES = ("loss", "loss_up", "loss_down", "duplicate", "corrupt")
"""Factors that are fractions and are shown in per cent."""

_UNITS: tuple[tuple[str, str], ...] = (
    ("_s", "s"),
    ("_bps", "bit/s"),
    ("_hz", "Hz"),
    ("_bytes", "B"),
    ("_kmh", "km/h"),
    ("_km", "km"),
    ("_segments", "segments"),
)

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


def factors_of(specs: Sequence[Mapping[str, Any]]) -> tuple[list[Factor], dict[str, str]]:
    """The factors that vary, and those that do not as {words: label}.

    `specs` are RunSpecs as JSON. The order of the factors is that in which the specifications name them,
    which is the order of the experiment file.
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
        factor = factor_of(name, labels)
        if len(labels) > 1:
            varying.append(factor)
        else:
            constant[factor.words] = next(iter(labels.values()))
    return varying, constant


def factor_of(name: str, labels: dict[Any, str]) -> Factor:
    """A factor by its name; `labels` are its values and how they read."""
    labels = {value: readable(name, value, label) for value, label in labels.items()}
    values = tuple(labels)
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if numeric:
        values = tuple(sorted(values))
    suffix, unit = next(((end, unit) for end, unit in _UNITS if name.endswith(end)), ("", ""))
    words = name.removesuffix(suffix).replace("_", " ").replace(".", " ")
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


def readable(name: str, value: Any, label: str) -> str:
    """How a factor's value reads: a size in the unit, decimal or binary, in which it has the fewest digits
    (2,097,152 bytes are 2 MiB, 512,000 are 512 kB), whatever results of an earlier version call it.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return units.spaced(units.format_size(value)) if name.endswith("_bytes") and number else label


def _size_unit(values: Sequence[Any]) -> tuple[str, float]:
    """The unit of an axis of sizes: that of the largest as it reads, so that its ticks are round numbers;
    bytes where that reads with two decimals or more, as lengths of messages do.
    """
    shown, _, unit = readable("_bytes", max(values), "").rpartition(" ")
    if len(shown.partition(".")[2]) > 1:
        unit = "B"
    return unit, 1 / units.size_bytes(f"1{unit}")
