"""Verify a pack from nothing but itself: hashes, completeness, every verdict derived again from its logs."""

import io
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gauntlet.errors import GauntletError, RunError, UserError
from gauntlet.evidence_pack import archive, layout
from gauntlet.evidence_pack.archive import Archive
from gauntlet.evidence_pack.contents import FORMAT, made_with
from gauntlet.evidence_pack.derived import Derived, derive
from gauntlet.evidence_pack.replay import Replayed, replay
from gauntlet.evidence_pack.shapes import Manifest, checked
from gauntlet.results.files import write_whole

HOLDS, IN_PART, NOT = "holds", "holds in part", "does not hold"


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
    unverified: list[str] = field(default_factory=list)
    """What could be neither confirmed nor refuted here, a sentence each: the pack then holds in part."""
    notes: list[str] = field(default_factory=list)
    """What is worth knowing besides."""
    replayed: list[Replayed] = field(default_factory=list)
    page: Path | None = None
    """The page of this version, where one was asked for and could be made."""

    @property
    def outcome(self) -> str:
        """All of it in a word: holds, holds in part, does not hold."""
        if self.differences:
            return NOT
        return IN_PART if self.unverified else HOLDS

    @property
    def holds(self) -> bool:
        """Whether everything was verified and nothing differs."""
        return self.outcome == HOLDS


def verify(
    pack: Path,
    *,
    tree: str | None = None,
    again: int = 0,
    seed: int = 1,
    runs: Sequence[str] = (),
    page: Path | None = None,
) -> Verified:
    """Check a pack; `tree`: the tree hash that was told by another way, `again`: how many runs, drawn by
    `seed`, are played again, `runs`: others by their names, `page`: where to write the page that this version
    makes of the logs.

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
                f"({manifest['made_with']['gauntlet']}): all was derived again, and what this version says "
                "in other words counts as not verified; --page OUT writes the page of this version."
            )
        derived = derive(opened, manifest["experiments"], same=same)
        derived.compare(opened, manifest, same=same)
        _tell(derived, found)
        if found.differences:
            if again or runs:
                found.notes.append("No run was played again, for the pack does not hold.")
            if page is not None:
                found.notes.append("No page was written, for the pack does not hold.")
            return found
        if page is not None:
            write_whole(page, derived.page(manifest).encode())
            found.page = page
        if again or runs:
            with tempfile.TemporaryDirectory(prefix="gauntlet-evidence-") as scratch:
                opened.unpack(layout.EXPERIMENTS, Path(scratch))
                found.replayed = replay(Path(scratch), derived.abouts, again=again, seed=seed, runs=runs)
            found.differences += [it.words for it in found.replayed if not it.same]
    return found


def _tell(derived: Derived, found: Verified) -> None:
    found.differences += derived.differences
    found.unverified += derived.unverified
    found.notes += derived.notes
    found.trials = derived.trials


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
    told, whole = {}, True
    # Line by line: of a study there are 100,000.
    for line in io.BytesIO(listed):
        sha256, _, name = line.decode(errors="replace").rstrip("\r\n").partition("  ")
        whole &= len(sha256) == 64 and bool(name)
        if name:
            told[name] = sha256
    if not whole:
        found.differences.append(f"{layout.SUMS} has a line that is not a hash, two spaces and a file.")
    return told


def _manifest(opened: Archive, found: Verified, pack: Path) -> dict[str, Any]:
    """The manifest of the pack. Raises UserError when there is none that this version can read."""
    try:
        manifest = json.loads(opened.read(layout.MANIFEST))
    except (RunError, ValueError, RecursionError) as error:
        said = " ".join([*found.differences, f"{layout.MANIFEST} cannot be read: {error}"])
        raise UserError(f"{pack} cannot be verified: {said}") from error
    try:
        known = isinstance(manifest, dict) and {name: manifest.get(name) for name in FORMAT} == FORMAT
        if known:
            checked(Manifest, manifest, layout.MANIFEST)
    except RunError as error:
        raise UserError(f"{pack} cannot be verified: {error}") from error
    if not known:
        raise UserError(
            f"{pack} cannot be verified: {layout.MANIFEST} is not of the form that this version reads "
            f"({FORMAT['format']} {FORMAT['version']})."
        )
    found.claims = manifest["claims"]
    return dict(manifest)
