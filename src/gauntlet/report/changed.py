"""What two results differ in besides their numbers: engine, versions, settings, programs."""

from collections.abc import Iterable, Mapping
from typing import Any

from gauntlet.errors import RunError
from gauntlet.results import layout
from gauntlet.results.differences import flat, keys, short, told
from gauntlet.results.files import read_json
from gauntlet.results.reader import Results, Run

_ENGINE = {
    "ground": "ground",
    "kernel": "kernel",
    "kernel_sha256": "kernel image",
    "guest_sha256": "player",
    "player_sha256": "player",
}


def changed(before: Results, after: Results) -> list[str]:
    """A sentence for each thing that differs, from the first to the second: what played the runs, versions of
    libraries, keys of the experiment, seed and repetitions, files and libraries of programs that carry flows.
    """
    one, other = before.manifest, after.manifest
    return [
        *told("", _named(one.engine, _ENGINE), _named(other.engine, _ENGINE)),
        *told("version of ", one.versions, other.versions),
        *told("", {"seed": one.seed, **one.options}, {"seed": other.seed, **other.options}),
        *told("", keys(before.experiment), keys(after.experiment)),
        *told("file ", _programs(before, "files"), _programs(after, "files")),
        *told("library ", _programs(before, "libraries"), _programs(after, "libraries")),
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
        found.update(dict.fromkeys(told(prefix, _asked(one.spec), _asked(other.spec))))
        for part, word in (("files", "file"), ("libraries", "library")):
            files = told(f"{prefix}{word} ", _of_program(one, part), _of_program(other, part))
            found.update(dict.fromkeys(files))
    return list(found)


def _asked(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a run was to do, without the names of protocols: those stand in the comparison itself."""
    asked = dict(flat({key: value for key, value in spec.items() if key not in _OF_ANY_RUN}))
    named = (".protocol", ".external.name")
    return {
        key.removeprefix("flows 1.") if len(spec.get("flows", ())) == 1 else key: value
        for key, value in asked.items()
        if not (key.startswith("flows ") and key.endswith(named))
    }


def _named(engine: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    return {names.get(key, f"engine setting {key}"): value for key, value in engine.items()}


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
    return {str(name): short(value) for name, value in key.get(part, {}).items()}
