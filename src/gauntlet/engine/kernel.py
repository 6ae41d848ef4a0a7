"""The virtual-time kernel image: built in the cache once, or installed as the wheel gauntlet-net-kernel.

An image in the cache is kept under a name made of two hashes: that of the recipe (configuration, patches,
build script) and that of the source it was built from; one in a wheel says both of itself. So a changed
recipe is never served by an old image.
"""

import collections
import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gauntlet.engine import cache_folder
from gauntlet.errors import RunError, UserError

# How many compiler and archiver lines a build prints (counted on Linux 6.12); only scales the progress shown.
_OBJECTS_EXPECTED = 1115

_SOURCE_FOLDER = Path("/usr/src")
_OLDEST_SOURCE = (6, 6)

WHEEL = "gauntlet-net-kernel"
"""The wheel with a built kernel, as pip knows it (packaging/gauntlet-net-kernel)."""
_WHEEL_MODULE = "gauntlet_kernel"


@dataclass(frozen=True)
class Image:
    """A kernel that can be booted, with what is known of how it was made."""

    path: Path
    version: str
    recipe_hash: str
    source_hash: str
    origin: str
    """Where it comes from, for people: who built it, or which wheel it is of."""


def recipe_folder() -> Path:
    """The folder with the configuration, the patches and the build script."""
    packaged = Path(__file__).resolve().parent.parent / "kernel"
    if (packaged / "build.sh").is_file():
        return packaged
    raise RunError(
        f"The kernel recipe is missing from the installation (looked for {packaged / 'build.sh'})."
    )


def recipe_hash(version: str) -> str:
    """Hash of what decides what is built from Linux `version`, except its source: 16 hexadecimal digits."""
    folder = recipe_folder()
    digest = hashlib.sha256()
    for file in [folder / "build.sh", folder / "gauntlet.config", *patches(version)]:
        digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def patches(version: str) -> list[Path]:
    """The patches that build.sh applies to Linux `version`, in its order."""
    folder = recipe_folder() / "patches"
    fitting = [own for own in folder.iterdir() if own.is_dir() and _release(own.name) <= _release(version)]
    newest = max(fitting, key=lambda own: _release(own.name), default=None)
    return [*sorted(folder.glob("*.patch")), *(sorted(newest.glob("*.patch")) if newest else [])]


def _release(version: str) -> tuple[int, int]:
    """The first two numbers of a version of Linux."""
    major, minor = re.findall(r"\d+", version)[:2]
    return int(major), int(minor)


def find_source() -> Path:
    """The source to build from: GAUNTLET_KERNEL_SOURCE, else the newest Debian `linux-source` tarball."""
    if override := os.environ.get("GAUNTLET_KERNEL_SOURCE"):
        return Path(override)
    candidates: list[tuple[tuple[int, int], Path]] = []
    for file in _SOURCE_FOLDER.glob("linux-source-*.tar.*"):
        match = re.match(r"linux-source-(\d+)\.(\d+)", file.name)
        if match and (version := (int(match[1]), int(match[2]))) >= _OLDEST_SOURCE:
            candidates.append((version, file))
    if not candidates:
        raise RunError(
            "No kernel source was found in /usr/src; on Debian or Ubuntu type `sudo apt-get install "
            "linux-source-6.12` (Ubuntu: linux-source-6.8.0; any tarball or folder of Linux 6.6 or newer can "
            "be given: `gauntlet kernel build --source FILE`)."
        )
    return max(candidates)[1]


def image() -> Path:
    """The image to boot: GAUNTLET_KERNEL, else the newest one that was built here by the present recipe, else
    the one of the installed wheel gauntlet-net-kernel.

    Raises RunError with the commands that get one when there is none.
    """
    return describe().path


def describe() -> Image:
    """The image that `image()` returns, with its version and hashes."""
    found = _given() or _built() or _installed()
    if found is None:
        raise RunError(
            f"There is no virtual-time kernel yet; type `pip install {WHEEL}` (the built one) or "
            "`gauntlet kernel build` (about five minutes, once)."
        )
    return found


def _given() -> Image | None:
    """The image that GAUNTLET_KERNEL names."""
    override = os.environ.get("GAUNTLET_KERNEL")
    if not override:
        return None
    path = Path(override)
    if not path.is_file():
        raise RunError(
            f"GAUNTLET_KERNEL names {path}, and there is no such file; unset it to use the built kernel."
        )
    stated = re.search(rb"Linux version (\d[\w.+-]*) ", path.read_bytes())
    version = stated[1].decode() if stated else "unknown"
    return Image(path.resolve(), version, "none", _hash_file(path), "given by GAUNTLET_KERNEL")


def built() -> Image:
    """The newest image in the cache that the present recipe made; RunError when there is none."""
    found = _built()
    if found is None:
        raise RunError("This recipe's kernel is not built yet; type `gauntlet kernel build`.")
    return found


def _built(source_hash: str = "*") -> Image | None:
    """The newest image in the cache that the present recipe made (of a source)."""
    built = sorted(
        (cache_folder() / "kernel").glob(f"*-{source_hash}/kernel.json"),
        key=lambda file: file.stat().st_mtime,
    )
    for file in reversed(built):
        known = json.loads(file.read_text())
        recipe = recipe_hash(known["version"])
        path = file.parent / "linux"
        if path.is_file() and file.parent.name == _home_name(recipe, known["source_hash"]):
            return Image(path, known["version"], recipe, known["source_hash"], "built on this machine")
    return None


def _home_name(recipe: str, source_hash: str) -> str:
    return f"{recipe}-{source_hash}"


def _installed() -> Image | None:
    """The image of the wheel. RunError when it is there and another recipe made it."""
    try:
        wheel = importlib.import_module(_WHEEL_MODULE)
    except ModuleNotFoundError:
        return None
    known = wheel.facts()
    if known["recipe_hash"] != recipe_hash(known["version"]):
        raise RunError(
            f"The installed {WHEEL} {known['wheel']} has a kernel of another recipe than this Gauntlet's, "
            f"whose results may differ; type `pip install --upgrade {WHEEL}` or `gauntlet kernel build`."
        )
    origin = f"of the wheel {WHEEL} {known['wheel']}"
    return Image(wheel.IMAGE, known["version"], known["recipe_hash"], known["source_hash"], origin)


def build(source: Path | None = None, progress: Callable[[str, float], None] | None = None) -> Path:
    """Build the kernel from `source` (default: `find_source()`) unless the cache has it; returns its path.

    `progress` is called with the step's name and the fraction done (0 to 1).
    """
    source = (source or find_source()).resolve()
    if not source.exists():
        raise UserError(
            f"There is no kernel source at {source}; name a tarball or a source folder of Linux 6.6 or newer."
        )
    tell = progress or (lambda _step, _fraction: None)
    origin = _hash_source(source)
    if (known := _built(origin)) is not None:
        tell("already built", 1.0)
        return known.path

    work = cache_folder() / "kernel" / f".build-{os.getpid()}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    started = time.monotonic()
    try:
        _run_build(source, work, tell)
        version = _version(work / "source")
        recipe = recipe_hash(version)
        home = cache_folder() / "kernel" / _home_name(recipe, origin)
        home.mkdir(parents=True, exist_ok=True)
        (work / "linux").replace(home / "linux")
        facts = {
            "version": version,
            "source": source.name,
            "source_hash": origin,
            "recipe_hash": recipe,
            "build_wall_s": round(time.monotonic() - started, 1),
        }
        part = home / "kernel.json.part"
        part.write_text(json.dumps(facts, indent=2) + "\n")
        part.replace(home / "kernel.json")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    tell("done", 1.0)
    return home / "linux"


def _run_build(source: Path, work: Path, tell: Callable[[str, float], None]) -> None:
    command = ["bash", str(recipe_folder() / "build.sh"), str(source), str(work), str(work / "linux")]
    tail: collections.deque[str] = collections.deque(maxlen=15)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    for step, fraction in _progress(process.stdout, tail):
        tell(step, fraction)
    if process.wait() != 0:
        last = "\n  ".join(line for line in tail if line.strip())
        raise RunError(f"The kernel build failed (source {source}). Its last lines:\n  {last}")


def _progress(lines: Iterable[str], tail: "collections.deque[str]") -> Iterator[tuple[str, float]]:
    """Turn the build's output into (step, fraction): compiling is nine tenths of the work."""
    step, objects = "start", 0
    for line in lines:
        tail.append(line.rstrip())
        if line.startswith("step "):
            step = line[5:].strip()
            yield step, {"unpack": 0.0, "patch": 0.08, "configure": 0.09, "done": 1.0}.get(step, 0.1)
        elif line.startswith("  CC ") or line.startswith("  AR "):
            objects += 1
            yield step, min(0.99, 0.1 + 0.9 * objects / _OBJECTS_EXPECTED)


def _version(tree: Path) -> str:
    numbers = dict(
        re.findall(
            r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) *= *(.*)$", (tree / "Makefile").read_text(), re.M
        )
    )
    return (
        f"{numbers['VERSION']}.{numbers['PATCHLEVEL']}.{numbers['SUBLEVEL']}{numbers.get('EXTRAVERSION', '')}"
    )


def _hash_source(source: Path) -> str:
    if source.is_file():
        return _hash_file(source)
    # A source folder is known by its version and place: hashing 80,000 files costs more than it saves.
    makefile = source / "Makefile"
    if not makefile.is_file():
        raise UserError(
            f"The folder {source} is not a Linux kernel source (it has no Makefile); name one that is."
        )
    return hashlib.sha256(f"{source}\0{makefile.read_text()}".encode()).hexdigest()[:16]


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
