"""Experiment files made for tests: one short experiment, of which a test changes what it is about."""

import json
from collections.abc import Mapping, Sequence

Values = Mapping[str, str | int | Sequence[str]]

LOSSES = ("0%", "1%")
GREEDY: Values = {"app": "cbr", "rate": "max", "duration": "10s"}


def paced(duration: str) -> Values:
    """Messages of 1000 bytes at 1 Mbit/s."""
    return {"app": "cbr", "rate": "1Mbit/s", "duration": duration, "packet": "1000B"}


def text(
    name: str,
    *,
    protocols: Sequence[str] = ("tcp-bbr",),
    workload: Values = GREEDY,
    about: Values | None = None,
    scenario: Values | None = None,
    factors: Values | None = None,
) -> str:
    """The text of an experiment file: protocols and losses on a constant link.

    `about`, `scenario` and `factors` are added to their sections, `factors` between protocols and losses.
    """
    sections: dict[str, Values] = {
        "experiment": {"name": name, **(about or {})},
        "scenario": {"name": "constant", **(scenario or {})},
        "matrix": {"protocols": protocols, **(factors or {}), "loss": LOSSES},
        "workload": workload,
    }
    lines = []
    for section, values in sections.items():
        # Strings, numbers and arrays of strings are written in TOML as in JSON.
        lines += [f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"
