"""What two results differ in besides their numbers: engine, versions, settings, programs."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gauntlet.errors import RunError
from gauntlet.results import layout
from gauntlet.results.files import read_json
from gauntlet.results.reader import Results, Run

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


_OF_ANY_RUN = ("id", "seed", "link_seed", "start_s", "factors", "labels")
"""What two runs may differ in whatever they play: names, and what chance gives them."""


def between(before: Results, after: Results, pairs: Iterable[tuple[str, str]]) -> list[str]:
    """A sentence for each thing in which the two runs of a pair were to do something else, as their
    specifications and the files of their programs have it: a parameter of a protocol, a command, a build.
    """
    specs = [{run.id: run for run in it.runs()} for it in (before, after)]
    found: dict[str, None] = {}
    for mine, theirs in pairs:
        one, other = specs[0][mine], specs[1][theirs]
        whose = [str(it.spec.get("factors", {}).get("protocol", "")) for it in (one, other)]
        prefix = "" if whose[0] == whose[1] else f"{' → '.join(whose)}, "
        if prefix:
            found[f"protocol: {prefix.removesuffix(', ')}"] = None
        found.update(dict.fromkeys(_told(prefix, _asked(one.spec), _asked(other.spec))))
        for part, word in (("files", "file"), ("libraries", "library")):
            told = _told(f"{prefix}{word} ", _of_program(one, part), _of_program(other, part))
            found.update(dict.fromkeys(told))
    return list(found)


def _asked(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a run was to do, without the names of protocols: those stand in the comparison itself."""
    asked = dict(_flat({key: value for key, value in spec.items() if key not in _OF_ANY_RUN}))
    named = (".protocol", ".external.name")
    return {
        key.removeprefix("flows 1.") if len(spec.get("flows", ())) == 1 else key: value
        for key, value in asked.items()
        if not (key.startswith("flows ") and key.endswith(named))
    }


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
        for name, value in _of_program(run, part).items():
            found.setdefault(name, set()).add(value)
    return {name: " and ".join(sorted(values)) for name, values in found.items()}


def _of_program(run: Run, part: str) -> dict[str, str]:
    try:
        key = read_json(run.folder / layout.KEY, "the key")
    except RunError:  # a run that failed has none
        return {}
    return {str(name): _short(value) for name, value in key.get(part, {}).items()}
