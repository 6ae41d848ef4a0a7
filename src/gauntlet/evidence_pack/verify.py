"""Verify a pack from nothing but itself: hashes, completeness, every verdict derived again from its logs."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gauntlet.errors import GauntletError, UserError
from gauntlet.evidence_pack import archive, layout, page
from gauntlet.evidence_pack.archive import Archive
from gauntlet.evidence_pack.claims import DERIVED
from gauntlet.evidence_pack.contents import FORMAT, Content, content, made_with
from gauntlet.evidence_pack.replay import Replayed, replay
from gauntlet.metrics.numbers import counted
from gauntlet.results import layout as of_results
from gauntlet.results.files import json_bytes
from gauntlet.results.reader import Results, Run


@dataclass
class Verified:
    """What was checked of a pack, and what is not as it should be."""

    pack: Path
    tree_sha256: str = ""
    files: int = 0
    claims: int = 0
    trials: int = 0
    """Those whose verdicts were derived again."""
    differences: list[str] = field(default_factory=list)
    """Each a sentence; none where the pack holds."""
    notes: list[str] = field(default_factory=list)
    """What was not checked, and why."""
    replayed: list[Replayed] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether there is no difference."""
        return not self.differences


def verify(
    pack: Path,
    *,
    tree: str | None = None,
    again: int = 0,
    seed: int = 1,
    runs: Sequence[str] = (),
) -> Verified:
    """Check a pack; `tree`: the tree hash that was told by another way, `again`: how many runs, drawn by
    `seed`, are played again, `runs`: others by their names.

    Raises UserError when the file is no pack at all, RunError when runs cannot be played here.
    """
    found = Verified(pack)
    with Archive.open(pack) as opened:
        whole = _hashes(opened, found, tree)
        manifest = _manifest(opened, found, pack)
        if not whole:
            found.notes.append(
                "No verdict was derived again and no run played, for the files are not those that were "
                "packed."
            )
            return found
        same = manifest["made_with"] == made_with()
        if not same:
            found.notes.append(
                "The pack was built by another version of the package "
                f"({manifest['made_with']['gauntlet']}): verdicts and findings were derived again; the words "
                "of requirements and the page were not compared."
            )
        _derive(opened, manifest, found, same=same)
        if found.holds and (again or runs):
            with tempfile.TemporaryDirectory(prefix="gauntlet-evidence-") as scratch:
                opened.unpack(layout.EXPERIMENTS, Path(scratch))
                found.replayed = replay(Path(scratch), manifest, again=again, seed=seed, runs=runs)
            found.differences += [it.words for it in found.replayed if not it.same]
        elif again or runs:
            found.notes.append("No run was played again, for the pack does not hold.")
    return found


def _hashes(opened: Archive, found: Verified, tree: str | None) -> bool:
    """Hold every file against its hash, and the list of hashes against the tree hash; whether all is well."""
    try:
        listed = opened.read(layout.SUMS)
    except GauntletError as error:
        raise UserError(f"{found.pack} is not an evidence pack: {error}") from error
    found.tree_sha256 = archive.sha256(listed)
    if opened.tree != found.tree_sha256:
        found.differences.append(
            f"{layout.SUMS} was changed: its hash is not the tree hash that the zip's comment says."
        )
    if tree is not None and tree.lower() != found.tree_sha256:
        found.differences.append(
            f"This is another pack than the one expected: its tree hash is {found.tree_sha256}, not {tree}."
        )
    told = _told(listed, found)
    there = set(opened.names) - {layout.SUMS}
    found.differences += [f"{name} is missing." for name in sorted(told.keys() - there)]
    found.differences += [
        f"{name} was added: it is not in {layout.SUMS}." for name in sorted(there - told.keys())
    ]
    for name in sorted(told.keys() & there):
        try:
            if archive.sha256(opened.read(name)) != told[name]:
                found.differences.append(f"{name} was changed: its hash is not the one in {layout.SUMS}.")
        except GauntletError as error:
            found.differences.append(str(error))
    found.files = len(there)
    return not found.differences


def _told(listed: bytes, found: Verified) -> dict[str, str]:
    """The hash of each file by its name, as SHA256SUMS has them."""
    lines = [line.partition("  ") for line in listed.decode(errors="replace").splitlines()]
    if any(len(sha256) != 64 or not name for sha256, _, name in lines):
        found.differences.append(f"{layout.SUMS} has a line that is not a hash, two spaces and a file.")
    return {name: sha256 for sha256, _, name in lines if name}


def _manifest(opened: Archive, found: Verified, pack: Path) -> dict[str, Any]:
    """The manifest of the pack. Raises UserError when there is none that this version can read."""
    try:
        manifest = json.loads(opened.read(layout.MANIFEST))
        known = {name: manifest[name] for name in FORMAT} == FORMAT
        shape = {name: type(manifest[name]) for name in ("made_with", "claims", "experiments")}
        known = known and shape == {"made_with": dict, "claims": int, "experiments": dict}
        known = known and "gauntlet" in manifest["made_with"]
    except (GauntletError, ValueError, KeyError, TypeError) as error:
        said = " ".join([*found.differences, f"{layout.MANIFEST} cannot be read ({error})."])
        raise UserError(f"{pack} cannot be verified: {said}") from error
    if not known:
        raise UserError(
            f"{pack} cannot be verified: {layout.MANIFEST} is not of the form that this version reads "
            f"({FORMAT['format']} {FORMAT['version']})."
        )
    found.claims = manifest["claims"]
    return dict(manifest)


def _derive(opened: Archive, manifest: Mapping[str, Any], found: Verified, *, same: bool) -> None:
    """Make what the pack says anew from its logs, experiment by experiment, and compare."""
    packed = [name for name in opened.names if name.startswith(f"{layout.CLAIMS}/")]
    homes = {name.split("/")[1] for name in opened.names if name.startswith(f"{layout.EXPERIMENTS}/")}
    odd = sorted(homes - manifest["experiments"].keys())
    found.differences += [f"The manifest knows no experiment '{name}'." for name in odd]
    made: dict[str, dict[str, Any]] = {}
    for name, about in manifest["experiments"].items():
        with tempfile.TemporaryDirectory(prefix="gauntlet-evidence-") as scratch:
            try:
                opened.unpack(layout.experiment_folder(name), Path(scratch))
                results = Results.open(Path(scratch))
                found.differences += _runs_wrong(results, name)
                anew = content(results, name)
            except (GauntletError, KeyError, TypeError, ValueError, StopIteration) as error:
                words = str(error).replace(f"{scratch}", layout.experiment_folder(name))
                found.differences.append(f"The verdicts of '{name}' cannot be derived: {words}")
                continue
        found.differences += _about_wrong(about, anew, name, same=same)
        made |= {layout.claim_file(it["id"]): it for it in anew.claims}
    if not found.holds and not made:
        return
    lacking = sorted(made.keys() - set(packed))
    found.differences += [f"{name} is missing: the logs give it." for name in lacking]
    found.differences += [f"{name} follows from no log." for name in sorted(set(packed) - made.keys())]
    for name in sorted(made.keys() & set(packed)):
        found.trials += len(made[name]["trials"])
        found.differences += _claim_wrong(opened.read(name), made[name], name, same=same)
    if manifest["claims"] != len(packed):
        found.differences.append(
            f"The manifest says {counted(manifest['claims'], 'claim')}, and the pack has {len(packed)}."
        )
    if same and found.holds and opened.read(layout.PAGE) != page.html(manifest, [*made.values()]).encode():
        found.differences.append(f"{layout.PAGE} does not say what manifest and claims say.")


def _runs_wrong(results: Results, name: str) -> list[str]:
    """What is incomplete, and files that do not belong to their run."""
    wrong = []
    if archive.sha256(results.experiment.encode()) != results.manifest.experiment_sha256:
        wrong.append(f"The experiment file of '{name}' is not the one that was played.")
    runs = list(results.runs())
    if len(runs) != results.manifest.runs_planned:
        planned = counted(results.manifest.runs_planned, "run")
        wrong.append(f"The experiment '{name}' planned {planned}, and the pack has {len(runs)}.")
    for run in runs:
        wrong += _run_wrong(run, name)
    return wrong


def _run_wrong(run: Run, name: str) -> list[str]:
    for file in layout.NEEDED:
        if not (run.folder / file).exists():
            return [f"Run {name}/{run.id} has no {file}."]
    if run.ok:
        nodes = (of_results.IN_PATH,) if run.plan.get("in_path") else ()
        lacking = [it for it in (*layout.NEEDED_OF_ENDED, *nodes) if not (run.folder / it).exists()]
        if lacking:
            return [f"Run {name}/{run.id} has no {lacking[0]}."]
    said = {of_results.SPEC: run.spec["id"], of_results.PLAN: run.plan["id"]}
    seeds = {run.spec["seed"], run.plan["seed"]}
    if run.ok:
        said |= {of_results.RECORD: run.record["run"], of_results.CERTIFICATE: run.certificate["run"]}
        seeds.add(run.record["seed"])
    wrong = [
        f"{file} of run {name}/{run.id} belongs to run '{other}'."
        for file, other in said.items()
        if other != run.id
    ]
    if len(seeds) > 1:
        wrong.append(f"Specification, plan and record of run {name}/{run.id} have different seeds.")
    return wrong


def _about_wrong(about: Mapping[str, Any], anew: Content, name: str, *, same: bool) -> list[str]:
    """Where the manifest says something else of an experiment than its results."""
    keys = anew.about.keys() if same else anew.about.keys() & about.keys()
    return [
        f"The manifest's '{key}' of '{name}' is {about.get(key)!r}, and its results say {anew.about[key]!r}."
        for key in sorted(keys)
        if about.get(key) != json.loads(json_bytes(anew.about[key]))
    ]


def _claim_wrong(packed: bytes, made: Mapping[str, Any], name: str, *, same: bool) -> list[str]:
    """Where a claim says something else than its logs: the first trial that differs, else the first part."""
    try:
        said = json.loads(packed)
        trials = {(it["run"], it["flow"]): it for it in said["trials"]}
        wrong = [
            f"{name} has the verdict '{trials[key]['verdict']['verdict']}' for run {key[0]}; its logs give "
            f"'{it['verdict']['verdict']}'."
            for it in made["trials"]
            if (key := (it["run"], it["flow"])) in trials
            and trials[key]["verdict"]["verdict"] != it["verdict"]["verdict"]
        ]
        parts = made.keys() if same else DERIVED
        anew = json.loads(json_bytes(dict(made)))
        return wrong or [
            f"{name}: its {part} is not what the logs give." for part in parts if said[part] != anew[part]
        ]
    except (ValueError, KeyError, TypeError):
        return [f"{name} is not of the form of a claim."]
