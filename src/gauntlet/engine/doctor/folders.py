"""Folders that guests need: one that holds their memory, one for scratch files."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from gauntlet.engine import cores, guest, guest_memory
from gauntlet.engine.doctor.check import Check, count, mib
from gauntlet.engine.guest_memory import Place
from gauntlet.errors import RunError

_SCRATCH_WANTED_BYTES = 2 << 30


def guest_memory_place(
    guests: int | None = None,
    candidates: list[Path] | None = None,
    attempt: Callable[[Path, int], Place] = guest_memory.tried,
) -> Check:
    """Where the memory of guests will lie, and what is wrong with the folders that were not taken."""
    guests = guests or len(cores.usable_cores())
    size = guest.MEMORY_MIB << 20
    folders = guest_memory.candidates() if candidates is None else candidates
    places = [attempt(folder, size) for folder in folders]
    try:
        taken = guest_memory.best_of(places, size, guests)
    except RunError as error:
        cause, _, mend = str(error).rpartition("; ")
        return Check("guest memory", False, f"{cause}.", mend[:1].upper() + mend[1:])
    kind = "tmpfs" if taken.on_tmpfs else "a disk"
    found = f"in {taken.folder} ({kind}, {mib(taken.free_bytes)} free)"
    if taken.free_bytes < guests * size:
        cause = f"There is room {found} for fewer than {count(guests)}, which may take {mib(guests * size)}."
        fit = taken.free_bytes // size
        mend = f"Free some space there, set TMPDIR to another folder, or use --workers {fit}."
        return Check("guest memory", False, cause, mend, required=False)
    passed_over = guest_memory.faults(place for place in places if _matters(place.folder))
    if not taken.on_tmpfs:
        cause = f"Guests' memory lies {found}, which costs time: {passed_over or 'no tmpfs has room for it'}."
        mend = "Set TMPDIR to a tmpfs with room that is not mounted noexec (docker run --shm-size=2g)."
        return Check("guest memory", False, cause, mend, required=False)
    if passed_over:
        cause = f"Guests' memory lies {found} instead: {passed_over}."
        return Check(
            "guest memory", False, cause, "Nothing needs to be done, or change TMPDIR.", required=False
        )
    return Check("guest memory", True, found)


def _matters(folder: Path) -> bool:
    """Whether somebody expects memory there: a folder that the user named, or the usual tmpfs."""
    return folder == Path("/dev/shm") or str(folder) in (
        os.environ.get(name) for name in guest_memory.VARIABLES
    )


def scratch(folder: Path | None = None, free_bytes: int | None = None) -> Check:
    """Room for what a run writes before it is stored."""
    folder = folder or Path(tempfile.gettempdir())
    free = shutil.disk_usage(folder).free if free_bytes is None else free_bytes
    if free >= _SCRATCH_WANTED_BYTES:
        return Check("scratch space", True, f"{mib(free)} free in {folder}")
    return Check(
        "scratch space",
        False,
        f"Only {mib(free)} are free in {folder}, and long runs that keep packets write more.",
        "Free some space, or set TMPDIR to a folder with at least 2 GiB.",
        required=False,
    )
