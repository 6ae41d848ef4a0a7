"""What of an experiment a results folder holds already: its runs are found again by their keys.

A folder can be continued by any experiment that still has all of its runs: repetitions may be raised, axes
renamed or put in another order. What was measured is never thrown away: a folder with runs that the
experiment does not have is refused.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gauntlet.errors import RunError, UserError
from gauntlet.results import layout
from gauntlet.results.files import failures_named, json_bytes, read_json, write_whole
from gauntlet.results.manifest import Manifest

_NAMED = 3
"""Differences that an error names; more it counts."""

KEY_FORMAT = {"format": "gauntlet-run-key", "version": 1}


@dataclass(frozen=True)
class There:
    """The runs of a folder as an experiment sees them, by id."""

    present: frozenset[str] = frozenset()
    """There, under their id."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """There under another id: the id that the experiment has -> that of the folder."""
    failed: frozenset[str] = frozenset()
    """What did not come to its end, and is no run of the experiment any more."""
    uncaptured: frozenset[str] = frozenset()
    """There, or there under another id, without its packets, which are wanted."""

    def missing(self, wanted: Mapping[str, str]) -> list[str]:
        """Ids that are wanted and not there as they are wanted, in order."""
        there = (self.present | self.renamed.keys()) - self.uncaptured
        return [run for run in wanted if run not in there]


def runs_there(
    results: Path,
    wanted: Mapping[str, str],
    engine: Mapping[str, str],
    differences: Callable[[], Sequence[str]] = tuple,
    *,
    capture: bool = False,
) -> There:
    """Find the runs that are `wanted` (id -> key) in a folder, which may be absent. `differences` says in
    what the experiment of the folder differs from the one that is to be played, a sentence each; with
    `capture` the packets of runs are wanted too.

    Raises UserError when it holds others, or runs of another engine or of a version that had no keys.
    """
    if not (results / layout.MANIFEST).exists():
        return There()
    manifest = Manifest.read(results)
    manifest.continued_by(manifest.model_copy(update={"engine": dict(engine)}), results)
    there = keys(results)
    present = {run for run, key in there.items() if wanted.get(run) == key}
    elsewhere = {key: run for run, key in sorted(there.items()) if run not in present}
    renamed = {}
    for run, key in wanted.items():
        if run not in present and key in elsewhere:
            renamed[run] = elsewhere.pop(key)
    foreign = sorted(set(there) - present - set(renamed.values()))
    if foreign:
        count = "a run" if len(foreign) == 1 else f"{len(foreign)} runs"
        raise UserError(
            f"{_in_short(differences())}; so {results} holds {count} that this experiment does not have "
            f"({foreign[0]}), or has otherwise. Choose another results folder with --out (what both have is "
            "taken from the cache) or remove that one"
        )
    left = {run for run, _ in layout.run_folders(results)} - set(there) - set(wanted)
    folders = {**{run: run for run in present}, **renamed}
    bare = {
        run
        for run, folder in folders.items()
        if capture and not (layout.run_folder(results, folder) / layout.CAPTURE).exists()
    }
    return There(frozenset(present), renamed, frozenset(left), frozenset(bare))


def _in_short(differences: Sequence[str]) -> str:
    """The first differences, and how many more there are."""
    if not differences:
        return "files or programs that it names have changed"
    more = len(differences) - _NAMED
    return "; ".join([*differences[:_NAMED], *[f"and {more} more"] * (more > 0)])


def keys(results: Path) -> dict[str, str]:
    """The key of each run that came to its end, by id; a key that cannot be read is left out."""
    found = {}
    for run_id, folder in layout.run_folders(results):
        try:
            found[run_id] = str(read_json(folder / layout.KEY, "the key")["key"])
        except (RunError, KeyError):
            continue
    return found


def changed_ns(results: Path) -> int | None:
    """When a run last came to a folder or went; None where there are none."""
    try:
        return layout.runs_folder(results).stat().st_mtime_ns
    except FileNotFoundError:
        return None


def key_file(
    key: str, files: Mapping[str, str], libraries: Mapping[str, str], engine: Mapping[str, str]
) -> dict[str, Any]:
    """The content of `key.json`: a run's key, and what is in it besides the plan."""
    return {
        **KEY_FORMAT,
        "key": key,
        "engine": dict(engine),
        "files": dict(files),
        "libraries": dict(libraries),
    }


def rename(results: Path, renamed: Mapping[str, str]) -> None:
    """Give runs their new ids (new -> old), in the files that say them too."""
    runs = layout.runs_folder(results)
    with failures_named(f"rename runs of {results}"):
        # By way of hidden names, for one's new id may be another's old one.
        for new, old in renamed.items():
            _call(runs / old, new)
            (runs / old).rename(runs / f".{new}.renamed")
        for new in renamed:
            (runs / f".{new}.renamed").rename(runs / new)


def _call(folder: Path, run_id: str) -> None:
    for name, field_name in ((layout.RECORD, "run"), (layout.CERTIFICATE, "run"), (layout.PLAN, "id")):
        content = json.loads((folder / name).read_bytes())
        write_whole(folder / name, json_bytes({**content, field_name: run_id}))


def refresh(results: Path, specs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Write the place of runs in the experiment (`spec.json`, by id) where it changed; returns their ids."""
    changed = []
    for run_id, spec in specs.items():
        file = layout.run_folder(results, run_id) / layout.SPEC
        content = json_bytes(dict(spec))
        if not file.exists() or file.read_bytes() != content:
            write_whole(file, content)
            changed.append(run_id)
    return changed


def forget(results: Path, run_ids: frozenset[str]) -> None:
    """Remove runs that failed and are wanted no more."""
    for run_id in run_ids:
        shutil.rmtree(layout.run_folder(results, run_id), ignore_errors=True)
