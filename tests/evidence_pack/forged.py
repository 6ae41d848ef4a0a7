"""Packs with something changed: as by an accident, or with all hashes made right again."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

from gauntlet.evidence_pack import archive
from gauntlet.evidence_pack.layout import SUMS

LOGS = Path(__file__).with_name("small.zip")
"""The pack of the results of `small.toml` and `sessions.toml`, built once (`gauntlet run` of both, `gauntlet
evidence build`) and held against its tree hash by `test_committed`; the results folder of the first in it is
what packs are built of here."""


def results(folder: Path) -> Path:
    """The results of a real experiment: twelve runs over UDP and TCP."""
    with zipfile.ZipFile(LOGS) as packed:
        packed.extractall(folder)
    return folder / "experiments" / "small"


def content(pack: Path) -> dict[str, bytes]:
    """All files of a pack."""
    with zipfile.ZipFile(pack) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def on_purpose(pack: Path, files: Mapping[str, bytes]) -> Path:
    """Write a pack whose hashes all fit, as somebody would who forges one."""
    kept = {name: it for name, it in files.items() if name != SUMS}
    archive.write(pack, kept, {name: archive.sha256(it) for name, it in kept.items()})
    return pack


def by_accident(pack: Path, original: Path, files: Mapping[str, bytes]) -> Path:
    """Write a pack whose list of hashes is the one from before."""
    with zipfile.ZipFile(original) as opened, zipfile.ZipFile(pack, "w") as made:
        for name, it in files.items():
            made.writestr(name, it)
        made.comment = opened.comment
    return pack
