"""Builds the wheels so that nothing of this machine is in them: no path, no instant, no order of files."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from scripts.wheels.failure import Refused

PACKAGING = ("gauntlet-net-kernel", "gauntlet-net-studies")
"""The wheels with a folder of their own in packaging/; gauntlet-net is the checkout itself."""

_DATED_AT = "1577836800"
"""What files in wheels are dated: 2020-01-01, as seconds since 1970. A date that changed with each commit
would have cargo compile whatever looks at it anew, which is nearly everything.
"""

_TAG = re.compile(r'platform tag:\s+"(\w+)"')
_GLIBC = re.compile(r"manylinux_2_(\d+)_x86_64")


def wheels(root: Path, out: Path) -> list[Path]:
    """Build all three from the checkout `root`; what `out` held of them is replaced. Raises Refused."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-dist-") as folder:
        part = Path(folder)
        environment = _environment(root)
        write_shell_files(root, environment)
        _run(
            [_tool("maturin"), "build", "--release", "--locked", "--quiet", "--out", str(part)],
            root,
            environment,
        )
        for name in PACKAGING:
            _run(
                [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(part)],
                root / "packaging" / name,
                environment,
            )
        made = sorted(part.glob("*.whl"))
        for wheel in made:
            check_tag(wheel)
            check_paths(wheel, environment)
        out.mkdir(parents=True, exist_ok=True)
        for old in out.glob("gauntlet_net*.whl"):
            old.unlink()
        return [Path(shutil.move(wheel, out / wheel.name)) for wheel in made]


def write_shell_files(root: Path, environment: Mapping[str, str]) -> None:
    """Manual pages and completion scripts, as the command line of this checkout has them."""
    share = root / "packaging" / "gauntlet-net" / "data" / "share"
    shutil.rmtree(share, ignore_errors=True)
    _run([sys.executable, str(root / "packaging" / "shell_files.py"), str(share)], root, environment)


def tell(wheel: Path) -> None:
    """One line: name, size, hash."""
    print(f"{wheel.name}  {wheel.stat().st_size / 2**20:.1f} MiB  sha256 {sha256(wheel)}")


def sha256(file: Path) -> str:
    """The SHA-256 of a file in hexadecimal digits."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _environment(root: Path) -> dict[str, str]:
    """Variables under which equal sources give equal wheels, whatever the folders are called."""
    cargo = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    target = Path(os.environ.get("CARGO_TARGET_DIR") or root / "target").resolve()
    mapped = {cargo: "/cargo", root: "/gauntlet"}
    if not target.is_relative_to(root):
        mapped[target] = "/gauntlet/target"
    own = {
        "RUSTFLAGS": " ".join(f"--remap-path-prefix={here}={there}" for here, there in mapped.items()),
        "CFLAGS": " ".join(f"-ffile-prefix-map={here}={there}" for here, there in mapped.items()),
        "CARGO_TARGET_DIR": str(target),
        "SOURCE_DATE_EPOCH": _DATED_AT,
        # The kernel's wheel asks Gauntlet for its kernel, and that of this checkout.
        "PYTHONPATH": str(root / "src"),
        # maturin is no module of Python, and calls the Python that is first.
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    return {**os.environ, **own}


def check_tag(wheel: Path) -> None:
    """auditwheel agrees that the programs of a wheel run where its tag says."""
    if "manylinux" not in wheel.name:
        if "-none-any" not in wheel.name:
            raise Refused(f"{wheel.name} has no manylinux tag, so no package index would take it.")
        return
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)], check=False, capture_output=True, text=True
    )
    found = _TAG.search(" ".join(done.stdout.split()))
    true, said = (_GLIBC.search(text) for text in (found[1] if found else "", wheel.name))
    if true is None or said is None or int(true[1]) > int(said[1]):
        raise Refused(
            f"auditwheel does not find the tag of {wheel.name} true; it says: "
            f"{' '.join((done.stdout + done.stderr).split())}"
        )


def check_paths(wheel: Path, environment: Mapping[str, str]) -> None:
    """No folder of this machine is named in any file of a wheel."""
    folders = {Path.home(), Path(environment["CARGO_TARGET_DIR"]), Path(environment["PYTHONPATH"]).parent}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            for folder in folders:
                if (found := content.find(f"{folder}/".encode())) >= 0:
                    around = content[found : found + 120].split(b"\0")[0].decode(errors="replace")
                    raise Refused(f"{name} in {wheel.name} names a folder of this machine: {around}")


def _tool(name: str) -> str:
    """A program beside this Python."""
    found = Path(sys.executable).parent / name
    if not found.is_file():
        raise Refused(
            f"{name} is not installed beside {sys.executable}; type `make dist`, which installs it."
        )
    return str(found)


def _run(command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    done = subprocess.run(command, check=False, cwd=folder, env=environment)
    if done.returncode != 0:
        raise Refused(f"`{' '.join(command)}` in {folder} failed; its last words stand above.")
