"""What two results differ in besides their numbers: engine, versions, settings, programs."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from gauntlet.errors import RunError
from gauntlet.results import layout
from gauntlet.results.files import read_json
from gauntlet.results.reader import Results

_ENGINE = {
    "ground": "ground",
    "kernel": "kernel",
    "kernel_sha256": "kernel image",
    "guest_sha256": "player",
    "player_sha256": "player",
}
_SHORT = 12
"""Letters of a hash that are told."""
_ABSENT = "nothing"


def changed(before: Results, after: Results) -> list[str]:
    """A sentence for each thing that differs, from the first to the second: what played the runs, versions of
    libraries, keys of the experiment, seed and repetitions, files and libraries of programs that carry flows.
    """
    one, other = before.manifest, after.manifest
    return [
        *_told("", _named(one.engine, _ENGINE), _named(other.engine, _ENGINE)),
        *_told("version of ", one.versions, other.versions),
        *_told("", {"seed": one.seed, **one.options}, {"seed": other.seed, **other.options}),
        *_told("", _keys(before), _keys(after)),
        *_told("file ", _programs(before, "files"), _programs(after, "files")),
        *_told("library ", _programs(before, "libraries"), _programs(after, "libraries")),
    ]


def _told(what: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    for key in dict.fromkeys([*one, *other]):
        mine, theirs = one.get(key, _ABSENT), other.get(key, _ABSENT)
        if mine != theirs:
            yield f"{what}{key}: {_short(mine)} → {_short(theirs)}"


def _short(value: Any) -> str:
    text = str(value)
    digits = set(text) <= set("0123456789abcdef")
    return text[:_SHORT] if len(text) == 64 and digits else text


def _named(engine: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    return {names.get(key, f"engine setting {key}"): value for key, value in engine.items()}


def _keys(results: Results) -> dict[str, Any]:
    """The keys of an experiment file, each under its whole name; name, title and question say nothing of what
    was played, and seed and repetitions stand in the manifest.
    """
    try:
        read = tomllib.loads(results.experiment)
    except tomllib.TOMLDecodeError:
        return {}
    about = {
        key: value
        for key, value in read.get("experiment", {}).items()
        if key not in ("name", "title", "question", "seed", "repetitions")
    }
    return dict(_flat({**read, "experiment": about}))


def _flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{place}.{key}" if place else key)
    elif isinstance(value, list) and any(isinstance(it, Mapping) for it in value):
        for number, inner in enumerate(value, 1):
            yield from _flat(inner, f"{place} {number}")
    else:
        yield place, value


def _programs(results: Results, part: str) -> dict[str, str]:
    """Hashes of files (by path), or versions of libraries, that the runs' programs are made of."""
    found: dict[str, set[str]] = {}
    for run in results.runs():
        try:
            key = read_json(run.folder / layout.KEY, "the key")
        except RunError:  # a run that failed has none
            continue
        for name, value in key.get(part, {}).items():
            found.setdefault(str(name), set()).add(_short(value))
    return {name: " and ".join(sorted(values)) for name, values in found.items()}
