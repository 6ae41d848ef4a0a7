"""What a pack says, made from results: by the builder from those that it packs, by the verifier from those
that it unpacked, so that both can be held against each other.
"""

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from gauntlet import __version__, defences, evidence, experiment, metrics, report, scenario
from gauntlet.engine.hashes import sha256_of_files
from gauntlet.evidence_pack import layout
from gauntlet.evidence_pack.claims import claims
from gauntlet.results.files import json_bytes
from gauntlet.results.reader import Results

FORMAT = {"format": "gauntlet-evidence", "version": 1}
_ROOMS = (defences, evidence, experiment, metrics, scenario)
"""Whose code a pack's words, verdicts and planned runs follow from."""


@dataclass(frozen=True)
class Content:
    """What is said of one experiment."""

    claims: Sequence[dict[str, Any]]
    about: dict[str, Any]
    """Its entry in the pack's manifest, but for what was left out."""


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


def content(results: Results, name: str, *, planned: int | None = None) -> Content:
    """Claims of an experiment, and what the manifest says of it; `planned`: how many runs its file gives,
    where somebody counted. Raises what `trials` raises.
    """
    manifest = results.manifest
    undecided: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    players: Counter[str] = Counter()
    libraries: dict[str, str] = {}
    for run in results.runs():
        verdicts[run.verdict or "failed"] += 1
        if not run.ok:
            continue
        guest = run.record.get("guest", {})
        players[str(guest.get("gauntlet", "not recorded"))] += 1
        libraries.update(guest.get("libraries", {}))
        undecided.update(dict.fromkeys(run.certificate.get("undecided", []), 1))
    about = {
        "title": manifest.title,
        "runs": sum(verdicts.values()),
        "runs_planned": manifest.runs_planned if planned is None else planned,
        "certificates": dict(sorted(verdicts.items())),
        "undecided": dict(sorted(undecided.items())),
        "seed": manifest.seed,
        "options": manifest.options,
        "experiment_sha256": manifest.experiment_sha256,
        "in_real_time": manifest.in_real_time,
        "engine": manifest.engine,
        "player": sorted(players),
        "player_libraries": dict(sorted(libraries.items())),
        "versions": manifest.versions,
    }
    return Content(claims(results, name), about)


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
