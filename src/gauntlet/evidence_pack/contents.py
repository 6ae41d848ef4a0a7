"""What a pack says, made from results: by the builder from those that it packs, by the verifier from those
that it unpacked, so that both can be held against each other.
"""

import inspect
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from gauntlet import __version__, defences, evidence, experiment, metrics, report, scenario
from gauntlet.engine.hashes import sha256_of_files
from gauntlet.evidence_pack import layout
from gauntlet.evidence_pack.claims import Claims
from gauntlet.results.files import json_bytes
from gauntlet.results.reader import Results, Run

FORMAT = {"format": "gauntlet-evidence", "version": 1}
_ROOMS = (defences, evidence, experiment, metrics, scenario)
"""Whose code a pack's words, verdicts and planned runs follow from."""


@cache
def made_with() -> dict[str, str]:
    """What decides what a pack says besides the results: of the same one all of it has to be equal, of
    another one words may differ.
    """
    folders = [Path(__file__).parent, *(Path(inspect.getfile(room)).parent for room in _ROOMS)]
    sources = [
        path
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".py", ".toml", ".json")
    ]
    templates = Path(str(files(report))) / "templates"
    styles = [templates / name for name in ("base.html.j2", "evidence.html.j2", "evidence.css", "report.css")]
    return {"gauntlet": __version__, "code": sha256_of_files([*sources, *styles])}


class Gathered:
    """What is said of an experiment, gathered run by run, in whatever order they come: of a run that was
    added nothing is kept but what its claims say.
    """

    def __init__(self, name: str) -> None:
        self._claims = Claims(name)
        self._verdicts: Counter[str] = Counter()
        self._undecided: Counter[str] = Counter()
        self._players: set[str] = set()
        self._libraries: dict[str, tuple[str, str]] = {}
        """By name: the run whose word counts, the last one by its id, and the version."""

    def add(self, run: Run) -> None:
        """Take in a run. Raises as `Claims.add`."""
        self._verdicts[run.verdict or "failed"] += 1
        if run.ok:
            guest = run.record.get("guest", {})
            self._players.add(str(guest.get("gauntlet", "not recorded")))
            self._undecided.update(dict.fromkeys(run.certificate.get("undecided", []), 1))
            for name, version in guest.get("libraries", {}).items():
                self._libraries[name] = max(self._libraries.get(name, ("", "")), (run.id, version))
        self._claims.add(run)

    def about(self, results: Results, planned: int | None = None) -> dict[str, Any]:
        """The experiment's entry in the pack's manifest, but for what was left out; `planned`: how many runs
        its file gives, where somebody counted.
        """
        manifest = results.manifest
        return {
            "title": manifest.title,
            "runs": self._verdicts.total(),
            "runs_planned": manifest.runs_planned if planned is None else planned,
            "certificates": dict(sorted(self._verdicts.items())),
            "undecided": dict(sorted(self._undecided.items())),
            "seed": manifest.seed,
            "options": manifest.options,
            "experiment_sha256": manifest.experiment_sha256,
            "in_real_time": manifest.in_real_time,
            "engine": manifest.engine,
            "player": sorted(self._players),
            "player_libraries": {name: version for name, (_, version) in sorted(self._libraries.items())},
            "versions": manifest.versions,
        }

    def claims(self, results: Results) -> Iterator[dict[str, Any]]:
        """As `Claims.made`."""
        return self._claims.made(results)


def results_manifest(results: Results) -> bytes:
    """The manifest of results as a pack has it: command, host and sessions differ between equal campaigns, so
    they stay outside.
    """
    kept = results.manifest.model_copy(update={"command": [], "host": {}, "sessions": []})
    return json_bytes(kept.model_dump())


def left_out(file: str, count: int, count_bytes: int) -> dict[str, Any]:
    """What a pack's manifest says of a file of runs that is not in it."""
    return {"file": file, "files": count, "bytes": count_bytes, "why": layout.why_left_out(file)}


def pack_manifest(experiments: Mapping[str, Mapping[str, Any]], counted: int) -> dict[str, Any]:
    """The manifest of a pack."""
    return {**FORMAT, "made_with": made_with(), "claims": counted, "experiments": dict(experiments)}
