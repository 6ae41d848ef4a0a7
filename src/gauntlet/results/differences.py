"""What two experiment files differ in, key by key, for people."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

_SHORT = 12
"""Letters of a hash that are told."""
_ABSENT = "nothing"


def of_files(before: str, after: str) -> list[str]:
    """A sentence for each key of an experiment file, by its whole name, that differs in the other."""
    return list(told("", keys(before), keys(after)))


def told(what: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each key of two mappings that differs: link.queue: nothing → 64kB."""
    for key in dict.fromkeys([*one, *other]):
        mine, theirs = one.get(key, _ABSENT), other.get(key, _ABSENT)
        if mine != theirs:
            yield f"{what}{key}: {short(mine)} → {short(theirs)}"


def short(value: Any) -> str:
    """A value for people: the first letters of a hash, all of anything else."""
    text = str(value)
    digits = set(text) <= set("0123456789abcdef")
    return text[:_SHORT] if len(text) == 64 and digits else text


def keys(experiment: str) -> dict[str, Any]:
    """The keys of an experiment file, each under its whole name; name, title and question say nothing of what
    was played, and seed and repetitions stand in the manifest. None where the text is no such file.
    """
    try:
        read = tomllib.loads(experiment)
    except tomllib.TOMLDecodeError:
        return {}
    about = {
        key: value
        for key, value in read.get("experiment", {}).items()
        if key not in ("name", "title", "question", "seed", "repetitions")
    }
    return dict(flat({**read, "experiment": about}))


def flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Tables and lists of tables as single keys: flow 2.size."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from flat(inner, f"{place}.{key}" if place else key)
    elif isinstance(value, list) and any(isinstance(it, Mapping) for it in value):
        for number, inner in enumerate(value, 1):
            yield from flat(inner, f"{place} {number}")
    else:
        yield place, value
