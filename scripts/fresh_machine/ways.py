"""The two ways of README: from source, with what a build needs, and from wheels, without a compiler."""

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


@dataclass(frozen=True)
class Way:
    """What a bare root has, and as whom and where commands are typed in it."""

    asked_for: tuple[str, ...]
    toolchain: Path | None
    prepare: Callable[[Path], None]
    """Lays out in a root what the user brings along."""
    folder: str
    home: str
    as_user: tuple[str, ...] = ()
    """Options of chroot(8)."""
    log: str = ""
    """At the end of the name of its logs."""


def source(checkout: Path) -> Way:
    """The committed state of `checkout`, built by root with this machine's Rust."""
    return Way(root.FOR_SOURCE, _toolchain(), partial(_clone, checkout), "/gauntlet", "/root")


def wheels(folder: Path) -> Way:
    """The wheels of `folder`, installed by an ordinary user. SystemExit when there are none."""
    found = sorted(folder.glob("gauntlet_net*.whl"))
    if not found:
        raise SystemExit(f"There is no wheel of Gauntlet in {folder}; `make dist` makes them.")
    home = f"/home/{_USER}"
    as_user = (f"--userspec={_USER}:{_USER}", f"--groups={_USER}")
    return Way(root.FOR_WHEELS, None, partial(_lay_out_wheels, found), home, home, as_user, "-wheels")


def _toolchain() -> Path:
    found = subprocess.run(["rustc", "--print", "sysroot"], check=False, capture_output=True, text=True)
    if found.returncode != 0:
        raise SystemExit(
            "Rust is needed on this machine (README says which): `rustc --print sysroot` failed."
        )
    return Path(found.stdout.strip())


def _clone(checkout: Path, place: Path) -> None:
    """The committed state, at /gauntlet; nothing that a build left behind comes along."""
    if subprocess.run(["git", "-C", str(checkout), "diff", "--quiet", "HEAD"], check=False).returncode != 0:
        print("This checkout has changes that are not committed; they are not tried.", flush=True)
    there = str(place / "gauntlet")
    subprocess.run(
        ["git", "clone", "--quiet", "--no-hardlinks", "--depth", "1", f"file://{checkout}", there], check=True
    )


def _lay_out_wheels(found: list[Path], place: Path) -> None:
    """An ordinary user with the wheels in `dist`. SystemExit when something in the root could build."""
    for program in _BUILDERS:
        if shutil.which(program, path=f"{place}/usr/bin:{place}/usr/local/bin"):
            raise SystemExit(f"The root has {program}, so it is not bare: what is tried is life without it.")
    subprocess.run(["chroot", str(place), "useradd", "--create-home", _USER], check=True)
    folder = place / "home" / _USER / "dist"
    folder.mkdir()
    for wheel in found:
        shutil.copyfile(wheel, folder / wheel.name)
