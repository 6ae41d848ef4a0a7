"""Build a pack from results: of one experiment with threats, or of a study's folder with several."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet.errors import UserError
from gauntlet.evidence_pack import archive, layout, page
from gauntlet.evidence_pack.contents import Gathered, left_out, pack_manifest, results_manifest
from gauntlet.experiment.threats import APP
from gauntlet.results import layout as of_results
from gauntlet.results.files import failures_named, json_bytes
from gauntlet.results.reader import Results


@dataclass(frozen=True)
class Built:
    """A pack that was built."""

    pack: Path
    tree_sha256: str
    size_bytes: int
    experiments: Sequence[str]
    claims: int
    runs: int
    passed_over: Sequence[str]
    """Results in the folders that are not about safety messages."""


def build(folders: Sequence[Path], pack: Path) -> Built:
    """Write the pack of the results in some folders.

    Raises UserError when a folder has no results, when none of them is of the application safety, when two
    are of one name, and when runs are missing.
    """
    chosen, passed_over = _chosen(folders)
    files: dict[str, archive.Content] = {}
    abouts: dict[str, dict[str, Any]] = {}
    claims: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="gauntlet-evidence-") as scratch:
        with failures_named("read the results"):
            for name, results in chosen.items():
                gathered = Gathered(name)
                for run in results.runs():
                    gathered.add(run)
                for claim in gathered.claims(results):
                    # A claim has all of its trials, and together they are too many for the memory.
                    place = Path(scratch) / f"{len(claims)}.json"
                    place.write_bytes(json_bytes(claim))
                    files[layout.claim_file(claim["id"])] = place
                    claims.append(page.short(claim))
                abouts[name] = {**gathered.about(results), "left_out": _left_out(results)}
                files |= _files(results, name)
            manifest = pack_manifest(abouts, len(claims))
            files[layout.MANIFEST] = json_bytes(manifest)
            files[layout.PAGE] = page.html(manifest, claims).encode()
            hashes = {name: archive.sha256(it) for name, it in files.items()}
        tree = archive.write(pack, files, hashes)
    runs = sum(it["runs"] for it in abouts.values())
    return Built(pack, tree, pack.stat().st_size, list(chosen), len(claims), runs, passed_over)


def _chosen(folders: Sequence[Path]) -> tuple[dict[str, Results], list[str]]:
    """The results to pack by the name of their experiment, and the folders of others."""
    chosen: dict[str, Results] = {}
    passed_over = []
    for folder in folders:
        for place in _results_in(folder):
            results = Results.open(place)
            if not _of_safety(results):
                passed_over.append(str(place))
                continue
            name = results.manifest.name or place.name
            if name in chosen:
                raise UserError(
                    f"Both {chosen[name].folder} and {place} are results of an experiment '{name}'; build a "
                    "pack for each."
                )
            _complete(results, place)
            chosen[name] = results
    if not chosen:
        raise UserError(
            f"No results in {', '.join(map(str, folders))} are about safety messages; play an experiment "
            f"with the application '{APP}' (docs/guide/in-path.md)."
        )
    return dict(sorted(chosen.items())), passed_over


def _results_in(folder: Path) -> list[Path]:
    """A results folder itself, or those in the results folder of a study."""
    if (folder / of_results.MANIFEST).exists():
        return [folder]
    inside = sorted(path.parent for path in folder.glob(f"*/{of_results.MANIFEST}"))
    if not inside:
        raise UserError(
            f"{folder} has no results (no {of_results.MANIFEST} in it or one folder below); give a folder "
            "that `gauntlet run` or `gauntlet reproduce` wrote."
        )
    return inside


def _of_safety(results: Results) -> bool:
    return any(flow["app"] == APP for run in results.runs() for flow in run.spec["flows"])


def _complete(results: Results, place: Path) -> None:
    there, planned = sum(1 for _ in results.runs()), results.manifest.runs_planned
    if there != planned:
        raise UserError(
            f"{place} has {there} of the {planned} runs of its experiment; finish it first (the command that "
            "began it continues)."
        )


def _files(results: Results, name: str) -> dict[str, archive.Content]:
    """What of a results folder goes into the pack, by its place there."""
    home = layout.experiment_folder(name)
    files: dict[str, archive.Content] = {
        f"{home}/{of_results.MANIFEST}": results_manifest(results),
        f"{home}/{of_results.EXPERIMENT}": results.experiment.encode(),
    }
    for run in results.runs():
        for file in layout.RUN_FILES:
            if (run.folder / file).exists():
                files[layout.run_file(name, run.id, file)] = run.folder / file
    return files


def _left_out(results: Results) -> list[dict[str, Any]]:
    """Files of runs that are not in the pack: how many, of what size, and why."""
    count: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for run in results.runs():
        for path in run.folder.rglob("*"):
            name = path.relative_to(run.folder).parts[0]
            if path.is_file() and name not in layout.RUN_FILES:
                count[name] += 1
                size[name] += path.stat().st_size
    return [left_out(name, count[name], size[name]) for name in sorted(count)]
