"""Puts the built kernel into its wheel, with what is known of how it was made."""

import hashlib
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

from gauntlet.engine import kernel
from gauntlet.errors import GauntletError, UserError

_PT_INTERP = 3

# The oldest glibc whose tag installers still look for; what needs none runs there too.
_OLDEST_GLIBC = 17


class KernelHook(BuildHookInterface[Any]):
    """Adds the image that the present recipe built, and `kernel.json`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before the wheel is put together."""
        try:
            image = kernel.built()
            facts = {
                "version": image.version,
                "wheel": self.metadata.version,
                "recipe_hash": image.recipe_hash,
                "source_hash": image.source_hash,
                "image_sha256": _sha256(image.path),
                "source_package": _source(image),
                "libc_package": _package(_libc()),
            }
        except GauntletError as error:
            self.app.abort(str(error))
        self._written = Path(tempfile.mkdtemp(prefix="gauntlet-kernel-wheel-"))
        (self._written / "kernel.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        build_data["force_include"][str(image.path)] = "gauntlet_kernel/linux"
        build_data["force_include"][str(self._written / "kernel.json")] = "gauntlet_kernel/kernel.json"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_{_glibc(image.path)}_x86_64"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called by hatchling when the wheel is there."""
        (self._written / "kernel.json").unlink()
        self._written.rmdir()


def _glibc(program: Path) -> int:
    """Which glibc 2.x a program needs: that of the newest symbol it asks for; one linked statically, none."""
    content = program.read_bytes()
    wanted = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", content)] if _is_dynamic(content) else []
    return max([_OLDEST_GLIBC, *wanted])


def _is_dynamic(program: bytes) -> bool:
    """Whether an ELF program (64 bit, little endian) asks for a loader: it has PT_INTERP (elf(5))."""
    table = int.from_bytes(program[32:40], "little")
    size, count = int.from_bytes(program[54:56], "little"), int.from_bytes(program[56:58], "little")
    headers = range(table, table + size * count, size)
    return any(int.from_bytes(program[at : at + 4], "little") == _PT_INTERP for at in headers)


def _source(image: kernel.Image) -> dict[str, str]:
    """The package and the tarball that the image was built from, as they are on this machine."""
    file = kernel.find_source()
    if not file.is_file() or not _sha256(file).startswith(image.source_hash):
        raise UserError(
            f"The kernel {image.path} was not built from {file}; type `gauntlet kernel build`, so that the "
            "wheel can name its source."
        )
    return {**_package(file), "file": file.name, "sha256": _sha256(file)}


def _libc() -> Path:
    """The C library that the compiler links statically."""
    found = subprocess.run(["gcc", "-print-file-name=libc.a"], check=True, capture_output=True, text=True)
    return Path(found.stdout.strip()).resolve()


def _package(file: Path) -> dict[str, str]:
    """The Debian package that a file of this machine is of."""
    owner = subprocess.run(["dpkg-query", "--search", str(file)], check=False, capture_output=True, text=True)
    if owner.returncode != 0:
        raise UserError(
            f"{file} is of no Debian package, so the wheel could not name its source; build from Debian's "
            "package (unset GAUNTLET_KERNEL_SOURCE)."
        )
    name = owner.stdout.partition(": ")[0]
    version = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Version}", name],
        check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    return {"name": name.partition(":")[0], "version": version.stdout.strip()}


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
