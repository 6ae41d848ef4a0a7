"""The two ways of README: from source, with what a build needs, and from wheels, without a compiler."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scripts.fresh_machine import root

BESIDES = ("~/gauntlet/bin/gauntlet doctor", "~/gauntlet/bin/gauntlet reproduce d34 --from-summary")
"""What installed wheels are to do besides what README tells first."""

_USER = "passenger"
_BUILDERS = ("cc", "gcc", "make", "cargo", "rustc")
_COMPILED = Path("target/release")
_LONG_AGO = 1_600_000_000.0
"""Seconds since 1970, before any build."""


@dataclass(frozen=True)
class Way:
    """What a bare root has, and as whom and where commands are typed in it."""

    asked_for: tuple[str, ...]
    toolchain: Path | None
    prepare: Callable[[Path, Path], None]
    """Lays out in a root what the user brings along, and what earlier roots compiled (the second folder)."""
    carry: Callable[[Path, Path], None]
    """Puts what a root compiled into the second folder."""
    folder: str
    home: str
    as_user: tuple[str, ...] = ()
    """Options of chroot(8)."""
    log: str = ""
    """At the end of the name of its logs."""


def source(checkout: Path) -> Way:
    """The committed state of `checkout`, built by root with this machine's Rust."""
    return Way(root.FOR_SOURCE, _toolchain(), partial(_clone, checkout), _carry, "/gauntlet", "/root")


def wheels(folder: Path) -> Way:
    """The wheels of `folder`, installed by an ordinary user. SystemExit when there are none."""
    found = sorted(folder.glob("gauntlet_net*.whl"))
    if not found:
        raise SystemExit(f"There is no wheel of Gauntlet in {folder}; `make dist` makes them.")
    home = f"/home/{_USER}"
    as_user = (f"--userspec={_USER}:{_USER}", f"--groups={_USER}")
    return Way(
        root.FOR_WHEELS, None, partial(_lay_out_wheels, found), _nothing, home, home, as_user, "-wheels"
    )


def _toolchain() -> Path:
    found = subprocess.run(["rustc", "--print", "sysroot"], check=False, capture_output=True, text=True)
    if found.returncode != 0:
        raise SystemExit(
            "Rust is needed on this machine (README says which): `rustc --print sysroot` failed."
        )
    return Path(found.stdout.strip())


def _clone(checkout: Path, place: Path, carried: Path) -> None:
    """The committed state, at /gauntlet; of what a build left behind only what an earlier root compiled."""
    if subprocess.run(["git", "-C", str(checkout), "diff", "--quiet", "HEAD"], check=False).returncode != 0:
        print("This checkout has changes that are not committed; they are not tried.", flush=True)
    there = str(place / "gauntlet")
    subprocess.run(
        ["git", "clone", "--quiet", "--no-hardlinks", "--depth", "1", f"file://{checkout}", there], check=True
    )
    if (carried / _COMPILED).is_dir():
        # Cargo compiles anew what is younger than its product, and a clone is as young as can be.
        for file in (place / "gauntlet").rglob("*"):
            if not file.is_symlink():
                os.utime(file, (_LONG_AGO, _LONG_AGO))
        shutil.move(carried / _COMPILED, place / "gauntlet" / _COMPILED)


def _carry(place: Path, carried: Path) -> None:
    """What is compiled in a root, out of it."""
    compiled = place / "gauntlet" / _COMPILED
    if compiled.is_dir():
        (carried / _COMPILED).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(compiled, carried / _COMPILED)


def _nothing(place: Path, carried: Path) -> None:
    """An installed wheel compiles nothing."""


def _lay_out_wheels(found: list[Path], place: Path, _carried: Path) -> None:
    """An ordinary user with the wheels in `dist`. SystemExit when something in the root could build."""
    for program in _BUILDERS:
        if shutil.which(program, path=f"{place}/usr/bin:{place}/usr/local/bin"):
            raise SystemExit(f"The root has {program}, so it is not bare: what is tried is life without it.")
    subprocess.run(["chroot", str(place), "useradd", "--create-home", _USER], check=True)
    folder = place / "home" / _USER / "dist"
    folder.mkdir()
    for wheel in found:
        shutil.copyfile(wheel, folder / wheel.name)
